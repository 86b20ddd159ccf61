"""What may reach a terminal: text, never anything that steers it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_STEERS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters (C0, C1), marks that turn the direction of a line or hide text,
line and paragraph breaks, lone surrogates. Joiners (U+200C, U+200D) and variation
selectors are not among them: scripts and emoji are spelled with them."""

_SHOWN: Final = "\N{REPLACEMENT CHARACTER}"


def harmless(text: str) -> str:
    r"""*text* with a replacement character for each that could steer a terminal.

    Tabs and line breaks become blanks, so that one line stays one.

    >>> harmless("a\x1b[2Jb").replace("\N{REPLACEMENT CHARACTER}", "?")
    'a?[2Jb'
    """
    if not _STEERS.search(text):
        return text
    return _STEERS.sub(lambda m: " " if m[0] in "\t\r\n" else _SHOWN, text)


def escaped(text: str) -> str:
    r"""JSON *text* that says the same and holds nothing that could steer a terminal.

    Such characters stand inside strings only, where an escape means the same; the line
    breaks and blanks between values stay.

    >>> escaped('{"a": "\u202e"}')
    '{"a": "\\u202e"}'
    """
    if not _STEERS.search(text):
        return text
    return _STEERS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in "\t\r\n":
        return character
    code = ord(character)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


class SafeConsole(Console):
    """A console that prints what it is given as text, and whose reader may go away.

    Colours and cursor movements are the console's own; whatever stands in the texts
    is made harmless where they are rendered, so that no command can forget it.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render *renderable*, its texts made harmless."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            if control or text == "\n" or not _STEERS.search(text):
                yield segment
            else:
                yield Segment(_keep_lines(text), style)

    def on_broken_pipe(self) -> None:
        """Leave it to the guard; rich would end with code 1, which means something."""
        raise BrokenPipeError


def _keep_lines(text: str) -> str:
    return "\n".join(map(harmless, text.split("\n")))


def console_on(stream: object, width: int | None = None) -> SafeConsole:
    """A console that writes to *stream*: plain text where that is a pipe or a file."""
    return SafeConsole(
        file=stream,  # type: ignore[arg-type]
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def say(line: str) -> None:
    """Print one line on stdout, made harmless."""
    print(harmless(line))


def warn(line: str) -> None:
    """Print one line for people on stderr, made harmless."""
    print(harmless(line), file=sys.stderr)
