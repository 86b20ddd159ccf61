from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._notes import Notes


def path_to(leaf: str, parents: Mapping[str, str | None], notes: Notes) -> list[str]:
    """The nodes from the root to *leaf*.

    From the leaf up, because lists of children are often wrong. Where a parent is
    missing the path begins behind it, which *notes* says; links in a circle end at the
    first node that comes again. Linear.
    """
    path: list[str] = []
    seen: set[str] = set()
    at: str | None = leaf
    while at is not None and at in parents and at not in seen:
        seen.add(at)
        path.append(at)
        at = parents[at]
    if at in seen:
        notes.say(
            f"the parents of {leaf!r} lead in a circle: read from its newest node"
        )
    elif at is not None:
        notes.say(f"the parent {at!r} is missing: what stands before it is not read")
    path.reverse()
    return path


def newest_leaf(parents: Mapping[str, str | None], times: Mapping[str, Any]) -> str:
    """The leaf that was made last; of several of one time the deepest, then the last.

    For files without a mark of the branch that is shown. *parents* is not empty, and
    *times* are texts or numbers, as the file has them.
    """
    inner = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in inner] or list(parents)
    newest = max(_when(times.get(leaf)) for leaf in leaves)
    leaves = [leaf for leaf in leaves if _when(times.get(leaf)) == newest]
    silent = Notes()
    return max(reversed(leaves), key=lambda leaf: len(path_to(leaf, parents, silent)))


def _when(time: Any) -> tuple[int, float, str]:
    """A time to compare by: numbers among themselves, texts among themselves."""
    if isinstance(time, (int, float)):
        return 1, float(time), ""
    return (1, 0.0, time) if isinstance(time, str) else (0, 0.0, "")


def note_branches(total: Sequence[str], taken: Sequence[str], notes: Notes) -> None:
    """Say how many of all messages are not on the branch that is read."""
    notes.left_out("message | on another branch", len(total) - len(taken))
