"""`turnkeep report`: one page that shows what fills the window, what went, and why."""

from __future__ import annotations

from typing import Annotated

import attrs
import typer

from turnkeep.budgets import Budget
from turnkeep.errors import BudgetExceededError
from turnkeep.replay import Report, replay
from turnkeep.report import Study, figures, page, play

from . import _options as options
from ._draw import counted
from ._files import STDIO, check_output, write
from ._guard import DOES_NOT_FIT, guarded
from ._histories import ConversationId, budget_in, read_one
from ._json import dumps
from ._request import Request, load
from ._terminal import warn

_PAGE = "The page"


@guarded
def report(
    file: options.File,
    max_tokens: options.MaxTokens = None,
    model: options.Model = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the page goes, whole or not at all; `-` is stdout. Default: "
            "report.html (with `--json`: no page).",
            show_default=False,
            rich_help_panel=_PAGE,
        ),
    ] = None,
    format_name: options.FormatName = None,
    reserve: options.Reserve = 0,
    target: options.Target = None,
    pin: options.Pins = None,
    pin_scope: options.PinScopeName = options.PinScope.TURN,
    pending: options.PendingIds = None,
    no_pending: options.NoPending = False,
    drop_system: options.DropSystem = False,
    strategy: options.StrategyName = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="SPEC",
            help="Replay the session under this strategy too and compare. Repeatable. "
            "As for `--strategy`.",
            show_default=False,
            rich_help_panel=_PAGE,
        ),
    ] = None,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Write a web page: what fills the window, what was dropped, and why.

    One HTML file that fetches nothing. With `--max-tokens` it also shows the plan for
    the whole history, and what each call of the session would have been sent. The page
    holds every message: treat it like the session itself.

    For example:

    * `turnkeep report session.json --max-tokens 32k -o report.html`
    * `turnkeep report session.json -n 32k --compare relevance --compare largest-first`
    """
    path = _path_of(output, as_json=as_json)
    check_output(path or STDIO, file)
    source = read_one(file, conversation)
    request = load(source, format_name, model)
    budget = options.budget_of(max_tokens, reserve, target) or budget_in(source.value)
    survey = request.survey(pin or ())
    study = Study(request.source.name, survey, request.model, budget)
    if budget is not None:
        chosen = options.strategy_of(strategy)
        awaited = options.pending_of(pending, no_pending)
        try:
            plan = request.plan(
                budget=budget,
                pinned=tuple(pin or ()),
                pin_scope=pin_scope.value,
                pending=awaited,
                drop_system=drop_system,
                strategy=chosen,
            )
        except BudgetExceededError as error:
            study = attrs.evolve(study, overflow=error)
        else:
            study = attrs.evolve(study, plan=plan, survey=survey.with_plan(plan))
        session = play(
            survey,
            budget,
            model=request.model,
            tools=request.envelope.tools,
            strategy=chosen,
            pin_scope=pin_scope.value,
            pending=awaited,
            drop_system=drop_system,
        )
        study = attrs.evolve(study, session=session)
        if compare:
            study = attrs.evolve(study, replayed=_replay(request, budget, compare))
    if path is not None:
        write(path, page(study).encode())
        if path != STDIO and not as_json:
            went = (
                "" if study.plan is None else f", {len(study.plan.dropped):,} dropped"
            )
            warn(
                f"{path}: {counted(len(survey.entries), 'message')}, "
                f"{counted(survey.total, 'token')}{went}"
            )
    if as_json:
        print(dumps(figures(study), indent=2).decode(), end="")
    if study.overflow is not None:
        # The page and the figures say so too; a script needs the exit code.
        if as_json:
            raise typer.Exit(DOES_NOT_FIT)
        raise study.overflow


def _path_of(output: str | None, *, as_json: bool) -> str | None:
    """Where the page goes; none where only the figures were asked for."""
    if output is None:
        return None if as_json else "report.html"
    return output


def _replay(request: Request, budget: Budget, specs: list[str]) -> Report:
    return replay(
        request.source.value,
        options.strategies_of(specs, "--compare"),
        budget,
        format=request.read_as,
        model=request.model,
    )
