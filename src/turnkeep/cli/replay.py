"""`turnkeep replay`: what strategies would have cost and kept, on your own sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import attrs
import typer

from turnkeep.budgets import Budget, Prices
from turnkeep.replay import Expected, Outcome, Report, read_expected, total
from turnkeep.replay import replay as replay_session

from . import _options as options
from ._draw import glyphs_for, stdout_console
from ._files import UsageError, check_output, read_one, write
from ._guard import guarded
from ._histories import ConversationId, read
from ._json import dumps
from ._replay_html import page
from ._replay_table import lines
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
    "memory",
    "agent",
    "least-recently-referenced",
    "digest | least-recently-referenced",
)
"""What is replayed when no strategy is named."""


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
        list[float] | None,
        typer.Option(
            "--target",
            metavar="SHARE",
            help="Cut down to this share of the window (0.6); repeatable.",
            show_default=False,
        ),
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(
            "--expect",
            metavar="FILE",
            help='Questions with the messages that answer them: [{"question": "a text '
            'or a message\'s id", "messages": ["id", ...]}, ...].',
            show_default=False,
        ),
    ] = None,
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
    later calls took from earlier results were still in the window; of a chat without
    tool calls, how many of the rare words of users' messages. No model is asked.

    For example:

    * `turnkeep replay session.json -n 32k`
    * `turnkeep replay *.json -n 32k -s chat -s relevance --html report.html`

    * `turnkeep replay chat.json -n 8k --target 0.6 --target 0.8 --expect asked.json`
    """
    if html is not None:
        check_output(html, *files, option="--html")
    cost = prices_of(prices)
    targets = list(dict.fromkeys(target or [0.6]))
    paid = cost if when_it_pays else None
    budget, *_ = [_budget(max_tokens, share, paid) for share in targets]
    compared = options.strategies_of(strategy or COMPARED)
    expected = _expected(expect)
    reports: list[tuple[str, Report]] = []
    for file in files:
        for source in read(file, conversation):
            if expected and reports:
                reason = "it is for one session, and there are several"
                raise UsageError(reason, "--expect")
            request = load(source, format_name, model)
            made = replay_session(
                source.value,
                compared,
                budget,
                cost,
                format=request.read_as,
                counter=request.counter,
                targets=targets,
                expected=expected,
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
    for line in lines(reports, whole, console.width, glyphs):
        console.print(line, soft_wrap=True)


def _expected(file: str | None) -> list[Expected]:
    """The questions of `--expect`."""
    return [] if file is None else read_expected(read_one(file).value)


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


def _json(reports: Sequence[tuple[str, Report]], whole: Report) -> dict[str, Any]:
    advice = whole.advice()
    return {
        "prices": attrs.asdict(whole.prices),
        "limit": whole.limit,
        "target": whole.target,
        "judged_by": whole.judged_by or None,
        "advice": None if advice is None else advice.name,
        **_session(whole, calls=False),
        "files": [
            {"file": name, **_session(report, calls=True)} for name, report in reports
        ],
    }


def _session(report: Report, *, calls: bool) -> dict[str, Any]:
    return {
        "calls": report.calls,
        "tokens": report.tokens,
        "strategies": [_outcome(outcome, calls=calls) for outcome in report.outcomes],
    }


def _outcome(outcome: Outcome, *, calls: bool) -> dict[str, Any]:
    """Its figures; call by call where they are those of one session."""
    by_call = ("windows", "lost", "each")
    figures = attrs.asdict(outcome, filter=lambda a, _: a.name not in by_call)
    figures["mean"] = outcome.mean
    figures["whole_interval"] = list(outcome.whole_interval)
    figures["recalled_interval"] = list(outcome.recalled_interval)
    if calls:
        figures["windows"] = list(outcome.windows)
        figures["lost"] = [attrs.asdict(one) for one in outcome.lost]
        figures["each"] = [
            {**attrs.asdict(call), "missing": list(call.missing)}
            for call in outcome.each
        ]
    return figures
