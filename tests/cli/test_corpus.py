"""The figures of `show`, `count` and the plan agree on real histories."""

import json
from pathlib import Path

import pytest

import turnkeep
from tests.cli.running import run, save
from tests.paths import needs_corpus, read_corpus
from turnkeep.cli._files import Source
from turnkeep.cli._request import load
from turnkeep.cli.count import By, shares_by

pytestmark = [pytest.mark.corpus, needs_corpus]


@pytest.mark.parametrize(
    "format_name", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
)
def test_the_figures_agree(format_name: str) -> None:
    """Survey, `count()`, `plan()` and every way of summing up say the same."""
    for record in read_corpus(format_name):
        name, body = record["name"], record["body"]
        source = Source(name, body, size=0)
        request = load(source, format_name, None)
        survey = request.survey()
        plan = turnkeep.plan(body, max_tokens=10**9, format=format_name)

        counted = turnkeep.count(body, format=format_name)
        assert survey.total == counted.total, name
        assert survey.total == plan.tokens_before, name
        for by in By:
            shares = shares_by(survey, by)
            assert sum(share.tokens for share in shares) == survey.total, (name, by)
        drawn = survey.with_plan(plan)
        added = sum(item.tokens for item in plan.inserted)
        kept = sum(entry.tokens_after for entry in drawn.entries)
        assert kept + added + survey.tools + survey.request == plan.tokens, name


@pytest.fixture(scope="module")
def long_session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The longest recorded session: 914 messages of a coding agent."""
    bodies = (record["body"] for record in read_corpus("openai"))
    body = max(bodies, key=lambda body: len(body["messages"]))
    assert len(body["messages"]) == 914
    return save(tmp_path_factory.mktemp("corpus") / "session.json", body)


@pytest.mark.parametrize("budget", [4_000, 16_000, 64_000])
def test_a_long_session_at_three_budgets(
    long_session: Path, budget: int, tmp_path: Path
) -> None:
    """Valid lists that fit, end with the newest message, and fit again unchanged.

    Eighteen of its calls were never answered; at the smallest budget nobody can wait
    for them.
    """
    output = tmp_path / "out.json"
    more = ["--no-pending"] if budget == 4_000 else []

    result = run("fit", long_session, "-n", budget, "-m", "gpt-4o", "-o", output, *more)

    assert result.exit_code == 0, result.stderr
    history = json.loads(long_session.read_text())["messages"]
    window = json.loads(output.read_text())["messages"]
    assert turnkeep.count(window, model="gpt-4o").total <= budget
    assert window[-1] == history[-1]
    open_ids: list[str] = []
    for message in window:
        if message["role"] == "tool":
            open_ids.remove(message["tool_call_id"])
        else:
            assert not open_ids
            open_ids = [call["id"] for call in message.get("tool_calls") or []]
    again = turnkeep.fit(window, max_tokens=budget, model="gpt-4o")
    assert again == window


def test_waiting_for_too_much_is_an_error_with_the_way_out(long_session: Path) -> None:
    """At 4,000 tokens the open calls alone are too much, and the line says so."""
    result = run("fit", long_session, "-n", "4k", "-m", "gpt-4o")

    assert result.exit_code == 3
    assert "--no-pending" in result.stderr


def test_a_long_session_is_a_picture(long_session: Path) -> None:
    """A line for each of its 88 turns, none wider than the terminal."""
    result = run("show", long_session, "-n", "64k", "-m", "gpt-4o", "--width", "100")

    lines = [line for line in result.stdout.splitlines() if line[:4].strip().isdigit()]
    assert len(lines) == 88
    assert max(map(len, lines)) <= 100
