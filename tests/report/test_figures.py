"""Tests for `turnkeep.report._figures`: one set of figures, and they add up."""

import json

import pytest

from tests.paths import needs_corpus, read_corpus
from tests.report.sessions import agent, opened, study
from turnkeep.errors import BudgetExceededError
from turnkeep.report import Study, figures
from turnkeep.report._figures import BINS, COLUMNS, ROWS


def test_every_sum_is_the_whole_request() -> None:
    """By kind, by turn, over time and message by message."""
    shown = figures(study(agent(20), 3_000))

    assert sum(shown["by_kind"].values()) == shown["tokens"]
    messages = shown["tokens"] - shown["tools"] - shown["overhead"]
    assert sum(row["tokens"] for row in shown["by_turn"]) == messages
    assert sum(m["tokens"] for m in shown["messages"]) == messages
    kinds = shown["timeline"]["kinds"]
    assert sum(map(sum, kinds.values())) == messages
    causes = shown["plan"]["causes"]
    assert sum(row["messages"] for row in causes) == len(shown["messages"])
    assert sum(row["before"] for row in causes) == messages
    after = sum(row["after"] for row in causes) + shown["plan"]["fixed"]
    assert after == shown["plan"]["tokens"]
    assert shown["session"]["history"][-1] == shown["tokens"]


def test_tools_name_their_largest_messages() -> None:
    """Largest tool first; no more than five messages each."""
    body = agent(6)
    body[3]["content"] = "much " * 500

    shown = figures(study(body))

    first = shown["by_tool"][0]
    assert first["name"] == "read_file"
    assert first["largest"][0]["place"] == 3
    assert len(first["largest"]) == 5
    assert first["call_tokens"] + first["result_tokens"] == first["tokens"]
    assert shown["largest"][0] == 3
    assert shown["plan"] is shown["session"] is shown["budget"] is None


def test_long_sessions_are_drawn_coarser() -> None:
    """Never more bars, rows and columns than can be seen."""
    shown = figures(study(agent(130, loops=3), 4_000))

    timeline, presence = shown["timeline"], shown["session"]["presence"]
    assert timeline["width"] == -(-len(shown["messages"]) // BINS)
    assert len(timeline["starts"]) <= BINS
    assert len(presence["calls"]) <= COLUMNS
    assert len(presence["turns"]) <= ROWS
    assert presence["calls"][-1] == len(shown["session"]["at"]) - 1


def test_presence_is_what_stays_say() -> None:
    """Recomputed the slow way: each turn's share in each window."""
    made = study(agent(6), 1_500)
    shown = figures(made)
    presence = shown["session"]["presence"]
    assert presence["turns_a_row"] == 1

    stays = shown["session"]["stays"]
    for column, row, share in presence["cells"]:
        call = presence["calls"][column]
        turn = presence["turns"][row]
        there = kept = 0
        for message, intervals in zip(shown["messages"], stays, strict=True):
            if message["turn"] == turn and intervals[0][0] <= call:
                there += message["tokens"]
                if any(a <= call and (b < 0 or call < b) for a, b in intervals):
                    kept += message["tokens"]
        assert share == round(kept / there, 3)


def test_what_does_not_fit_is_explained() -> None:
    """The error's figures, and no plan."""
    request = opened(agent(2, size=300))
    with pytest.raises(BudgetExceededError) as caught:
        request.plan(max_tokens=10)

    shown = figures(Study("chat", request.survey(), overflow=caught.value))

    assert shown["plan"] is None
    assert shown["overflow"]["smallest"] == caught.value.smallest
    assert shown["overflow"]["held"][0].keys() == {"id", "cause", "tokens"}


def test_figures_are_json() -> None:
    """And the same every time."""
    one, two = (json.dumps(figures(study(agent(9), 2_000))) for _ in range(2))

    assert one == two


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize(
    "format_name", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
)
def test_recorded_sessions_add_up(format_name: str) -> None:
    """Kinds, turns and messages of recorded histories sum up to the request."""
    for record in list(read_corpus(format_name))[::5]:
        shown = figures(study(record["body"], 2_000, format_name=format_name))
        assert sum(shown["by_kind"].values()) == shown["tokens"], record["name"]
        tokens = shown["tokens"] - shown["tools"] - shown["overhead"]
        assert sum(row["tokens"] for row in shown["by_turn"]) == tokens
