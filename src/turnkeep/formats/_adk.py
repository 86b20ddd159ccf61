from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes, counted_ids
from ._sessions._values import kind_of
from ._shape import as_array, as_object, json_type, wrong

NAME: Final = "adk"

_CALL: Final = "functionCall"
_ANSWER: Final = "functionResponse"
_ASKING: Final = frozenset({"adk_request_confirmation", "adk_request_credential"})
"""Calls with which the framework asks a person; the model never sees them."""


def _line(event: dict[Any, Any]) -> str | None:
    """An event has an `author` and an `invocationId`, in either spelling."""
    is_event = isinstance(event.get("author"), str)
    if not is_event or _get(event, "invocationId") is None:
        return None
    return "an event with an author and an invocation"


def _file(value: dict[Any, Any]) -> str | None:
    """`events` that are such, or none of them in a session of an app's user."""
    events = value.get("events")
    if not isinstance(events, (list, tuple)):
        return None
    for event in events[:20]:
        if isinstance(event, dict) and (found := _line(event)) is not None:
            return found
    owners = (_get(value, "appName"), _get(value, "userId"))
    return "the events of an app's user" if not events and all(owners) else None


class Adk(SessionFormat):
    """Sessions of Google's Agent Development Kit: events with Gemini contents.

    A rewind voids what stands between it and the invocation that it names, a compaction
    replaces a span of time, and a later result of a call its first one. Results are
    given right behind their calls, as the framework sends them; the newest stays last.
    """

    name = NAME
    marks = marks_of(_line, _file)
    wire = "gemini"
    files = "the session as the API gives it, or a list of its events"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        path = "$"
        if isinstance(value, dict):
            value, path = value.get("events"), "$.events"
        elif not isinstance(value, (list, tuple)):
            reason = f"expected a session or its events, got {json_type(value)}"
            raise FormatError(reason, path)
        events = [
            _Event(
                as_object(event, "an event", f"{path}[{nth}]"), nth, f"{path}[{nth}]"
            )
            for nth, event in enumerate(as_array(value, "events", path))
        ]
        events = _compacted(_rewound(events, notes), notes)
        authors = {e.author for e in events if e.author not in ("", "user")}
        if len(authors) > 1:
            notes.say(f"the words of {len(authors)} agents are given as one agent's")
        contents = _gathered(list(_contents(events, notes)))
        _note_halves(contents, notes)
        return Session(contents)


def _get(event: Mapping[str, Any], name: str) -> Any:
    """The value of *name*, in camelCase or snake_case."""
    if name in event:
        return event[name]
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    return event.get(snake)


class _Event:
    """One event, whatever its spelling."""

    def __init__(self, event: dict[str, Any], nth: int, path: str) -> None:
        self.nth = nth
        self.path = path
        self.invocation = _get(event, "invocationId")
        self.author = kind_of(event, "author")
        self.partial = event.get("partial") is True
        self.content = event.get("content")
        when = event.get("timestamp")
        self.when = when if isinstance(when, (int, float)) else None
        actions = event.get("actions")
        actions = actions if isinstance(actions, dict) else {}
        self.rewind = _get(actions, "rewindBeforeInvocationId")
        compaction = actions.get("compaction")
        self.compaction = compaction if isinstance(compaction, dict) else None
        running = _get(event, "longRunningToolIds")
        found = running if isinstance(running, (list, tuple)) else ()
        self.running = frozenset(i for i in found if isinstance(i, str))


def _rewound(events: Sequence[_Event], notes: Notes) -> list[_Event]:
    """Without what rewinds voided: the newest one decides first."""
    kept: list[_Event] = []
    first: dict[Any, int] = {}
    for nth, event in enumerate(events):
        if isinstance(event.invocation, str):
            first.setdefault(event.invocation, nth)
    nth = len(events) - 1
    while nth >= 0:
        event = events[nth]
        if isinstance(event.rewind, str):
            start = min(first.get(event.rewind, nth), nth)
            notes.left_out("event | taken back by a rewind", nth - start + 1)
            nth = start
        else:
            kept.append(event)
        nth -= 1
    kept.reverse()
    return kept


def _compacted(events: Sequence[_Event], notes: Notes) -> list[_Event]:
    """With each compaction in place of the events whose time it covers.

    One that covers the span of another one holds what that one held.
    """
    spans = [_Span.of(event) for event in events if event.compaction is not None]
    spans = [span for span in spans if not any(o.covers(span) for o in spans)]
    made: list[_Event] = []
    placed: list[_Span] = []
    for event in events:
        span = next((s for s in spans if s.holds(event)), None)
        if span is None:
            if event.compaction is None:
                made.append(event)
            continue
        if span not in placed:
            placed.append(span)
            made.append(span.event)
        if event.compaction is None:
            notes.left_out("event | replaced by a compaction")
    return made


