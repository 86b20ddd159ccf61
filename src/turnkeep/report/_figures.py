"""Every figure of the page, as JSON: what the page draws, programs can read."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from turnkeep.budgets import Budget
from turnkeep.errors import BudgetExceededError
from turnkeep.plans import Decision, Plan, plan_figures
from turnkeep.replay import Report

from ._session import NEVER, Session
from ._survey import SPEAKERS, Survey

VERSION = 1
"""Of the shape of the figures."""

BINS = 240
"""How many bars the timeline has at most: more are thinner than a pixel."""

ROWS, COLUMNS = 60, 160
"""The most turns and calls that the picture of the windows tells apart."""


@attrs.frozen
class Study:
    """Everything that a page is made of."""

    name: str
    """The file's name."""
    survey: Survey
    model: str | None = None
    budget: Budget | None = None
    plan: Plan | None = None
    overflow: BudgetExceededError | None = None
    """Why there is no plan, where what must stay does not fit."""
    session: Session | None = None
    replayed: Report | None = None


def figures(study: Study) -> dict[str, Any]:
    """Every figure of a page.

    Linear in the messages, and in those that are held at each prune.
    """
    survey = study.survey
    return {
        "turnkeep_report": VERSION,
        "file": study.name,
        "format": survey.format,
        "model": study.model,
        "counter": survey.counter.name,
        "exact": survey.counter.exact,
        "margin": survey.counter.margin,
        "rule": survey.counter.rule,
        "tokens": survey.total,
        "tools": survey.tools,
        "overhead": survey.request,
        "turns": survey.turns,
        "first_turn": survey.first_turn,
        "budget": None if study.budget is None else _budget(study.budget),
        "by_kind": by_kind(survey),
        "by_tool": by_tool(survey),
        "by_turn": by_turn(survey),
        "largest": largest(survey),
        "timeline": timeline(survey),
        "plan": None if study.plan is None else _plan(study.plan),
        "overflow": None if study.overflow is None else _overflow(study.overflow),
        "session": None if study.session is None else _session(survey, study.session),
        "replay": None if study.replayed is None else _replay(study.replayed),
        "messages": _messages(survey),
    }


def _budget(budget: Budget) -> dict[str, Any]:
    return {
        "max_tokens": budget.max_tokens,
        "reserve": budget.reserve,
        "trigger": budget.trigger,
        "target": budget.target,
    }


def by_kind(survey: Survey) -> dict[str, int]:
    """Tokens by what they are spent on; they sum up to the whole request."""
    spent: Counter[str] = Counter()
    for entry in survey.entries:
        spent.update(entry.by_speaker())
    spent["overhead"] += survey.request
    spent["tools"] = survey.tools
    return {kind: spent[kind] for kind in (*SPEAKERS, "tools") if spent[kind]}


def by_tool(survey: Survey) -> list[dict[str, Any]]:
    """What each tool fills, largest first, and its five largest messages."""
    tools: dict[str, dict[str, Any]] = {}
    for place, entry in enumerate(survey.entries):
        for share in entry.tools:
            row = tools.setdefault(
                share.name,
                {
                    "name": share.name,
                    "calls": 0,
                    "call_tokens": 0,
                    "result_tokens": 0,
                    "places": Counter(),
                },
            )
            row["calls"] += share.calls
            row["call_tokens"] += share.call_tokens
            row["result_tokens"] += share.result_tokens
            row["places"][place] += share.call_tokens + share.result_tokens
    rows: list[dict[str, Any]] = []
    for row in tools.values():
        places: Counter[int] = row.pop("places")
        top = sorted(places, key=lambda p: (-places[p], p))[:5]
        row["tokens"] = places.total()
        row["largest"] = [{"place": p, "tokens": places[p]} for p in top]
        rows.append(row)
    return sorted(rows, key=lambda row: (-row["tokens"], row["name"]))


def by_turn(survey: Survey) -> list[dict[str, Any]]:
    """What each turn fills, in order; numbers are those of `turnkeep show`."""
    turns: dict[int, dict[str, Any]] = {}
    first = survey.first_turn
    for place, entry in enumerate(survey.entries):
        row = turns.setdefault(
            entry.turn,
            {
                "turn": entry.turn + first,
                "start": place,
                "messages": 0,
                "tokens": 0,
                "after": 0,
                "pinned": False,
                "pending": False,
                "text": entry.text,
            },
        )
        row["messages"] += 1
        row["tokens"] += entry.tokens
        row["after"] += entry.tokens_after
        row["pinned"] |= entry.pinned
        row["pending"] |= bool(entry.pending)
    return [turns[number] for number in sorted(turns)]


def largest(survey: Survey, count: int = 10) -> list[int]:
    """Places of the largest messages, largest first."""
    entries = survey.entries
    order = sorted(range(len(entries)), key=lambda i: (-entries[i].tokens, i))
    return order[:count]


