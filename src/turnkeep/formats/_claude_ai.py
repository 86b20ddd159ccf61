from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from turnkeep.errors import FormatError

from ._sessions._claude_talk import ClaudeTalk, call_block, text_block
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._tree import newest_leaf, note_branches, path_to
from ._sessions._values import kind_of, objects, one_conversation, text_of
from ._shape import as_array

NAME: Final = "claude-ai"

_ROOT: Final = "00000000-0000-4000-8000-000000000000"
_CONTENT: Final = frozenset({"text", "image", "document"})


def _conversation(one: dict[Any, Any]) -> str | None:
    """It has `chat_messages`."""
    if isinstance(one.get("chat_messages"), list):
        return "'chat_messages'"
    return None


class ClaudeAi(SessionFormat):
    """Conversations of claude.ai's data export: messages that name their parent.

    Calls and their results stand in one message, and are given apart. The text of an
    attachment is part of the prompt; files are only named.
    """

    name = NAME
    marks = marks_of(_conversation, _conversation)
    wire = "anthropic"
    files = "`conversations.json` of the data export"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`; of an export with several, take one."""
        value, path = one_conversation(value, "$")
        where = f"{path}.chat_messages"
        found = value.get("chat_messages")
        as_array(found, "chat_messages", where)
        messages = list(objects(found, "chat_messages", where))
        talk = _Talk(notes)
        for message, at in _branch(messages, notes):
            talk.take(message, at)
        talk.chat.flush()
        return Session(talk.chat.entries)


def _branch(
    messages: list[tuple[dict[str, Any], str]], notes: Notes
) -> list[tuple[dict[str, Any], str]]:
    """The messages of the newest branch; all of them where none names a parent."""
    if not any(message.get("parent_message_uuid") for message, _ in messages):
        return messages
    by_id = {_key(m, at): (m, at) for m, at in messages}
    parents = {key: _parent(message) for key, (message, _) in by_id.items()}
    times = {key: message.get("created_at") for key, (message, _) in by_id.items()}
    taken = path_to(newest_leaf(parents, times), parents, notes)
    if len(taken) < len(by_id):
        notes.say(
            "the export does not mark the branch that was shown: the newest is read"
        )
    note_branches(list(by_id), taken, notes)
    return [by_id[key] for key in taken]


def _key(message: Mapping[str, Any], path: str) -> str:
    found = message.get("uuid")
    return found if isinstance(found, str) else path


def _parent(message: Mapping[str, Any]) -> str | None:
    found = message.get("parent_message_uuid")
    return found if isinstance(found, str) and found != _ROOT else None


class _Talk:
    """The messages, calls and results apart."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.chat = ClaudeTalk()
        self._made = 0

    def take(self, message: dict[str, Any], path: str) -> None:
        sender = message.get("sender")
        blocks = list(objects(message.get("content"), "content", f"{path}.content"))
        # The text is a copy of the content, and either may be empty.
        is_empty = all(kind_of(b) == "text" and not b.get("text") for b, _ in blocks)
        if is_empty and (text := text_of(message.get("text"))):
            blocks = [(text_block(text), f"{path}.text")]
        files = list(objects(message.get("files"), "files", f"{path}.files"))
        self.notes.left_out("file | only named in the export", len(files))
        if sender == "human":
            self.chat.user([*self._attached(message, path), *self._said(blocks)])
        elif sender == "assistant":
            self._answered(blocks)
            self.chat.flush()
        else:
            reason = f"unknown sender {sender!r} (expected human or assistant)"
            raise FormatError(reason, f"{path}.sender")

    def _attached(self, message: dict[str, Any], path: str) -> list[dict[str, Any]]:
        found = message.get("attachments")
        return [
            text_block(text)
            for item, _ in objects(found, "attachments", f"{path}.attachments")
            if (text := text_of(item.get("extracted_content")))
        ]

    def _said(self, blocks: list[tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
        said = []
        for block, _ in blocks:
            kind = kind_of(block)
            if kind == "text":
                if text := text_of(block.get("text")):
                    said.append(text_block(text))
            elif kind in _CONTENT and "source" in block:
                said.append({"type": kind, "source": block["source"]})
            else:
                self.notes.left_out(f"block of type {kind[:40]}")
        return said

    def _answered(self, blocks: list[tuple[dict[str, Any], str]]) -> None:
        """The blocks of an assistant; results without an id answer in order."""
        waiting: list[tuple[str, Any]] = []
        for block, path in blocks:
            kind = kind_of(block)
            if kind == "tool_use":
                call_id = self._id(block.get("id"))
                given = block.get("input")
                waiting.append((call_id, block.get("id")))
                arguments = given if isinstance(given, dict) else {}
                # A call behind a result was made when that had been read.
                self.chat.says(call_block(call_id, str(block.get("name")), arguments))
            elif kind == "tool_result":
                self._result(block, waiting, path)
            elif kind in {"thinking", "redacted_thinking"}:
                self.notes.left_out("block of reasoning | without its signature")
            else:
                for said in self._said([(block, path)]):
                    self.chat.says(said)
        if waiting:
            self.notes.say(f"calls without a result: {len(waiting)}")

    def _id(self, found: Any) -> str:
        if isinstance(found, str) and found:
            return found
        self._made += 1
        return f"call_{self._made}"

    def _result(
        self, block: dict[str, Any], waiting: list[tuple[str, Any]], path: str
    ) -> None:
        named = block.get("tool_use_id")
        found = next((call for call in waiting if call[1] == named), None)
        if found is None:
            self.notes.left_out("result | of a call that is not there")
            return
        waiting.remove(found)
        content = block.get("content")
        if not isinstance(content, str):
            listed = list(objects(content, "content", f"{path}.content"))
            content = self._said(listed)
        self.chat.result(found[0], content, is_error=block.get("is_error") is True)
