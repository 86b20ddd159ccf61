from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from turnkeep.errors import FormatError

from ._marks import part_types
from ._sessions._claude_talk import ClaudeTalk, image_block, text_block
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._values import kind_of, objects, text_of
from ._shape import as_array, as_object, json_type

NAME: Final = "goose"

_PARTS: Final = frozenset({"toolRequest", "toolResponse", "frontendToolRequest"})
_UNSENT: Final = {
    "systemNotification": "notification | only shown",
    "error": "error | only shown",
    "conversationCompacted": "notice of a compaction",
    "toolConfirmationRequest": "question whether a tool may run",
    "actionRequired": "question whether a tool may run",
}


def _line(line: dict[Any, Any]) -> str | None:
    """A line with `working_dir` that says nothing, or parts that only goose has."""
    if "working_dir" in line and "role" not in line:
        return "a line with 'working_dir' and no role"
    kinds = sorted(kind for kind in part_types(line) if kind in _PARTS)
    return f"a part of type {kinds[0]!r}" if kinds else None


def _file(value: dict[Any, Any]) -> str | None:
    """A `conversation` beside `working_dir`."""
    if "working_dir" in value and isinstance(value.get("conversation"), (list, tuple)):
        return "'working_dir' with a conversation"
    return None


class Goose(SessionFormat):
    """Sessions of goose, from its database or an old file: parts of its own.

    Messages that the agent does not see are left out; results are given to the calls
    that they answer.
    """

    name = NAME
    marks = marks_of(_line, _file)
    wire = "anthropic"
    files = "`~/.local/share/goose/sessions/sessions.db`, older `*.jsonl`"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        path = "$"
        header: Mapping[str, Any] = {}
        if isinstance(value, dict):
            header, value, path = value, value.get("conversation"), "$.conversation"
        elif not isinstance(value, (list, tuple)):
            reason = f"expected the lines of a session, got {json_type(value)}"
            raise FormatError(reason, path)
        talk = _Talk(notes)
        lines = objects(as_array(value, "the conversation", path), "lines", path)
        for nth, (line, at) in enumerate(lines):
            if not nth and "role" not in line:
                header = line
            else:
                talk.take(line, at)
        talk.end()
        config = header.get("model_config")
        model = config.get("model_name") if isinstance(config, dict) else None
        return Session(
            talk.chat.entries, model=model if isinstance(model, str) else None
        )


def _is_for_agent(around: Any) -> bool:
    """Whether the agent sees a message: without metadata it does."""
    return not (isinstance(around, dict) and around.get("agentVisible") is False)


def _outcome(value: Any, path: str) -> tuple[Any, str | None]:
    """What came of a call or its result: the value, or the error's text."""
    found = as_object(value, "an outcome", path)
    if found.get("status") == "error":
        return None, str(found.get("error"))
    return found.get("value"), None


class _Talk:
    """The messages, calls and results apart."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.chat = ClaudeTalk()
        self._thinking: list[str] = []
        """Thinking in pieces: some releases store one part for each token."""
        self._signature = ""
        self._broken: set[str] = set()
        """Calls that could not be parsed: nothing is sent of them or their results."""
        self._open: dict[str, None] = {}

    def take(self, message: dict[str, Any], path: str) -> None:
        role = message.get("role")
        if role not in ("user", "assistant"):
            reason = f"unknown role {role!r} (expected user or assistant)"
            raise FormatError(reason, f"{path}.role")
        if not _is_for_agent(message.get("metadata")):
            self.notes.left_out("message | the agent does not see it any more")
            return
        said: list[dict[str, Any]] = []
        for part, at in objects(message.get("content"), "content", f"{path}.content"):
            self._part(part, at, role, said)
        if role == "user":
            self._think()
            self.chat.user(said)
        elif self._signature:
            self._think()
        # Thinking without its signature may go on in the next message.
        self.chat.flush()

    def _part(
        self, part: dict[str, Any], path: str, role: str, said: list[dict[str, Any]]
    ) -> None:
        kind = kind_of(part)
        if kind in {"thinking", "reasoning"}:
            signature = text_of(part.get("signature"))
            if signature and self._signature not in ("", signature):
                self._think()
            self._thinking.append(text_of(part.get("thinking", part.get("text"))))
            self._signature = signature or self._signature
            return
        self._think()
        if kind == "toolResponse":
            self._result(part, path)
        elif kind in {"toolRequest", "frontendToolRequest"}:
            self._call(part, path)
        elif kind == "redactedThinking":
            data = text_of(part.get("data"))
            self.chat.says({"type": "redacted_thinking", "data": data})
        elif kind in _UNSENT:
            self.notes.left_out(_UNSENT[kind])
        else:
            for block in self._content(part):
                if role == "assistant":
                    self.chat.says(block)
                else:
                    said.append(block)

    def _think(self) -> None:
        text = "".join(self._thinking)
        if text and self._signature:
            block = {"type": "thinking", "thinking": text, "signature": self._signature}
            self.chat.says(block)
        elif text:
            self.notes.left_out("thought | without a signature it is not sent back")
        self._thinking.clear()
        self._signature = ""

    def _content(self, part: dict[str, Any]) -> list[dict[str, Any]]:
        """A text, picture or file; none of what has another reader."""
        around = part.get("annotations")
        audience = around.get("audience") if isinstance(around, dict) else None
        if isinstance(audience, (list, tuple)) and "assistant" not in audience:
            self.notes.left_out("text | only for the user")
            return []
        kind = kind_of(part)
        if kind == "text":
            return [text_block(text)] if (text := text_of(part.get("text"))) else []
        if kind in {"image", "document"} and isinstance(part.get("data"), str):
            media_type = text_of(part.get("mimeType")) or "image/png"
            return [image_block(part["data"], media_type)]
        resource = part.get("resource")
        text = text_of(resource.get("text")) if isinstance(resource, dict) else ""
        if kind == "resource" and text:
            self.notes.say("texts of resources are read as texts of their results")
            return [text_block(text)]
        self.notes.left_out(f"part of type {kind[:40]}")
        return []

    def _call(self, part: dict[str, Any], path: str) -> None:
        call_id = text_of(part.get("id"))
        called, error = _outcome(part.get("toolCall"), f"{path}.toolCall")
        if error is not None:
            self._broken.add(call_id)
            self.notes.left_out("call | it could not be parsed")
            return
        where = f"{path}.toolCall.value"
        as_object(called, "a call", where)
        given = called.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        self._open[call_id] = None
        self.chat.calls(call_id, text_of(called.get("name")), arguments)

    def _result(self, part: dict[str, Any], path: str) -> None:
        call_id = text_of(part.get("id"))
        if call_id in self._broken:
            self.notes.left_out("result | of a call that could not be parsed")
            return
        self._open.pop(call_id, None)
        value, error = _outcome(part.get("toolResult"), f"{path}.toolResult")
        if error is not None:
            self.chat.result(call_id, error, is_error=True)
            return
        # Old releases stored the list of contents itself.
        found = value if isinstance(value, dict) else {"content": value}
        where = f"{path}.toolResult.value.content"
        content = [
            block
            for item, _ in objects(found.get("content"), "content", where)
            for block in self._content(item)
        ]
        failed = found.get("isError") is True
        self.chat.result(call_id, content, is_error=failed)

    def end(self) -> None:
        self._think()
        self.chat.flush()
        if self._open:
            self.notes.say(f"calls without a result: {len(self._open)}")
