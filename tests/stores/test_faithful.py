"""Whatever a store accepts comes back equal; the rest is refused beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.generators import unchecked
from tests.stores.keeping import KINDS, opened, quick_folder
from turnkeep import Conversation, Message, Role, ToolCall
from turnkeep.errors import TurnkeepError
from turnkeep.model import Image, Json, Opaque, Text, Thinking, ToolResult
from turnkeep.stores import CallRecord, Change, Pin, Row, Store

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
EDGE = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))


@pytest.fixture(scope="module", params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store for the whole module."""
    with quick_folder() as folder, opened(request.param, folder) as made:
        yield made


def deep(levels: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


odd_text = st.text(
    st.one_of(st.characters(), st.sampled_from("\0\ud83d\ude00\u2028\x7f\\\"'%?{}")),
    max_size=12,
)
numbers = st.one_of(
    st.integers(),
    st.sampled_from([2**31, 2**53 + 1, 2**63, -(2**64), 10**400, True, -0.0, 1e22]),
    st.floats(),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, odd_text),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)
    ),
    max_leaves=6,
)
wrong = st.sampled_from([5, 2.5, b"x", "x", None, object(), [1], NOON, ""])
objects = st.dictionaries(odd_text, values, max_size=3)


@st.composite
def blocks(draw: st.DrawFn) -> Any:
    """A block, of values that may be of any type."""
    text: Any = draw(st.one_of(odd_text, odd_text, odd_text, wrong))
    number: Any = draw(st.one_of(st.none(), numbers))
    extra: Any = draw(objects)
    match draw(st.integers(0, 6)):
        case 0:
            return Json(draw(values))
        case 1:
            return ToolCall(text, draw(odd_text), draw(st.one_of(objects, odd_text)))
        case 2:
            return ToolResult(text, draw(odd_text), is_error=draw(st.booleans()))
        case 3:
            return Image(data=text, number=number)
        case 4:
            return Thinking(text, signature=draw(odd_text))
        case 5:
            return Opaque(draw(objects), draw(st.sampled_from(["x", "turnkeep"])))
        case _:
            return Text(text, extra=extra)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A message and what stands beside it, right or wrong."""
    fields: dict[str, Any] = {
        "id": draw(st.one_of(odd_text, st.just("msg-1"), wrong)),
        "timestamp": draw(st.sampled_from([None, NOON, EDGE, datetime.max])),  # noqa: DTZ901
        "token_count": draw(st.one_of(st.none(), numbers)),
        "pinned": draw(st.booleans()),
        "pin_scope": draw(st.sampled_from(["turn", "turn", "step", "message", 5])),
        "kind": draw(st.one_of(st.none(), odd_text, wrong)),
        "priority": draw(st.one_of(st.none(), numbers)),
        "metadata": draw(st.one_of(objects, objects, wrong)),
        "extra": draw(objects),
    }
    keys = draw(st.sets(st.sampled_from(sorted(fields)), max_size=4)) | {"id"}
    content = draw(st.one_of(st.lists(blocks(), max_size=3), st.just([])))
    role = draw(st.sampled_from(list(Role)))
    message = Message(role, content, **{key: fields[key] for key in keys})
    count: Any = draw(st.one_of(st.integers(-3, 10), numbers))
    counter = draw(st.one_of(st.none(), odd_text, st.just("c")))
    return Row(message, count, counter)


@settings(
    max_examples=60,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@given(data=st.data())
def test_what_is_accepted_is_read(store: Store, data: Any) -> None:
    """Appended or put in another's place; an error leaves everything as it was."""
    try:
        row = data.draw(rows())
        records = st.builds(
            CallRecord,
            st.just("first"),
            st.one_of(st.just(0), numbers),
            st.one_of(st.none(), odd_text),
            st.sampled_from([None, NOON, datetime(2026, 1, 1), "2026"]),  # noqa: DTZ001
            st.sampled_from([None, NOON, EDGE]),
            waits_for=objects,
        )
        calls = data.draw(st.lists(records, max_size=1))
        state = data.draw(st.one_of(st.just({}), objects, st.builds(_next, numbers)))
        change = Change([row], calls=calls, state=state)
    except (TurnkeepError, TypeError, ValueError, AttributeError):
        return  # no such value can be made in the first place
    first = Message.assistant("", tool_calls=[ToolCall("c", "f")], id="first")
    store.delete("chat")
    version = store.create(
        "chat", Change.of_messages([first, Message.user("", id="u")])
    )
    before = store.read("chat")
    for nth in range(2):
        if nth:
            change = Change(replace=[Row(row.message.evolve(id="u"), row.tokens)])
        try:
            version = store.write("chat", change, expected=version)
        except (TurnkeepError, TypeError, ValueError) as error:
            assert str(error)
            assert store.read("chat") == before
            continue
        found = store.read("chat")
        kept = found.rows[-1 if not nth else 1]
        wanted = change.append[0] if not nth else change.replace[0]
        assert kept.message == wanted.message
        assert (kept.tokens, kept.counter) == (wanted.tokens, wanted.counter)
        if not nth:
            assert list(found.calls) == calls
            assert found.state == {k: v for k, v in state.items() if v is not None}
        assert store.read_tail("chat", messages=9).rows == found.rows
        Conversation.open(store, "chat", model="gpt-4o", budget=None)
        before = found
    assert store.check("chat") == ()


