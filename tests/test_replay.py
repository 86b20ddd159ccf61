"""Tests for `turnkeep.replay`: costs, cache and referents, call by call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.paths import needs_corpus, read_corpus
from turnkeep import Budget, FormatError, Message, Prices
from turnkeep.engine import make_plan
from turnkeep.index import History, Rules
from turnkeep.replay import FULL, SLIDING, Log, Report, named, replay
from turnkeep.strategies import (
    DEFAULT,
    ClearToolResults,
    KeepEnds,
    KeepRecent,
    LeastRecentlyReferenced,
    OldestSteps,
    OldestTurns,
    Relevance,
    by_name,
)
from turnkeep.tokens import Parts
from turnkeep.turns import Grouping


class Words:
    """A token for each word of text and of arguments."""

    name = "words"
    exact = True
    margin = 0.0
    rule = "one token a word"

    def parts(self, message: Message) -> Parts:
        """The count by kind."""
        return Parts(text=self.message(message))

    def message(self, message: Message) -> int:
        """Words of a message."""
        return len(
            f"{message.text} {' '.join(c.text for c in message.tool_calls)}".split()
        )

    def tools(self, tools: Any) -> int:
        """Nothing."""
        del tools
        return 0

    def request(self, *, has_tools: bool = False, tool_choice: Any = None) -> int:
        """Nothing."""
        del has_tools, tool_choice
        return 0


def chat(turns: int) -> list[dict[str, Any]]:
    """Ten words from the user, ten from the model, after a long system text."""
    made = [{"role": "system", "content": "rule " * 500}]
    for nth in range(turns):
        made.append({"role": "user", "content": f"word{nth} " * 10})
        made.append({"role": "assistant", "content": "fine " * 10})
    return made


def run(messages: Any, tokens: int, *, target: float = 0.6, **options: Any) -> Report:
    """Replay under the default, with the tests' own counts."""
    return replay(
        messages,
        {"default": DEFAULT, **options.pop("strategies", {})},
        Budget(tokens, target=target, **options),
        counter=Words(),
    )


def test_what_never_trims_reads_all_but_the_newest_from_the_cache() -> None:
    report = run(chat(4), 1_000)
    full = report.outcome(FULL)

    # Requests of 10, 30, 50 and 70 words; each reads the one before.
    assert full.windows == (10, 30, 50, 70)
    assert full.tokens == 160
    assert full.cost == pytest.approx(0.1 * (10 + 30 + 50) + 1.25 * (10 + 20 * 3))
    assert (full.breaks, full.prunes, full.to_full) == (0, 0, 1.0)
    assert full.cached == pytest.approx(90 / 160)
    assert (report.calls, report.tokens) == (4, 80)


def test_deep_cuts_break_the_prefix_less_often_than_a_sliding_window() -> None:
    report = run(chat(40), 200)
    sliding, default = report.outcome(SLIDING), report.outcome("default")

    assert max(sliding.windows) <= 200
    assert sliding.breaks > 25
    assert default.breaks == default.prunes
    assert default.breaks <= 10
    assert default.to_sliding < 0.5
    assert default.largest <= 200
    assert min(default.windows[20:]) <= 120


def test_prices_decide_when_to_cut() -> None:
    """The online rule cuts before the limit is reached, down to the target."""
    at_limit = run(chat(600), 20_000, target=0.25).outcome("default")
    priced = run(chat(600), 20_000, target=0.25, prices=Prices()).outcome("default")
    small = run(chat(100), 20_000, target=0.01, prices=Prices()).outcome("default")

    assert at_limit.prunes == 0
    assert priced.prunes > 0
    assert priced.cost < at_limit.cost
    assert small.prunes == 0  # below 4,000 tokens nothing is pruned


