from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._base import Envelope
from ._detect import detect
from ._marks import NEVER, SIGNED, Judgement, Marks
from ._registry import get_format
from ._sessions._answers import answer_mark, read_answer
from ._sessions._format import Session, SessionFormat
from ._sessions._notes import Notes
from ._shape import as_array, as_object

NAME: Final = "batch"

_REQUESTS: Final = ("body", "params", "request", "modelInput")
_ANSWERS: Final = ("response", "result", "modelOutput")
_IDS: Final = ("custom_id", "key", "recordId")
"""Keys of OpenAI's and Anthropic's lines, of Gemini's, and of Bedrock's."""

_GEMINI: Final = frozenset(
    {"key", "request", "response", "status", "error", "metadata", "processed_time"}
)
"""All that a line of Gemini's has; its id may be missing."""


def _judge(record: Any) -> Judgement:
    words = _record(record)
    return (NEVER, "no line of a batch") if words is None else (SIGNED, words)


def _record(record: dict[Any, Any]) -> str | None:
    """It has a `custom_id`, or what only such a line holds."""
    if not _is_record(record):
        return None
    names = ("custom_id", "preferred_output", *_REQUESTS, *_ANSWERS)
    return f"a line with {next(name for name in names if name in record)!r}"


class Batch(SessionFormat):
    """Lines of batch files and of preference tuning: a request body, wrapped.

    A line of a batch has its request (`body`, `params`, `request`, `modelInput`), its
    answer (`response`, `result`, `modelOutput`) or both; lines that share an id are one
    conversation. A line of preference tuning is its input and the output that was
    preferred.
    """

    name = NAME
    marks = Marks(_judge, lists=(), sign=_record)
    wire = "openai"
    files = "request and answer files of batches, preference tuning"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`; lines of several requests are refused."""
        records = value if isinstance(value, (list, tuple)) else [value]
        named = [
            (as_object(record, "a line", at), at)
            for nth, record in enumerate(records)
            for at in ["$" if record is value else f"$[{nth}]"]
        ]
        ids = {_id(record) or path for record, path in named}
        if len(ids) != 1:
            reason = f"lines of {len(ids)} requests: open those of one of them"
            raise FormatError(reason, "$")
        found = Session([])
        wire = _wire_of(records)
        for record, path in named:
            found = _joined(found, _of_record(record, path, notes, wire), path)
        if found.entries and not any(map(_has_question, records)):
            notes.say("this is an answer: what was asked is in the file of requests")
        return found


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    if "preferred_output" in record:
        return isinstance(record.get("input"), dict)
    if isinstance(record.get("custom_id"), str):
        return any(key in record for key in (*_REQUESTS, *_ANSWERS))
    if record.keys() <= _GEMINI:
        is_named = isinstance(record.get("key"), str)
        return isinstance(record.get("request"), dict) or (
            is_named and isinstance(record.get("response"), dict)
        )
    found = any(isinstance(record.get(key), dict) for key in ("body", "modelInput"))
    return found and "messages" not in record


def _id(record: Mapping[str, Any]) -> str | None:
    found = (record.get(key) for key in _IDS)
    return next((one for one in found if isinstance(one, str) and one), None)


def _has_question(record: Mapping[str, Any]) -> bool:
    return any(key in record for key in (*_REQUESTS, "preferred_output"))


def _wire_of(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The format of the first answer, which its request is in as well."""
    silent = Notes()
    found = (_answered(record, "$", silent).wire for record in records)
    return next((wire for wire in found if wire is not None), None)


def _of_record(
    record: dict[str, Any], path: str, notes: Notes, wire: str | None
) -> Session:
    for key in _REQUESTS:
        if key in record:
            asked = _request(record[key], f"{path}.{key}", notes, wire)
            if not any(record.get(key) for key in (*_ANSWERS, "error", "status")):
                return asked
            return _joined(asked, _answered(record, path, notes), path)
    if "preferred_output" in record:
        asked = _request(record.get("input"), f"{path}.input", notes, wire)
        where = f"{path}.preferred_output"
        answer = as_array(record["preferred_output"], "preferred_output", where)
        if record.get("non_preferred_output"):
            notes.left_out("output | the other one was preferred")
        return attrs.evolve(asked, entries=[*asked.entries, *answer])
    return _answered(record, path, notes)


def _answered(record: Mapping[str, Any], path: str, notes: Notes) -> Session:
    """The answer in a line; what went wrong, where there is none."""
    for key in _ANSWERS:
        if isinstance(record.get(key), dict):
            return _answer(record[key], f"{path}.{key}", notes)
    error = record.get("error")
    code = _get(error, "code", "errorCode") or _get(record, "status")
    notes.say(f"there is no answer: {code or 'nothing is said why'}")
    return Session([])


def _request(body: Any, path: str, notes: Notes, wire: str | None) -> Session:
    """The messages of a request body, in the format that it is in.

    That of its answer (*wire*), where the body could be in several and names no model.
    """
    as_object(body, "a request body", path)
    found = detect(body)
    is_open = wire in found.candidates and "model" not in body
    fmt = get_format(wire if is_open and wire else found.format)
    envelope: Envelope = fmt.open(body)
    for note in envelope.notes:
        notes.say(note)
    return Session(
        envelope.entries,
        system=envelope.system,
        tools=envelope.tools,
        model=envelope.model,
        wire=envelope.wire or fmt.name,
        is_body=True,
        replace=envelope.replace,
    )


def _answer(record: Mapping[str, Any], path: str, notes: Notes) -> Session:
    if answer_mark(record) is not None:
        return read_answer(record, path, notes)
    for key in ("body", "message"):
        if answer_mark(record.get(key)) is not None:
            return read_answer(record[key], f"{path}.{key}", notes)
    why = record.get("type", record.get("status_code"))
    notes.say(f"there is no answer: {str(why)[:40]}")
    return Session([])


def _get(value: Any, *keys: str) -> str | None:
    """The first text or number under *keys*; none of what is no object."""
    found = [value.get(key) for key in keys] if isinstance(value, dict) else []
    return next((str(one)[:40] for one in found if isinstance(one, (str, int))), None)


def _joined(asked: Session, answered: Session, path: str) -> Session:
    """A request and its answer, in whichever order they stood."""
    if not answered.entries:
        return asked
    if not asked.entries:
        return answered
    if asked.wire != answered.wire:
        reason = f"an answer in {answered.wire} to a request in {asked.wire}"
        raise FormatError(reason, path)
    entries: Sequence[Any] = [*asked.entries, *answered.entries]
    return attrs.evolve(asked, entries=entries)
