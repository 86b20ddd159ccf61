"""Commands whose help shows what is typed, and what a shell completes.

Typer writes `<bool>` behind every switch and braces around what is required; nobody
types either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command in whose help a switch has no type and an argument no braces."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        """As typer makes it; switches lose the name of their type."""
        super().__init__(*args, **settings)
        _without_type(self.params)

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, a switch like the others."""
        option = super().get_help_option(ctx)
        _without_type([option] if option is not None else [])
        return option

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the name: `FILE...`, not `{FILE...}...`."""
        return [_bare(piece) for piece in super().collect_usage_pieces(ctx)]


def _without_type(parameters: Iterable[Any]) -> None:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""


def _bare(piece: str) -> str:
    """A piece of the usage line without typer's braces and second dots.

    >>> _bare("{FILE...}..."), _bare("{FILE}"), _bare("[OPTIONS]")
    ('FILE...', 'FILE', '[OPTIONS]')
    """
    if not piece.startswith("{"):
        return piece
    name, _, dots = piece[1:].rpartition("}")
    return name if name.endswith("...") else name + dots


def complete_strategies(incomplete: str) -> list[str]:
    """The strategies whose name begins so; behind a `|` or `&` the next one's."""
    from turnkeep import strategies  # noqa: PLC0415 - a shell waits

    at = max(incomplete.rfind(sign) for sign in "|&(") + 1
    before, typed = incomplete[:at], incomplete[at:]
    blanks = typed[: len(typed) - len(typed.lstrip())]
    return _beginning(typed.lstrip(), strategies.names(), lambda n: before + blanks + n)


def complete_formats(incomplete: str) -> list[str]:
    """The formats whose name begins so, save what exists in Python only."""
    from turnkeep.formats import FORMATS  # noqa: PLC0415 - a shell waits
    from turnkeep.formats._registry import PYTHON_ONLY  # noqa: PLC0415

    return _beginning(incomplete, (n for n in FORMATS if n not in PYTHON_ONLY))


def complete_models(incomplete: str) -> list[str]:
    """The models whose name begins so, where the extra `models` knows any."""
    try:
        from genai_prices.data_snapshot import (  # noqa: PLC0415 - an extra
            get_snapshot,
        )
    except ModuleNotFoundError:
        return []
    listed = get_snapshot().providers
    return _beginning(incomplete, sorted({m.id for p in listed for m in p.models}))


def _beginning(
    typed: str, names: Iterable[str], spell: Callable[[str], str] = str
) -> list[str]:
    return [spell(name) for name in names if name.startswith(typed)]
