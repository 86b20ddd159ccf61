from __future__ import annotations

from collections.abc import Sequence

_NAMED = 3
"""Ids that a note names; of more it only says how many."""


class Notes:
    """What a reader left out, by what it was, and what it had to settle."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._left_out: dict[str, int] = {}
        self._said: dict[str, None] = {}

    def left_out(self, what: str, number: int = 1) -> None:
        """Count *number* things that are not among the messages.

        Args:
            what:
                One of them, in words; behind a bar, why it is not among them.
            number:
                How many.
        """
        if number:
            self._left_out[what] = self._left_out.get(what, 0) + number

    def say(self, sentence: str) -> None:
        """Note something else, once."""
        self._said[sentence] = None

    def sentences(self) -> tuple[str, ...]:
        """One line each: what was settled, then what was left out.

        >>> notes = Notes()
        >>> notes.left_out("entry | only shown", 2)
        >>> notes.left_out("branch | abandoned")
        >>> notes.sentences()
        ('left out: 2 entries (only shown)', 'left out: 1 branch (abandoned)')
        """
        counted = (_line(what, number) for what, number in self._left_out.items())
        return (*self._said, *counted)


def counted_ids(ids: Sequence[str]) -> str:
    """How many *ids* there are, and the first of them.

    >>> counted_ids(["a"]), counted_ids(["a", "b", "c", "d"])
    ("1 ('a')", "4 ('a', 'b', 'c', ...)")
    """
    named = [repr(one[:80]) for one in ids[:_NAMED]]
    if len(ids) > _NAMED:
        named.append("...")
    return f"{len(ids):,} ({', '.join(named)})"


def _line(what: str, number: int) -> str:
    noun, _, reason = what.partition(" | ")
    if number != 1:
        noun = _plural(noun)
    return f"left out: {number:,} {noun}" + (f" ({reason})" if reason else "")


def _plural(noun: str) -> str:
    """*noun*, of which there are several; what it is of stays as it is."""
    head, mark, rest = noun.partition(" of ")
    if head.endswith("y") and not head.endswith(("ay", "ey", "oy")):
        head = f"{head[:-1]}ie"
    elif head.endswith(("s", "ch", "sh")):
        head = f"{head}e"
    return f"{head}s{mark}{rest}"
