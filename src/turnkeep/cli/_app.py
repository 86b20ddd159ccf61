"""The typer application: every command, registered."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from .check import check
from .convert import convert
from .count import count
from .diff import diff
from .fit import fit
from .pending import pending
from .proxy import app as proxy
from .repair import repair
from .replay import replay
from .report import report
from .resolve import resolve
from .sessions import sessions
from .show import show
from .store import app as store

app = typer.Typer(
    name="turnkeep",
    help="Keep LLM conversations inside their token budget, without breaking them.",
    epilog="Exit codes: 0 done, 1 violations found, 2 bad input or usage, "
    "3 does not fit, 70 a fault of turnkeep.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"turnkeep {version('turnkeep')}")
        raise typer.Exit


@app.callback()
def _main(
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Keep LLM conversations inside their token budget, without breaking them."""


app.command()(fit)
app.command()(count)
app.command()(show)
app.command()(report)
app.command()(diff)
app.command()(check)
app.command()(repair)
app.command()(convert)
app.command()(replay)
app.command()(sessions)
app.command()(pending)
app.command()(resolve)
app.add_typer(store)
app.add_typer(proxy)
