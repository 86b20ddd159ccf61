"""`turnkeep count`: what fills the window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, assert_never

import typer
from rich.console import Console
from rich.text import Text

from turnkeep.report._survey import KEEP, Entry, Survey
from turnkeep.tokens._factory import text_counter

from . import _options as options
from ._counted import Measured, Streamed
from ._draw import Glyphs, bar, counted, fit_text, glyphs_for, stdout_console
from ._files import STDIO, read_text
from ._guard import guarded
from ._histories import ConversationId, read
from ._json import dumps
from ._outcome import accuracy
from ._request import load
from ._streamed import count_lines, is_large
from ._sums import Share, Sums
from ._terminal import say

_FIGURES = 18
"""Cells that the figures of a line take."""


class By(StrEnum):
    """What to sum up by."""

    MESSAGE = "message"
    TURN = "turn"
    TOOL = "tool"
    ROLE = "role"


_STREAMED = (By.ROLE, By.TOOL)
"""What can be summed up without holding every message."""


@guarded
def count(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Message lists or request bodies: JSON or JSON Lines, gzip or not. "
            "`-` reads stdin, `@1` the newest of `turnkeep sessions`.",
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
    conversation: ConversationId = None,
    as_text: Annotated[
        bool,
        typer.Option("--text", help="FILE is plain text: count it as it stands."),
    ] = False,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Count a request, and say what fills the window, largest first.

    Tool definitions, system text and overhead are counted too. Where the tokenizer is
    not public the count is an estimate, and its margin is shown.

    JSON Lines of more than 64 MB are counted line by line by role and by tool, in
    constant memory; by message and by turn they are read whole.

    For example:

    * `turnkeep count chat.json --model gpt-4o`
    * `turnkeep count *.json.gz --by tool`
    * `turnkeep count --text prompt.md --model gpt-4o`
    """
    if as_text:
        _count_texts(files, model, as_json)
        return
    measured: list[Measured | Streamed] = []
    for file in files:
        if by in _STREAMED and is_large(file):
            found = count_lines(file, format_name, model)
            if found is not None:
                measured.append(found)
                continue
        for source in read(file, conversation):
            request = load(source, format_name, model)
            measured.append(Measured(request, request.survey()))
    if as_json:
        reports = [_report(one) for one in measured]
        total = sum(one.total for one in measured)
        whole = {"total": total, "files": reports}
        print(dumps(whole, indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for nth, one in enumerate(measured):
        if nth:
            console.print()
        _print_one(console, glyphs, one, by, top)
    if len(measured) > 1:
        console.print()
        _print_all(console, glyphs, measured)


def _count_texts(files: Iterable[str], model: str | None, as_json: bool) -> None:
    """Print the tokens of texts by themselves: no roles, no overhead of a request."""
    counter = text_counter(model)
    texts = [(Path(file).name, counter.count(read_text(file))) for file in files]
    total = sum(tokens for _, tokens in texts)
    if as_json:
        about = {
            "format": "text",
            "model": model,
            "exact": counter.exact,
            "margin": counter.margin,
            "counter": counter.name,
        }
        told = [{"file": name, **about, "total": tokens} for name, tokens in texts]
        print(dumps({"total": total, "files": told}, indent=2).decode(), end="")
        return
    how = "exact" if counter.exact else f"estimated, up to {counter.margin:.0%} more"
    for name, tokens in texts:
        say(f"{'stdin' if name == STDIO else name}: {counted(tokens, 'token')} ({how})")
    if len(texts) > 1:
        say(f"total: {counted(total, 'token')}")


def _print_one(
    console: Console,
    glyphs: Glyphs,
    one: Measured | Streamed,
    by: By,
    top: int,
) -> None:
    shares = _shares(one, by)
    name = fit_text(one.name, console.width, glyphs)
    title = Text.assemble(
        (name, "bold"),
        f" {glyphs.dot} {one.formats} {glyphs.dot} {counted(one.total, 'token')} "
        f"({accuracy(one)})",
    )
    if isinstance(one, Streamed) and one.conversations is not None:
        title.append(f" {glyphs.dot} {counted(one.conversations, 'conversation')}")
    console.print(title, soft_wrap=True)
    console.print()
    for line in _lines(shares[:top], one.total, by, console.width, glyphs):
        console.print(line, overflow="crop", no_wrap=True)
    if rest := shares[top:]:
        tokens = sum(share.tokens for share in rest)
        console.print(
            Text(f"{glyphs.ellipsis} {len(rest)} more, {tokens:,} tokens", "dim")
        )
    console.print()
    rule = Text(f"Counted by: {one.counter.rule}", "dim")
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
    console: Console, glyphs: Glyphs, measured: Iterable[Measured | Streamed]
) -> None:
    rows = [(one.name, one.sums.messages, one.total) for one in measured]
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
    sums = Sums.of(survey)
    match by:
        case By.ROLE | By.TOOL:
            return _of_sums(sums, by)
        case By.MESSAGE:
            shares = [_of_message(entry) for entry in survey.entries]
        case By.TURN:
            shares = _by_turn(survey)
        case _:
            assert_never(by)
    return _sorted([*shares, *sums.around()])


def _shares(one: Measured | Streamed, by: By) -> list[Share]:
    if isinstance(one, Measured):
        return shares_by(one.survey, by)
    return _of_sums(one.sums, by)


def _of_sums(sums: Sums, by: By) -> list[Share]:
    if by is By.ROLE:
        return _sorted(sums.by_role())
    return _sorted([*sums.by_tool(), *sums.around()])


def _sorted(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: -share.tokens)


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


def _report(one: Measured | Streamed) -> dict[str, Any]:
    known = By if isinstance(one, Measured) else _STREAMED
    told: dict[str, Any] = {
        "file": one.name,
        "format": one.formats,
        "model": one.model,
        "total": one.total,
        "exact": one.counter.exact,
        "margin": one.counter.margin,
        "counter": one.counter.name,
        "rule": one.counter.rule,
        **{
            f"by_{by.value}": [
                {"name": share.name, "tokens": share.tokens}
                for share in _shares(one, by)
            ]
            if by in known
            else None
            for by in By
        },
    }
    if isinstance(one, Streamed):
        told["messages"] = one.sums.messages
        if one.conversations is not None:
            told["conversations"] = one.conversations
    return told
