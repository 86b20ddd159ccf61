"""Plans for people and programs: explained, printed, read-only, sent elsewhere."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.chats import Entry, call, result, say, user
from turnkeep import (
    Budget,
    Conversation,
    FormatError,
    Message,
    Plan,
    StalePlanError,
)
from turnkeep.errors import UnknownMessageError
from turnkeep.plans import Cause
from turnkeep.plans._words import _CHANGES, _GOES, _STAYS

LONG = "why " * 60


def session(turns: int = 5) -> list[Entry]:
    """A chat with a pin's worth, long results and an open call."""
    chat: list[Entry] = [{"role": "system", "content": "Be brief."}]
    for nth in range(turns):
        chat += [
            user(f"question {nth}"),
            call(f"c{nth}"),
            result(f"c{nth}", LONG),
            say(f"answer {nth} {LONG}"),
        ]
    return [*chat, user("Start it."), call("open"), user("Well?")]


def planned(size: int = 400, **options: Any) -> Plan:
    """A plan for it that keeps, edits, drops and adds."""
    asked: dict[str, Any] = {
        "model": "gpt-4o",
        "strategy": "truncate-tool-results:max_tokens=30 | chat",
        "pinned": [1],
        "pin_scope": "step",
        **options,
    }
    return turnkeep.plan(session(), size, **asked)


def test_every_message_is_explained_in_a_sentence() -> None:
    """By id and by index from either end; with its tokens where they change."""
    plan = planned()
    total = len(plan.decisions)

    said = [plan.explain(index) for index in range(total)]

    assert {decision.action for decision in plan.decisions} == {"keep", "edit", "drop"}
    for decision, sentence in zip(plan.decisions, said, strict=True):
        assert sentence.startswith(f"{decision.id} ")
        assert sentence.endswith(".")
        assert plan.explain(decision.id) == sentence
        assert plan.explain(decision.index - total) == sentence
        if decision.action != "keep":
            assert f"{decision.tokens:,}" in sentence
    assert said[0] == (
        "0 stays: system messages stay (drop_system=True lets later ones go)."
    )
    assert said[1] == "1 stays: it is pinned, or its turn is."
    assert said[-1] == "23 stays: it is the question that the model is to answer."


def test_what_fits_says_so() -> None:
    """With the figures."""
    plan = turnkeep.plan([user(), say(), user()], 900, model="gpt-4o")

    assert plan.explain(0) == f"0 stays: everything fits ({plan.tokens} of 900 tokens)."


def test_a_moved_result_says_where_it_went() -> None:
    """A late result is placed behind its call."""
    chat = [user(), call("c1"), user("and?"), result("c1")]

    plan = turnkeep.plan(chat, 900, model="gpt-4o")

    assert plan.explain(-1).endswith(" It is placed right behind its call.")


@pytest.mark.parametrize("name", ["nobody", 24, -25, True, None])
def test_no_such_message(name: Any) -> None:
    """Named in the error."""
    with pytest.raises(UnknownMessageError, match=re.escape(repr(name))):
        planned().explain(name)


def test_every_cause_has_words() -> None:
    """A new cause of ours is not forgotten; other people's are named as they are."""
    added = {Cause.OPEN_CALL}
    assert {*_STAYS, *_GOES, *_CHANGES} | added == set(Cause)


def test_the_table_has_tokens_a_run_and_edits() -> None:
    """Each run with its tokens, edited ones before and after, and what was added."""
    plan = planned()

    lines = str(plan).splitlines()

    total = plan.available + plan.fixed
    assert lines[0].startswith(f"{plan.tokens} tokens of {total} available, pruned")
    rows = lines[2 : 2 + len(plan.runs)]
    for run, row in zip(plan.runs, rows, strict=True):
        before, after = plan.tokens_of(run)
        shown = f"{before:,} -> {after:,}" if run.action == "edit" else f"{before:,}"
        assert re.search(rf"\b{len(run)} +{shown}  {run.cause}$", row), row
        assert plan.span(run) in row
    assert any(line.startswith("  add   open ") for line in lines)
    kept = sum(plan.tokens_of(run)[1] for run in plan.runs)
    added = sum(item.tokens for item in plan.inserted)
    assert kept + added + plan.fixed == plan.tokens


def test_long_plans_are_cut() -> None:
    """Twenty runs, and how many more."""
    chat: list[Entry] = []
    for nth in range(40):
        chat += [user(f"{nth} {LONG}", keep=nth % 2), say()]

    plan = turnkeep.plan(
        chat, 1_800, model="gpt-4o", pinned=lambda message: message.get("keep")
    )

    assert len(plan.runs) > 20
    left = len(plan.runs) - 20
    assert f"  ... and {left} more runs (" in str(plan)


def test_what_is_malformed_and_goes_is_shown_as_such() -> None:
    """It is only looked into when its tokens are asked for: printing never fails."""
    deep: Any = "deep"
    for _ in range(999):
        deep = [deep]
    chat = [user(note=deep), say(), user()]
    plan = turnkeep.plan(chat, 9, model="gpt-4o", format="openai")

    assert [run.action for run in plan.runs] == ["drop", "keep"]
    for shown in (str(plan), plan._repr_html_()):
        assert "malformed" in shown
    with pytest.raises(FormatError, match="deep"):
        plan.explain(0)