def timeline(survey: Survey) -> dict[str, Any]:
    """Tokens by kind over the session, neighbours taken together."""
    size = len(survey.entries)
    width = max(-(-size // BINS), 1)
    starts = list(range(0, size, width))
    kinds: dict[str, list[int]] = {}
    for place, entry in enumerate(survey.entries):
        for kind, tokens in entry.by_speaker().items():
            kinds.setdefault(kind, [0] * len(starts))[place // width] += tokens
    return {
        "width": width,
        "starts": starts,
        "kinds": {kind: kinds[kind] for kind in SPEAKERS if kind in kinds},
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        **plan_figures(plan),
        "causes": [
            {"action": action, "cause": cause, "messages": n, "before": b, "after": a}
            for (action, cause), (n, b, a) in _causes(plan.decisions).items()
        ],
    }


def _causes(decisions: Iterable[Decision]) -> dict[tuple[str, str], list[int]]:
    sums: dict[tuple[str, str], list[int]] = {}
    for decision in decisions:
        row = sums.setdefault((decision.action, str(decision.cause)), [0, 0, 0])
        row[0] += 1
        row[1] += decision.tokens
        row[2] += decision.tokens_after
    return sums


def _overflow(error: BudgetExceededError) -> dict[str, Any]:
    return {
        "message": str(error),
        "needed": error.needed,
        "available": error.available,
        "smallest": error.smallest,
        "held": [attrs.asdict(held) for held in error.held],
    }


def _messages(survey: Survey) -> list[dict[str, Any]]:
    first = survey.first_turn
    return [
        {
            "index": entry.index,
            "id": entry.id,
            "turn": entry.turn + first,
            "step": entry.step,
            "role": str(entry.role),
            "tokens": entry.tokens,
            "kinds": entry.by_speaker(),
            "tools": sorted({share.name for share in entry.tools}),
            "pinned": entry.pinned,
            "pending": list(entry.pending),
            "action": entry.fate,
            "cause": entry.cause,
            "tokens_after": entry.tokens_after,
        }
        for entry in survey.entries
    ]


def _session(survey: Survey, session: Session) -> dict[str, Any]:
    calls = session.calls
    return {
        "at": [call.at for call in calls],
        "history": [call.history for call in calls],
        "window": [call.window for call in calls],
        "over": [nth for nth, call in enumerate(calls) if call.over],
        "prunes": [
            {
                "call": prune.call,
                "before": prune.before,
                "after": prune.after,
                "tokens": prune.tokens,
                "gone": [[run.start, run.stop, str(run.cause)] for run in prune.gone],
                "changed": [list(change) for change in prune.changed],
                "held": [list(held) for held in prune.held],
                "back": list(prune.back),
            }
            for prune in session.prunes
        ],
        "stays": [[list(stay) for stay in stays] for stays in session.stays],
        "presence": presence(survey, session),
    }


def presence(survey: Survey, session: Session) -> dict[str, Any]:
    """How much of each turn was in each window, as shares; coarser where it is long."""
    calls = len(session.calls)
    turns = max((entry.turn for entry in survey.entries), default=-1) + 1
    high = max(-(-turns // ROWS), 1)
    wide = max(-(-calls // COLUMNS), 1)
    shown = [min(start + wide, calls) - 1 for start in range(0, calls, wide)]
    rows = -(-turns // high)
    there = [[0] * (len(shown) + 1) for _ in range(rows)]
    kept = [[0] * (len(shown) + 1) for _ in range(rows)]
    for entry, stays in zip(survey.entries, session.stays, strict=True):
        row = entry.turn // high
        there[row][_column(shown, stays[0][0])] += entry.tokens
        for since, until in stays:
            kept[row][_column(shown, since)] += entry.tokens
            if until != NEVER:
                kept[row][_column(shown, until)] -= entry.tokens
    cells: list[list[float]] = []
    for row in range(rows):
        whole = held = 0
        for column in range(len(shown)):
            whole += there[row][column]
            held += kept[row][column]
            if whole:
                cells.append([column, row, round(held / whole, 3)])
    first = survey.first_turn
    return {
        "calls": shown,
        "turns": [row * high + first for row in range(rows)],
        "turns_a_row": high,
        "cells": cells,
    }


def _column(shown: Sequence[int], call: int) -> int:
    """The first shown call at or behind *call*."""
    return bisect_left(shown, call)


def _replay(report: Report) -> dict[str, Any]:
    return {
        "calls": report.calls,
        "tokens": report.tokens,
        "limit": report.limit,
        "target": report.target,
        "prices": {"read": report.prices.read, "write": report.prices.write},
        "outcomes": [
            attrs.asdict(outcome, filter=lambda attribute, _: bool(attribute.repr))
            for outcome in report.outcomes
        ],
    }
