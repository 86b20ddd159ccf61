"""The fixed first lines by which our own insertions are recognised in any format.

In our JSON such messages are marked by fields. Every other format only has text, so
the first line says it, and reading a window back finds what was put in.
"""

from __future__ import annotations

PENDING = "[turnkeep:pending]"
"""First line of a placeholder or stand-in: the call is still open."""

INTERIM = "[turnkeep:interim]"
"""First line of an answer that is not the last one."""

CLEARED = "[turnkeep:cleared]"
"""First line of a tool result whose content was cleared."""

SHORTENED = "[turnkeep:shortened]"
"""First line of a tool result whose content was cut."""

SUMMARY = "[turnkeep:summary]"
"""First line of a message that stands for earlier ones."""

DIGEST = "[turnkeep:digest]"
"""First line of a message that lists the ids and names of what was dropped."""

BRIDGE = "[turnkeep:bridge]"
"""First line of a message added only because the provider demands one there."""

STAND_IN_TEXT = (
    "This tool call is still open: its result has not arrived yet. Do not repeat the "
    "call and do not assume a result."
)
"""What the model reads for an open call, behind the first line, unless configured."""

ALL = (PENDING, INTERIM, CLEARED, SHORTENED, SUMMARY, DIGEST, BRIDGE)


def mark(marker: str, text: str) -> str:
    r"""*text* with *marker* as its first line; never marked twice.

    >>> mark(INTERIM, "half done")
    '[turnkeep:interim]\nhalf done'
    """
    return text if marker_of(text) == marker else f"{marker}\n{text}"


def marker_of(text: str) -> str | None:
    """The marker on the first line of *text*, or none."""
    if not text.startswith("[turnkeep:"):
        return None
    first = text.split("\n", 1)[0].rstrip("\r ")
    return first if first in ALL else None


def unmark(text: str) -> str:
    """*text* without the marker line it may start with."""
    if marker_of(text) is None:
        return text
    return text.split("\n", 1)[1] if "\n" in text else ""
