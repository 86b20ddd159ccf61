"""The first lines by which our own texts are recognised in any format.

In our JSON such messages are marked by fields. Every other format only has text, so
the first line says it, and reading a window back finds what was put in. The line ends
in a check value of what follows: a tool, a person or a model that prints such a line,
or a part of one of our texts, has not said what we say.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

PENDING = "[turnkeep:pending]"
"""First line of a placeholder or stand-in: the call is still open.

Written with a check value before the bracket, as all of them are (see `mark`)."""

INTERIM = "[turnkeep:interim]"
"""First line of an answer that is not the last one."""

CLEARED = "[turnkeep:cleared]"
"""First line of a tool result whose content was cleared."""

SHORTENED = "[turnkeep:shortened]"
"""First line of a tool result whose content was cut."""

OFFLOADED = "[turnkeep:offloaded]"
"""First line of a tool result that was moved to a store; a reference follows."""

SUMMARY = "[turnkeep:summary]"
"""First line of a message that stands for earlier ones."""

DIGEST = "[turnkeep:digest]"
"""First line of a message that lists the ids and names of what was dropped."""

PINNED = "[turnkeep:pinned]"
"""First line of a message that says what is pinned once more, behind a memory of the
provider's that has replaced it."""

BRIDGE = "[turnkeep:bridge]"
"""First line of a message added only because the provider demands one there."""

STAND_IN_TEXT = (
    "This tool call is still open: its result has not arrived yet. Do not repeat the "
    "call and do not assume a result."
)
"""What the model reads for an open call, behind the first line, unless configured."""

ALL = (PENDING, INTERIM, CLEARED, SHORTENED, OFFLOADED, SUMMARY, DIGEST, PINNED, BRIDGE)

_LOOKS_OURS: Final = re.compile(r"\[turnkeep:[a-z]+(?: [0-9a-f]*)?\]")
_LINE: Final = re.compile(r"\[turnkeep:([a-z]+) ([0-9a-f]{8})\][ \r]*(?:\n|\Z)")


def mark(marker: str, text: str) -> str:
    r"""*text* with *marker* and its check value as first line; never marked twice.

    >>> mark(INTERIM, "half done")
    '[turnkeep:interim 263af902]\nhalf done'
    """
    if marker_of(text) == marker:
        return text
    return f"{marker[:-1]} {_check(marker, text)}]\n{text}"


def marker_of(text: str) -> str | None:
    """The marker on the first line of *text*, or none; linear where one stands there.

    White space may have changed since it was marked: hosts trim texts and turn their
    line ends.
    """
    found = _LINE.match(text)
    if found is None:
        return None
    marker = f"[turnkeep:{found[1]}]"
    if marker not in ALL or found[2] != _check(marker, text[found.end() :]):
        return None
    return marker


def unmark(text: str) -> str:
    """*text* without the marker line it may start with."""
    return text if marker_of(text) is None else text.partition("\n")[2]


def without_line(text: str) -> str:
    r"""*text*, of which we make one of ours, without a first line that looks like ours.

    A model that read such a line, or a caller, may write it before what it says.

    >>> without_line("[turnkeep:summary]\nIn short.")
    'In short.'
    """
    first, _, rest = text.partition("\n")
    return rest if _LOOKS_OURS.fullmatch(first.rstrip()) else text


def _check(marker: str, text: str) -> str:
    said = f"{marker} {' '.join(text.split())}".encode("utf-8", "surrogatepass")
    return blake2b(said, digest_size=4).hexdigest()
