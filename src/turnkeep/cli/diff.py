"""`turnkeep diff`: what one message list has lost against another."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from turnkeep.report import Change, Diff, Kind, Survey, texts
from turnkeep.report import diff as compare

from . import _options as options
from ._draw import Glyphs, counted, fit_text, glyphs_for, stdout_console
from ._guard import guarded
from ._histories import ConversationId, read_one
from ._json import dumps
from ._outcome import accuracy
from ._request import Request, load
from ._stores import is_store

_STYLES: dict[Kind, str] = {
    "same": "dim",
    "lost": "red",
    "changed": "yellow",
    "new": "green",
    "moved": "cyan",
}
_SIGNS: dict[Kind, str] = {
    "same": "=",
    "lost": "-",
    "changed": "~",
    "new": "+",
    "moved": ">",
}
_FIGURES = 36
"""Cells in front of what a message says."""


@guarded
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The history, or the earlier window: JSON or JSON Lines, gzip or not.",
            show_default=False,
        ),
    ],
    after: Annotated[
        str,
        typer.Argument(
            metavar="B", help="The window, or the later one.", show_default=False
        ),
    ],
    model: options.Model = None,
    format_name: options.FormatName = None,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            "-t",
            help="Show what lost and new messages say, and changed ones line by line.",
        ),
    ] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--all", "-a", help="List the unchanged messages too, one by one."
        ),
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Show what a window lost against its history, or an earlier window.

    Message by message, with tokens: `-` lost, `~` changed, `+` new, `>` moved. The two
    files may have different formats.

    For example:

    * `turnkeep diff chat.json window.json`
    * `turnkeep diff window-1.json window-2.json --text`
    """
    stores = [is_store(path) for path in (before, after)]
    left, right = (
        # One id for both sides: of a file it says nothing.
        load(
            read_one(path, conversation if stored or not any(stores) else None),
            format_name,
            model,
        )
        for path, stored in zip((before, after), stores, strict=True)
    )
    found = compare(left.survey(), right.survey())
    if as_json:
        print(dumps(_report(left, right, found), indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for line in _lines(left, right, found, console.width, glyphs, whole, text):
        console.print(line, soft_wrap=True)


def _lines(
    left: Request,
    right: Request,
    found: Diff,
    width: int,
    glyphs: Glyphs,
    whole: bool,
    text: bool,
) -> Iterator[Text]:
    less = found.after.total - found.before.total
    names = (left.source.name, right.source.name)
    title = f" {glyphs.arrow} ".join(fit_text(n, width // 2 - 2, glyphs) for n in names)
    yield Text(title, "bold")
    yield Text(
        f"{found.before.total:,} {glyphs.arrow} {found.after.total:,} tokens "
        f"({less:+,}; {accuracy(found.after)})"
    )
    yield Text()
    run: list[Change] = []
    for change in found.changes:
        if change.kind == "same" and not whole:
            run.append(change)
            continue
        yield from _collapsed(run)
        run = []
        yield _line(found, change, width, glyphs)
        if text and change.kind != "same":
            yield from _said(found, change)
    yield from _collapsed(run)
    if found.is_empty:
        yield Text("Both say the same.", "green")
        return
    yield Text()
    yield _summary(found, glyphs)


def _collapsed(run: list[Change]) -> Iterator[Text]:
    if run:
        tokens = sum(change.tokens_after for change in run)
        said = f"{counted(len(run), 'message')} unchanged, {counted(tokens, 'token')}"
        yield Text(f"  {said}", "dim")


def _line(found: Diff, change: Change, width: int, glyphs: Glyphs) -> Text:
    style = _STYLES[change.kind]
    survey, place = _shown(found, change)
    entry = survey.entries[place]
    tokens = f"{change.tokens_before or change.tokens_after:,}"
    if change.kind == "changed":
        tokens = f"{change.tokens_before:,} {glyphs.arrow} {change.tokens_after:,}"
    tools = ", ".join(dict.fromkeys(share.name for share in entry.tools))
    who = f"{entry.role} {tools}".rstrip()
    line = Text(no_wrap=True)
    name = fit_text(entry.id, 14, glyphs)
    line.append(f"{_SIGNS[change.kind]} {name:<14} {tokens:>16}  ", style)
    words = fit_text(f"{who}: {entry.text}", max(width - _FIGURES, 12), glyphs)
    line.append(words, "dim" if change.kind == "same" else "")
    return line


def _shown(found: Diff, change: Change) -> tuple[Survey, int]:
    """Where a changed message is read: as it was, so that its id is the known one."""
    if change.before is not None:
        return found.before, change.before
    assert change.after is not None  # noqa: S101 - a change has one side at least
    return found.after, change.after


def _said(found: Diff, change: Change) -> Iterator[Text]:
    old = [] if change.before is None else _words(found.before, change.before)
    new = [] if change.after is None else _words(found.after, change.after)
    if change.kind == "moved":
        return
    for line in difflib.unified_diff(old, new, lineterm="", n=1):
        if line.startswith(("---", "+++", "@@")):
            continue
        style = {"-": "red", "+": "green"}.get(line[:1], "dim")
        clean = "".join(c if c.isprintable() else " " for c in line)
        yield Text(f"    {clean}", style)


def _words(survey: Survey, place: int) -> list[str]:
    lines: list[str] = []
    for head, said in texts(survey.messages[place]):
        lines += [f"[{head}]"] if head else []
        lines += said.splitlines()
    return lines


def _summary(found: Diff, glyphs: Glyphs) -> Text:
    parts = Text()
    kinds: tuple[Kind, ...] = ("lost", "changed", "new", "moved")
    for kind in kinds:
        changes = found.of(kind)
        if changes:
            before = sum(change.tokens_before for change in changes)
            after = sum(change.tokens_after for change in changes)
            tokens = {"lost": f"{before:,}", "new": f"{after:,}", "moved": f"{after:,}"}
            figure = tokens.get(kind, f"{before:,} {glyphs.arrow} {after:,}")
            parts.append(f" {glyphs.dot} " if parts else "")
            parts.append(f"{len(changes):,} {kind}", _STYLES[kind])
            parts.append(f" ({figure} tokens)")
    return parts


def _report(left: Request, right: Request, found: Diff) -> dict[str, Any]:
    return {
        "before": {"file": left.source.name, "tokens": found.before.total},
        "after": {"file": right.source.name, "tokens": found.after.total},
        "exact": found.after.counter.exact,
        "counts": {kind: len(found.of(kind)) for kind in _SIGNS},
        "changes": [_change(found, change) for change in found.changes],
    }


def _change(found: Diff, change: Change) -> dict[str, Any]:
    survey, place = _shown(found, change)
    entry = survey.entries[place]
    return {
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
        "id": entry.id,
        "role": str(entry.role),
        "tools": sorted({share.name for share in entry.tools}),
        "tokens_before": change.tokens_before,
        "tokens_after": change.tokens_after,
    }
