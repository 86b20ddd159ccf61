"""The picture that `turnkeep show` draws: one bar a turn, to scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import attrs
from rich.text import Text

from turnkeep.model import Role
from turnkeep.report._survey import DROP, EDIT, KEEP, SPEAKERS, Entry, Survey

from ._draw import Glyphs, Segment, bar, counted, fit_text, legend

_COLUMNS = 23
"""Cells in front of the bars: number, tokens, steps and marks."""


@attrs.frozen
class Room:
    """How much there is, and what a plan makes of it."""

    max_tokens: int
    reserve: int
    tokens_before: int
    tokens_after: int


@attrs.frozen
class Layout:
    """The widths of the columns; what does not fit is left out."""

    bar: int
    label: int

    @classmethod
    def within(cls, width: int) -> Layout:
        """The columns that *width* cells have room for."""
        rest = width - _COLUMNS - 1
        if rest < 28:
            return cls(bar=max(rest, 4), label=0)
        bar_width = min(max(rest * 2 // 5, 12), 56)
        return cls(bar=bar_width, label=rest - bar_width - 1)


@attrs.frozen
class Painter:
    """Draws the lines of one picture."""

    survey: Survey
    layout: Layout
    glyphs: Glyphs
    scale: int
    """Tokens that fill the whole width of a bar."""

    def header(self) -> Text:
        """The names of the columns."""
        return Text(f"{'turn':>4} {'tokens':>8} {'steps':>5}", "bold")

    def row(
        self,
        number: str,
        tokens: int,
        *,
        steps: str = "",
        marks: str = "",
        segments: Sequence[Segment] = (),
        label: Text | None = None,
        style: str = "",
    ) -> Text:
        """One line: the columns, the bar and what it is about."""
        line = Text(no_wrap=True)
        line.append(f"{number:>4} {tokens:>8,} {steps:>5} ", style)
        line.append(f"{marks:<2} ", "bold yellow")
        drawn = bar(segments, self.scale, self.layout.bar, self.glyphs)
        line.append_text(drawn)
        if label is not None and self.layout.label:
            line.append(" " * (self.layout.bar - drawn.cell_len + 1))
            label.truncate(self.layout.label)
            line.append_text(label)
        return line

    def turn(self, number: str, entries: Sequence[Entry]) -> Text:
        """A whole turn."""
        return self.row(
            number,
            sum(e.tokens for e in entries),
            steps=str(len({e.step for e in entries})),
            marks=self._marks(entries),
            segments=_segments(entries),
            label=self._label(entries, _topic(entries)),
            style=_fade(entries),
        )

    def step(self, number: str, entries: Sequence[Entry]) -> Text:
        """A step inside a turn."""
        tools = _tool_names(entries, self.glyphs)
        text = next((e.text for e in entries if e.role != Role.TOOL_RESULT), "")
        topic = " ".join(filter(None, (tools, text)))
        if not tools:
            topic = f"{entries[0].role}: {topic}"
        return self.row(
            number,
            sum(e.tokens for e in entries),
            marks=self._marks(entries),
            segments=_segments(entries),
            label=self._label(entries, topic),
            style=_fade(entries) or "bright_black",
        )

    def _marks(self, entries: Sequence[Entry]) -> str:
        pin = self.glyphs.pin if any(e.pinned for e in entries) else ""
        pending = self.glyphs.pending if any(e.pending for e in entries) else ""
        return pin + pending

    def _label(self, entries: Sequence[Entry], topic: str) -> Text:
        label = Text(no_wrap=True)
        fate = _fate(entries)
        if fate:
            gone = fate.startswith("dropped")
            style = "red" if gone else "yellow"
            label.append(fit_text(fate, self.layout.label, self.glyphs), style)
            label.append(f" {self.glyphs.dot} ", "dim")
            topic_style = "dim" if gone else ""
        else:
            topic_style = ""
        waiting = [name for e in entries for name in e.pending]
        if waiting:
            label.append(f"waits for {', '.join(waiting)}", "yellow")
            label.append(f" {self.glyphs.dot} ", "dim")
        left = max(self.layout.label - label.cell_len, 0)
        label.append(fit_text(topic, left, self.glyphs), topic_style)
        return label


def picture(
    survey: Survey,
    width: int,
    glyphs: Glyphs,
    *,
    inside: Callable[[int], bool] = lambda _number: False,
    shown: Callable[[int, Sequence[Entry]], bool] = lambda _number, _entries: True,
    of_interest: Callable[[Sequence[Entry]], bool] = lambda _entries: True,
    limit: int | None = None,
) -> Iterator[Text]:
    """The lines of the picture, top to bottom. Linear in the number of messages.

    Args:
        survey:
            The measured history, with what a plan would do to it.
        width:
            Cells of a line.
        glyphs:
            What to draw with.
        inside:
            Whether to show the steps of the turn of that number.
        shown:
            Whether to show the turn of that number at all.
        of_interest:
            Whether to show a step inside a turn.
        limit:
            Tokens that a window may have: a line stands above the newest turns that
            fit without dropping anything inside them.
    """
    turns = [list(group) for _, group in groupby(_by_turn(survey), lambda e: e.turn)]
    scale = max([sum(e.tokens for e in turn) for turn in turns] + [survey.tools, 1])
    painter = Painter(survey, Layout.within(width), glyphs, scale)
    yield painter.header()
    if survey.tools:
        yield painter.row(
            "",
            survey.tools,
            segments=[("tools", KEEP, survey.tools)],
            label=Text("tool definitions"),
        )
    first = survey.first_turn
    skipped = 0
    border = None if limit is None else _border(survey, turns, limit)
    for nth, entries in enumerate(turns):
        number = entries[0].turn + first
        if nth == border and limit is not None:
            yield _rule(f" {limit:,} tokens from here ", width, glyphs)
        if not shown(number, entries):
            skipped += 1
            continue
        yield painter.turn(str(number), entries)
        if inside(number):
            steps = groupby(sorted(entries, key=_step_of), _step_of)
            for step, (_, group) in enumerate(steps, 1):
                members = list(group)
                if of_interest(members):
                    yield painter.step(f".{step}", members)
    if skipped:
        yield Text(f"     {glyphs.ellipsis} {counted(skipped, 'more turn')}", "dim")


def _border(survey: Survey, turns: Sequence[Sequence[Entry]], limit: int) -> int | None:
    """The oldest turn from which everything fits; `None` where all or none do."""
    room = limit - survey.tools - survey.request
    for nth in range(len(turns) - 1, -1, -1):
        room -= sum(entry.tokens for entry in turns[nth])
        if room < 0:
            return nth + 1 if nth + 1 < len(turns) else None
    return None


def _rule(words: str, width: int, glyphs: Glyphs) -> Text:
    text = fit_text(words, width - 5, glyphs)
    line = Text(f"{glyphs.rule * 4}{text}", "red")
    line.append(glyphs.rule * max(width - line.cell_len, 0))
    return line


def gauges(survey: Survey, room: Room, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """The request before and after, and the budget, on one scale."""
    scale = max(room.tokens_before, room.max_tokens, 1)
    painter = Painter(survey, Layout.within(width), glyphs, scale)
    before, after = room.tokens_before, room.tokens_after
    yield painter.row("now", before, segments=[("overhead", KEEP, before)])
    share = f"{after / room.max_tokens:.0%} of the budget"
    yield painter.row(
        "then", after, segments=[("user", KEEP, after)], label=Text(share)
    )
    free = room.max_tokens - room.reserve
    note = f"budget, {room.reserve:,} of it kept free" if room.reserve else "budget"
    yield painter.row(
        "max",
        room.max_tokens,
        segments=[("media", KEEP, free), ("media", DROP, room.reserve)],
        label=Text(note),
    )


def key(survey: Survey, glyphs: Glyphs, *, planned: bool, coloured: bool) -> Text:
    """What colours, fills and marks mean; only those that occur."""
    kinds: set[str] = set()
    if coloured:
        kinds.update(kind for e in survey.entries for kind in e.by_speaker())
    if coloured and survey.tools:
        kinds.add("tools")
    text = legend([k for k in (*SPEAKERS, "tools") if k in kinds], glyphs)
    words = []
    if planned:
        fates = {e.fate for e in survey.entries}
        words += [
            f"{glyphs.fill(fate)} {word}"
            for fate, word in ((KEEP, "kept"), (EDIT, "edited"), (DROP, "dropped"))
            if fate in fates
        ]
    if any(e.pinned for e in survey.entries):
        words.append(f"{glyphs.pin} pinned")
    if any(e.pending for e in survey.entries):
        words.append(f"{glyphs.pending} pending")
    text.append("  ".join(words), "dim")
    return text


def _by_turn(survey: Survey) -> Sequence[Entry]:
    # A late result stands in a later turn than the call whose step it belongs to.
    return sorted(survey.entries, key=lambda e: (e.turn, e.step))


def _step_of(entry: Entry) -> int:
    return entry.step


def _segments(entries: Sequence[Entry]) -> list[Segment]:
    segments: list[Segment] = []
    for entry in entries:
        spent = entry.by_speaker()
        if entry.fate == EDIT:
            kind = max(spent, key=lambda k: spent[k], default="overhead")
            kept = min(entry.tokens_after, entry.tokens)
            segments += [(kind, EDIT, kept), (kind, DROP, entry.tokens - kept)]
        else:
            segments += [(kind, entry.fate, tokens) for kind, tokens in spent.items()]
    return segments


def _fade(entries: Sequence[Entry]) -> str:
    return "dim" if all(e.fate == DROP for e in entries) else ""


def _fate(entries: Sequence[Entry]) -> str:
    """What a plan does with some messages, in words; empty if it keeps them all."""
    gone = [e for e in entries if e.fate == DROP]
    changed = [e for e in entries if e.fate == EDIT]
    words: list[str] = []
    if gone:
        causes = ", ".join(sorted({e.cause for e in gone}))
        lost = len({e.step for e in gone})
        steps = len({e.step for e in entries})
        part = "" if len(gone) == len(entries) else f" {lost} of {steps} steps"
        words.append(f"dropped{part} ({causes})")
    if changed:
        changes = Counter(e.cause for e in changed)
        words.append(", ".join(f"{n} {cause}" for cause, n in changes.items()))
    return ", ".join(words)


def _topic(entries: Sequence[Entry]) -> str:
    """What a turn is about: its question, else what it begins with."""
    first = next((e for e in entries if e.role == Role.USER), entries[0])
    if first.role == Role.USER:
        return first.text
    return f"{first.role}: {first.text}"


def _tool_names(entries: Sequence[Entry], glyphs: Glyphs) -> str:
    counts: Counter[str] = Counter()
    for entry in entries:
        for share in entry.tools:
            counts[share.name] += share.calls
    return ", ".join(
        name if n < 2 else f"{name} {glyphs.times}{n}" for name, n in counts.items()
    )
