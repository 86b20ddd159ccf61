"""How an entry was spelled, where JSON leaves that open; written by the formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import attrs


@attrs.frozen
class Layout:
    """How a wire entry spelled what JSON allows to spell in several ways.

    As text behind the format's name and a colon: `[]` for content as a list, `+` with
    block positions for the second of two messages that share an entry, `=` with one hex
    digit for each block that can be spelled in several ways.

    >>> str(Layout("anthropic", listed=True, joined=True, positions=(0, 1)))
    'anthropic:[]+0,1'
    >>> Layout.of("anthropic:[]+0,1", "anthropic").positions
    (0, 1)
    """

    owner: str = ""
    """The format whose layout it is; empty for a message of any other origin."""

    listed: bool = False
    """Whether the content stood in a list."""

    joined: bool = False
    """Whether it shares the entry of the tool results before it."""

    positions: tuple[int, ...] = ()
    """Where in the shared entry the blocks of the results stood; empty: in front."""

    codes: str = ""
    """One hex digit for each block that has several spellings, as its format says."""

    flag: str = ""
    """Letters for the entry as a whole, as its format says."""

    @staticmethod
    def read(text: str | None) -> Layout:
        """Read a layout, whoever wrote it; an empty one for none."""
        return NO_LAYOUT if text is None else _parse(text, text.partition(":")[0])

    @staticmethod
    def of(text: str | None, name: str) -> Layout:
        """Read the layout that format *name* wrote; an empty one for any other."""
        if text is None or not text.startswith(name):
            return NO_LAYOUT
        return _parse(text, name)

    @property
    def between(self) -> bool:
        """Whether it stands before or among the results whose entry it shares."""
        return self.joined and bool(self.positions)

    @property
    def is_empty_list(self) -> bool:
        """Whether a chat message wrote no content as `[]`."""
        return self.flag == "list"

    def __str__(self) -> str:
        """The text that `of` reads."""
        positions = self.positions if self.joined else None
        return spelled(self, self.codes, positions)


def spelled(layout: Layout, codes: str, positions: Sequence[int] | None) -> str:
    """The text of *layout* with other codes, joined at *positions* if there are any."""
    joined = "" if positions is None else f"+{','.join(map(str, positions))}"
    said = f"={codes}" if codes.strip("0") else ""
    details = f"{layout.flag}{'[]' if layout.listed else ''}{joined}{said}"
    return f"{layout.owner}:{details}" if details else layout.owner


def layout_text(name: str, codes: Sequence[str], flag: str = "") -> str:
    """The text of a layout that has nothing but codes and a flag: the usual case."""
    joined = "".join(codes)
    if not flag and not joined.strip("0"):
        return name
    return str(Layout(name, codes=joined, flag=flag))


NO_LAYOUT: Final = Layout()
"""The layout of a message of another origin."""

_DETAILS: Final = re.compile(
    r"([a-z]*)(\[\])?(\+(?:[0-9]+(?:,[0-9]+)*)?)?(?:=([0-9a-f]+))?"
)


@lru_cache(maxsize=4096)
def _parse(text: str, name: str) -> Layout:
    owner, _, details = text.partition(":")
    found = _DETAILS.fullmatch(details)
    if owner != name or found is None:
        return NO_LAYOUT
    flag, listed, joined, codes = found.groups()
    places = tuple(map(int, joined[1:].split(","))) if joined and joined[1:] else ()
    return Layout(owner, bool(listed), bool(joined), places, codes or "", flag)
