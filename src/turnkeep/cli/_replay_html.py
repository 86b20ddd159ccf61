from __future__ import annotations

from collections.abc import Sequence
from html import escape

from turnkeep.replay import FULL, Outcome, Report

from ._draw import counted
from ._replay_table import advice, columns_of, meaning

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid #d7dce2; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: 7rem; background: #f4f6f8; }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; }
.note { color: #57606a; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ec; background: #15181c; } svg { background: #20252b; }
  th, td { border-color: #3a414a; } .note { color: #9aa4af; }
}
"""
_WIDTH, _HEIGHT = 1_000, 100


def page(names: Sequence[str], report: Report) -> str:
    """A replay as one HTML page: a table and a chart a strategy, no script, no link."""
    title = names[0] if len(names) == 1 else f"{len(names)} sessions"
    largest = max((o.largest for o in report.outcomes if o.name != FULL), default=0)
    columns = columns_of(report)
    heads = "".join(f"<th>{column.title}</th>" for column in columns)
    rows = "\n".join(
        f"<tr><td>{escape(outcome.name)}</td>"
        + "".join(f"<td>{column.cells[nth]}</td>" for column in columns)
        + "</tr>"
        for nth, outcome in enumerate(report.by_cost)
    )
    charts = "\n".join(
        _chart(outcome, max(largest, report.limit), report.limit)
        for outcome in report.outcomes
        if outcome.name != FULL
    )
    notes = escape(" ".join(meaning(report)))
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>turnkeep replay: {escape(title)}</title>
<style>{_STYLE}</style>
<h1>{escape(title)}</h1>
<p>{counted(report.calls, "call")}, {counted(report.tokens, "token")};
windows of {report.limit:,} tokens, cut down to {report.target:,}; a cached token
costs {report.prices.read:g}, a written one {report.prices.write:g} of a plain one.</p>
<table>
<thead><tr><th>strategy</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
<p class="note">{notes}.</p>
<p><strong>{escape(advice(report))}</strong></p>
{charts}
</html>
"""


def _chart(outcome: Outcome, largest: int, limit: int) -> str:
    """The windows call by call, and the limit as a line."""
    windows = outcome.windows
    step = _WIDTH / max(len(windows), 1)
    scale = _HEIGHT / largest if largest else 0
    points = " ".join(
        f"{nth * step:.1f},{_HEIGHT - tokens * scale:.1f}"
        for nth, tokens in enumerate(windows)
    )
    line = _HEIGHT - limit * scale
    name = escape(outcome.name)
    return f"""<figure>
<figcaption>{name}</figcaption>
<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img"
 aria-label="Tokens of each window under {name}">
<line x1="0" x2="{_WIDTH}" y1="{line:.1f}" y2="{line:.1f}" stroke="#c2410c"
 stroke-dasharray="6"/>
<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"
 vector-effect="non-scaling-stroke"/>
</svg>
</figure>"""
