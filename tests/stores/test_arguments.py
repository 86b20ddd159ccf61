"""Arguments at and beyond their bounds: every store says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.keeping import KINDS, opened
from turnkeep import Message
from turnkeep.errors import ConflictError, FormatError
from turnkeep.stores import CallRecord, Change, Row, Store

HUGE = 2**70
"""More than a database's number holds."""


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with a conversation of three messages, at version 2."""
    with opened(request.param, tmp_path) as made:
        made.create("chat", said("m1", "m2"))
        made.write("chat", said("m3"), expected=1)
        made.create("other")
        yield made


def said(*names: str) -> Change:
    """A change that appends messages."""
    return Change.of_messages([Message.user("a text", id=name) for name in names])


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (3, 3), (HUGE, 3)])
def test_as_many_hits_as_were_asked_for(store: Store, limit: int, found: int) -> None:
    """Of one conversation and of all; none is none."""
    assert len(store.search("text", limit=limit)) == found
    assert len(store.search("text", conversation_id="chat", limit=limit)) == found


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (HUGE, 2), (None, 2)])
def test_as_many_conversations_as_were_asked_for(
    store: Store, limit: int | None, found: int
) -> None:
    """None is none."""
    assert len(store.conversations(limit=limit)) == found


def test_fewer_than_none_is_refused(store: Store) -> None:
    """The number is in the error."""
    with pytest.raises(ValueError, match="0 or more, not -1"):
        store.search("text", limit=-1)
    with pytest.raises(ValueError, match="0 or more, not -3"):
        store.conversations(limit=-3)


@pytest.mark.parametrize("expected", [HUGE, 3, 1, 0, -1, -HUGE])
def test_a_version_that_is_not_there(store: Store, expected: int) -> None:
    """It conflicts, however far off it is."""
    for change in (said("m4"), Change(remove=["m1"])):
        with pytest.raises(ConflictError) as caught:
            store.write("chat", change, expected=expected)
        assert (caught.value.expected, caught.value.actual) == (expected, 2)
    assert store.read_since("chat", expected).version == 2


@pytest.mark.parametrize("odd", ["\0", "cha\0t", "\ud800", "x" * 501])
def test_a_part_that_no_id_has(store: Store, odd: str) -> None:
    """It is in none."""
    assert store.conversations(contains=odd) == ()


@pytest.mark.parametrize("odd", ["\0", "a\ud800"])
@pytest.mark.parametrize(
    "change",
    [
        lambda odd: Change([Row(Message.user("x", id="m4"), 1, odd)]),
        lambda odd: Change(replace=[Row(Message.user("x", id="m1"), 1, odd)]),
        lambda odd: Change(calls=[CallRecord("m1", 0, odd)]),
    ],
    ids=["append", "replace", "calls"],
)
def test_names_that_no_database_keeps(
    store: Store, change: Callable[[str], Change], odd: str
) -> None:
    """They are refused, and nothing is written."""
    with pytest.raises(FormatError, match="no NUL and no lone surrogate"):
        store.write("chat", change(odd), expected=2)
    with pytest.raises(FormatError, match="no NUL and no lone surrogate"):
        store.update("chat", lambda _: change(odd), since=2)
    assert store.read("chat").version == 2
    assert store.check() == ()


def test_a_closed_store_says_so(store: Store) -> None:
    """Closing twice is fine."""
    for _ in range(2):
        store.close()
    for use in (
        lambda: store.read("chat"),
        lambda: store.write("chat", said("m4"), expected=2),
        lambda: store.create("third"),
        lambda: store.search("text"),
        store.conversations,
        lambda: store.delete("chat"),
        store.check,
    ):
        with pytest.raises(ValueError, match="is closed"):
            use()
