from __future__ import annotations

import functools
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

import attrs
import typer

from turnkeep.errors import (
    BudgetExceededError,
    ConflictError,
    StrategyError,
    TurnkeepError,
    UnknownCallError,
    UnknownMessageError,
)

from ._terminal import warn
from ._wording import as_options

BAD_INPUT = 2
DOES_NOT_FIT = 3
OUR_FAULT = 70

_Args = ParamSpec("_Args")


def guarded(command: Callable[_Args, None]) -> Callable[_Args, None]:
    """Turn what *command* raises into one line on stderr and an exit code.

    With `--json` the error also goes to stdout as an object with its fields. An error
    that nobody foresaw is a fault of ours: code 70, and its traceback with `--debug`.
    """

    @functools.wraps(command)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            # Whoever read our output has seen enough; Python must not complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except TurnkeepError as error:
            code = DOES_NOT_FIT if isinstance(error, BudgetExceededError) else BAD_INPUT
            sentence = _sentence(error, kwargs)
            if not isinstance(error, StrategyError):
                # A strategy's parameters are its own, whatever options are called.
                sentence = as_options(sentence, command)
            _report(error, sentence, as_json)
            raise typer.Exit(code) from None
        except Exception as error:
            if kwargs.get("debug"):
                traceback.print_exc()
            sentence = (
                f"unexpected {type(error).__name__}: {error}. This is a fault of "
                "turnkeep: please report it with the output of the same command and "
                "--debug"
            )
            _report(error, sentence, as_json)
            raise typer.Exit(OUR_FAULT) from error

    return run


def _sentence(error: TurnkeepError, options: Mapping[str, Any]) -> str:
    """What went wrong, and where: the option, the line of the file."""
    sentence = _what(error)
    # Whoever caught it on its way noted where that was.
    for place in getattr(error, "__notes__", ()) or _option(error, options):
        sign = "," if " @ " in sentence else " @"
        sentence = f"{sentence.rstrip('.')}{sign} {place}"
    return sentence


def _what(error: TurnkeepError) -> str:
    match error:
        case ConflictError():
            return (
                f"conversation {error.conversation_id!r} is at version {error.actual}, "
                f"not {error.expected}: somebody else wrote first. Run this again"
            )
        case BudgetExceededError():
            return f"{error}{_way_out(error)}"
        case _:
            return str(error)


def _option(error: TurnkeepError, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The option that an error is about, where its kind tells."""
    kinds = {
        "pin": UnknownMessageError,
        "pending": UnknownCallError,
        "strategy": StrategyError,
    }
    return tuple(
        f"--{name}"
        for name, kind in kinds.items()
        if name in options and isinstance(error, kind)
    )


_WAYS_OUT = {
    "pending": "If nobody waits for those calls any more: --no-pending.",
    "not_offered": "The strategy offers no more; let another one go on: "
    "--strategy '... | oldest-turns | oldest-steps'.",
}


def _way_out(error: BudgetExceededError) -> str:
    """The option that would make it fit, if one alone would."""
    for cause, way in _WAYS_OUT.items():
        tokens = sum(held.tokens for held in error.held if held.cause == cause)
        if tokens and error.needed - tokens <= error.available:
            return f" {way}"
    return ""


def _report(error: Exception, sentence: str, as_json: bool) -> None:
    line = " ".join(sentence.split())
    warn(f"turnkeep: error: {_shortened(line)}")
    if as_json:
        kind = type(error)
        names = [field.name for field in attrs.fields(kind)] if attrs.has(kind) else []
        fields = {name: plain(getattr(error, name)) for name in names}
        report: dict[str, Any] = {"type": type(error).__name__, "message": line}
        print(json.dumps({"error": report | fields}, default=str))


_LONG = re.compile(r"""(['"])((?:\\.|(?!\1).){120,})\1|\S{240,}""")
"""A quoted value, or a word, that is too long to be read in an error."""


def _shortened(line: str) -> str:
    """*line* with the values that it quotes cut down to what tells them apart."""

    def cut(found: re.Match[str]) -> str:
        quote, value = found[1] or "", found[2] or found[0]
        return f"{quote}{value[:60]}...{value[-20:]}{quote} ({len(value):,} characters)"

    return _LONG.sub(cut, line)


def plain(value: Any) -> Any:
    """*value* as JSON can say it."""
    if attrs.has(type(value)):
        return attrs.asdict(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value
