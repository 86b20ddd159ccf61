"""Tests for `turnkeep.report._session`: sessions played call by call."""

from itertools import pairwise
from typing import Any

import pytest

from tests.paths import needs_corpus, read_corpus
from tests.report.sessions import agent, opened
from turnkeep import Conversation
from turnkeep.budgets import Budget
from turnkeep.report import Session, play
from turnkeep.report._session import NEVER
from turnkeep.strategies import ClearToolResults, Relevance, StripImages


def played(body: Any, max_tokens: int, **options: Any) -> Session:
    request = opened(body)
    survey = request.survey(options.pop("pins", ()))
    budget = Budget(max_tokens, **options.pop("budget", {}))
    return play(survey, budget, model=request.model, **options)


def test_each_answer_is_a_call_and_so_is_the_next() -> None:
    """Tool loops call the model once for each of their answers."""
    session = played(agent(2, loops=2), 100_000)

    assert [call.at for call in session.calls] == [2, 4, 6, 8, 10, 12, 13]
    assert session.prunes == ()
    assert all(call.window == call.history for call in session.calls)
    assert session.stays[0] == ((0, NEVER),)
    assert session.stays[12] == ((6, NEVER),)


def test_windows_are_those_of_a_conversation() -> None:
    """Token for token what `Conversation` would have sent."""
    body = agent(8)
    budget = Budget(1_500)
    session = played(body, 1_500)

    chat = Conversation(budget=budget, format="openai")
    sizes: list[int] = []
    pruned: list[int] = []
    starts = {call.at for call in session.calls}
    survey = opened(body).survey()
    for place, message in enumerate(survey.messages):
        if place in starts:
            window = chat.fit(on_overflow="send")
            sizes.append(window.tokens)
            if window.plan.pruned:
                pruned.append(len(sizes) - 1)
        chat.append(message.evolve(id=None))
    window = chat.fit(on_overflow="send")

    assert [*sizes, window.tokens] == [call.window for call in session.calls]
    assert pruned == [p.call for p in session.prunes if p.call < len(sizes)]


def test_what_went_and_what_stayed_add_up() -> None:
    """Before, less what went, is after; stays end where prunes say so."""
    session = played(agent(8), 1_500)

    assert len(session.prunes) >= 3
    for prune in session.prunes:
        assert prune.before - prune.tokens == prune.after
        for run in prune.gone:
            assert run.cause == "age"
            for place in range(run.start, run.stop):
                assert session.stays[place][-1][1] == prune.call


def test_a_pinned_turn_is_held_at_every_prune() -> None:
    """It says so each time."""
    session = played(agent(8), 1_800, pins=("1",))

    assert session.prunes
    for prune in session.prunes:
        assert (1, "pinned") in prune.held
    assert session.stays[1] == ((0, NEVER),)


def test_cleared_results_are_changes() -> None:
    """They stay in the window, with fewer tokens."""
    strategy = ClearToolResults(keep=1)
    session = played(agent(8), 1_500, strategy=strategy)

    changes = [change for prune in session.prunes for change in prune.changed]
    assert changes
    assert {cause for _, cause, _ in changes} == {"cleared"}


def test_messages_may_come_back() -> None:
    """A ranking that looks at the question brings back what it needs again."""
    session = played(agent(20, loops=5), 2_500, strategy=Relevance())

    returned = [(prune.call, place) for prune in session.prunes for place in prune.back]
    assert returned
    for call, place in returned:
        stays = session.stays[place]
        assert len(stays) > 1
        assert call in {since for since, _ in stays}
        assert all(a[1] <= b[0] for a, b in pairwise(stays))


def test_a_prune_without_effect_is_none() -> None:
    """There are no pictures to strip, so nothing went."""
    session = played(agent(8), 1_500, strategy=StripImages())

    assert session.prunes == ()
    assert any(call.over for call in session.calls)


def test_a_call_that_nobody_awaits_may_go() -> None:
    """Awaited it is held at every prune, abandoned it goes with its turn."""
    body = agent(1, loops=1)
    call: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "open",
                "type": "function",
                "function": {"name": "build", "arguments": "{}"},
            }
        ],
    }
    body = [*body, {"role": "user", "content": "Build."}, call, *agent(8)[1:]]

    awaited = played(body, 1_500)
    left = played(body, 1_500, pending=())
    named = played(body, 1_500, pending=("open",))

    place = body.index(call)
    assert awaited.stays[place] == named.stays[place] == ((3, NEVER),)
    assert left.stays[place][0][1] != NEVER


def test_a_placeholder_holds_its_call_as_long_as_it_is_awaited() -> None:
    """An answer for the time being is none; abandoned, both go with their turn."""
    parts: list[list[dict[str, Any]]] = [
        [{"type": "text", "text": "Build."}],
        [{"type": "tool_call", "id": "open", "name": "build", "arguments": {}}],
        [
            {
                "type": "tool_result",
                "tool_call_id": "open",
                "content": [],
                "pending": True,
            }
        ],
    ]
    roles = ("user", "assistant", "tool_result")
    talk: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[nth % 2], "content": "why " * 60}
        for nth in range(40)
    ]
    deferred: list[dict[str, Any]] = [
        {"role": role, "content": part} for role, part in zip(roles, parts, strict=True)
    ]
    body = {
        "turnkeep": 1,
        "messages": [
            {"id": f"m{nth}", **message} for nth, message in enumerate(deferred + talk)
        ],
    }

    awaited = played(body, 1_000)
    left = played(body, 1_000, pending=())

    assert all(awaited.stays[place][-1][1] == NEVER for place in (1, 2))
    assert all(left.stays[place][-1][1] != NEVER for place in (1, 2))


def test_what_does_not_fit_is_noted() -> None:
    """A call over the budget is marked, and the session goes on."""
    session = played(agent(2, size=400), 300)

    assert any(call.over for call in session.calls)
    assert session.calls[-1].at == len(agent(2))


def test_an_empty_session_has_no_calls() -> None:
    """Nothing was sent."""
    request = opened([], format_name="openai")

    assert play(request.survey(), Budget(100)) == Session((), (), ())


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize(
    "format_name", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
)
def test_recorded_sessions_play(format_name: str) -> None:
    """Whole where they fit; each prune's figures add up where they do not."""
    for record in list(read_corpus(format_name))[::3]:
        request = opened(record["body"], format_name=format_name)
        survey = request.survey()
        for share in (2, 0.5):
            budget = Budget(max(int(survey.total * share), 50))
            session = play(
                survey, budget, model=request.model, tools=request.envelope.tools
            )
            assert session.calls[-1].history == survey.total, record["name"]
            assert len(session.stays) == len(survey.entries)
            if share == 2 and survey.counter.exact:
                assert session.prunes == ()
