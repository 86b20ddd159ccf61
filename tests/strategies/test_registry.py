"""Tests for strategies by name, composition, and the rules of when to cut."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.views import turns, window
from turnkeep import Prices, StrategyError, strategies
from turnkeep.plans import Drop, Edit
from turnkeep.strategies import (
    DEFAULT,
    Alternating,
    ClearToolResults,
    Digest,
    KeepRecent,
    LeastRecentlyReferenced,
    OlderThan,
    OldestSteps,
    OldestTurns,
    Relevance,
    Strategy,
    StripImages,
    Then,
    TruncateToolResults,
    by_name,
    names,
)
from turnkeep.strategies._registry import _MIXES, _OURS
from turnkeep.strategies._when import Excess, best_trigger, clear_at_least


@pytest.mark.parametrize(
    ("spec", "strategy"),
    [
        ("chat", DEFAULT),
        (
            "agent",
            Digest() | KeepRecent(0.3, Relevance() & LeastRecentlyReferenced()),
        ),
        ("memory", KeepRecent(0.3, Relevance())),
        ("strip-images | chat", Then(StripImages(), DEFAULT)),
        ("oldest-turns", OldestTurns()),
        (" oldest-turns | oldest-steps ", Then(OldestTurns(), OldestSteps())),
        (
            "oldest-turns|relevance&oldest-steps",
            Then(OldestTurns(), Alternating(Relevance(), OldestSteps())),
        ),
        (
            "truncate-tool-results:max_tokens=100,head=0.7",
            TruncateToolResults(100, 0.7),
        ),
        (
            "keep-recent:share=0.3,rest=(relevance & least-recently-referenced)",
            KeepRecent(0.3, Relevance() & LeastRecentlyReferenced()),
        ),
        ("older-than:age=1.5h", OlderThan(timedelta(minutes=90))),
        ("relevance:query=none", Relevance()),
        ("relevance:query=refund policy", Relevance("refund policy")),
        (
            "clear-tool-results:exclude_tools=a+b,clear_tool_inputs=true",
            ClearToolResults(exclude_tools=("a", "b"), clear_tool_inputs=True),
        ),
        ("clear-tool-results:clear_tool_inputs=false", ClearToolResults()),
    ],
)
def test_a_name_with_parameters_makes_a_strategy(spec: str, strategy: Strategy) -> None:
    assert by_name(spec) == strategy


@pytest.mark.parametrize("name", sorted({*_OURS, *_MIXES}))
def test_every_name_leads_to_a_strategy(name: str) -> None:
    needed = {"older-than": ":age=1h", "offload": ":store=texts"}

    assert isinstance(by_name(name + needed.get(name, "")), Strategy)
    assert name in names()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("newest", "not known; there are agent, chat, clear-tool-results"),
        ("", "missing at 0"),
        ("chat:x=1", "no parameters; it stands for 'oldest-turns | oldest-steps'"),
        ("oldest-turns:share=2", "share"),
        ("keep-recent:share=2", "between 0 and 1"),
        ("keep-recent:share", "share has no value"),
        ("keep-recent:share=", "a value is missing"),
        ("(oldest-turns", "not closed"),
        ("oldest-turns)", "unexpected"),
        ("older-than:age=5x", "age must be an age such as 90m, 12h or 7d, not '5x'"),
        ("older-than:age=5", "age must be an age such as 90m, 12h or 7d, not 5"),
        ("older-than", "age is missing: older-than:age=12h"),
        ("older-than:age=0s", "age must be a positive timedelta"),
        ("oldest-turn", "did you mean 'oldest-turns'.* \\(there are agent"),
        ("keep-ends:fist=1", "no parameter 'fist'; there are first, last; did you"),
        ("keep-ends:x=1", "no parameter 'x'; there are first, last$"),
        ("oldest-steps:x=1", "no parameter 'x'; it has none"),
    ],
)
def test_a_bad_name_says_why(spec: str, why: str) -> None:
    with pytest.raises(StrategyError, match=why):
        by_name(spec)


class Foreign:
    """A strategy of another package, which does not compose by itself."""

    def __init__(self, keep: int = 1) -> None:
        self.keep = keep

    def propose(self, history: Any, /) -> Iterator[Edit]:
        """Yield all but the newest turns."""
        for turn in history.turns[: -self.keep]:
            yield Drop(turn, "foreign")


class Entry:
    """What `importlib.metadata` gives for an entry point."""

    def __init__(self, name: str, value: object) -> None:
        self.name, self.value = name, value

    def load(self) -> object:
        """Load it, or fail."""
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def test_strategies_of_other_packages_are_found_by_entry_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        Entry("foreign", Foreign),
        Entry("broken", ImportError("gone")),
        Entry("odd", dict),
        Entry("any", lambda **_anything: Foreign()),
        Entry("needy", lambda words: Foreign(len(words))),
    ]
    monkeypatch.setattr(
        "turnkeep.strategies._registry.entry_points",
        lambda group: found if group else [],
    )

    made = by_name("foreign:keep=2 | oldest-steps")

    assert isinstance(made, Then)
    assert [m.id for m in window(turns(9, 9, 9), 20, made)] == ["u1", "u2"]
    assert "foreign" in names()
    with pytest.raises(StrategyError, match="cannot be loaded: gone"):
        by_name("broken")
    with pytest.raises(StrategyError, match="propose"):
        by_name("odd")
    assert isinstance(by_name("any:whatever=1"), Foreign)
    with pytest.raises(StrategyError, match=r"words is missing: needy:words=\.\.\."):
        by_name("needy")
    assert importlib.metadata.entry_points(group="turnkeep.strategies") is not None


def test_by_turns_goes_on_with_what_is_left() -> None:
    class Fixed:
        def __init__(self, *edits: Any) -> None:
            self.edits = edits

        def propose(self, _history: Any, /) -> Iterator[Any]:
            yield from self.edits

    both = Alternating(Fixed(1, 2, 3), Fixed("a"))

    assert list(both.propose(None)) == [1, "a", 2, 3]  # type: ignore[arg-type]


def test_heavy_strategies_load_on_first_use() -> None:
    code = (
        "import sys, turnkeep.strategies as s; "
        "assert 'turnkeep.strategies._relevance' not in sys.modules; "
        "s.Relevance; assert 'turnkeep.strategies._relevance' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code
    with pytest.raises(AttributeError, match="Nothing"):
        strategies.Nothing  # noqa: B018 - the access is the test


# -- when ---------------------------------------------------------------------------


def test_the_online_rule_cuts_when_waiting_has_cost_as_much() -> None:
    prices = Prices(read=0.1, write=1.25)
    watch = Excess(low=1_000)
    calls = 0
    while not watch.is_due(prices):
        calls += 1
        watch = watch.after(1_000 + 100 * calls)

    assert 0.1 * sum(100 * n for n in range(1, calls + 1)) >= 1.15 * 1_000
    assert 0.1 * sum(100 * n for n in range(1, calls)) < 1.15 * 1_000


def test_windows_below_the_low_mark_cost_nothing() -> None:
    assert Excess(low=1_000).after(10).tokens == 0


@given(st.integers(1_000, 100_000), st.integers(50, 5_000))
def test_the_best_trigger_is_always_near_that_of_a_sweep(low: int, growth: int) -> None:
    """The closed form of the cost per call, minimised by brute force."""
    prices = Prices(read=0.1, write=1.25)

    def cost(high: float) -> float:
        r, w = prices.read, prices.write
        return r * (low + high) / 2 + (w - r) * low * growth / (high - low)

    best = best_trigger(low, growth, prices)
    sweep = min(cost(low + growth * n / 4) for n in range(1, 2_000))

    assert cost(max(best, low + 1)) <= sweep * 1.01


def test_an_edit_in_place_must_free_enough() -> None:
    prices = Prices(read=0.1, write=1.25)

    assert clear_at_least(behind=1_000, calls=10, prices=prices) == 1_150
    assert clear_at_least(behind=1_000, calls=0, prices=prices) == 11_500
    assert clear_at_least(behind=1_000, calls=5, prices=Prices(read=1, write=0.5)) == 0
