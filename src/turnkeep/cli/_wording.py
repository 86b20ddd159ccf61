"""What the library says, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import typer

_QUOTED = r"""(?<!\w)'[^']*'|(?<!\w)"[^"]*\""""
"""Values in an error, which stay as they are."""

_VALUE = r"""\(\)|"[^"]*"|[\w.-]*"""
"""What may stand behind the `=` of a Python argument."""


def as_options(text: str, command: Callable[..., Any]) -> str:
    """*text* with the names of Python arguments as the options of *command*.

    Said are `max_tokens`, `pending=()` or `open_calls="keep"`; on the command line it
    is `--max-tokens`, `--no-pending`, `--open-calls keep`. A word that may be English
    is an argument only with its `=`. Names that the command has no option for stay.
    """
    options = _options(command)
    if not options:
        return text
    names = "|".join(sorted(options, key=len, reverse=True))
    compound = "|".join(name for name in options if "_" in name) or "(?!)"
    pattern = (
        rf"{_QUOTED}|(?<![\w.$/-])(?:(?P<name>{names})=(?P<value>{_VALUE})"
        rf"|(?P<bare>{compound})(?!\.?[\w=]))"
    )

    def said(found: re.Match[str]) -> str:
        name = found["name"] or found["bare"]
        if name is None:
            return found[0]
        value = found["value"] or ""
        if value == "()":
            return options.get(f"no_{name}", found[0])
        return f"{options[name]} {value.strip(chr(34))}".rstrip()

    return re.sub(pattern, said, text)


def _options(command: Callable[..., Any]) -> dict[str, str]:
    """By the names that Python may call them: the long options of *command*."""
    alone = typer.Typer(add_completion=False)
    alone.command()(command)
    found: dict[str, str] = {}
    for parameter in typer.main.get_command(alone).params:
        for option in parameter.opts:
            if option.startswith("--"):
                found[str(parameter.name)] = option
                found[option[2:].replace("-", "_")] = option
    found.pop("help", None)
    return found
