from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

# Exactly what `\s` means to tiktoken (Unicode's White_Space); Python's own `\s` also
# takes U+001C to U+001F.
_BREAKS = "\r\n"
_BLANKS = "\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

LONGEST = 100_000
"""Characters of white space in a row that are given to tiktoken's pattern.

Its `\\s+(?!\\S)` keeps a way back for each character and overflows at 1,000,000. Any
figure well below does: the cut is exact at every length.
"""


@attrs.frozen
class Piece:
    """A part of a text."""

    text: str
    whole: bool
    """Whether it is one piece of the pattern, so that it need not be matched again."""


def _pattern(space: str, closing: str) -> re.Pattern[str]:
    # The look-behind makes the search linear: a run is only tried from its start. The
    # possessive `++` never gives a part of it back.
    return re.compile(f"(?<![{space}])[{space}]{{{LONGEST},}}+{closing}")


_WITHIN_LINES = _pattern(_BLANKS, f"(?![{_BREAKS}])")
_ACROSS_LINES = _pattern(_BREAKS + _BLANKS, r"(?!\Z)")


def split(text: str, *, breaks_lines: bool) -> Iterator[Piece]:
    r"""Cut *text* around long white space so that tokens add up exactly.

    Only `\s+(?!\S)` overflows, and what it matches is known beforehand: a run of white
    space up to its last character, or all of it at the end of the text. Where the
    pattern cuts behind line breaks (*breaks_lines*), earlier alternatives take
    everything up to the last break, so the run is one without breaks that none
    follows. The last character goes with what comes next (" word", " !"), and nothing
    before a run reaches into it, so cutting there changes no piece.

    Linear in the length of the text.
    """
    done = 0
    for run in (_WITHIN_LINES if breaks_lines else _ACROSS_LINES).finditer(text):
        start, end = run.span()
        # The last character belongs to the next word, unless there is none.
        stop = end if end == len(text) else end - 1
        if start > done:
            yield Piece(text[done:start], whole=False)
        yield Piece(text[start:stop], whole=True)
        done = stop
    if done < len(text):
        yield Piece(text[done:], whole=False)