def asking(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def shop() -> list[dict[str, Any]]:
    """An order is looked up, then others, then the first one is needed again."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "look up some orders"}]
    for nth in range(6):
        made.append(asking(f"c{nth}", "find", {"query": f"number {nth}"}))
        text = f"order_{nth} of the shop " + "and so on " * 10
        made.append({"role": "tool", "tool_call_id": f"c{nth}", "content": text})
    made.append(asking("d", "ship", {"order": "order_0"}))
    made.append({"role": "tool", "tool_call_id": "d", "content": "ok"})
    made.append(asking("e", "ship", {"order": "order_5"}))
    return made


def test_what_calls_take_from_earlier_results_is_looked_for_in_the_window() -> None:
    report = run(shop(), 100, strategies={"steps": OldestSteps()})
    full, steps = report.outcome(FULL), report.outcome("steps")

    assert (full.referents, full.steps, full.kept, full.whole) == (2, 2, 1.0, 1.0)
    assert (steps.kept, steps.whole) == (0.5, 0.5)


def test_edits_count_with_what_is_sent() -> None:
    report = run(shop(), 100, strategies={"clear": ClearToolResults(1) | DEFAULT})
    clear = report.outcome("clear")

    assert clear.prunes > 0
    assert clear.largest <= 100
    assert clear.tokens < report.outcome(FULL).tokens


def test_what_cannot_go_is_sent_over_budget_and_said() -> None:
    report = run(chat(12), 60, strategies={"ends": KeepEnds(9, 1)})
    ends = report.outcome("ends")

    assert ends.over > 0
    assert ends.largest > 60
    assert ends.prunes < ends.calls


def test_a_session_without_calls_of_the_model_is_empty() -> None:
    report = run([{"role": "user", "content": "hi"}], 10)

    assert report.calls == 0
    assert report.outcome("default").cost == 0
    assert report.outcome("default").to_full == 1.0


def test_what_is_shown_to_people_only_is_not_sent() -> None:
    messages = [
        Message.user("one two"),
        Message.system("not sent", kind="run_summary"),
        Message.assistant("fine"),
        Message.user("three"),
        Message.assistant("fine"),
    ]

    assert run(messages, 10).outcome(FULL).windows == (2, 4)


def test_names_and_errors() -> None:
    assert list(named([OldestTurns(), DEFAULT])) == [
        "OldestTurns(split_above=0.1)",
        "Then(first=OldestTurns(split_above=0.1), second=OldestSteps())",
    ]
    with pytest.raises(KeyError):
        run(chat(1), 10).outcome("nobody")
    with pytest.raises(FormatError):
        run([{"role": "nobody"}], 10)


def test_a_replay_never_depends_on_chance() -> None:
    strategies = {"both": KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced())}

    assert run(shop(), 60, strategies=strategies) == run(
        shop(), 60, strategies=strategies
    )


def test_a_plan_of_a_replay_applies_to_its_log() -> None:
    """The log is a source like any other: a plan names its messages and its window."""
    messages = [Message.user("one two", id="a"), Message.assistant("fine")]
    log = Log(messages, Words())
    made = make_plan(History(Grouping(log.entries), log, Rules()), Budget(10))

    assert made.apply(messages) == messages
    assert made.kept.ids == ("a", "1")


def test_without_a_strategy_there_is_nothing_to_advise() -> None:
    report = replay(chat(4), {}, Budget(60), counter=Words())

    assert report.advice() is None
    assert report.outcomes[0].mean > 0


# -- recorded sessions ---------------------------------------------------------------


def sessions(of: str, length: int = 0) -> list[Any]:
    """Recorded chats whose name begins so."""
    return [
        line["body"]
        for line in read_corpus("openai")
        if line["name"].startswith(of) and len(line["body"]["messages"]) >= length
    ]


@needs_corpus
@pytest.mark.corpus
def test_the_default_settings_cost_a_third_of_the_sliding_window() -> None:
    """At most 0.3 on the 914-message session at 32,000 tokens."""
    (session,) = sessions("pi-mono", 900)

    report = replay(session, {"default": DEFAULT}, Budget(32_000), format="openai")

    assert report.outcome("default").to_sliding <= 0.3
    assert report.outcome("default").to_full <= 0.35


@needs_corpus
@pytest.mark.corpus
def test_ranking_by_use_and_relevance_keeps_more_steps_whole() -> None:
    """4 points more than the sliding window, cutting no deeper than the limit."""
    (session,) = sessions("pi-mono", 900)
    best = KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced())

    report = replay(
        session, {"best": best}, Budget(32_000, target=1.0), format="openai"
    )

    assert report.outcome("best").whole >= report.outcome(SLIDING).whole + 0.04


@needs_corpus
@pytest.mark.corpus
def test_agent_keeps_more_than_a_sliding_window_of_the_same_mean_size() -> None:
    """4 points more calls whole, at a quarter of the cost."""
    (session,) = sessions("pi-mono", 900)
    budget = Budget(32_000, target=0.6)

    agent = replay(session, {"agent": by_name("agent")}, budget, format="openai")
    ours = agent.outcome("agent")
    # A window that moves at every call is smaller than its limit by a step's half.
    sliding = replay(session, {}, Budget(26_300), format="openai").outcome(SLIDING)

    assert sliding.tokens >= ours.tokens
    assert ours.whole >= sliding.whole + 0.04
    assert ours.cost <= sliding.cost / 3


@needs_corpus
@pytest.mark.corpus
def test_ranking_keeps_many_more_steps_of_short_chats_whole() -> None:
    """15 points more on the airline chats at 1,000 tokens."""
    best = KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced())
    steps, whole = 0, {"best": 0.0, SLIDING: 0.0}
    for session in sessions("tau-bench"):
        report = replay(
            session, {"best": best}, Budget(1_000, target=1.0), format="openai"
        )
        steps += report.outcome("best").steps
        for name in whole:
            outcome = report.outcome(name)
            whole[name] += outcome.whole * outcome.steps

    assert (whole["best"] - whole[SLIDING]) / steps >= 0.15
