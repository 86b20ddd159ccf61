"""Tests for `turnkeep.strategies.Relevance`: what it reads, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.views import decide, gone, sized, tool
from turnkeep import Message, StrategyError
from turnkeep.index import HistoryView
from turnkeep.strategies import Relevance, Strategy
from turnkeep.strategies._around import best_of, sessions_of, with_surroundings
from turnkeep.strategies._bm25 import WordIndex
from turnkeep.strategies._dates import dates_in, month_named, terms_of_date
from turnkeep.strategies._words import terms_in

AT = datetime(2026, 5, 3, 9, tzinfo=UTC)


def topics(*said: str) -> list[Message]:
    """One turn a text, each 20 tokens."""
    return [Message.user(f"{text} {'-' * 76}"[:76], id=text) for text in said]


def kept(
    history: Sequence[Message], tokens: int, strategy: Strategy | None = None
) -> list[str]:
    """Ids of what stays."""
    return list(decide(history, tokens, strategy or Relevance()).kept.ids)


def test_the_least_relevant_goes_first() -> None:
    history = topics("ship", "sand", "fish", "tree", "cloud", "stone", "ship again")

    assert kept(history, 40) == ["ship", "ship again"]
    assert kept(history, 60) == ["ship", "sand", "ship again"]
    assert kept(history, 80) == ["ship", "sand", "fish", "ship again"]


def test_a_query_replaces_the_question() -> None:
    history = topics("fish", "ship", "tree", "cloud", "now")

    assert "tree" in kept(history, 60, Relevance("trees"))
    assert "fish" in kept(history, 60, Relevance("fish"))


def test_a_query_may_be_made_of_the_history() -> None:
    history = topics("fish", "ship", "tree", "cloud", "now")

    def first(view: HistoryView) -> str:
        return view.messages[0].text

    assert kept(history, 40, Relevance(first)) == ["fish", "now"]


@pytest.mark.parametrize("made", [None, 3, b"fish"])
def test_what_a_query_makes_must_be_a_text(made: object) -> None:
    wrong: Any = lambda _: made  # noqa: E731 - one place
    with pytest.raises(StrategyError, match=r"must return a text"):
        kept(topics("a", "b", "c"), 40, Relevance(wrong))


def test_a_query_or_scorer_of_another_type_is_refused() -> None:
    number: Any = 3
    name: Any = "bm25"
    with pytest.raises(TypeError, match=r"query must be .* not 3"):
        Relevance(number)
    with pytest.raises(TypeError, match=r"scorer must be .* not 'bm25'"):
        Relevance(scorer=name)


def test_anyones_scorer_ranks() -> None:
    history = topics("aaa", "a", "aaaa", "aa", "now")
    asked: list[str] = []

    def most_letters(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(query)
        return [text.count("a") for text in texts]

    assert kept(history, 60, Relevance(scorer=most_letters)) == ["aaa", "aaaa", "now"]
    assert asked[0].startswith("now")
    kept(history, 60, Relevance("letters", scorer=most_letters))
    assert asked[-1] == "letters"


@pytest.mark.parametrize("scores", [[], [1.0], [float("nan")] * 3, [float("inf")] * 3])
def test_a_scorer_gives_a_finite_number_for_each_text(scores: list[float]) -> None:
    with pytest.raises(StrategyError, match=r"a finite number for each of 3 texts"):
        kept(topics("a", "b", "c"), 40, Relevance(scorer=lambda *_: scores))


def test_without_a_question_the_oldest_goes_first() -> None:
    history = [
        Message.system("s", id="s"),
        *tool("a", sized(9)),
        *tool("b", sized(9)),
        *tool("c", ""),
    ]

    assert gone(history, 20, Relevance()) == ["a-a", "r-a"]


def test_who_speaks_tells_two_people_apart() -> None:
    """Each of them says half of the messages; their names still count."""
    said = [
        Message.user(
            f"likes music {'-' * 64}"[:76], id=f"{name}{n}", extra={"name": name}
        )
        for n in range(6)
        for name in ("Ilva", "Torben")
    ]
    asked = Message.user("Which music does Torben like?" + "-" * 40, id="asked")

    left = kept([*said, asked], 140)

    assert {name[:6] for name in left} == {"Torben", "asked"}


@pytest.mark.parametrize(
    "asked",
    ["3 May 2026", "May 3rd", "the 3rd of May", "2026-05-03", "3/5/2026", "5/3/26"],
)
def test_a_date_is_found_in_every_usual_spelling(asked: str) -> None:
    days = [
        Message.user(
            f"day {n} {'-' * 76}"[:76], id=str(n), timestamp=AT + timedelta(days=n - 9)
        )
        for n in range(20)
    ]
    question = Message.user(f"what was on {asked}? {'-' * 76}"[:76], id="asked")

    assert kept([*days, question], 40) == ["9", "asked"]


def test_full_and_short_names_of_months_are_one_word() -> None:
    names = ("January", "Jan", "jan.", "SEPT", "Sep", "september")

    found = [next(terms_in(name)) for name in names]

    assert found == ["january"] * 3 + ["september"] * 3
    assert month_named("mart") is None


def test_dates_that_are_none_are_no_dates() -> None:
    for text in ("2026-13-40", "99/99/2026", "32 May", "may contain 0", "v1.2.3"):
        assert not [term for term in dates_in(text) if "-" in term]


@given(st.dates(date(1990, 1, 1), date(2060, 1, 1)))
def test_a_day_always_has_the_same_terms(when: date) -> None:
    wanted = set(terms_of_date(when.month, when.day, when.year))
    for text in (
        f"{when:%Y-%m-%d}",
        f"{when:%B} {when.day}, {when.year}",
        f"{when.day} {when:%b} {when.year}",
        f"{when.day}/{when.month}/{when.year}",
        f"{when.month}/{when.day}/{when.year}",
    ):
        assert wanted <= set(terms_in(text))


def test_neighbours_get_a_share_that_halves_with_distance() -> None:
    got = with_surroundings([0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0], [range(7)])

    assert got == [0.0, 2.0, 4.0, 8.0, 4.0, 2.0, 0.0]
    assert with_surroundings([], [range(0)]) == []


def test_a_session_ends_what_neighbours_share_and_has_a_score_of_its_own() -> None:
    got = with_surroundings([0.0, 3.0, 0.0, 0.0], sessions_of([2], 4))

    # A fifth of the mean of its three best: 3 / 3 / 5.
    assert got == [pytest.approx(1.7), pytest.approx(3.2), 0.0, 0.0]


def test_steps_with_calls_get_half_of_the_better_one_beside_them() -> None:
    """And give nothing to what has none."""
    scores = [0.0, 4.0, 0.0, 2.0]

    assert with_surroundings(scores, [range(4)], apart={1}) == [0.0, 4.0, 1.0, 2.0]
    assert with_surroundings(scores, [range(4)], apart={2}) == [2.0, 4.5, 2.0, 3.0]
    assert with_surroundings([2.0], [range(1)], apart={0}) == [2.0]


def test_only_what_scores_is_among_the_best() -> None:
    assert best_of([0.0, 1.0, 3.0, 1.0, 2.0], range(5)) == [2, 4, 1]
    assert best_of([0.0, -1.0], range(2)) == []


def test_a_session_ends_where_an_hour_passes() -> None:
    index = WordIndex()
    for minutes in (0, 59, 119, 180, 170):
        index.add(Message.user("hi", timestamp=AT + timedelta(minutes=minutes)))
    index.add(Message.user("no time"))
    index.add(Message.user("late", timestamp=AT + timedelta(minutes=300)))

    assert index.breaks == [3, 6]


def test_what_the_best_steps_say_finds_more_of_it() -> None:
    """The question says "boat"; its best step calls it a ketch, as another one does."""
    history = topics(
        "boat ketch", "p q", "r s", "t u", "v w", "ketch mast", "x y", "z b", "my boat"
    )

    assert "ketch mast" in kept(history, 100)


def test_the_newest_steps_of_a_tool_loop_go_last() -> None:
    """Whatever they say; with anyone's scores too."""
    history = [Message.user("about whales" + sized(5), id="u")]
    for nth in range(10):
        history += tool(str(nth), ("whales " if nth < 5 else "stones ") + sized(17))
    last = [*tool("now", "ok")]

    for strategy in (
        Relevance("whales"),
        Relevance(scorer=lambda _, texts: [t.count("whales") for t in texts]),
    ):
        left = kept([*history, *last], 110, strategy)

        assert {"r-9", "r-now"} <= set(left)
        assert "r-5" not in left
        assert "r-0" in left or "r-4" in left
