"""Plans, windows, conversations and counts as small HTML, for notebooks.

Everything that comes from a message is escaped, nothing is fetched, and nothing but the
newest messages is shown. Notebooks call `_repr_html_`, which loads this module then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Protocol

from turnkeep.errors import FormatError
from turnkeep.model import Message, display_text

_SHOWN_RUNS = 12
_SHOWN_MESSAGES = 5
_SHOWN_TOOLS = 5
_PREVIEW = 120
_STYLES = {"keep": "", "edit": "color:#a86f00", "drop": "color:#d9383a"}
"""Colours with nearly the same contrast on white and on black: 3.6 and more."""
_WORDS = {"keep": "kept", "edit": "changed", "drop": "dropped"}


class _Run(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def action(self) -> str: ...
    @property
    def cause(self) -> str: ...


class _Plan(Protocol):
    """What is shown of a plan."""

    @property
    def tokens(self) -> int: ...
    @property
    def available(self) -> int: ...
    @property
    def fixed(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def margin(self) -> float: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def runs(self) -> Sequence[_Run]: ...
    @property
    def inserted(self) -> Sequence[Any]: ...
    def span(self, run: Any) -> str: ...
    def tokens_of(self, run: Any) -> tuple[int, int]: ...


class _Window(Protocol):
    """What is shown of a window."""

    @property
    def plan(self) -> Any: ...
    @property
    def format(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def messages(self) -> Sequence[Message]: ...


class _Count(Protocol):
    """What is shown of a count."""

    @property
    def total(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def margin(self) -> float: ...
    @property
    def format(self) -> str: ...
    @property
    def definitions(self) -> Sequence[Any]: ...


class _Conversation(Protocol):
    """What is shown of a conversation."""

    @property
    def model(self) -> str | None: ...
    @property
    def messages(self) -> Sequence[Message]: ...
    @property
    def pinned(self) -> Sequence[Message]: ...
    @property
    def pending(self) -> Sequence[Any]: ...


def plan_html(plan: _Plan) -> str:
    """A plan: its figures, its runs with their causes, its warnings."""
    about = "" if plan.exact else f", estimated: up to {plan.margin:.0%} more"
    rows = [
        _row(
            f"<span style='{_STYLES[run.action]}'>{_WORDS[run.action]}</span>",
            escape(plan.span(run)),
            f"{run.stop - run.start:,}",
            _tokens(plan, run),
            escape(str(run.cause)),
        )
        for run in plan.runs[:_SHOWN_RUNS]
    ]
    more = len(plan.runs) - _SHOWN_RUNS
    if more > 0:
        rows.append(_row("", f"and {more:,} more runs", "", "", ""))
    rows += [
        _row(
            "added",
            escape(item.call_id or ""),
            "1",
            f"{item.tokens:,}",
            escape(str(item.cause)),
        )
        for item in plan.inserted[:_SHOWN_RUNS]
    ]
    title = (
        f"<b>{plan.tokens:,}</b> of {plan.available + plan.fixed:,} tokens "
        f"available{about}"
    )
    notes = "".join(f"<div>{escape(warning)}</div>" for warning in plan.warnings)
    return _box(title, ("", "messages", "how many", "tokens", "why"), rows, notes)


def _tokens(plan: _Plan, run: _Run) -> str:
    """Tokens of a run; before and after, where they are changed."""
    try:
        before, after = plan.tokens_of(run)
    except FormatError:
        return "malformed"
    return f"{before:,} → {after:,}" if run.action == "edit" else f"{before:,}"


def count_html(count: _Count, parts: Iterable[str]) -> str:
    """A count: the total, its parts that are not nothing, the largest tools."""
    about = "exact" if count.exact else f"estimated: up to {count.margin:.0%} more"
    spent = {name: getattr(count, name) for name in parts}
    rows = [_row(name, f"{tokens:,}") for name, tokens in spent.items() if tokens]
    largest = sorted(count.definitions, key=lambda tool: -tool.tokens)[:_SHOWN_TOOLS]
    rows += [_row(f"tool {escape(tool.name)}", f"{tool.tokens:,}") for tool in largest]
    title = f"<b>{count.total:,}</b> tokens, {about}, {escape(count.format)}"
    return _box(title, ("", "tokens"), rows)


def window_html(window: _Window) -> str:
    """A window: its figures and its newest messages."""
    messages = window.messages
    title = (
        f"<b>{window.tokens:,}</b> tokens in {len(messages):,} messages, "
        f"{escape(window.format)}"
    )
    return _box(title, ("id", "role", "says"), _newest(messages))


def conversation_html(chat: _Conversation) -> str:
    """A conversation: its figures and its newest messages."""
    messages = chat.messages
    title = (
        f"<b>{len(messages):,}</b> messages, {len(chat.pinned):,} pinned, "
        f"{len(chat.pending):,} pending, model {escape(chat.model or 'not set')}"
    )
    return _box(title, ("id", "role", "says"), _newest(messages))


def _newest(messages: Sequence[Message]) -> list[str]:
    rows = []
    if len(messages) > _SHOWN_MESSAGES:
        rows.append(_row("", "", f"{len(messages) - _SHOWN_MESSAGES:,} before these"))
    for message in messages[-_SHOWN_MESSAGES:]:
        words = " ".join(display_text(message)[: 4 * _PREVIEW].split())
        shown = words if len(words) <= _PREVIEW else f"{words[:_PREVIEW]}…"
        rows.append(_row(escape(message.id or ""), str(message.role), escape(shown)))
    return rows


def _row(*cells: str) -> str:
    inner = "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells)
    return f"<tr>{inner}</tr>"


def _box(title: str, heads: Iterable[str], rows: Iterable[str], notes: str = "") -> str:
    head = "".join(f"<th style='text-align:left'>{name}</th>" for name in heads)
    return (
        f"<div><div>{title}</div><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{notes}</div>"
    )
