"""`turnkeep show`: a picture of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import attrs
import typer
from rich.console import Console
from rich.text import Text

from turnkeep.budgets import Budget
from turnkeep.errors import BudgetExceededError
from turnkeep.plans import Plan, plan_figures
from turnkeep.report._survey import KEEP, Entry, Survey

from . import _options as options
from ._draw import Glyphs, counted, fit_text, glyphs_for, stdout_console
from ._files import UsageError
from ._guard import guarded
from ._histories import ConversationId, budget_in, read_one
from ._json import dumps
from ._outcome import accuracy, outcome
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
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool",
            metavar="NAME",
            help="Only turns that use this tool, with the steps that do. Repeatable.",
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
    pager: Annotated[
        bool,
        typer.Option(
            "--pager", "-p", help="Page by page, in $PAGER.", rich_help_panel=_SHOW
        ),
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Draw a conversation: one bar a turn, to scale.

    With `--max-tokens` it also shows what would go, and why, and a line above the
    newest turns that fit whole. Nothing is changed. With `--json` the options that pick
    turns pick messages.

    For example:

    * `turnkeep show chat.json`
    * `turnkeep show chat.json --max-tokens 8k --pin rule-1`
    * `turnkeep show session.json --turn 12`
    * `turnkeep show session.json --tool read_file --pager`
    """
    source = read_one(file, conversation)
    request = load(source, format_name, model)
    budget = options.budget_of(max_tokens, reserve, target) or budget_in(source.value)
    survey = request.survey(pin or ())
    choice = Choice(frozenset(turn or ()), frozenset(tool or ()), dropped)
    choice.check(survey)
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
        print(dumps(report(request, survey, plan, choice), indent=2).decode(), end="")
        return
    console = stdout_console(width)
    lines = _lines(request, survey, plan, budget, choice, console, inside=steps)
    with console.pager(styles=True) if pager else nullcontext():
        for line in lines:
            # Lines of the picture are cut at the edge; sentences go on below.
            drawn = line.no_wrap is True
            console.print(line, overflow="crop" if drawn else None, soft_wrap=not drawn)
    if overflow is not None:
        raise overflow


@attrs.frozen
class Choice:
    """What of a conversation to show; all of it where nothing is named."""

    turns: frozenset[int] = frozenset()
    tools: frozenset[str] = frozenset()
    dropped: bool = False
    """Whether only what the budget costs something."""

    @property
    def is_whole(self) -> bool:
        """Whether everything is shown."""
        return not (self.turns or self.tools or self.dropped)

    def check(self, survey: Survey) -> None:
        """Refuse to pick what is not there.

        Raises:
            UsageError: A turn or tool that the history has not, with those it has.
        """
        first, last = survey.first_turn, survey.turns
        for number in sorted(self.turns):
            if not (survey.entries and first <= number <= last):
                there = f"there are {first} to {last}" if last else "there are none"
                reason = f"no turn {number}; {there}"
                raise UsageError(reason, "--turn")
        used = {share.name for entry in survey.entries for share in entry.tools}
        for name in sorted(self.tools - used):
            there = f"used are {', '.join(sorted(used))}" if used else "none is used"
            reason = f"no turn uses the tool {name!r}; {there}"
            raise UsageError(reason, "--tool")

    def uses(self, entries: Sequence[Entry]) -> bool:
        """Whether some messages have to do with the tools."""
        names = {share.name for entry in entries for share in entry.tools}
        return not self.tools or not self.tools.isdisjoint(names)

    def turn(self, number: int, entries: Sequence[Entry]) -> bool:
        """Whether to show a turn."""
        return (
            (not self.turns or number in self.turns)
            and self.uses(entries)
            and (not self.dropped or any(entry.fate != KEEP for entry in entries))
        )


def _lines(
    request: Request,
    survey: Survey,
    plan: Plan | None,
    budget: Budget | None,
    choice: Choice,
    console: Console,
    *,
    inside: bool,
) -> Iterator[Text]:
    """Everything that is shown, line by line."""
    glyphs = glyphs_for(console)
    yield _title(request, survey, glyphs, console.width)
    yield Text()
    room = None if budget is None else budget.max_tokens - budget.reserve
    yield from picture(
        survey,
        console.width,
        glyphs,
        inside=lambda number: inside or number in choice.turns or bool(choice.tools),
        shown=choice.turn,
        of_interest=choice.uses,
        limit=room if choice.is_whole else None,
    )
    yield Text()
    if plan is not None and budget is not None:
        sizes = Room(budget.max_tokens, budget.reserve, survey.total, plan.tokens)
        yield from gauges(survey, sizes, console.width, glyphs)
        yield Text()
        yield from outcome(plan, glyphs)
        yield Text()
    coloured = console.color_system is not None and not console.no_color
    explained = key(survey, glyphs, planned=plan is not None, coloured=coloured)
    if explained:
        yield explained


def _title(request: Request, survey: Survey, glyphs: Glyphs, width: int) -> Text:
    facts = [
        request.read_as,
        counted(len(survey.entries), "message"),
        counted(survey.turns, "turn"),
        f"{counted(survey.total, 'token')} ({accuracy(survey)})",
    ]
    name = fit_text(request.source.name, width, glyphs)
    separator = f" {glyphs.dot} "
    return Text.assemble((name, "bold"), separator, separator.join(facts))


def report(
    request: Request, survey: Survey, plan: Plan | None, choice: Choice | None = None
) -> dict[str, Any]:
    """What the picture shows, for programs: every figure, and the chosen messages."""
    first = survey.first_turn
    chosen = choice or Choice()
    return {
        "file": request.source.name,
        "format": request.read_as,
        "model": request.model,
        "counter": survey.counter.name,
        "exact": survey.counter.exact,
        "margin": survey.counter.margin,
        "rule": survey.counter.rule,
        "tokens": survey.total,
        "tools": survey.tools,
        "overhead": survey.request,
        "turns": survey.turns,
        "messages": [
            _entry(entry, first)
            for entry in survey.entries
            if chosen.turn(entry.turn + first, (entry,))
        ],
        "plan": None if plan is None else plan_figures(plan),
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
