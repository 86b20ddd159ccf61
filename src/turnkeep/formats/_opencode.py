from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._sessions._claude_talk import ClaudeTalk, image_block, text_block
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes, counted_ids
from ._sessions._values import kind_of, objects, text_of
from ._shape import as_object, json_type

NAME: Final = "opencode"

_CLEARED: Final = "[Old tool result content cleared]"
_INTERRUPTED: Final = "[Tool execution was interrupted]"
_SUMMARY_ASKED: Final = "What did we do so far?"
"""What the program sends for a result that it cleared, a call that it gave up, and the
request for a summary."""

_BOOKKEEPING: Final = frozenset(
    {
        "step-start",
        "step-finish",
        "snapshot",
        "patch",
        "agent",
        "retry",
        "subtask",
        "compaction",
    }
)


def _file(value: dict[Any, Any]) -> str | None:
    """`messages` that each have an `info` and `parts`."""
    found = value.get("messages")
    if "info" not in value or not isinstance(found, (list, tuple)):
        return None
    for nth, message in enumerate(found[:20]):
        if isinstance(message, dict) and {"info", "parts"} <= message.keys():
            return f"info and parts in messages[{nth}]"
    return None if found else "'info' beside the messages"


class Opencode(SessionFormat):
    """Sessions of opencode, from its database or `opencode export`.

    A tool part is a call and its result. After a compaction the context is the question
    for the summary, the summary, the messages that were kept, then the rest.
    """

    name = NAME
    marks = marks_of(file=_file)
    wire = "anthropic"
    files = "`~/.local/share/opencode/opencode.db`, `opencode export`"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        if not isinstance(value, dict):
            reason = f"expected a session with 'messages', got {json_type(value)}"
            raise FormatError(reason, "$")
        found = objects(value.get("messages"), "messages", "$.messages")
        messages = [_Said.of(message, path) for message, path in found]
        messages.sort(key=lambda message: message.id)
        talk = _Talk(notes, _model(messages))
        context = _context(messages, notes)
        for nth, message in enumerate(context):
            talk.take(message, is_last=nth == len(context) - 1)
        talk.end()
        return Session(talk.chat.entries, model=talk.model[1])


@attrs.frozen
class _Said:
    """One message: what is known of it, and its parts in order."""

    id: str
    role: str
    info: Mapping[str, Any]
    parts: Sequence[tuple[dict[str, Any], str]]

    @classmethod
    def of(cls, message: dict[str, Any], path: str) -> _Said:
        info = as_object(message.get("info"), "info", f"{path}.info")
        role = info.get("role")
        if role not in ("user", "assistant") and info.keys() - {"id"}:
            reason = f"unknown role {role!r} (expected user or assistant)"
            raise FormatError(reason, f"{path}.info.role")
        parts = list(objects(message.get("parts"), "parts", f"{path}.parts"))
        parts.sort(key=lambda part: text_of(part[0].get("id")))
        # Of a message that a full disk emptied, its id is all there is.
        return cls(text_of(info.get("id")), role or "", info, parts)

    def part(self, kind: str) -> dict[str, Any] | None:
        return next((part for part, _ in self.parts if kind_of(part) == kind), None)

    @property
    def model(self) -> tuple[Any, Any]:
        """Provider and model, of a question asked or an answer given."""
        asked = self.info.get("model")
        found = asked if isinstance(asked, dict) else self.info
        return found.get("providerID"), found.get("modelID")

    @property
    def is_summary(self) -> bool:
        done = self.info.get("finish") and not self.info.get("error")
        return self.info.get("summary") is True and bool(done)


def _model(messages: Sequence[_Said]) -> tuple[Any, str | None]:
    """Provider and model that would be asked next."""
    for message in reversed(messages):
        provider, model = message.model
        if message.role == "user" and isinstance(model, str):
            return provider, model
    return None, None


def _context(messages: Sequence[_Said], notes: Notes) -> Sequence[_Said]:
    """What the newest finished compaction leaves."""
    for nth in range(len(messages) - 1, -1, -1):
        asked = messages[nth]
        compaction = asked.part("compaction") if asked.role == "user" else None
        if compaction is None:
            continue
        end = _summary_of(asked, nth, messages)
        if end is None:
            notes.say("a compaction was not finished: it replaces nothing")
            continue
        tail = compaction.get("tail_start_id")
        kept = [m for m in messages[:nth] if isinstance(tail, str) and m.id >= tail]
        notes.left_out("message | replaced by a compaction", nth - len(kept))
        return [*messages[nth : end + 1], *kept, *messages[end + 1 :]]
    return messages


def _summary_of(asked: _Said, nth: int, messages: Sequence[_Said]) -> int | None:
    """Where the summary stands that answers the request at *nth*.

    It names the request; failed attempts may stand between the two. Without a name it
    is the next message.
    """
    for place in range(nth + 1, len(messages)):
        message = messages[place]
        parent = message.info.get("parentID")
        named = parent == asked.id if parent is not None else place == nth + 1
        if named and message.is_summary:
            return place
    return None