@attrs.frozen(eq=False)
class _Span:
    """A compaction and the time that it covers."""

    event: _Event
    start: float
    end: float

    @classmethod
    def of(cls, event: _Event) -> _Span:
        path = f"{event.path}.actions.compaction"
        found = event.compaction or {}
        times = [_get(found, "startTimestamp"), _get(found, "endTimestamp")]
        for name, time in zip(("startTimestamp", "endTimestamp"), times, strict=True):
            if isinstance(time, bool) or not isinstance(time, (int, float)):
                raise wrong(name, "a number", time, f"{path}.{name}")
        return cls(event, *times)

    def holds(self, event: _Event) -> bool:
        if event.compaction is not None:
            return event is self.event
        return event.when is not None and self.start <= event.when <= self.end

    def covers(self, other: _Span) -> bool:
        """Whether *other* is done with: a wider one, or a later one of that width."""
        if self is other or not (self.start <= other.start and other.end <= self.end):
            return False
        same = (self.start, self.end) == (other.start, other.end)
        return not same or self.event.nth > other.event.nth


def _contents(events: Sequence[_Event], notes: Notes) -> Iterator[dict[str, Any]]:
    """What the model is sent, each answer of a long-running call once."""
    latest = _latest(events)
    running: set[str] = set()
    asking: set[str] = set()
    interim: list[str] = []
    for event in events:
        if event.partial:
            notes.left_out("event | a part of one that follows")
            continue
        path = f"{event.path}.content"
        content = event.content
        if event.compaction is not None:
            path = f"{event.path}.actions.compaction.compactedContent"
            content = _get(event.compaction, "compactedContent")
        if content is None:
            continue
        as_object(content, "the content", path)
        running |= event.running
        kept: list[Any] = []
        parts = as_array(content.get("parts") or (), "parts", f"{path}.parts")
        for nth, part in enumerate(parts):
            as_object(part, "a part", f"{path}.parts[{nth}]")
            call, answer = _get(part, "functionCall"), _get(part, "functionResponse")
            asks = isinstance(call, dict) and kind_of(call, "name") in _ASKING
            if asks:
                asking.add(str(call.get("id")))
            if asks or (isinstance(answer, dict) and str(answer.get("id")) in asking):
                notes.left_out("part | an approval that only the framework reads")
                continue
            call_id = answer.get("id") if isinstance(answer, dict) else None
            if isinstance(call_id, str) and call_id in latest:
                if latest[call_id] is not part:
                    notes.left_out("interim answer | the last one counts")
                    continue
                if event.author != "user" and call_id in running:
                    interim.append(call_id)
            kept.append(part)
        if kept:
            yield {**content, "parts": kept}
    if interim:
        notes.say(
            f"answers of long-running calls, maybe interim: {counted_ids(interim)}"
        )


def _latest(events: Sequence[_Event]) -> dict[str, Any]:
    """The last answer of each call, where its id is that of one call alone."""
    contents = [e.content for e in events if isinstance(e.content, dict)]
    calls = Counter(i for content in contents for i, _ in _halves(content, _CALL))
    return {
        call_id: part
        for content in contents
        for call_id, part in _halves(content, _ANSWER)
        if calls[call_id] == 1
    }


def _halves(content: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """The calls, or the answers, of a content that have an id."""
    parts = content.get("parts")
    for part in parts if isinstance(parts, (list, tuple)) else ():
        half = _get(part, name) if isinstance(part, dict) else None
        if isinstance(half, dict) and isinstance(half.get("id"), str):
            yield half["id"], part


def _gathered(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """*contents*, with the answers of each call in one content right behind it.

    Save for those of the last content, which the model has not read. Answers that stand
    there already stay as they are.
    """
    places: dict[str, tuple[int, Any]] = {}
    for nth, content in enumerate(contents[:-1]):
        places.update((i, (nth, part)) for i, part in _halves(content, _ANSWER))
    calls = Counter(i for content in contents for i, _ in _halves(content, _CALL))
    moved: dict[int, list[Any]] = {}
    gone: set[int] = set()
    for nth, content in enumerate(contents):
        ours = [places[i] for i, _ in _halves(content, _CALL) if i in places]
        is_single = all(calls[i] == 1 for i, _ in _halves(content, _CALL))
        if is_single and any(place != nth + 1 for place, _ in ours):
            moved[nth] = [part for _, part in ours]
            gone.update(id(part) for _, part in ours)
    made: list[dict[str, Any]] = []
    for nth, content in enumerate(contents):
        parts = [part for part in content["parts"] if id(part) not in gone]
        if len(parts) == len(content["parts"]):
            made.append(content)
        elif parts:
            made.append({**content, "parts": parts})
        if nth in moved:
            made.append({"role": "user", "parts": moved[nth]})
    return made


def _note_halves(contents: Sequence[dict[str, Any]], notes: Notes) -> None:
    """Say which calls and answers are without the other half."""
    calls = dict.fromkeys(i for c in contents for i, _ in _halves(c, _CALL))
    answers = dict.fromkeys(i for c in contents for i, _ in _halves(c, _ANSWER))
    if unanswered := [i for i in calls if i not in answers]:
        notes.say(f"calls without a result: {counted_ids(unanswered)}")
    if orphans := [i for i in answers if i not in calls]:
        notes.say(f"results without a call: {counted_ids(orphans)}")
