from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from turnkeep.errors import FormatError

from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._values import kind_of
from ._shape import as_array, as_object, json_type

NAME: Final = "gemini-cli"

_SHOWN: Final = frozenset({"info", "error", "warning"})
_NOT_RESENT: Final = ("/", "?", "<session_context>", "<hook_context>")
"""How the user texts begin that the program leaves out, or makes anew."""


def _head(entry: dict[Any, Any]) -> str | None:
    """A header has `sessionId` and `projectHash`."""
    if {"sessionId", "projectHash"} <= entry.keys():
        return "'sessionId' with 'projectHash'"
    return None


def _line(entry: dict[Any, Any]) -> str | None:
    """A header, what changes entries, or one that the model wrote.

    A header may be torn off, so that it is not all there is to go by.
    """
    for key in ("$rewindTo", "$set"):
        if key in entry:
            return repr(key)
    if kind_of(entry) == "gemini" and {"id", "timestamp"} <= entry.keys():
        return "an entry of type 'gemini'"
    return _head(entry)


class GeminiCli(SessionFormat):
    """Sessions of the Gemini CLI: a log of entries, or one object that has them.

    An entry is written again when it grows, and the newest writing counts; `$set` and
    `$rewindTo` change what is there. A result stands at its call and once more in the
    next user entry; it is given once.
    """

    name = NAME
    marks = marks_of(_line, _head)
    wire = "gemini"
    files = "`~/.gemini/tmp/*/chats/session-*.jsonl` (older ones `.json`)"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        if isinstance(value, dict):
            entries = _checked(value.get("messages"), "$.messages")
        elif isinstance(value, (list, tuple)):
            entries = _replayed(value, notes)
        else:
            reason = f"expected a session or its lines, got {json_type(value)}"
            raise FormatError(reason, "$")
        talk = _Talk(notes)
        for path, entry in entries:
            talk.take(entry, path)
        return talk.session()


def _checked(messages: Any, path: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path}[{nth}]", as_object(entry, "an entry", f"{path}[{nth}]"))
        for nth, entry in enumerate(as_array(messages, "messages", path))
    ]


def _replayed(lines: Sequence[Any], notes: Notes) -> list[tuple[str, dict[str, Any]]]:
    """The entries that are left when every line has been done."""
    entries: dict[Any, tuple[str, dict[str, Any]]] = {}
    for nth, line in enumerate(lines):
        path = f"$[{nth}]"
        as_object(line, "a line", path)
        if "$rewindTo" in line:
            _rewind(entries, line["$rewindTo"], notes)
        elif isinstance(change := line.get("$set"), dict):
            if "messages" in change:
                found = _checked(change["messages"], f"{path}.$set.messages")
                entries = {_key(entry, where): (where, entry) for where, entry in found}
        elif kind_of(line):
            key = _key(line, path)
            entries[key] = (path, line)
    return list(entries.values())


def _key(entry: dict[str, Any], path: str) -> Any:
    """What an entry goes by: its id, else its place."""
    found = entry.get("id")
    return found if isinstance(found, str) else (path,)


def _rewind(entries: dict[Any, Any], target: Any, notes: Notes) -> None:
    keys = list(entries)
    start = keys.index(target) if target in keys else 0
    for key in keys[start:]:
        del entries[key]
    notes.left_out("entry | taken back by a rewind", len(keys) - start)


