"""`turnkeep fit`: a message list that fits."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from turnkeep.plans import plan_figures

from . import _options as options
from ._draw import counted, glyphs_for, stderr_console
from ._files import STDIO, UsageError, check_output, encode, write
from ._guard import guarded
from ._histories import ConversationId, budget_in, read_one
from ._json import dumps
from ._outcome import outcome
from ._request import load
from ._wording import as_options

_OUTPUT = "Output"
_HISTORY = "What must stay, what may go"


class OpenCalls(StrEnum):
    """What the window holds for a call without a result."""

    STAND_IN = "stand-in"
    KEEP = "keep"
    RAISE = "raise"


class OnInvalid(StrEnum):
    """What to do with results that no provider would accept."""

    REPAIR = "repair"
    RAISE = "raise"
    KEEP = "keep"


class OnOverflow(StrEnum):
    """What to do where what must stay does not fit."""

    SHORTEN = "shorten"
    RAISE = "raise"
    SEND = "send"


class CacheMarks(StrEnum):
    """What to do with the marks of the provider's prompt cache."""

    KEEP = "keep"
    PLACE = "place"
    DROP = "drop"


@guarded
def fit(
    file: options.File,
    max_tokens: options.MaxTokens = None,
    model: options.Model = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the list goes, whole or not at all. `.gz` packs it; `-` is "
            "stdout.",
            rich_help_panel=_OUTPUT,
        ),
    ] = STDIO,
    format_name: options.FormatName = None,
    reserve: options.Reserve = 0,
    target: options.Target = None,
    pin: options.Pins = None,
    pin_scope: options.PinScopeName = options.PinScope.TURN,
    pending: options.PendingIds = None,
    no_pending: options.NoPending = False,
    drop_system: options.DropSystem = False,
    strategy: options.StrategyName = None,
    open_calls: Annotated[
        OpenCalls,
        typer.Option(
            "--open-calls",
            help="An unanswered call gets a result that says so, stays bare, or is an "
            "error.",
            rich_help_panel=_HISTORY,
        ),
    ] = OpenCalls.STAND_IN,
    on_invalid: Annotated[
        OnInvalid,
        typer.Option(
            "--on-invalid",
            help="Results without a call, or given twice, are mended, an error, or "
            "kept.",
            rich_help_panel=_HISTORY,
        ),
    ] = OnInvalid.REPAIR,
    on_overflow: Annotated[
        OnOverflow,
        typer.Option(
            "--on-overflow",
            help="Tool results that are too large are shortened; or what must stay and "
            "does not fit is an error, or is sent.",
            rich_help_panel=_HISTORY,
        ),
    ] = OnOverflow.SHORTEN,
    cache_marks: Annotated[
        CacheMarks,
        typer.Option(
            "--cache-marks",
            help="Marks of the provider's prompt cache are left alone, set where they "
            "pay, or removed.",
            rich_help_panel=_OUTPUT,
        ),
    ] = CacheMarks.KEEP,
    each: Annotated[
        bool,
        typer.Option(
            "--each",
            help="FILE has a conversation on each line: fit them all, over all cores, "
            "in constant memory. Goes on where it was interrupted.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="With --each: processes; one for each core unless given.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    skip_errors: Annotated[
        bool,
        typer.Option(
            "--skip-errors",
            help="With --each: report a conversation that fails, leave it out, go on.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="No report on stderr.", rich_help_panel=_OUTPUT
        ),
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Fit a message list into a token budget, in the shape it came in.

    The question, the pins, the system text and the open calls stay; every call keeps
    its result. What cannot be made to fit is an error (code 3) that names the smallest
    budget that would work, and nothing is written.

    With `--json` the report goes to stdout; the list is in it, as `messages`, unless
    `--output` names a file.

    For example:

    * `turnkeep fit chat.json --max-tokens 8000 --model gpt-4o -o trimmed.json`
    * `turnkeep fit - -n 8k --pin rule-1 < chat.json > trimmed.json`
    """
    check_output(output, file)
    for option, given in (("--workers", workers), ("--skip-errors", skip_errors)):
        if given and not each:
            reason = f"{option} needs --each, for a file with a conversation a line"
            raise UsageError(reason, option)
    budget = options.budget_of(max_tokens, reserve, target)
    asked: dict[str, Any] = {
        "pinned": tuple(pin or ()),
        "pin_scope": pin_scope.value,
        "pending": options.pending_of(pending, no_pending),
        "drop_system": drop_system,
        "strategy": options.strategy_of(strategy),
        "open_calls": open_calls.value,
        "on_invalid": on_invalid.value,
        "on_overflow": on_overflow.value,
        "cache_marks": cache_marks.value,
    }
    if each:
        _fit_each(
            file,
            output,
            {"budget": budget, "model": model, "format": format_name, **asked},
            workers=workers,
            skip_errors=skip_errors,
            as_json=as_json,
        )
        return
    source = read_one(file, conversation)
    request = load(source, format_name, model)
    if budget is None:
        budget = budget_in(source.value) or options.budget_of_model(request.model)
    plan = request.plan(budget=budget, **asked)
    window = plan.apply(source.value)
    data = encode(source, window)
    if as_json:
        report: dict[str, Any] = {"format": request.read_as, **plan_figures(plan)}
        if output == STDIO:
            report["messages"] = window
        text = dumps(report, indent=2)
        if output != STDIO:
            write(output, data)
        write(STDIO, text)
        return
    write(output, data)
    if quiet:
        return
    console = stderr_console()
    glyphs = glyphs_for(console)
    about = "" if plan.exact else f" (estimated, up to {plan.margin:.0%} more)"
    console.print(
        f"{source.name}: {plan.tokens_before:,} {glyphs.arrow} {plan.tokens:,} "
        f"tokens{about}"
    )
    for line in outcome(plan, glyphs):
        console.print(line, soft_wrap=True)


def _fit_each(
    file: str,
    output: str,
    asked: dict[str, Any],
    *,
    workers: int | None,
    skip_errors: bool,
    as_json: bool,
) -> None:
    from ._each import fit_each  # noqa: PLC0415 - processes are for --each alone

    report = fit_each(
        file,
        output,
        asked,
        workers=workers,
        on_error="skip" if skip_errors else "raise",
    )
    skipped = [(line, as_options(why, fit)) for line, why in report.skipped]
    if as_json:
        lines = [{"line": line, "error": why} for line, why in skipped]
        write(STDIO, dumps({"done": report.done, "skipped": lines}, indent=2))
        return
    console = stderr_console()
    console.print(
        f"{counted(report.done, 'conversation')} fitted, {len(skipped)} skipped"
    )
    for line, why in skipped[:20]:
        console.print(f"  line {line}: {why}", soft_wrap=True, markup=False)
