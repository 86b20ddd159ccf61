"""Show, report, diff, count and the plan say the same numbers, on every history."""

import attrs
import pytest

import turnkeep
from tests.paths import needs_corpus, read_corpus
from tests.report.sessions import opened
from turnkeep.budgets import Budget
from turnkeep.cli import show as showing
from turnkeep.cli.count import By, shares_by
from turnkeep.cli.diff import _report as diff_report
from turnkeep.report import Study, diff, figures, play

pytestmark = [pytest.mark.corpus, needs_corpus]

UNSENT = {"claude-code"}
"""Formats that are only read: their windows have another."""

PRUNED = {
    "openai": 300,
    "openai-responses": 20,
    "anthropic": 20,
    "gemini": 15,
    "bedrock": 5,
    "claude-code": 0,
}
"""How many windows must have lost something, or the test would say little."""


@pytest.mark.parametrize(
    "format_name",
    ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "claude-code"],
)
def test_all_commands_say_the_same(format_name: str) -> None:
    """One survey, one plan: totals, tools, turns, what goes and what is added."""
    pruned = 0
    for record in read_corpus(format_name):
        name, body = record["name"], record["body"]
        body = body["lines"] if format_name == "claude-code" else body
        request = opened(body, format_name=format_name)
        survey = request.survey()
        total = survey.total
        budget = Budget(max(total * 6 // 10, 60))
        plan = request.plan(budget=budget, on_overflow="send")
        planned = survey.with_plan(plan)
        session = play(
            survey, budget, model=request.model, tools=request.envelope.tools
        )
        study = Study(name, planned, request.model, budget, plan, session=session)

        reported = figures(study)
        shown = showing.report(request, planned, plan)
        counted = {by: shares_by(survey, by) for by in By}
        plain = turnkeep.count(body, format=format_name)

        totals = {
            "report": reported["tokens"],
            "show": shown["tokens"],
            **{
                f"count by {by}": sum(share.tokens for share in shares)
                for by, shares in counted.items()
            },
            "count()": plain.total,
            "plan": plan.tokens_before,
            "session": reported["session"]["history"][-1] if survey.entries else total,
        }
        assert set(totals.values()) == {total}, (name, totals)
        assert reported["tools"] == shown["tools"] == plain.tools, name
        for key in ("tokens", "kept", "edited", "dropped", "runs", "inserted"):
            assert reported["plan"][key] == shown["plan"][key], (name, key)
        for mine, theirs in zip(reported["messages"], shown["messages"], strict=True):
            shared = mine.keys() & theirs.keys()
            assert shared >= {"id", "turn", "tokens", "action", "cause", "tokens_after"}
            assert {k: mine[k] for k in shared} == {k: theirs[k] for k in shared}, name
        by_tool = {row["name"]: row["tokens"] for row in reported["by_tool"]}
        by_turn = {f"turn {r['turn']}": r["tokens"] for r in reported["by_turn"]}
        for by, mine in ((By.TOOL, by_tool), (By.TURN, by_turn)):
            theirs = {share.name: share.tokens for share in counted[by]}
            assert {key: theirs[key] for key in mine} == mine, (name, by)
        if format_name in UNSENT:
            continue
        window = opened(plan.apply(body), format_name=format_name)
        window = attrs.evolve(window, model=request.model)
        found = diff(survey, window.survey())
        told = diff_report(request, window, found)
        assert told["before"]["tokens"] == total, name
        assert told["after"]["tokens"] == plan.tokens, name
        lost = sum(change.tokens_before for change in found.of("lost"))
        assert lost == sum(d.tokens for d in plan.dropped), name
        pruned += bool(plan.dropped)
    assert pruned >= PRUNED[format_name]