class _Talk:
    """The contents, as the entries are read one after the other."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.contents: list[dict[str, Any]] = []
        self.model: str | None = None
        self._waiting: dict[str, list[Any]] = {}
        """Results that stand at their calls, and in no user entry so far."""
        self._nameless: list[tuple[Any, list[Any]]] = []
        """Those of calls without an id, with the tools' names."""
        self._open: set[str] = set()
        """Calls of the model's last turn."""
        self._seen: set[str] = set()
        """Those that are answered."""
        self._done: set[str] = set()
        """Answered calls of all turns."""

    def take(self, entry: dict[str, Any], path: str) -> None:
        kind = kind_of(entry)
        if kind == "gemini":
            self._answer()
            self._said(entry, path)
        elif kind == "user":
            self._asked(entry, path)
        elif kind in _SHOWN:
            self.notes.left_out("entry | only shown")
        else:
            self.notes.left_out("entry of an unknown type")

    def _said(self, entry: dict[str, Any], path: str) -> None:
        model = entry.get("model")
        self.model = model if isinstance(model, str) else self.model
        parts = _parts(entry.get("content"), f"{path}.content")
        self.notes.left_out("thought | never sent back", _count(entry.get("thoughts")))
        calls = entry.get("toolCalls") or ()
        where = f"{path}.toolCalls"
        listed = as_array(calls, "toolCalls", where)
        has_calls = any("functionCall" in part for part in parts)
        self._seen = set()
        self._open = {i for part in parts if (i := _id(part, "functionCall"))}
        for nth, call in enumerate(listed):
            as_object(call, "a call", f"{where}[{nth}]")
            self._call(call, None if has_calls else parts)
        if parts:
            self.contents.append({"role": "model", "parts": parts})

    def _call(self, call: dict[str, Any], parts: list[Any] | None) -> None:
        named = {key: call[key] for key in ("id", "name", "args") if key in call}
        if parts is not None:
            parts.append({"functionCall": named})
        call_id, found = call.get("id"), _result_of(call)
        if isinstance(call_id, str):
            self._open.add(call_id)
            if found:
                self._waiting[call_id] = found
        elif found:
            self._nameless.append((call.get("name"), found))

    def _asked(self, entry: dict[str, Any], path: str) -> None:
        parts = _parts(entry.get("content"), f"{path}.content")
        if not any("functionResponse" in part for part in parts):
            self._answer()
            if _is_made_anew(parts):
                self.notes.left_out("user text | a command, or made anew each time")
            elif parts:
                self.contents.append({"role": "user", "parts": parts})
            return
        kept = []
        for part in parts:
            call_id = _id(part, "functionResponse")
            if call_id is None or not self._is_done(call_id):
                kept.append(part)
            else:
                self.notes.left_out("result | written twice")
            if call_id is not None:
                self._seen.add(call_id)
                self._done.add(call_id)
                self._waiting.pop(call_id, None)
            elif isinstance(answer := part.get("functionResponse"), dict):
                self._answered(answer.get("name"))
        kept += self._settle()
        if any("functionResponse" in part for part in kept):
            self.contents.append({"role": "user", "parts": kept})

    def _answered(self, name: Any) -> None:
        """A user entry gives the result of the first nameless call to a tool."""
        names = [one for one, _ in self._nameless]
        if name in names:
            del self._nameless[names.index(name)]

    def _is_done(self, call_id: str) -> bool:
        """Whether a call has its result: ids may be used again by a later turn."""
        return call_id in (self._seen if call_id in self._open else self._done)

    def _settle(self) -> list[Any]:
        """The results that were waiting, which are given now."""
        found = [*self._waiting.values(), *(parts for _, parts in self._nameless)]
        self._seen |= self._waiting.keys()
        self._done |= self._waiting.keys()
        self._waiting.clear()
        self._nameless.clear()
        return [part for parts in found for part in parts]

    def _answer(self) -> None:
        """Give the results that no user entry gave."""
        if parts := self._settle():
            self.contents.append({"role": "user", "parts": parts})

    def session(self) -> Session:
        self._answer()
        if left := len(self._open - self._seen):
            self.notes.say(f"calls without a result: {left}")
        return Session(self.contents, model=self.model)


def _count(value: Any) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 0


def _id(part: dict[str, Any], key: str) -> str | None:
    inner = part.get(key)
    found = inner.get("id") if isinstance(inner, dict) else None
    return found if isinstance(found, str) else None


def _parts(content: Any, path: str) -> list[dict[str, Any]]:
    """Content as parts: it may be a text, a part, or a list of either."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, dict):
        return [dict(content)]
    return list(_each(as_array(content, "content", path), path))


def _each(content: Sequence[Any], path: str) -> Iterator[dict[str, Any]]:
    for nth, part in enumerate(content):
        if isinstance(part, str):
            yield {"text": part}
        else:
            yield dict(as_object(part, "a part", f"{path}[{nth}]"))


def _result_of(call: dict[str, Any]) -> list[Any]:
    """The parts that answer *call*; each call holds the answers of all its siblings."""
    result = call.get("result")
    if isinstance(result, str):
        named = {key: call[key] for key in ("id", "name") if key in call}
        return [{"functionResponse": {**named, "response": {"output": result}}}]
    found = result if isinstance(result, (list, tuple)) else [result]
    parts: list[Any] = []
    ours = False
    for part in found:
        if not isinstance(part, dict):
            continue
        if "functionResponse" in part:
            # Of the answers that an old file repeats, the first is the call's.
            ours = _id(part, "functionResponse") == call.get("id") and not parts
        if ours:
            parts.append(part)
    return parts


def _is_made_anew(parts: Sequence[dict[str, Any]]) -> bool:
    text = parts[0].get("text") if parts else None
    return isinstance(text, str) and text.startswith(_NOT_RESENT)
