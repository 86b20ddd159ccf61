"""`turnkeep count`: what fills the window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, assert_never

import attrs
import typer
from rich.console import Console
from rich.text import Text

from turnkeep.report._survey import KEEP, SPEAKERS, Entry, Survey

from . import _options as options
from ._draw import Glyphs, bar, fit_text, glyphs_for, stdout_console
from ._files import read
from ._guard import guarded
from ._json import dumps
from ._outcome import accuracy
from ._request import Request, load

_FIGURES = 18
"""Cells that the figures of a line take."""


class By(StrEnum):
    """What to sum up by."""

    MESSAGE = "message"
    TURN = "turn"
    TOOL = "tool"
    ROLE = "role"


@attrs.frozen
class Share:
    """One line of the table."""

    name: str
    tokens: int
    kind: str
    """Whose colour its bar has."""

    note: str = ""
    count: int = 1
    """How many messages or calls it sums up."""


@guarded
def count(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Message lists or request bodies: JSON or JSON Lines, gzip or not. "
            "`-` reads stdin.",
            show_default=False,
        ),
    ],
    model: options.Model = None,
    format_name: options.FormatName = None,
    by: Annotated[
        By, typer.Option("--by", "-b", help="What to sum up by, largest first.")
    ] = By.ROLE,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Lines to show at most.")
    ] = 20,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Count a request, and say what fills the window, largest first.

    Tool definitions, system text and overhead are counted too. Where the tokenizer is
    not public the count is an estimate, and its margin is shown.

    For example:

    * `turnkeep count chat.json --model gpt-4o`
    * `turnkeep count *.json.gz --by tool`
    """
    measured: list[tuple[Request, Survey]] = []
    for file in files:
        for source in read(file):
            request = load(source, format_name, model)
            measured.append((request, request.survey()))
    if as_json:
        reports = [_report(request, survey) for request, survey in measured]
        total = sum(survey.total for _, survey in measured)
        whole = {"total": total, "files": reports}
        print(dumps(whole, indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for nth, (request, survey) in enumerate(measured):
        if nth:
            console.print()
        _print_one(console, glyphs, request, survey, by, top)
    if len(measured) > 1:
        console.print()
        _print_all(console, glyphs, measured)


def _print_one(
    console: Console,
    glyphs: Glyphs,
    request: Request,
    survey: Survey,
    by: By,
    top: int,
) -> None:
    shares = shares_by(survey, by)
    name = fit_text(request.source.name, console.width, glyphs)
    title = Text.assemble(
        (name, "bold"),
        f" {glyphs.dot} {request.format.name} {glyphs.dot} {survey.total:,} tokens "
        f"({accuracy(survey)})",
    )
    console.print(title, soft_wrap=True)
    console.print()
    for line in _lines(shares[:top], survey.total, by, console.width, glyphs):
        console.print(line, overflow="crop", no_wrap=True)
    if rest := shares[top:]:
        tokens = sum(share.tokens for share in rest)
        console.print(
            Text(f"{glyphs.ellipsis} {len(rest)} more, {tokens:,} tokens", "dim")
        )
    console.print()
    rule = Text(f"Counted by: {survey.counter.rule}", "dim")
    console.print(rule, soft_wrap=True)


def _lines(
    shares: Sequence[Share], total: int, by: By, width: int, glyphs: Glyphs
) -> Iterator[Text]:
    """The table: names and figures always, bars and notes where there is room."""
    longest = max([len(share.name) for share in shares] + [len(by.value)])
    name_width = max(min(longest, width - _FIGURES - 1), 8)
    left = width - name_width - _FIGURES
    cells = min(left // 2, 30) if left >= 20 else 0
    yield Text(f"{by.value:<{name_width}} {'tokens':>9} {'share':>6}", "bold")
    largest = max((share.tokens for share in shares), default=0)
    for share in shares:
        name = fit_text(share.name, name_width, glyphs)
        portion = f"{share.tokens / total:.1%}" if total else ""
        line = Text(f"{name:<{name_width}} {share.tokens:>9,} {portion:>6}")
        if cells:
            drawn = bar([(share.kind, KEEP, share.tokens)], largest, cells, glyphs)
            line.append("  ")
            line.append_text(drawn)
            line.append(" " * (cells - drawn.cell_len + 2))
            note = fit_text(share.note, left - cells - 4, glyphs)
            line.append(note, "dim")
        line.rstrip()
        yield line


def _print_all(
    console: Console, glyphs: Glyphs, measured: Iterable[tuple[Request, Survey]]
) -> None:
    rows = [
        (request.source.name, len(survey.entries), survey.total)
        for request, survey in measured
    ]
    rows.append(("total", sum(r[1] for r in rows), sum(r[2] for r in rows)))
    longest = max(len(name) for name, _, _ in rows)
    wide = max(min(longest, console.width - 22), 8)
    console.print(Text(f"{'file':<{wide}} {'messages':>9} {'tokens':>11}", "bold"))
    for name, messages, tokens in rows:
        shown = fit_text(name, wide, glyphs)
        console.print(Text(f"{shown:<{wide}} {messages:>9,} {tokens:>11,}"))


def shares_by(survey: Survey, by: By) -> list[Share]:
    """What fills the window, largest first; the shares sum up to the total.

    Linear in the number of messages, then sorted.
    """
    match by:
        case By.ROLE:
            shares = _by_role(survey)
        case By.MESSAGE:
            shares = [_of_message(entry) for entry in survey.entries]
        case By.TURN:
            shares = _by_turn(survey)
        case By.TOOL:
            shares = _by_tool(survey)
        case _:
            assert_never(by)
    if by is not By.ROLE:
        around = [("tool definitions", survey.tools), ("request", survey.request)]
        shares += [Share(name, n, "overhead") for name, n in around if n]
    return sorted(shares, key=lambda share: -share.tokens)


def _by_role(survey: Survey) -> list[Share]:
    tokens = dict.fromkeys(SPEAKERS, 0)
    for entry in survey.entries:
        for kind, spent in entry.by_speaker().items():
            tokens[kind] += spent
    tokens["overhead"] += survey.request
    shares = [Share(kind, spent, kind) for kind, spent in tokens.items() if spent]
    if survey.tools:
        shares.append(Share("tool definitions", survey.tools, "tools"))
    return shares


def _of_message(entry: Entry) -> Share:
    tools = ", ".join(dict.fromkeys(share.name for share in entry.tools))
    spent = entry.by_speaker()
    kind = max(spent, key=lambda k: spent[k], default="overhead")
    note = " ".join(filter(None, (str(entry.role), tools, entry.text)))
    return Share(entry.id, entry.tokens, kind, note)


def _by_turn(survey: Survey) -> list[Share]:
    turns: dict[int, list[Entry]] = {}
    for entry in survey.entries:
        turns.setdefault(entry.turn, []).append(entry)
    first = survey.first_turn
    return [
        Share(
            f"turn {number + first}",
            sum(e.tokens for e in entries),
            "user",
            entries[0].text,
            len(entries),
        )
        for number, entries in turns.items()
    ]


def _by_tool(survey: Survey) -> list[Share]:
    """Each tool's calls and results; what is no tool's is summed up in one line."""
    tools: dict[str, list[int]] = {}
    rest = 0
    for entry in survey.entries:
        rest += entry.tokens
        for share in entry.tools:
            sums = tools.setdefault(share.name, [0, 0, 0])
            sums[0] += share.calls
            sums[1] += share.call_tokens
            sums[2] += share.result_tokens
            rest -= share.call_tokens + share.result_tokens
    shares = [
        Share(
            name,
            in_calls + in_results,
            "results" if in_results >= in_calls else "calls",
            f"{number:,} {'call' if number == 1 else 'calls'}: "
            f"{in_calls:,} in, {in_results:,} out",
            number,
        )
        for name, (number, in_calls, in_results) in tools.items()
    ]
    return [*shares, Share("no tool", rest, "user", "text and overhead")]


def _report(request: Request, survey: Survey) -> dict[str, Any]:
    return {
        "file": request.source.name,
        "format": request.format.name,
        "model": request.model,
        "total": survey.total,
        "exact": survey.counter.exact,
        "margin": survey.counter.margin,
        "counter": survey.counter.name,
        "rule": survey.counter.rule,
        **{
            f"by_{by.value}": [
                {"name": share.name, "tokens": share.tokens}
                for share in shares_by(survey, by)
            ]
            for by in By
        },
    }
