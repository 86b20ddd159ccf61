"""What every format promises, checked on all of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generators import (
    EVERYTHING,
    PLAIN,
    attempt,
    decoded,
    histories,
    json_values,
)
from turnkeep.errors import FormatError
from turnkeep.formats import FORMATS, Format, get_format, match_format
from turnkeep.formats._registry import READ_ONLY
from turnkeep.model import Message, Role, Text, ToolCall, ToolResult, same

ALL = [get_format(name) for name in FORMATS]
WRITTEN = [fmt for fmt in ALL if fmt.name not in READ_ONLY]
JSON = [fmt for fmt in WRITTEN if fmt.name != "messages"]

every = pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
every_written = pytest.mark.parametrize("fmt", WRITTEN, ids=lambda fmt: fmt.name)
every_json = pytest.mark.parametrize("fmt", JSON, ids=lambda fmt: fmt.name)


@every
def test_has_the_name_it_is_registered_by(fmt: Format) -> None:
    """So that `get_format(fmt.name)` is the same format."""
    assert get_format(fmt.name) is fmt
    assert isinstance(fmt, Format)


@every_json
@given(history=histories(EVERYTHING))
def test_what_it_wrote_comes_back_equal(
    fmt: Format, history: tuple[Message, ...]
) -> None:
    """Decoding what was encoded, then encoding, gives the equal JSON value."""
    entries = fmt.encode(history)
    plain = json.loads(json.dumps(entries, allow_nan=False))

    again = fmt.encode(decoded(fmt.decode, plain))

    assert same(again, entries)


@every_json
@given(history=histories(EVERYTHING))
def test_never_changes_what_it_reads(fmt: Format, history: tuple[Message, ...]) -> None:
    """Entries and messages stay as they were."""
    entries = fmt.encode(history)
    before = copy.deepcopy(entries)

    fmt.encode(decoded(fmt.decode, entries))

    assert same(entries, before)


@every_json
@given(history=histories(EVERYTHING))
def test_names_its_losses_in_words(fmt: Format, history: tuple[Message, ...]) -> None:
    """Each loss is a sentence for people; what it wrote itself, it loses nothing of."""
    for message in history:
        assert all(fmt.losses(message))
    for message in decoded(fmt.decode, fmt.encode(history)):
        if message == Message(message.role, message.content, extra=message.extra):
            assert fmt.losses(message) == []


@every_written
@given(history=histories(EVERYTHING))
def test_writes_requests(fmt: Format, history: tuple[Message, ...]) -> None:
    """A request body is JSON, and holds the tools as they were given."""
    tools = [{"name": "a tool"}]

    body = fmt.encode_request(history, tools)

    assert isinstance(body, dict)
    if fmt.name != "messages":
        assert "a tool" in json.dumps(body)


@every
@given(value=json_values | st.lists(json_values))
def test_detection_never_raises(fmt: Format, value: Any) -> None:
    """Any JSON value has a score and a reason."""
    match = match_format(value, fmt.name)

    assert match.score >= 0
    assert match.reason


@every
@pytest.mark.parametrize("value", [None, 1, True, "text", 1.5])
def test_refuses_to_open_what_is_no_list(fmt: Format, value: Any) -> None:
    """Scalars are neither a list nor a body; the error says where."""
    with pytest.raises(FormatError) as caught:
        fmt.open(value)

    assert caught.value.path.startswith("$")


@every
@given(entry=json_values)
def test_an_entry_is_read_or_refused_with_its_path(fmt: Format, entry: Any) -> None:
    """Nothing but `FormatError`, and its path starts where the entry is."""
    found = attempt(fmt.decode, entry, "$.here[7]")

    if isinstance(found, FormatError):
        assert found.path.startswith("$.here[7]")
    elif fmt.name not in READ_ONLY:
        assert same(fmt.encode(found), [entry])


@every_json
@pytest.mark.parametrize("count", [300, 100_000])
def test_refuses_deep_nesting(fmt: Format, count: int) -> None:
    """Any depth gives one error; the interpreter's stack is never at risk."""
    deep: Any = "bottom"
    for _ in range(count):
        deep = [deep]
    entries = fmt.encode([Message.user("hi")])
    entry = {**entries[0], "unheard_of": deep} if isinstance(entries[0], dict) else deep

    with pytest.raises(FormatError) as caught:
        fmt.decode(entry, "$[0]")

    assert caught.value.path.startswith("$[0]")


@attrs.define
class _Made:
    """A call, and what has become of it."""

    number: int
    call: ToolCall
    state: str = "unanswered"


class Told:
    """What a history says, whatever its shape: the measure of a conversion.

    Texts of an unbroken run of one side are joined and come before its calls, because
    formats keep them so; results of one run are in the order of their calls.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.waiting: list[list[_Made]] = []
        self.count = 0
        for side, run in groupby(messages, _side):
            said: list[str] = []
            called: list[tuple[Any, ...]] = []
            answered: list[tuple[Any, ...]] = []
            for message in run:
                said += [
                    b.text for b in message.content if isinstance(b, Text) and b.text
                ]
                called += self._called(message)
                answered += [self._answer(r) for r in message.tool_results]
            if said:
                self.events.append((side, "\n".join(said)))
            self.events += called + sorted(answered)

    def _called(self, message: Message) -> list[tuple[Any, ...]]:
        made: list[_Made] = []
        for call in message.tool_calls:
            self.count += 1
            made.append(_Made(self.count, call))
        if made:
            self.waiting.append(made)
        return [("call", m.number, m.call.name, m.call.arguments) for m in made]

    def _answer(self, result: ToolResult) -> tuple[Any, ...]:
        """The number of the call that *result* answers: the nearest open one."""
        flags = (result.is_error, result.pending, result.interim)
        for state in ("unanswered", "waiting"):
            for calls in reversed(self.waiting):
                for made in calls:
                    if made.state == state and _fits(result, made.call):
                        made.state = "answered" if result.final else "waiting"
                        return ("result", made.number, result.text, flags)
        return ("result", 0, result.text, flags)


def _side(message: Message) -> str:
    if message.tool_results:
        return "results"
    return "assistant" if message.role is Role.TOOL_CALL else message.role.value


def _fits(result: ToolResult, call: ToolCall) -> bool:
    if result.tool_call_id is None:
        return result.tool_name == call.name
    return result.tool_call_id == call.id


MODERATE = attrs.evolve(PLAIN, thinking=True, errors=True, open_calls=True)
PENDING = attrs.evolve(PLAIN, pending=True)
REUSED = attrs.evolve(PLAIN, errors=True, reused_ids=True)


@pytest.mark.parametrize("first", JSON, ids=lambda fmt: fmt.name)
@settings(max_examples=10)
@given(data=st.data())
def test_moves_between_every_two_formats(first: Format, data: st.DataObject) -> None:
    """Texts, calls, results, order and pairing survive what both say they can carry."""
    menu = data.draw(st.sampled_from([PLAIN, MODERATE, PENDING, REUSED]))
    history = data.draw(histories(menu, most=5))
    start = decoded(first.decode, first.encode(history))
    for second in JSON:
        if any(second.losses(message) for message in start):
            continue

        there = decoded(second.decode, second.encode(start))

        assert Told(there).events == Told(start).events, second.name
