"""Tests for the strategies that rank whole turns: by size, priority, place and age."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.views import decide, gone, sized, tool, turns
from turnkeep import BudgetExceededError, Message, NaiveTimestampError
from turnkeep.strategies import (
    ClearToolResults,
    KeepEnds,
    KeepRecent,
    LargestFirst,
    LowestPriority,
    OlderThan,
    OldestSteps,
    OldestTurns,
)

START = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


def test_the_largest_goes_first_the_older_on_a_tie() -> None:
    history = turns(5, 9, 9, 2)

    assert gone(history, 16, LargestFirst()) == ["u1"]
    assert gone(history, 8, LargestFirst()) == ["u1", "u2"]


def test_the_largest_steps_of_a_long_loop_go_when_turns_do_not_do() -> None:
    history = [
        *turns(4),
        *tool("a", sized(30)),
        *tool("b", sized(60)),
        *tool("c", sized(2)),
    ]

    assert gone(history, 50, LargestFirst()) == ["a-b", "r-b"]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 99))
def test_largest_first_always_drops_the_fewest(sizes: list[int], tokens: int) -> None:
    """One turn fewer would not do; checked against every such subset."""
    history = turns(*sizes)
    try:
        made = decide(history, tokens, LargestFirst())
    except BudgetExceededError:
        assert sizes[-1] > tokens
        return

    dropped = len(made.dropped)
    for fewer in combinations(sizes[:-1], max(dropped - 1, 0)):
        assert not dropped or sum(sizes) - sum(fewer) > tokens


@given(
    st.lists(
        st.lists(st.integers(1, 9), min_size=1, max_size=3), min_size=1, max_size=7
    ),
    st.integers(1, 60),
)
def test_oldest_turns_always_equals_the_oracle(
    sizes: list[list[int]], tokens: int
) -> None:
    """The fewest of the oldest turns, or an error when the last one does not fit."""
    history = [
        Message.user(sized(size), id=f"t{nth}")
        if not at
        else Message.assistant(sized(size))
        for nth, turn in enumerate(sizes)
        for at, size in enumerate(turn)
    ]
    sums = [sum(turn) for turn in sizes]
    oracle = next((n for n in range(len(sums)) if sum(sums[n:]) <= tokens), len(sums))

    if oracle == len(sums):
        with pytest.raises(BudgetExceededError):
            decide(history, tokens, OldestTurns())
    else:
        made = decide(history, tokens, OldestTurns())
        assert made.tokens == sum(sums[oracle:])
        assert len(made.dropped) == sum(map(len, sizes[:oracle]))


def test_the_least_important_goes_first_the_older_among_equals() -> None:
    history = [
        Message.user(sized(5), id="low", priority=90),
        Message.user(sized(5), id="unset"),
        Message.user(sized(5), id="high", priority=0),
        Message.user(sized(5), id="low too", priority=90),
        Message.user(sized(5), id="now", priority=255),
    ]

    assert gone(history, 20, LowestPriority()) == ["low"]
    assert gone(history, 10, LowestPriority()) == ["low", "unset", "low too"]
    assert gone(history, 20, LowestPriority(default=99)) == ["unset"]


def test_a_turn_is_as_important_as_its_most_important_message() -> None:
    history = [
        Message.user(sized(5), id="q", priority=90),
        Message.assistant(sized(5), id="a", priority=1),
        Message.user(sized(5), id="q2", priority=50),
        Message.user(sized(5), id="now"),
    ]

    assert gone(history, 15, LowestPriority()) == ["q2"]


def test_priorities_rank_the_steps_of_a_long_loop() -> None:
    history = [
        *turns(3),
        Message.assistant(sized(9), id="keep", priority=1),
        Message.system("s", id="s"),
        Message.assistant(sized(9), id="drop", priority=90),
        Message.system("s", id="s2"),
        Message.assistant(sized(9), id="last"),
    ]

    assert gone(history, 25, LowestPriority()) == ["drop"]


@pytest.mark.parametrize("bad", [-1, 1.5, "high", True])
def test_a_default_priority_is_a_whole_number(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="default"):
        LowestPriority(bad)


def test_the_middle_goes_oldest_first() -> None:
    history = turns(5, 5, 5, 5, 5, 5)

    assert gone(history, 25, KeepEnds(1, 2)) == ["u1"]
    assert gone(history, 16, KeepEnds(1, 2)) == ["u1", "u2", "u3"]


def test_ends_stay_at_any_price() -> None:
    with pytest.raises(BudgetExceededError, match="u0"):
        decide(turns(50, 5, 5, 5), 30, KeepEnds(1, 2))


def test_system_text_at_the_top_does_not_count_as_a_first_turn() -> None:
    history = [Message.system("s", id="s"), *turns(5, 5, 5, 5)]

    assert gone(history, 16, KeepEnds(1, 1)) == ["u1"]


def test_what_the_model_says_first_is_a_first_turn() -> None:
    history = [Message.assistant("hello", id="a"), *turns(5, 5, 5)]

    assert gone(history, 13, KeepEnds(1, 1)) == ["u0"]
    assert gone([], 10, KeepEnds(1, 1)) == []


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (0, 0), (1.5, 1), (1, True)])
def test_ends_are_whole_numbers(first: Any, last: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"first|last"):
        KeepEnds(first, last)


def dated(*minutes: int | None) -> list[Message]:
    """One turn for each time stamp."""
    return [
        Message.user(
            sized(5),
            id=f"u{nth}",
            timestamp=None if m is None else START + timedelta(minutes=m),
        )
        for nth, m in enumerate(minutes)
    ]


def test_age_is_measured_from_the_newest_time_stamp() -> None:
    history = dated(0, None, 50, 60, 61)

    assert gone(history, 20, OlderThan(timedelta(minutes=10))) == ["u0"]
    assert gone(history, 15, OlderThan(timedelta(minutes=10)) | OldestTurns()) == [
        "u0",
        "u2",
    ]
    assert gone(history, 20, OlderThan(timedelta(minutes=11), now=None)) == ["u0"]


def test_age_is_measured_from_a_given_time() -> None:
    history = dated(0, 50, 60, 61)
    later = START + timedelta(hours=5)

    assert gone(history, 10, OlderThan(timedelta(minutes=10), now=later)) == [
        "u0",
        "u1",
    ]


def test_without_time_stamps_nothing_is_too_old() -> None:
    with pytest.raises(BudgetExceededError, match="not_offered"):
        decide(dated(None, None), 5, OlderThan(timedelta(minutes=1)))


@pytest.mark.parametrize("bad", [timedelta(0), timedelta(-1), 60, None])
def test_an_age_is_positive(bad: Any) -> None:
    with pytest.raises(ValueError, match="age must be a positive"):
        OlderThan(bad)


def test_now_has_a_time_zone() -> None:
    naive = START.replace(tzinfo=None)

    with pytest.raises(NaiveTimestampError):
        OlderThan(timedelta(minutes=1), now=naive)


def test_the_newest_share_is_out_of_reach() -> None:
    """The rest would drop the largest, which is recent."""
    history = turns(10, 10, 10, 30, 5)

    assert gone(history, 55, LargestFirst()) == ["u3"]
    assert gone(history, 55, KeepRecent(0.7, rest=LargestFirst())) == ["u0"]


def test_the_reserve_goes_when_nothing_else_will_do() -> None:
    history = [*turns(5), *tool("a", sized(9)), *tool("b", sized(9)), *tool("c", "")]

    assert gone(history, 20, KeepRecent(0.99, rest=KeepEnds(1, 1))) == ["a-b", "r-b"]


def test_without_a_rest_the_oldest_go_first() -> None:
    history = [*turns(5, 5), *tool("a", sized(9)), *tool("b", sized(9)), *tool("c", "")]

    assert gone(history, 20, KeepRecent(0.1)) == ["u0", "a-a", "r-a"]
    assert gone(history[1:], 20, KeepRecent(0.1)) == ["a-a", "r-a"]


def test_a_turn_across_the_border_keeps_its_question_and_what_is_recent() -> None:
    history = [
        *turns(2),
        *tool("a", sized(10)),
        *tool("b", sized(10)),
        Message.user("now", id="now"),
    ]

    assert gone(history, 20, KeepRecent(0.8, rest=OldestTurns())) == ["a-a", "r-a"]


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.1, "half", True])
def test_a_reserve_is_a_share(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="share"):
        KeepRecent(bad)


def test_steps_that_a_strategy_offers_within_the_reserve_stay() -> None:
    history = [*turns(2), *tool("a", sized(10)), *tool("b", sized(10)), *tool("c", "")]

    assert gone(history, 20, KeepRecent(0.7, rest=OldestSteps())) == ["a-a", "r-a"]


def test_edits_that_do_not_drop_pass_through() -> None:
    history = [*turns(2), *tool("a", sized(60)), *tool("b", sized(9)), *tool("c", "")]

    made = decide(history, 50, KeepRecent(0.3, rest=ClearToolResults(1)))

    assert list(made.edited.ids) == ["r-a"]
    assert not made.dropped
