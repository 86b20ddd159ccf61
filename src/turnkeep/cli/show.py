"""`turnkeep show`: a picture of a conversation."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from turnkeep.errors import BudgetExceededError
from turnkeep.plans import Plan
from turnkeep.report._survey import KEEP, Entry, Survey

from . import _options as options
from ._draw import Glyphs, fit_text, glyphs_for, stdout_console
from ._files import read_one
from ._guard import guarded
from ._json import dumps
from ._outcome import accuracy, outcome, plan_json
from ._picture import Room, gauges, key, picture
from ._request import Request, load

_SHOW = "What to show"


@guarded
def show(
    file: options.File,
    model: options.Model = None,
    format_name: options.FormatName = None,
    max_tokens: options.MaxTokens = None,
    reserve: options.Reserve = 0,
    target: options.Target = None,
    pin: options.Pins = None,
    pin_scope: options.PinScopeName = options.PinScope.TURN,
    pending: options.PendingIds = None,
    no_pending: options.NoPending = False,
    drop_system: options.DropSystem = False,
    strategy: options.StrategyName = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps", "-s", help="Show the steps inside turns.", rich_help_panel=_SHOW
        ),
    ] = False,
    turn: Annotated[
        list[int] | None,
        typer.Option(
            "--turn",
            "-t",
            metavar="N",
            help="Only this turn, with its steps. Repeatable.",
            show_default=False,
            rich_help_panel=_SHOW,
        ),
    ] = None,
    dropped: Annotated[
        bool,
        typer.Option(
            "--dropped",
            help="Only turns that the budget costs something.",
            rich_help_panel=_SHOW,
        ),
    ] = False,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            min=20,
            metavar="N",
            help="Cells of a line. Default: the terminal's.",
            show_default=False,
            rich_help_panel=_SHOW,
        ),
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Draw a conversation: one bar a turn, to scale.

    With `--max-tokens` it also shows what would go, and why. Nothing is changed.

    For example:

    * `turnkeep show chat.json`
    * `turnkeep show chat.json --max-tokens 8k --pin rule-1`
    * `turnkeep show session.json --turn 12`
    """
    request = load(read_one(file), format_name, model)
    budget = options.budget_of(max_tokens, reserve, target)
    survey = request.survey(pin or ())
    overflow: BudgetExceededError | None = None
    plan = None
    if budget is not None:
        try:
            plan = request.plan(
                budget=budget,
                pinned=tuple(pin or ()),
                pin_scope=pin_scope.value,
                pending=options.pending_of(pending, no_pending),
                drop_system=drop_system,
                strategy=options.strategy_of(strategy),
            )
        except BudgetExceededError as error:
            overflow = error
    if plan is not None:
        survey = survey.with_plan(plan)
    if as_json:
        if overflow is not None:
            raise overflow
        print(dumps(report(request, survey, plan), indent=2).decode(), end="")
        return
    console = stdout_console(width)
    glyphs = glyphs_for(console)
    wanted = set(turn or ())
    title = _title(request, survey, glyphs, console.width)
    console.print(title, soft_wrap=True)
    console.print()
    for line in picture(
        survey,
        console.width,
        glyphs,
        inside=lambda number: steps or number in wanted,
        shown=lambda number, entries: (
            (not wanted or number in wanted)
            and (not dropped or any(e.fate != KEEP for e in entries))
        ),
    ):
        console.print(line, overflow="crop", no_wrap=True)
    console.print()
    if plan is not None and budget is not None:
        room = Room(budget.max_tokens, budget.reserve, survey.total, plan.tokens)
        for line in gauges(survey, room, console.width, glyphs):
            console.print(line, overflow="crop", no_wrap=True)
        console.print()
        for line in outcome(plan, glyphs):
            console.print(line, soft_wrap=True)
        console.print()
    coloured = console.color_system is not None and not console.no_color
    explained = key(survey, glyphs, planned=plan is not None, coloured=coloured)
    if explained:
        console.print(explained)
    if overflow is not None:
        raise overflow


def _title(request: Request, survey: Survey, glyphs: Glyphs, width: int) -> Text:
    facts = [
        request.format.name,
        f"{len(survey.entries):,} messages",
        f"{survey.turns:,} turns",
        f"{survey.total:,} tokens ({accuracy(survey)})",
    ]
    name = fit_text(request.source.name, width, glyphs)
    separator = f" {glyphs.dot} "
    return Text.assemble((name, "bold"), separator, separator.join(facts))


def report(request: Request, survey: Survey, plan: Plan | None) -> dict[str, Any]:
    """What the picture shows, for programs."""
    first = survey.first_turn
    return {
        "file": request.source.name,
        "format": request.format.name,
        "model": request.model,
        "counter": survey.counter.name,
        "exact": survey.counter.exact,
        "margin": survey.counter.margin,
        "rule": survey.counter.rule,
        "tokens": survey.total,
        "tools": survey.tools,
        "overhead": survey.request,
        "turns": survey.turns,
        "messages": [_entry(entry, first) for entry in survey.entries],
        "plan": None if plan is None else plan_json(plan),
    }


def _entry(entry: Entry, first_turn: int) -> dict[str, Any]:
    return {
        "index": entry.index,
        "id": entry.id,
        "turn": entry.turn + first_turn,
        "step": entry.step,
        "role": str(entry.role),
        "tokens": entry.tokens,
        "tools": sorted({share.name for share in entry.tools}),
        "pinned": entry.pinned,
        "pending": list(entry.pending),
        "action": entry.fate,
        "cause": entry.cause,
        "tokens_after": entry.tokens_after,
    }
