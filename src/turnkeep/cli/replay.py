"""`turnkeep replay`: what strategies would have cost and kept, on your own sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import attrs
import typer
from rich.text import Text

from turnkeep.budgets import Budget, Prices
from turnkeep.replay import FULL, SLIDING, Outcome, Report, total
from turnkeep.replay import replay as replay_session

from . import _options as options
from ._draw import ASCII, Glyphs, counted, fit_text, glyphs_for, stdout_console
from ._files import UsageError, check_output, write
from ._guard import guarded
from ._histories import ConversationId, read
from ._json import dumps
from ._replay_html import page, shares
from ._request import load

PRICES: Mapping[str, Prices] = {
    "anthropic": Prices(read=0.1, write=1.25),
    "deepseek": Prices(read=0.26, write=1.0),
    "gemini": Prices(read=0.1, write=1.0),
    "openai": Prices(read=0.1, write=1.0),
    "openai-4o": Prices(read=0.5, write=1.0),
}
"""What the providers' caches cost, relative to a plain prompt token (genai-prices)."""

COMPARED = (
    "chat",
    "least-recently-referenced",
    "keep-recent:rest=(relevance & least-recently-referenced)",
)
"""What is replayed when no strategy is named."""

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#@"


@guarded
def replay(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Recorded sessions: message lists or request bodies. "
            "`-` reads stdin, `@1` the newest of `turnkeep sessions`.",
            show_default=False,
        ),
    ],
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens",
            "-n",
            metavar="N",
            parser=options.parse_tokens,
            help="Tokens a window may hold, system text and tools not counted.",
            show_default=False,
        ),
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            metavar="SPEC",
            help="What to compare; repeatable. As for `fit --strategy`.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        float,
        typer.Option(
            "--target", metavar="SHARE", help="Cut down to this share of the window."
        ),
    ] = 0.6,
    prices: Annotated[
        str,
        typer.Option(
            "--prices",
            metavar="NAME|READ,WRITE",
            help="What the provider's prompt cache costs, relative to a plain prompt "
            f"token: {', '.join(PRICES)}, or two numbers.",
        ),
    ] = "anthropic",
    when_it_pays: Annotated[
        bool,
        typer.Option(
            "--when-it-pays", help="Cut when the prices say so, not only at the limit."
        ),
    ] = False,
    model: options.Model = None,
    format_name: options.FormatName = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write the report as a page that needs nothing else.",
            show_default=False,
        ),
    ] = None,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Replay sessions call by call, under one strategy after the other.

    Each answer of the model was one call. For every strategy: what all calls would
    have cost with the prompt cache, and how many of the ids, paths and values that
    later calls took from earlier results were still in the window. No model is asked.

    For example:

    * `turnkeep replay session.json -n 32k`
    * `turnkeep replay *.json -n 32k -s default -s relevance --html report.html`
    """
    if html is not None:
        check_output(html, *files, option="--html")
    cost = prices_of(prices)
    budget = _budget(max_tokens, target, cost if when_it_pays else None)
    compared = options.strategies_of(strategy or COMPARED)
    reports: list[tuple[str, Report]] = []
    for file in files:
        for source in read(file, conversation):
            request = load(source, format_name, model)
            made = replay_session(
                source.value,
                compared,
                budget,
                cost,
                format=request.read_as,
                counter=request.counter,
            )
            reports.append((source.name, made))
    whole = total([report for _, report in reports])
    if html is not None:
        write(html, page([name for name, _ in reports], whole).encode())
    if as_json:
        print(dumps(_json(reports, whole), indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for line in _lines([name for name, _ in reports], whole, console.width, glyphs):
        console.print(line, soft_wrap=True)


def prices_of(text: str) -> Prices:
    """The prices that a name or `READ,WRITE` means.

    Raises:
        UsageError: Neither.
    """
    known = PRICES.get(text)
    if known is not None:
        return known
    try:
        read_price, write_price = map(float, text.split(","))
        return Prices(read_price, write_price)
    except ValueError:
        reason = f"{text!r} is neither of {', '.join(PRICES)} nor READ,WRITE"
        raise UsageError(reason, "--prices") from None


def _budget(max_tokens: int, target: float, prices: Prices | None) -> Budget:
    try:
        return Budget(max_tokens, target=target, prices=prices)
    except ValueError as error:
        option = "--target" if "target" in str(error) else "--max-tokens"
        raise UsageError(str(error), option) from None


def _lines(
    names: Sequence[str], report: Report, width: int, glyphs: Glyphs
) -> Iterator[Text]:
    title = names[0] if len(names) == 1 else f"{len(names)} sessions"
    prices = report.prices
    yield Text.assemble(
        (fit_text(title, width, glyphs), "bold"),
        f" {glyphs.dot} {counted(report.calls, 'call')} {glyphs.dot} "
        f"{counted(report.tokens, 'token')} "
        f"{glyphs.dot} windows of {report.limit:,}, cut to {report.target:,} "
        f"{glyphs.dot} cache reads {prices.read:g}, writes {prices.write:g}",
    )
    yield Text()
    figures = 60
    wide = max(min(max(len(o.name) for o in report.outcomes), width - figures), 12)
    heads = ("cost", "of window", "cached", "breaks", "largest", "kept", "whole")
    head = "".join(f"{word:>{size}}" for word, size in zip(heads, _WIDTHS, strict=True))
    yield Text(f"{'strategy':<{wide}}{head}", "bold")
    for outcome in report.outcomes:
        style = "dim" if outcome.name in (FULL, SLIDING) else ""
        name = fit_text(outcome.name, wide, glyphs)
        yield Text(f"{name:<{wide}}{_figures(outcome)}", style)
    yield Text()
    largest = max((o.largest for o in report.outcomes[1:]), default=0)
    for outcome in report.outcomes[1:]:
        yield Text(fit_text(outcome.name, width, glyphs), "dim")
        yield Text(spark(outcome.windows, largest, width, glyphs), "cyan")
    yield Text()
    steps, referents = report.outcomes[0].steps, report.outcomes[0].referents
    yield from (Text(line, "dim") for line in _meaning(referents, steps))
    over = {o.name: o.over for o in report.outcomes[1:] if o.over}
    for name, calls in over.items():
        yield Text(f"{counted(calls, 'call')} did not fit under {name}", "yellow")


def _meaning(referents: int, steps: int) -> Iterator[str]:
    """What the last two columns say."""
    if not referents:
        yield "kept, whole: no call took an id, path or value from an earlier result"
        return
    yield (
        f"kept: of {referents:,} ids, paths and values that calls took from "
        "earlier results, those still in the window;"
    )
    yield f"whole: of {counted(steps, 'call')} that took any, those that had all"


_WIDTHS = (8, 11, 8, 8, 10, 7, 7)


def _figures(outcome: Outcome) -> str:
    cells = (
        f"{outcome.to_full:.2f}",
        f"{outcome.to_sliding:.2f}",
        f"{outcome.cached:.0%}",
        f"{outcome.breaks:,}",
        f"{outcome.largest:,}",
        *shares(outcome),
    )
    return "".join(f"{cell:>{size}}" for cell, size in zip(cells, _WIDTHS, strict=True))


def spark(values: Sequence[int], largest: int, width: int, glyphs: Glyphs) -> str:
    """A line of at most *width* characters; each shows the largest of its values."""
    marks = _PLAIN if glyphs == ASCII else _BLOCKS
    if not values or not largest:
        return ""
    cells = min(width, len(values))
    drawn = []
    for cell in range(cells):
        part = values[cell * len(values) // cells : (cell + 1) * len(values) // cells]
        level = max(part) * (len(marks) - 1) // largest
        drawn.append(marks[min(level, len(marks) - 1)])
    return "".join(drawn)


def _json(reports: Sequence[tuple[str, Report]], whole: Report) -> dict[str, Any]:
    return {
        "prices": attrs.asdict(whole.prices),
        "limit": whole.limit,
        "target": whole.target,
        **_session(whole, windows=False),
        "files": [
            {"file": name, **_session(report, windows=True)} for name, report in reports
        ],
    }


def _session(report: Report, *, windows: bool) -> dict[str, Any]:
    outcomes = [attrs.asdict(outcome) for outcome in report.outcomes]
    for outcome in outcomes:
        if windows:
            outcome["windows"] = list(outcome["windows"])
        else:
            del outcome["windows"]
    return {"calls": report.calls, "tokens": report.tokens, "strategies": outcomes}
