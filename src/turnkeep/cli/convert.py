"""`turnkeep convert`: a history in another format."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from turnkeep import api
from turnkeep.formats._registry import READ_ONLY

from . import _options as options
from ._draw import stderr_console
from ._files import STDIO, check_output, encode, tell_notes, write
from ._guard import guarded
from ._histories import ConversationId, read_one
from ._json import dumps
from ._request import check_format


@guarded
def convert(
    file: options.File,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="FORMAT", help="The format to write.", show_default=False
        ),
    ],
    format_name: options.FormatName = None,
    model: options.Model = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where it goes, whole or not at all. `.gz` packs it; `-` is stdout.",
        ),
    ] = STDIO,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Anything that would be lost is an error."),
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Move a history into another format, and say what that cannot carry.

    Texts, calls, results, their order and pairing survive wherever both formats have
    them; ids are made where one demands them. The report of losses goes to stderr.

    For example:

    * `turnkeep convert session.jsonl --to openai -o chat.json`
    * `turnkeep convert chat.json --to anthropic --strict`
    """
    check_format(to, "--to", READ_ONLY)
    check_format(format_name, "--format")
    check_output(output, file)
    source = read_one(file, conversation)
    made = api.convert(
        source.value, to=to, format=format_name, model=model, strict=strict
    )
    tell_notes(source.name, (*source.notes, *made.notes))
    data = encode(source, made.value)
    if as_json:
        report: dict[str, Any] = {
            "from": made.source,
            "to": made.target,
            "losses": [
                {"where": loss.where, "what": loss.what} for loss in made.losses
            ],
        }
        if output == STDIO:
            report["value"] = made.value
        else:
            write(output, data)
        write(STDIO, dumps(report, indent=2))
        return
    write(output, data)
    console = stderr_console()
    console.print(f"{source.name}: {made.source} to {made.target}", highlight=False)
    for loss in made.losses[:20]:
        console.print(f"  lost  {loss}", soft_wrap=True, highlight=False, markup=False)
    if len(made.losses) > 20:
        console.print(f"  ... and {len(made.losses) - 20} more; --json lists them all")
