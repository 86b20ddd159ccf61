"""Reading a long text back in bounded answers: by lines, by words, part after part.

What a model asks for is not trusted: a request is read here, every value within
bounds, and what makes no sense is answered with one sentence.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import attrs

from turnkeep.model import ToolCall

Measure = Callable[[str], int]
"""Tokens of a text."""

WORDS: Final = 20
"""Words that one search may have."""

LETTERS: Final = 100
"""Characters that a word, and a value quoted back, may have."""

DIGITS: Final = 12
"""Digits of a number; no text has a line with a longer one."""

SHORT: Final = 300
"""Characters of a line that a search shows whole; of longer ones, what is around."""

AROUND: Final = 100

_TRIES: Final = 12

_GO_ON: Final = "[more may come: the same words with after={}]"


class CannotReadError(Exception):
    """Why there is nothing to read, in a sentence for the model."""


@attrs.frozen
class Request:
    """What a model asks to read."""

    reference: str
    """As it was written; nothing is known about it."""
    first_line: int = 1
    last_line: int | None = None
    words: tuple[str, ...] = ()
    """Lines that hold all of them, in small letters."""
    after: int = 0
    """Characters to leave out, because an earlier answer showed them."""


def request_of(arguments: Any) -> Request:
    """The request that a call's arguments are: JSON text, a mapping, or the call.

    Raises:
        CannotReadError: They are no such thing, or a value is none of its kind.
    """
    if isinstance(arguments, ToolCall):
        arguments = arguments.arguments
    if isinstance(arguments, (str, bytes)):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            reason = "The arguments are not a JSON object."
            raise CannotReadError(reason) from None
    if not isinstance(arguments, Mapping):
        reason = "The arguments are not a JSON object."
        raise CannotReadError(reason)
    last = arguments.get("last_line")
    return Request(
        _text(arguments, "reference").strip(),
        _number(arguments, "first_line", 1),
        None if last is None else _number(arguments, "last_line", 1),
        tuple(_text(arguments, "words").casefold().split()),
        _number(arguments, "after", 0),
    )


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        reason = f"{name} must be a text, not {quoted(value)}."
        raise CannotReadError(reason)
    return value


def _number(arguments: Mapping[str, Any], name: str, least: int) -> int:
    value = arguments.get(name)
    if value is None:
        return least
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**DIGITS:
        value = int(value)
    if isinstance(value, str) and len(value) <= DIGITS and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        reason = f"{name} must be a whole number from {least} on, not {quoted(value)}."
        raise CannotReadError(reason)
    # Enough for any text, and few digits where it is said again.
    return min(value, 10**DIGITS)


def quoted(value: Any) -> str:
    """A value as a sentence may show it, cut where it is long."""
    try:
        said = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, ...
        said = f"that {type(value).__name__}"
    said = said.encode("ascii", "backslashreplace").decode()
    return said if len(said) <= LETTERS else f"{said[:LETTERS]}..."


class Reader:
    """One text, and answers about it of at most *limit* tokens each.

    Costs the text once, and what is shown.
    """

    def __init__(
        self,
        name: str,
        text: str,
        limit: int,
        measure: Measure,
        headings: Sequence[str] = (),
    ) -> None:
        """Nothing is read yet; *headings* say for each line where it belongs."""
        self.name = name
        self.text = text
        self._headings = headings
        self._limit = limit
        self._measure = measure
        self._lines = text.splitlines(keepends=True) or [""]
        self._starts = list(accumulate(map(len, self._lines), initial=0))

    def answer(self, request: Request) -> str:
        """What *request* asks for.

        Raises:
            CannotReadError: There is no such place in the text.
        """
        start, stop = self._span(request)
        if request.words:
            return self._search(request.words, start, stop)
        return self._part(start, stop)

    def _span(self, request: Request) -> tuple[int, int]:
        """The characters that are asked for."""
        total, first = len(self._lines), request.first_line
        last = total if request.last_line is None else min(request.last_line, total)
        if first > total:
            reason = f"{self.name} has {total:,} lines; there is no line {first:,}."
            raise CannotReadError(reason)
        if last < first:
            reason = f"last_line is {last:,}, which is before first_line, {first:,}."
            raise CannotReadError(reason)
        start = max(self._starts[first - 1], request.after)
        stop = self._starts[last]
        if request.after and start >= stop:
            reason = f"That was the last part of {self.name}: nothing comes after it."
            raise CannotReadError(reason)
        return start, stop

    def _line_at(self, place: int) -> int:
        """Number of the line that a character stands in."""
        return min(bisect_right(self._starts, place), len(self._lines))

    def _part(self, start: int, stop: int) -> str:
        """The text from *start* on, as much of it as there is room for."""
        total, whole = len(self._lines), len(self.text)

        def written(end: int) -> str:
            first, last = self._line_at(start), self._line_at(max(end - 1, start))
            more = "" if end >= stop else f"\n[more of it: after={end}]"
            return (
                f"[{self.name}: lines {first:,} to {last:,} of {total:,}, "
                f"characters {start:,} to {end:,} of {whole:,}]\n"
                f"{self.text[start:end]}{more}"
            )

        return written(self._end(start, stop, written))

    def _end(self, start: int, stop: int, written: Callable[[int], str]) -> int:
        """How far an answer that begins at *start* may go: to a line's end if it can.

        Costs a few counts of the answer.
        """
        size = min(stop - start, self._limit * 4)
        end = start + size
        for _ in range(_TRIES):
            end = start + size
            tokens = self._measure(written(end))
            if tokens <= self._limit:
                break
            size = max(min(size * self._limit // tokens - 8, size - 1), 1)
        else:
            end = start + min(max(self._limit // 8, 1), stop - start)
        if end >= stop:
            return end
        before = self._starts[bisect_right(self._starts, end) - 1]
        # A line that is long begins here: it is cut, or nothing would be shown.
        return before if before - start > (end - start) // 2 else end

    def _search(self, words: Sequence[str], start: int, stop: int) -> str:
        """The lines between that hold all *words*, as many as there is room for."""
        if len(words) > WORDS or max(map(len, words)) > LETTERS:
            reason = (
                f"words takes at most {WORDS} words of at most {LETTERS} characters."
            )
            raise CannotReadError(reason)
        heading = f"[{self.name}: lines that hold {quoted(' '.join(words))}]"
        shown, after = [heading], start
        room = self._limit - self._measure(f"{heading}\n{_GO_ON.format(stop)}\n")
        for end, line in self._found(words, start, stop):
            tokens = self._measure(line) + 1
            if tokens > room and len(shown) == 1:
                line, tokens = line[: max(room // 8, 1)], room  # noqa: PLW2901
            if tokens > room:
                return "\n".join([*shown, _GO_ON.format(after)])
            room -= tokens
            shown.append(line)
            after = end
        if len(shown) == 1:
            where = "" if stop - start == len(self.text) else " there"
            said = quoted(" ".join(words))
            reason = f"No line of {self.name}{where} holds {said}."
            raise CannotReadError(reason)
        return "\n".join(shown)

    def _found(
        self, words: Sequence[str], start: int, stop: int
    ) -> Iterator[tuple[int, str]]:
        """What to show of the lines that hold *words*, and where each of it ends."""
        longest = max(words, key=len)
        for nth in range(self._line_at(start) - 1, len(self._lines)):
            at = self._starts[nth]
            if at >= stop:
                return
            line = self._lines[nth]
            folded = line.casefold()
            if not all(word in folded for word in words):
                continue
            number = f"{nth + 1}"
            if self._headings:
                number = f"{number} [{self._headings[nth]}]"
            if len(line) <= SHORT:
                if at >= start:
                    yield at + len(line), f"{number}: {line.rstrip()}"
                continue
            place = max(start - at, 0)
            while (place := folded.find(longest, place)) >= 0:
                first = max(place - AROUND, 0)
                last = min(place + len(longest) + AROUND, len(line))
                where = f"{number}, character {at + first}"
                yield at + last, f"{where}: {line[first:last]}"
                # A letter may be longer in small letters.
                place = max(last, place + 1)
