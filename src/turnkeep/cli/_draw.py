"""Bars to scale, in colour where the terminal has it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs
from rich.console import Console
from rich.text import Text

from turnkeep.report._survey import DROP, EDIT, KEEP

from ._terminal import console_on, harmless

COLOURS: Mapping[str, str] = {
    "system": "magenta",
    "user": "green",
    "assistant": "blue",
    "calls": "yellow",
    "results": "cyan",
    "media": "red",
    "overhead": "bright_black",
    "tools": "magenta",
}
"""The colour of what tokens are spent on."""


Segment: TypeAlias = tuple[str, str, int]
"""A part of a bar: kind (a key of `COLOURS`), fate and tokens."""


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "message"), counted(1_200, "message")
    ('1 message', '1,200 messages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@attrs.frozen
class Glyphs:
    """The characters that pictures are drawn with."""

    kept: str = "█"
    edited: str = "▓"
    dropped: str = "░"
    thin: str = "▏"
    """A value too small for a whole cell."""
    eighths: str = " ▏▎▍▌▋▊▉"
    rule: str = "─"
    pin: str = "◆"
    pending: str = "◷"
    ellipsis: str = "…"
    times: str = "\N{MULTIPLICATION SIGN}"
    arrow: str = "→"
    dot: str = "·"

    def fill(self, fate: str) -> str:
        """The character for what happens to a message."""
        return {KEEP: self.kept, EDIT: self.edited, DROP: self.dropped}[fate]


ASCII = Glyphs(
    kept="#",
    edited="+",
    dropped=".",
    thin="|",
    eighths=" ",
    rule="-",
    pin="*",
    pending="?",
    ellipsis="...",
    times="x",
    arrow="->",
    dot="|",
)
"""For terminals and pipes that cannot show more."""


def glyphs_for(console: Console) -> Glyphs:
    """The characters that *console* can show."""
    try:
        "".join(attrs.astuple(Glyphs())).encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return Glyphs()


def stdout_console(width: int | None = None) -> Console:
    """Where reports go; plain text when that is a pipe or a file."""
    return console_on(sys.stdout, width)


def stderr_console(width: int | None = None) -> Console:
    """Where messages for people go."""
    return console_on(sys.stderr, width)


def bar(
    segments: Iterable[Segment],
    scale: int,
    width: int,
    glyphs: Glyphs,
) -> Text:
    """A bar of coloured segments, drawn to scale.

    Args:
        segments:
            Its parts, in order.
        scale:
            The tokens that fill the whole *width*.
        width:
            Cells of the whole picture.
        glyphs:
            What to draw with.
    """
    text = Text(no_wrap=True)
    done = cells = 0
    kind, fate = "overhead", KEEP
    for kind, fate, tokens in segments:
        done += tokens
        # Ends are rounded, not lengths, so that errors never add up.
        end = done * width // scale if scale else 0
        if end > cells:
            text.append(glyphs.fill(fate) * (end - cells), _style(kind, fate))
            cells = end
    rest = (done * width * 8 // scale) % 8 if scale else 0
    if cells < width and fate != DROP and len(glyphs.eighths) == 8 and rest:
        text.append(glyphs.eighths[rest], _style(kind, fate))
    elif not cells and done:
        text.append(glyphs.thin, _style(kind, fate))
    return text


def _style(kind: str, fate: str) -> str:
    colour = COLOURS[kind]
    return f"dim {colour}" if fate == DROP else colour


def legend(kinds: Sequence[str], glyphs: Glyphs) -> Text:
    """What the colours mean; empty where there are none."""
    text = Text()
    for kind in kinds:
        text.append(f"{glyphs.kept} ", COLOURS[kind])
        text.append(f"{kind}  ", "dim")
    return text


def fit_text(text: str, width: int, glyphs: Glyphs) -> str:
    """*text* on one line of at most *width* cells, control characters made visible."""
    # Made harmless before it is measured: what steers a terminal has no width.
    clean = harmless(text)
    shown = Text(clean, no_wrap=True)
    if shown.cell_len <= width:
        return clean
    if width <= len(glyphs.ellipsis):
        return ""
    shown.truncate(width - len(glyphs.ellipsis))
    return shown.plain.rstrip() + glyphs.ellipsis