class _Talk:
    """The messages, calls and results apart."""

    def __init__(self, notes: Notes, model: tuple[Any, str | None]) -> None:
        self.notes = notes
        self.model = model
        self.chat = ClaudeTalk()
        self._waiting: list[str] = []
        self._given_up: list[str] = []

    def take(self, message: _Said, *, is_last: bool) -> None:
        if not message.role:
            self.notes.left_out("message | it was stored empty")
            return
        if message.role == "user":
            self._asked(message)
            return
        error = message.info.get("error")
        if error is not None and not _was_aborted(message):
            self.notes.left_out("answer | it ended in an error")
            return
        for part, path in message.parts:
            self._answered(part, path, message, is_last=is_last)
        self.chat.flush()

    def _asked(self, message: _Said) -> None:
        said: list[dict[str, Any]] = []
        if message.part("compaction") is not None:
            said.append(text_block(_SUMMARY_ASKED))
        for part, _ in message.parts:
            kind = kind_of(part)
            if kind == "text" and part.get("ignored") is True:
                self.notes.left_out("text | not sent")
            elif kind == "text":
                said += [text_block(t)] if (t := text_of(part.get("text"))) else []
            elif kind == "file":
                said += self._file(part)
            else:
                self._skip(kind)
        self.chat.user(said)

    def _answered(
        self, part: dict[str, Any], path: str, message: _Said, *, is_last: bool
    ) -> None:
        kind = kind_of(part)
        if kind == "step-start":
            self.chat.flush()
        elif kind == "text":
            if text := text_of(part.get("text")):
                self.chat.says(text_block(text))
        elif kind == "reasoning":
            self._thought(part, message)
        elif kind == "tool":
            self._tool(part, path, is_last=is_last)
        else:
            self._skip(kind)

    def _skip(self, kind: str) -> None:
        if not kind:
            self.notes.left_out("part | it was stored empty")
        elif kind not in _BOOKKEEPING:
            self.notes.left_out(f"part of type {kind[:40]}")

    def _thought(self, part: dict[str, Any], message: _Said) -> None:
        """Another model's reasoning is sent as text, its own as it was signed."""
        text = text_of(part.get("text"))
        around = part.get("metadata")
        signed = around.get("anthropic") if isinstance(around, dict) else None
        signature = signed.get("signature") if isinstance(signed, dict) else None
        if message.model != self.model and self.model[1] is not None:
            if text:
                self.chat.says(text_block(text))
        elif isinstance(signature, str):
            block = {"type": "thinking", "thinking": text, "signature": signature}
            self.chat.says(block)
        else:
            self.notes.left_out("thought | it has no signature of Anthropic's")

    def _file(self, part: dict[str, Any]) -> list[dict[str, Any]]:
        url, mime = text_of(part.get("url")), text_of(part.get("mime"))
        head, comma, data = url.partition(",")
        is_stored = comma and head.startswith("data:") and head.endswith(";base64")
        if is_stored and (mime.startswith("image/") or mime == "application/pdf"):
            return [image_block(data, mime)]
        self.notes.left_out("file | its text stands beside it, or is not stored")
        return []

    def _tool(self, part: dict[str, Any], path: str, *, is_last: bool) -> None:
        where = f"{path}.state"
        state = as_object(part.get("state"), "the state", where)
        call_id, given = text_of(part.get("callID")), state.get("input")
        arguments = given if isinstance(given, dict) else {}
        self.chat.calls(call_id, text_of(part.get("tool")), arguments)
        status = state.get("status")
        if status == "completed":
            time = state.get("time")
            if isinstance(time, dict) and time.get("compacted"):
                self.notes.say(f"results that were cleared are {_CLEARED!r}")
                self.chat.result(call_id, _CLEARED)
            else:
                self.chat.result(call_id, self._output(state, where))
        elif status == "error":
            self.chat.result(call_id, text_of(state.get("error")), is_error=True)
        elif is_last:
            self._waiting.append(call_id)
        else:
            self._given_up.append(call_id)
            self.chat.result(call_id, _INTERRUPTED, is_error=True)

    def end(self) -> None:
        self.chat.flush()
        if self._given_up:
            self.notes.say(
                f"calls that were given up: {counted_ids(self._given_up)}; as opencode "
                f"does, they are answered {_INTERRUPTED!r}"
            )
        if self._waiting:
            self.notes.say(
                f"calls without a result: {counted_ids(self._waiting)}; resumed, "
                f"opencode would answer {_INTERRUPTED!r}"
            )

    def _output(self, state: dict[str, Any], path: str) -> Any:
        text = text_of(state.get("output"))
        where = f"{path}.attachments"
        files = [
            block
            for part, _ in objects(state.get("attachments"), "attachments", where)
            for block in self._file(part)
        ]
        return [text_block(text), *files] if files else text


def _was_aborted(message: _Said) -> bool:
    """Whether it was stopped when something had been said: that much is sent."""
    error = message.info.get("error")
    name = error.get("name") if isinstance(error, dict) else None
    said = any(kind_of(part) in {"text", "tool"} for part, _ in message.parts)
    return name == "MessageAbortedError" and said
