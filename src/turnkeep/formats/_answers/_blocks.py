"""Content that streams in blocks, each under its index: Anthropic's and Bedrock's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from turnkeep.errors import FormatError

from .._shape import as_object
from ._base import text_or_none


class Blocks:
    """The blocks that have begun, by their index, and the JSON text of their input."""

    def __init__(self) -> None:
        """None has begun."""
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}

    def begin(self, index: int, block: Any, path: str) -> None:
        """A block begins."""
        self._blocks[index] = dict(as_object(block, "a content block", path))

    def at(self, index: int) -> dict[str, Any]:
        """The block at *index*; text begins without saying so on some servers."""
        return self._blocks.setdefault(index, {})

    def add_input(self, index: int, text: Any) -> None:
        """More JSON text of a call's input."""
        self._inputs[index] = self._inputs.get(index, "") + (text_or_none(text) or "")

    def finished(self) -> list[tuple[dict[str, Any], Any]]:
        """The blocks in order, each with its input: parsed, text where that is no JSON.

        None where no input came.
        """
        return [
            (self._blocks[index], _parsed(self._inputs.get(index)))
            for index in sorted(self._blocks)
        ]


def _parsed(text: str | None) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def check_input(call: Mapping[str, Any], id_key: str, path: str) -> None:
    """Refuse a call whose input came as text that is no JSON.

    Raises:
        FormatError: With the call's id.
    """
    if isinstance(given := call.get("input"), str):
        reason = f"the input of call {call.get(id_key)!r} is no JSON: {given[:80]!r}"
        raise FormatError(reason, f"{path}.input")
