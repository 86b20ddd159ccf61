"""Tests for `turnkeep.report.diff`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.paths import needs_corpus, read_corpus
from tests.report.sessions import agent, opened
from turnkeep.report import Diff, diff
from turnkeep.strategies import ClearToolResults, OldestTurns


def compared(before: Any, after: Any, **options: Any) -> Diff:
    left = opened(before, **options).survey()
    return diff(left, opened(after, **options).survey())


def kinds(found: Diff) -> str:
    """One letter a change."""
    return "".join(change.kind[0] for change in found.changes)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("abc", "abc", "sss"),
        ("abcd", "ad", "slls"),
        ("abc", "abcd", "sssn"),
        ("", "a", "n"),
        ("a", "", "l"),
        ("aab", "ab", "lss"),  # of equal texts the later ones stay
        ("abab", "ab", "llss"),
        ("abc", "cab", "mss"),
        ("xay", "yax", "smm"),
    ],
)
def test_says_what_became_of_each(before: str, after: str, expected: str) -> None:
    """Lost where it stood, new and moved where it stands."""
    found = compared(said(*before), said(*after), format_name="openai")

    assert kinds(found) == expected
    assert found.is_empty == (set(expected) <= {"s"})


def test_a_shortened_result_has_changed() -> None:
    """It answers the same call, and says less."""
    body = agent(4)
    strategy = ClearToolResults(keep=2) | OldestTurns()
    window = turnkeep.fit(body, max_tokens=1_100, strategy=strategy)

    found = compared(body, window)

    assert found.of("changed")
    for change in found.of("changed"):
        assert change.tokens_before > change.tokens_after
        assert change.before is not None
        assert found.before.entries[change.before].role == "tool_result"


def test_an_edited_message_keeps_its_id() -> None:
    """With ids of its own a message is followed whatever it says."""
    one = [{"id": "a", "role": "user", "content": "one"}, *said("b")]
    two = [{"id": "a", "role": "user", "content": "two"}, *said("b")]

    assert kinds(compared(one, two, format_name="openai")) == "cs"


def test_formats_may_differ() -> None:
    """The same words in another shape are the same."""
    body = agent(2)[1:]
    other = turnkeep.convert(body, to="anthropic").value

    found = diff(
        opened(body, format_name="openai").survey(),
        opened(other, format_name="anthropic").survey(),
    )

    assert not found.of("new")
    assert not found.of("lost")


@given(
    before=st.text("abcde", max_size=14),
    after=st.text("abcde", max_size=14),
)
def test_every_message_is_always_named_once(before: str, after: str) -> None:
    """Each place of either list in exactly one change; tokens add up."""
    found = compared(said(*before), said(*after), format_name="openai")

    left = [c.before for c in found.changes if c.before is not None]
    right = [c.after for c in found.changes if c.after is not None]
    assert sorted(left) == list(range(len(before)))
    assert right == list(range(len(after)))
    same = [c.before for c in found.of("same")]
    assert same == sorted(c for c in same if c is not None)
    for change in (*found.of("same"), *found.of("moved")):
        assert change.before is not None
        assert change.after is not None
        assert before[change.before] == after[change.after]
    lost = sorted(before[c.before] for c in found.of("lost") if c.before is not None)
    new = sorted(after[c.after] for c in found.of("new") if c.after is not None)
    assert not set(lost) & set(new)


@pytest.mark.corpus
@needs_corpus
def test_agrees_with_the_plan_on_recorded_histories() -> None:
    """What a plan drops is lost, what it edits has changed, what it adds is new."""
    checked = 0
    for record in list(read_corpus("openai"))[::4]:
        body = record["body"]
        request = opened(body, format_name="openai")
        survey = request.survey()
        limit = max(int(survey.total * 0.6), 200)
        plan = turnkeep.plan(
            body, max_tokens=limit, format="openai", on_overflow="send"
        )
        window = opened(plan.apply(body), format_name="openai").survey()

        found = diff(survey, window)

        assert found.after.total == plan.tokens, record["name"]
        lost = sum(change.tokens_before for change in found.of("lost"))
        assert lost == sum(decision.tokens for decision in plan.dropped)
        assert len(found.of("changed")) == len(plan.edited)
        assert len(found.of("new")) == len(plan.inserted)
        checked += bool(plan.dropped)
    assert checked > 50
