"""The typer application: every command by name, loaded when it is asked for.

Help and version of the whole stand in this file, so that they load no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

HELP: Final = "Keep LLM conversations inside their token budget, without breaking them."

COMMANDS: Final[Mapping[str, str]] = {
    "fit": "Fit a message list into a token budget.",
    "count": "Count a request, and say what fills the window.",
    "show": "Draw a conversation: one bar a turn, to scale.",
    "report": "Write a web page that shows what was dropped, and why.",
    "diff": "Show what a window lost against its history.",
    "check": "Say what a provider would refuse, and what fixes it.",
    "repair": "Fix what no provider accepts, and report each change.",
    "convert": "Move a history into another format.",
    "replay": "Replay sessions under one strategy after the other.",
    "sessions": "List the sessions that programs left on this machine.",
    "pending": "List the tool calls that are waited for.",
    "resolve": "Give a waiting tool call its final result.",
    "store": "Look into a store, move conversations, find damage.",
    "proxy": "Keep programs in budget whose code cannot be changed.",
}
"""The commands, in the order of the help; each stands in the module of its name."""


def load(name: str) -> TyperCommand | TyperGroup:
    """A command as it is; costs its imports."""
    from ._help import Command  # noqa: PLC0415 - for a command, not for the whole

    module = import_module(f".{name}", __package__)
    group = getattr(module, "app", None)
    made: TyperCommand | TyperGroup
    if group is not None:
        made = get_group(group)
    else:
        alone = typer.Typer(
            add_completion=False,
            rich_markup_mode="markdown",
            pretty_exceptions_enable=False,
        )
        alone.command(cls=Command)(getattr(module, name))
        made = cast("TyperCommand", get_command(alone))
    made.name = name
    return made


class _Later(TyperCommand):
    """A command that is loaded when it is run, completed, or asked for its help."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """That of the command itself."""
        return load(self.name or "").make_context(*args, **kwargs)


class _Commands(TyperGroup):
    """The whole, which knows its commands by name and by one line."""

    def __init__(self, **settings: Any) -> None:
        """With all of `COMMANDS`."""
        super().__init__(**settings)
        self.commands = {
            name: _Later(name, help=about, callback=None)
            for name, about in COMMANDS.items()
        }


app = typer.Typer(
    name="turnkeep",
    cls=_Commands,
    help=HELP,
    epilog="Exit codes: 0 done, 1 violations found, 2 bad input or usage, "
    "3 does not fit, 70 a fault of turnkeep.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
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