def test_edits_cannot_be_written() -> None:
    """A plan says what was decided, and goes on saying it."""
    plan = planned()
    edits: Any = plan.edits

    assert edits
    with pytest.raises(TypeError):
        edits[0] = None
    with pytest.raises(AttributeError):
        plan.tokens = 0  # type: ignore[misc]
    for index, edit in edits.items():
        assert edit.tokens == plan.decisions[index].tokens_after
        assert edit.message == edit[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interim": ["c4"]},
        {"token_counter": lambda message: len(str(message)) // 4},
        {"format": "openai", "strategy": None},
    ],
)
def test_a_plan_crosses_processes(options: dict[str, Any]) -> None:
    """It says and does there what it does here."""
    plan = planned(**options)

    sent = pickle.loads(pickle.dumps(plan))  # noqa: S301 - our own bytes

    assert str(sent) == str(plan)
    assert repr(sent) == repr(plan)
    assert sent.edits == plan.edits
    assert list(sent.decisions) == list(plan.decisions)
    assert sent.tokens_before == plan.tokens_before
    assert sent.explain(0) == plan.explain(0)
    assert sent.apply(session()) == plan.apply(session())
    with pytest.raises(StalePlanError):
        sent.apply(session(3))
    assert str(pickle.loads(pickle.dumps(sent))) == str(plan)  # noqa: S301


@given(size=st.integers(150, 3_000), share=st.sampled_from([0.4, 0.6, 1.0]))
def test_a_window_crosses_processes(size: int, share: float) -> None:
    """With its plan, without its conversation."""
    chat = Conversation.from_messages(session(), model="gpt-4o")
    window = chat.fit(Budget(size, target=share), on_overflow="send")

    sent = pickle.loads(pickle.dumps(window))  # noqa: S301 - our own bytes

    assert sent.encode() == window.encode()
    assert list(sent) == list(window)
    assert (sent.tokens, sent.pruned, sent.format) == (
        window.tokens,
        window.pruned,
        window.format,
    )
    assert str(sent.plan) == str(window.plan)
    assert repr(sent) == repr(window)
    assert sent.plan.apply(chat.messages) == window.plan.apply(chat)
    with pytest.raises(StalePlanError):
        sent.plan.apply([Message.user("other")])


def test_the_window_stays_when_the_conversation_goes_on() -> None:
    """What was pickled earlier says what was true then."""
    chat = Conversation.from_messages(session(), model="gpt-4o", budget=400)
    window = chat.fit()
    sent = pickle.dumps(window)
    before = window.encode()

    chat.user("more")
    chat.remove("msg-2")

    assert pickle.loads(sent).encode() == before  # noqa: S301 - our own bytes


def test_a_copy_is_the_same_plan() -> None:
    """Nothing of it changes, so nothing need be copied."""
    plan = planned()
    window = Conversation.from_messages(session(), model="gpt-4o", budget=900).fit()

    assert copy.copy(plan) is copy.deepcopy(plan) is plan
    assert copy.copy(window) is copy.deepcopy(window) is window


def test_reprs_have_figures() -> None:
    """For logs: counts, nothing of what was said."""
    plan = planned()
    window = Conversation.from_messages(session(), model="gpt-4o", budget=400).fit()

    assert repr(plan) == (
        f"Plan({plan.tokens} of 400 tokens: {len(plan.kept)} kept, "
        f"{len(plan.edited)} edited, {len(plan.dropped)} dropped, 1 added)"
    )
    assert repr(window) == f"Window({window.tokens} tokens, format='openai', pruned)"
    assert "question" not in repr(plan) + repr(window)


def test_a_count_has_its_parts() -> None:
    """They add up; each tool definition by itself, what all share apart."""
    tools = [
        {"type": "function", "function": {"name": name, "description": LONG * size}}
        for size, name in enumerate(("small", "large"), 1)
    ]

    found = turnkeep.count(session(), model="gpt-4o", tools=tools)

    assert found.total == found.system + found.messages + found.tools + found.overhead
    names = [item.name for item in found.definitions]
    small, large = (item.tokens for item in found.definitions)
    assert names == ["small", "large"]
    assert large - small >= 60
    shared = found.tools - small - large
    alone = turnkeep.count(session(), model="gpt-4o", tools=tools[:1])
    assert alone.tools == small + shared
    lines = str(found).splitlines()
    assert lines[0] == f"{found.total:,} tokens, exact (openai)"
    assert re.search(rf"^  tools +{found.tools:,}$", lines[2])
    assert turnkeep.count([], format="openai").definitions == ()


def test_an_estimate_says_how_far_off_it_may_be() -> None:
    """In the table's first line."""
    found = turnkeep.count([user("hi")], model="claude-sonnet-4-5", format="anthropic")

    assert f"estimated, up to {found.margin:.0%} more (anthropic)" in str(found)
