from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from turnkeep.errors import FormatError

from ._sessions._chat_talk import ChatTalk, image_part, text_part
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._tree import newest_leaf, note_branches, path_to
from ._sessions._values import kind_of, objects, text_of
from ._shape import as_object, json_type

NAME: Final = "librechat"

_ROOT: Final = "00000000-0000-0000-0000-000000000000"
_UNSENT: Final = {
    "think": "thought | never sent back",
    "error": "error | only shown",
    "agent_update": "change of agent | only shown",
    "summary": "summary | the messages that it is of are read",
}


def _file(value: dict[Any, Any]) -> str | None:
    """`conversationId` with messages that have a `messageId`."""
    if "conversationId" not in value:
        return None
    for key in ("messages", "messagesTree"):
        found = value.get(key)
        if isinstance(found, (list, tuple)) and any(
            isinstance(m, dict) and "messageId" in m for m in found[:20]
        ):
            return f"messages with a messageId in {key!r}"
    return None


class LibreChat(SessionFormat):
    """Conversations that LibreChat exported, flat or as a tree.

    The export does not mark a branch: the newest is read. A call and its output are one
    part there.
    """

    name = NAME
    marks = marks_of(file=_file)
    wire = "openai"
    files = "the export of a conversation as JSON, flat or as a tree"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        if not isinstance(value, dict):
            reason = f"expected an export with 'messages', got {json_type(value)}"
            raise FormatError(reason, "$")
        key = "messagesTree" if "messagesTree" in value else "messages"
        by_id: dict[str, tuple[dict[str, Any], str]] = {}
        for message, path in _flat(value.get(key), f"$.{key}"):
            named = message.get("messageId")
            by_id[named if isinstance(named, str) else path] = (message, path)
        talk = _Talk(notes)
        if by_id:
            parents = {node: _parent(m) for node, (m, _) in by_id.items()}
            times = {node: m.get("createdAt") for node, (m, _) in by_id.items()}
            taken = path_to(newest_leaf(parents, times), parents, notes)
            note_branches(list(by_id), taken, notes)
            for node in taken:
                talk.take(*by_id[node])
        talk.end()
        options = value.get("options")
        model = options.get("model") if isinstance(options, dict) else None
        model = talk.model or model
        return Session(
            talk.chat.entries, model=model if isinstance(model, str) else None
        )


def _flat(messages: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The messages of a list, or of a tree of `children`, whatever its depth."""
    waiting = list(objects(messages, "messages", path))
    waiting.reverse()
    while waiting:
        message, where = waiting.pop()
        yield message, where
        below = list(objects(message.get("children"), "children", f"{where}.children"))
        waiting += reversed(below)


def _parent(message: Mapping[str, Any]) -> str | None:
    found = message.get("parentMessageId")
    return found if isinstance(found, str) and found != _ROOT else None


class _Talk:
    """The chat, as the messages are read."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.chat = ChatTalk()
        self.model: str | None = None
        self._open = 0
        """Calls without a result."""

    def take(self, message: dict[str, Any], path: str) -> None:
        content = message.get("content")
        parts = list(objects(content, "content", f"{path}.content"))
        text = text_of(message.get("text"))
        files = list(objects(message.get("files"), "files", f"{path}.files"))
        self.notes.left_out("file | only named in the export", len(files))
        if message.get("error") is True:
            self.notes.left_out("error | only shown")
        elif message.get("isCreatedByUser") is True:
            said = [part for p, at in parts for part in self._content(p, at)]
            self.chat.user(said or ([text_part(text)] if text else []))
        else:
            model = message.get("model")
            self.model = model if isinstance(model, str) else self.model
            if message.get("unfinished") is True:
                self.notes.say("an answer is unfinished")
            self._answered(parts)
            if not parts and text:
                self.chat.says([text_part(text)])

    def end(self) -> None:
        if self._open:
            self.notes.say(f"calls without a result: {self._open}")

    def _answered(self, parts: list[tuple[dict[str, Any], str]]) -> None:
        for is_call, run in groupby(parts, lambda part: _is_call(part[0])):
            if is_call:
                self._called([_call_of(part, path) for part, path in run])
                continue
            for part, path in run:
                for said in self._content(part, path):
                    self.chat.says([said])

    def _called(self, calls: list[dict[str, Any]]) -> None:
        """Calls in a row: parallel ones of one message, their results behind it."""
        done: list[tuple[str, Any]] = []
        for call in calls:
            name, given = str(call.get("name")), call.get("args")
            done.append((self.chat.call(call.get("id"), name, given), call))
        for call_id, call in done:
            if _is_open(call):
                self._open += 1
            else:
                self.chat.result(call_id, text_of(call["output"]))

    def _content(self, part: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
        kind = kind_of(part)
        if kind == "text":
            if text := text_of(part.get("text")):
                yield text_part(text)
        elif kind == "image_url":
            found = part.get("image_url")
            url = found.get("url") if isinstance(found, dict) else found
            if not isinstance(url, str):
                reason = f"an image without an address, got {json_type(url)}"
                raise FormatError(reason, f"{path}.image_url")
            yield image_part(url)
        elif kind in _UNSENT:
            self.notes.left_out(_UNSENT[kind])
        else:
            self.notes.left_out(f"part of type {kind[:40]}")


def _is_call(part: Mapping[str, Any]) -> bool:
    return kind_of(part) == "tool_call"


def _is_open(call: Mapping[str, Any]) -> bool:
    """Whether a call has no result: nothing came of it, and it is not done."""
    progress = call.get("progress")
    is_done = not isinstance(progress, (int, float)) or progress >= 1
    return call.get("output") is None or not (is_done or text_of(call["output"]))


def _call_of(part: dict[str, Any], path: str) -> dict[str, Any]:
    return as_object(part.get("tool_call"), "tool_call", f"{path}.tool_call")