def _next(value: Any) -> dict[str, Any]:
    return {"next_id": value}


@pytest.mark.parametrize(
    "change",
    [
        Change([Row(Message.user("x", id="m"), -2)]),
        Change([Row(Message.user("x", id="m"), 2**40)]),
        Change([Row(Message.user("x", id="m"), 2**63)]),
        Change([Row(Message.user("x", id="m"), True)]),
        Change([Row(Message.user("x", id="m"), 1.0)]),  # type: ignore[arg-type]
        Change([Row(unchecked(Message.user("x", id="m"), token_count=-1))]),
        Change([Row(unchecked(Message.user("x", id="m"), token_count=2**63))]),
        Change([Row(unchecked(Message.user("x", id="m"), priority=math.nan))]),
        Change([Row(Message.user("half \ud83d\ude00", id="m"))]),
        Change([Row(Message.user([unchecked(Text("x"), text=5)], id="m"))]),
        Change(
            [Row(unchecked(Message.user("x", id="m", pinned=True), pin_scope="all"))]
        ),
        Change([Row(unchecked(Message.user("x"), id=5))]),
        Change(pins=[Pin("first", "trun")]),  # type: ignore[arg-type]
        Change(calls=[CallRecord("first", -1)]),
        Change(calls=[CallRecord("first", 2**31)]),
        Change(calls=[CallRecord("first", 0, expires_at=EDGE)]),
        Change(calls=[CallRecord("first", since=datetime(2026, 1, 1))]),  # noqa: DTZ001
        Change(state={"next_id": 2**70}),
        Change(state={"next_id": "7"}),
        Change(state={"half": "\ud83d\ude00"}),
        Change(state={"n": 10**5000}),
    ],
)
def test_what_cannot_be_read_is_refused(store: Store, change: Change) -> None:
    """With one sentence, and nothing is written."""
    first = Message.assistant("", tool_calls=[ToolCall("c", "f")], id="first")
    store.delete("chat")
    store.create("chat", Change.of_messages([first]))
    before = store.read("chat")
    for write in (
        lambda: store.write("chat", change, expected=1),
        lambda: store.update("chat", lambda _: change, since=1),
    ):
        with pytest.raises(TurnkeepError) as caught:
            write()
        assert "\n" not in str(caught.value)
    assert store.read("chat") == before


@pytest.mark.parametrize(
    "message",
    [
        Message.user("lone \ud83d half", id="m"),
        Message.user("nul \0 in it", id="m", kind="\0", metadata={"\0": "\0"}),
        Message.user("literally \\ud83d\\ude00", id="m"),
        Message.user("x", id="m", pin_scope="step"),
        Message.user("x", id="m", priority=-(2**53), metadata={"n": 10**400}),
        Message.tool_result("c", [Json(deep(199))], id="m"),
        Message.assistant("", tool_calls=[ToolCall("\0\ud800", "f\0")], id="m"),
    ],
)
def test_odd_values_are_kept(store: Store, message: Message) -> None:
    """As they came, through pinning, unpinning and compaction."""
    store.delete("chat")
    store.create("chat", Change.of_messages([message]))
    assert store.read("chat").rows[0].message == message
    store.write("chat", Change(pins=[Pin("m", "turn")]), expected=1)
    pinned = message.evolve(pinned=True, pin_scope="turn")
    assert store.read("chat").rows[0].message == pinned
    store.write("chat", Change(pins=[Pin("m", None)]), expected=2)
    store.compact("chat")
    assert store.read("chat").rows[0].message == message.evolve(pin_scope="turn")
    assert store.check("chat") == ()


@pytest.mark.parametrize("query", [None, 5, b"text", ["text"]])
def test_a_search_for_no_text(store: Store, query: Any) -> None:
    """It is refused."""
    with pytest.raises(TypeError, match="what is searched for must be text, not"):
        store.search(query)
    with pytest.raises(TypeError, match="contains must be text, not"):
        store.conversations(contains=query)
    with pytest.raises(TypeError, match="limit must be a whole number"):
        store.search("text", limit="5")  # type: ignore[arg-type]
