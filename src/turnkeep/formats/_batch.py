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

_REQUESTS: Final = ("body", "params")
_ANSWERS: Final = ("response", "result")


def _judge(record: Any) -> Judgement:
    words = _record(record)
    return (NEVER, "no line of a batch") if words is None else (SIGNED, words)


def _record(record: dict[Any, Any]) -> str | None:
    """It has a `custom_id`, a `preferred_output`, or a `body` that stands alone."""
    if not _is_record(record):
        return None
    names = ("custom_id", "preferred_output", "body")
    return f"a line with {next(name for name in names if name in record)!r}"


class Batch(SessionFormat):
    """Lines of batch files and of preference tuning: a request body, wrapped.

    A line of a batch has its request (`body`, `params`) or its answer (`response`,
    `result`); lines that share a `custom_id` are one conversation. A line of preference
    tuning is its input and the output that was preferred.
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
        ids = {str(record.get("custom_id", path) or path) for record, path in named}
        if len(ids) != 1:
            reason = f"lines of {len(ids)} requests: open those of one of them"
            raise FormatError(reason, "$")
        found = Session([])
        for record, path in named:
            found = _joined(found, _of_record(record, path, notes), path)
        if found.entries and not any(map(_has_question, records)):
            notes.say("this is an answer: what was asked is in the file of requests")
        return found


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    if "preferred_output" in record:
        return isinstance(record.get("input"), dict)
    if not isinstance(record.get("custom_id"), str):
        return isinstance(record.get("body"), dict) and "messages" not in record
    return any(key in record for key in (*_REQUESTS, *_ANSWERS))


def _has_question(record: Mapping[str, Any]) -> bool:
    return any(key in record for key in (*_REQUESTS, "preferred_output"))


def _of_record(record: dict[str, Any], path: str, notes: Notes) -> Session:
    for key in _REQUESTS:
        if key in record:
            return _request(record[key], f"{path}.{key}", notes)
    if "preferred_output" in record:
        asked = _request(record.get("input"), f"{path}.input", notes)
        where = f"{path}.preferred_output"
        answer = as_array(record["preferred_output"], "preferred_output", where)
        if record.get("non_preferred_output"):
            notes.left_out("output | the other one was preferred")
        return attrs.evolve(asked, entries=[*asked.entries, *answer])
    for key in _ANSWERS:
        if isinstance(record.get(key), dict):
            return _answer(record[key], f"{path}.{key}", notes)
    error = record.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    notes.say(f"there is no answer: {code or 'nothing is said why'}")
    return Session([])


def _request(body: Any, path: str, notes: Notes) -> Session:
    """The messages of a request body, in the format that it is in."""
    as_object(body, "a request body", path)
    fmt = get_format(detect(body).format)
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
    for key in ("body", "message"):
        if answer_mark(record.get(key)) is not None:
            return read_answer(record[key], f"{path}.{key}", notes)
    why = record.get("type", record.get("status_code"))
    notes.say(f"there is no answer: {str(why)[:40]}")
    return Session([])


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
