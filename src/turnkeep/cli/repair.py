"""`turnkeep repair`: mend a history that no provider would take."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from turnkeep import api
from turnkeep.errors import UnknownCallError
from turnkeep.profiles import Change, Repair

from . import _options as options
from ._draw import counted, stderr_console
from ._files import STDIO, UsageError, check_output, encode, write
from ._guard import guarded
from ._histories import ConversationId, read_one
from ._json import dumps
from ._request import load


@guarded
def repair(
    file: options.File,
    model: options.Model = None,
    format_name: options.FormatName = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the mended history goes, whole or not at all. `.gz` packs it; "
            "`-` is stdout.",
        ),
    ] = STDIO,
    close: Annotated[
        list[str] | None,
        typer.Option(
            "--close",
            metavar="ID",
            help="Give up this open call: it gets an error result that says so. Once a "
            "call, or `all`.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be mended.")
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Fix what no provider accepts, and report each change.

    Results without their call and second results go, results move to their call,
    emptied messages and lone reasoning go. Pinned messages, open calls that you do not
    `--close` and everything valid are left alone; mending again changes nothing.

    For example:

    * `turnkeep repair chat.json --dry-run`
    * `turnkeep repair chat.json --close all -o mended.json`
    """
    check_output(output, file)
    source = read_one(file, conversation)
    request = load(source, format_name, model)
    ids = tuple(close or ())
    try:
        mended = api.repair(
            source.value,
            close="all" if ids == ("all",) else ids,
            format=request.read_as,
            model=request.model,
        )
    except UnknownCallError as error:
        raise UsageError(str(error), "--close") from None
    if as_json:
        made: dict[str, Any] = _report(mended)
        if not dry_run and output == STDIO:
            made["value"] = mended.value
        elif not dry_run:
            write(output, encode(source, mended.value))
        write(STDIO, dumps(made, indent=2))
        return
    if not dry_run:
        write(output, encode(source, mended.value))
    console = stderr_console()
    count = len(mended.changes)
    what = counted(count, "change") if count else "nothing to mend"
    console.print(f"{source.name}: {what}", highlight=False, markup=False)
    for change in mended.changes[:20]:
        console.print(f"  {change}", soft_wrap=True, highlight=False, markup=False)
    if count > 20:
        console.print(f"  ... and {count - 20} more; --json lists them all")


def _report(mended: Repair[Any]) -> dict[str, Any]:
    return {
        "changed": mended.changed,
        "changes": [_entry(change) for change in mended.changes],
    }


def _entry(change: Change) -> dict[str, Any]:
    return {
        "action": change.action,
        "index": change.index,
        "id": change.id,
        "reason": change.reason,
        "call_id": change.call_id,
    }
