"""The options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from turnkeep import strategies
from turnkeep.budgets import Budget
from turnkeep.errors import StrategyError

from ._files import UsageError
from ._help import complete_formats, complete_models, complete_strategies

_BUDGET = "Budget"
_HISTORY = "What must stay, what may go"
_OUTPUT = "Output"

MOST_TOKENS = 10**12
"""The largest number of tokens that is taken for one; models hold some millions."""

_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_tokens(text: str | int) -> int:
    """Tokens as people write them.

    >>> parse_tokens("8_000"), parse_tokens("128k"), parse_tokens("1.5m")
    (8000, 128000, 1500000)
    """
    found = re.fullmatch(r"\s*(-?\d[\d_,]*(?:\.\d+)?)\s*([kKmM]?)\s*", str(text))
    if found is None:
        msg = f"{shown(str(text))} is no number of tokens; write 8000, 8_000 or 8k"
        raise typer.BadParameter(msg)
    # Decimal: a float of 400 digits is infinite, and 2**53 + 1 is another number.
    number = Decimal(re.sub("[_,]", "", found.group(1)))
    number *= _SCALES[found.group(2).lower()]
    if abs(number) > MOST_TOKENS:
        msg = (
            f"{shown(str(text))} is out of range: no request holds more than "
            f"{MOST_TOKENS:,} tokens"
        )
        raise typer.BadParameter(msg)
    return round(number)


def shown(value: str) -> str:
    """*value* in quotation marks for an error, cut where it is long."""
    return repr(value if len(value) <= 40 else f"{value[:30]}...{value[-6:]}")


class PinScope(StrEnum):
    """What a pin holds."""

    TURN = "turn"
    STEP = "step"


File: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A message list or a whole request body: JSON or JSON Lines, gzip or not; "
        "a saved conversation or a store (see --conversation). `-` reads stdin, `@1` "
        "the newest of `turnkeep sessions`.",
        show_default=False,
    ),
]

MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        "-n",
        metavar="N",
        parser=parse_tokens,
        help="Tokens the request may hold, such as 8000 or 128k. "
        "Without it `fit` takes the model's context window minus its longest answer, "
        "and `show` plans nothing.",
        show_default=False,
        rich_help_panel=_BUDGET,
    ),
]

Reserve: TypeAlias = Annotated[
    int,
    typer.Option(
        "--reserve",
        metavar="N",
        parser=parse_tokens,
        help="Tokens to leave free for the answer.",
        rich_help_panel=_BUDGET,
    ),
]

Target: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--target",
        metavar="SHARE",
        help="Cut down to this share of what is available (0.6 keeps the prompt cache "
        "warm: few deep cuts). Default: cut no more than needed.",
        show_default=False,
        rich_help_panel=_BUDGET,
    ),
]

Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="The model whose tokens are counted and whose rules hold.",
        autocompletion=complete_models,
        show_default=False,
    ),
]

FormatName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="The messages' format (openai, anthropic, ...). Default: detected.",
        autocompletion=complete_formats,
        show_default=False,
    ),
]

Pins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--pin",
        metavar="ID",
        help="Keep this message and its turn, whatever the budget: its id, or its "
        "index (-1 is the last). Repeatable.",
        show_default=False,
        rich_help_panel=_HISTORY,
    ),
]

PinScopeName: TypeAlias = Annotated[
    PinScope,
    typer.Option(
        "--pin-scope",
        help="A pin holds its whole turn, or its step alone.",
        rich_help_panel=_HISTORY,
    ),
]

PendingIds: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--pending",
        metavar="CALL_ID",
        help="Only this unanswered call is still awaited. Repeatable. "
        "Default: all of them are.",
        show_default=False,
        rich_help_panel=_HISTORY,
    ),
]

NoPending: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-pending",
        help="No unanswered call is awaited any more: they may go like any step.",
        rich_help_panel=_HISTORY,
    ),
]

DropSystem: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--drop-system",
        help="System messages may go too, save the leading ones.",
        rich_help_panel=_HISTORY,
    ),
]

StrategyName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="SPEC",
        help="How to rank what may go: a name, with parameters behind a colon; `|` is "
        "first the one, then the other, as in "
        "`clear-tool-results:keep=5 | oldest-turns`. "
        f"Names: {', '.join(strategies.names())}.",
        autocompletion=complete_strategies,
        show_default=False,
        rich_help_panel=_HISTORY,
    ),
]

AsJson: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the report as JSON on stdout.",
        rich_help_panel=_OUTPUT,
    ),
]

Debug: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show the traceback of an unexpected error.",
        rich_help_panel=_OUTPUT,
    ),
]


def budget_of(
    max_tokens: int | None, reserve: int, target: float | None
) -> Budget | None:
    """The budget that the options ask for, or none where they name no figure.

    Raises:
        UsageError: A figure is out of its range.
    """
    if max_tokens is None:
        if reserve or target is not None:
            reason = "--reserve and --target need --max-tokens"
            raise UsageError(reason, "--max-tokens")
        return None
    try:
        return Budget(max_tokens, reserve=reserve, target=target)
    except ValueError as error:
        option = f"--{str(error).split(' ', 1)[0].replace('_', '-')}"
        raise UsageError(str(error), option) from None


def budget_of_model(model: str | None) -> Budget:
    """The model's context window, less room for its answer.

    Raises:
        UsageError: No model is known, or nothing about it.
    """
    if model is None:
        reason = "say how much may be sent, or for which --model"
        raise UsageError(reason, "--max-tokens")
    try:
        return Budget.for_model(model)
    except ValueError as error:
        reason = f"{str(error).partition('; pass ')[0]}; pass --max-tokens"
        raise UsageError(reason, "--max-tokens") from None


def pending_of(names: list[str] | None, none: bool) -> tuple[str, ...] | None:
    """The calls that are awaited; `None` for all.

    Raises:
        UsageError: Both options were given.
    """
    if none and names:
        reason = "--pending and --no-pending exclude each other"
        raise UsageError(reason, "--no-pending")
    return () if none else tuple(names) if names else None


def strategy_of(spec: str | None) -> strategies.Strategy | None:
    """The strategy that `--strategy` names, or none for the default.

    Raises:
        StrategyError: There is no such strategy, or its parameters are wrong.
    """
    return None if spec is None else strategies.by_name(spec)


def strategies_of(
    specs: Iterable[str], option: str = "--strategy"
) -> dict[str, strategies.Strategy]:
    """The strategies that *option* names, by their specifications.

    Raises:
        StrategyError: One is not known, or its parameters are wrong; noted is *option*.
    """
    try:
        return {spec: strategies.by_name(spec) for spec in specs}
    except StrategyError as error:
        error.add_note(option)
        raise
