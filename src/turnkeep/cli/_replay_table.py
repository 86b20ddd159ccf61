"""What a replay found, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.text import Text

from turnkeep.replay import FULL, SLIDING, Outcome, Report

from ._draw import ASCII, Glyphs, counted, fit_text

SHOWN = 5
"""How many lost names are listed."""

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#@"


@attrs.frozen
class Column:
    """One figure of every outcome."""

    head: str
    """For the terminal, where room is scarce."""
    title: str
    """For a page."""
    cells: Sequence[str]

    @property
    def width(self) -> int:
        """Of the column and the gap before it."""
        return max(map(len, (self.head, *self.cells))) + 2


def columns_of(report: Report) -> list[Column]:
    """What is worth showing, for the outcomes from the cheapest on.

    How large windows are stands beside how much they kept: a strategy that cuts less
    deep keeps more without being better.
    """
    rows = report.by_cost
    made = [
        Column("cost", "cost, of no trimming", [f"{o.to_full:.3f}" for o in rows]),
        Column(
            "of window",
            "cost, of the sliding window",
            [f"{o.to_sliding:.2f}" for o in rows],
        ),
        Column("cached", "cached", [f"{o.cached:.0%}" for o in rows]),
        Column("breaks", "prefix breaks", [f"{o.breaks:,}" for o in rows]),
        Column("mean", "mean window", [f"{o.mean:,}" for o in rows]),
    ]
    first = report.outcomes[0]
    if first.questions and not (first.steps and not report.is_expected):
        made += [
            Column("found", "evidence found", [f"{o.found:.1%}" for o in rows]),
            Column(
                "recall",
                "questions with all of it",
                [f"{o.recalled:.1%}" for o in rows],
            ),
        ]
    if first.steps or not first.questions:
        made += [
            Column("kept", "referents kept", [_of(o.kept, o.steps) for o in rows]),
            Column(
                "whole",
                "calls with all of them",
                [_of(o.whole, o.steps) for o in rows],
            ),
        ]
    return made


def _of(share: float, cases: int) -> str:
    """A share; a dash where it is of nothing."""
    return f"{share:.1%}" if cases else "-"


def meaning(report: Report) -> Iterator[str]:
    """What the last columns say."""
    first = report.outcomes[0]
    heads = {column.head for column in columns_of(report)}
    if "recall" in heads and report.is_expected:
        yield (
            f"found: of {counted(first.evidence, 'message')} that were expected, those "
            "in the window, as they were;"
        )
        yield f"recall: of {counted(first.questions, 'question')}, those that had all"
    elif "recall" in heads:
        yield (
            f"found: of {counted(first.evidence, 'rare word')} in users' messages that "
            "an earlier message had said, those still in the window;"
        )
        yield (
            f"recall: of {counted(first.questions, 'user message')} with such words, "
            "those that had all"
        )
    if first.steps:
        yield (
            f"kept: of {first.referents:,} ids, paths and values that calls took from "
            "earlier results, those still in the window;"
        )
        yield f"whole: of {counted(first.steps, 'call')} that took any, those with all"
    elif "recall" not in heads:
        yield "kept, whole: no call took an id, path or value from an earlier result,"
        yield "and no user message a rare word from an earlier message"


def advice(report: Report) -> str:
    """One line: what to take."""
    full = report.outcomes[0]
    if full.largest <= report.limit:
        return "every request fits as it is: nothing needs to go"
    best = report.advice()
    if best is None:
        return ""
    by = report.judged_by
    if not by:
        return f"cheapest: {best.name} ({best.to_full:.3f} of no trimming)"
    low, high = best.whole_interval if by == "whole" else best.recalled_interval
    word = "whole" if by == "whole" else "recall"
    return (
        f"cheapest within 1 point of the best: {best.name} ({best.to_full:.3f} of no "
        f"trimming, {word} {getattr(best, by):.1%}, 95 % interval {low:.1%} to "
        f"{high:.1%})"
    )


def lost_lines(reports: Sequence[tuple[str, Report]], name: str) -> Iterator[str]:
    """Which names were lost under the strategy *name*, and whence; a few of them."""
    lost = [
        (file, one) for file, report in reports for one in report.outcome(name).lost
    ]
    if not lost:
        return
    yield f"lost under {name}:"
    for file, one in lost[:SHOWN]:
        where = f"{file}, " if len(reports) > 1 else ""
        yield (
            f"  {one.name}: {where}call {one.call} (message {one.message}) asks for "
            f"it, last said by message {one.source}"
        )
    if len(lost) > SHOWN:
        yield f"  and {len(lost) - SHOWN:,} more: --json has all of them"


def lines(
    reports: Sequence[tuple[str, Report]], report: Report, width: int, glyphs: Glyphs
) -> Iterator[Text]:
    """Everything: the table, the advice, what was lost, and the windows."""
    names = [name for name, _ in reports]
    title = names[0] if len(names) == 1 else f"{len(names)} sessions"
    prices = report.prices
    targets = sorted({o.target for o in report.outcomes[2:]}) or [report.target]
    yield Text.assemble(
        (fit_text(title, width, glyphs), "bold"),
        f" {glyphs.dot} {counted(report.calls, 'call')} {glyphs.dot} "
        f"{counted(report.tokens, 'token')} "
        f"{glyphs.dot} windows of {report.limit:,}, cut to "
        f"{', '.join(f'{target:,}' for target in targets)} "
        f"{glyphs.dot} cache reads {prices.read:g}, writes {prices.write:g}",
    )
    yield Text()
    if not report.calls:
        yield Text("no answer of a model stands in it: nothing to replay", "yellow")
        return
    columns = columns_of(report)
    figures = sum(column.width for column in columns)
    wide = max(min(max(len(o.name) for o in report.outcomes), width - figures), 12)
    head = "".join(f"{column.head:>{column.width}}" for column in columns)
    yield Text(f"{'strategy':<{wide}}{head}", "bold")
    for nth, outcome in enumerate(report.by_cost):
        style = "dim" if outcome.name in (FULL, SLIDING) else ""
        name = fit_text(outcome.name, wide, glyphs)
        cells = "".join(f"{column.cells[nth]:>{column.width}}" for column in columns)
        yield Text(f"{name:<{wide}}{cells}", style)
    yield Text()
    yield from (Text(line, "dim") for line in meaning(report))
    if line := advice(report):
        yield Text(line, "green")
    best = report.advice()
    if best is not None:
        yield from (Text(line) for line in lost_lines(reports, best.name))
    yield Text()
    yield from _charts(report, width, glyphs)
    for outcome in report.outcomes[1:]:
        if outcome.over:
            calls = counted(outcome.over, "call")
            yield Text(f"{calls} did not fit under {outcome.name}", "yellow")


def _charts(report: Report, width: int, glyphs: Glyphs) -> Iterator[Text]:
    largest = max((o.largest for o in report.outcomes[1:]), default=0)
    for outcome in report.outcomes[1:]:
        yield Text(fit_text(outcome.name, width, glyphs), "dim")
        yield Text(spark(outcome, largest, width, glyphs), "cyan")


def spark(outcome: Outcome, largest: int, width: int, glyphs: Glyphs) -> str:
    """A line of at most *width* characters; each shows the largest of its windows."""
    marks = _PLAIN if glyphs == ASCII else _BLOCKS
    values = outcome.windows
    if not values or not largest:
        return ""
    cells = min(width, len(values))
    drawn = []
    for cell in range(cells):
        part = values[cell * len(values) // cells : (cell + 1) * len(values) // cells]
        level = max(part) * (len(marks) - 1) // largest
        drawn.append(marks[min(level, len(marks) - 1)])
    return "".join(drawn)
