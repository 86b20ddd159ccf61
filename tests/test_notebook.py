"""Tests for `turnkeep.plans._notebook`: what notebooks show."""

from html.parser import HTMLParser
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, Conversation, ToolCall

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>\"' & \u2028"


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def shown(value: Any) -> str:
    """What a notebook gets; safe whatever is in it."""
    html: str = value._repr_html_()
    tags = _Tags(html)
    assert tags.names <= {
        "div",
        "b",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
    }
    assert tags.attributes <= {"style"}
    assert len(html) < 20_000
    return html


@pytest.fixture
def chat() -> Conversation:
    """A chat that no longer fits, with a pin and an open call."""
    chat = Conversation(budget=Budget(400), model="gpt-4o")
    chat.user("Remember: the project is called Orion.", pinned=True)
    for nth in range(12):
        chat.user(f"{nth}: {EVIL}" + "words " * 20)
        chat.assistant(EVIL)
    chat.assistant("", tool_calls=[ToolCall(EVIL, "build", {})])
    chat.user("And now?")
    return chat


def test_a_conversation(chat: Conversation) -> None:
    """Figures, and the newest messages."""
    html = shown(chat)

    assert "<b>27</b> messages, 1 pinned, 1 pending, model gpt-4o" in html
    assert "22 before these" in html
    assert "And now?" in html
    assert "Orion" not in html
    assert repr(chat).startswith("Conversation(27 messages, 1 pinned, 1 pending")


def test_an_empty_conversation() -> None:
    """No model, no message, no error."""
    assert "<b>0</b> messages" in shown(Conversation())
    assert "model not set" in shown(Conversation())


def test_a_window(chat: Conversation) -> None:
    """Its tokens and its newest messages, long ones cut."""
    window = chat.fit()

    html = shown(window)

    assert f"<b>{window.tokens}</b> tokens in {len(window)} messages, openai" in html
    assert "&lt;script&gt;" in html
    assert repr(window) == f"Window({window.tokens} tokens, format='openai', pruned)"


def test_a_plan(chat: Conversation) -> None:
    """What is kept, what went and what was added, and why."""
    plan = chat.fit().plan

    html = shown(plan)

    assert f"<b>{plan.tokens}</b> of " in html
    for word in ("kept", "dropped", "added", "age", "pinned", "open_call"):
        assert word in html
    assert "&lt;img" in html
    assert f"{len(plan.dropped)} dropped" in repr(plan)


def test_a_long_estimated_plan_with_warnings() -> None:
    """Its margin, its warnings, and no more than a few runs."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": EVIL * (1 + n % 2 * 9)}
        for n in range(61)
    ]
    plan = turnkeep.plan(
        messages,
        max_tokens=9_000,
        pinned=range(0, 60, 4),
        pin_scope="step",
        token_counter="approximate",
        format="openai",
        on_overflow="send",
    )

    html = shown(plan)

    assert "estimated: up to" in html
    assert "more runs" in html
    assert "changed" not in html
    assert html.count("<tr>") <= 15


def test_warnings_are_escaped() -> None:
    """They may name what a message says."""
    result = {"role": "tool", "tool_call_id": EVIL, "content": "late"}
    question = {"role": "user", "content": "hi"}

    plan = turnkeep.plan([question, result, question], max_tokens=100, format="openai")

    assert plan.warnings
    assert "<script" not in shown(plan)


def test_a_count() -> None:
    """Its parts, and its largest tools; names are escaped."""
    tools = [
        {"type": "function", "function": {"name": f"<b>{n}", "description": "x" * n}}
        for n in range(7)
    ]
    found = turnkeep.count([{"role": "user", "content": EVIL}], tools=tools)

    html = shown(found)

    assert f"<b>{found.total}</b> tokens, exact, openai" in html
    assert html.count("tool &lt;b&gt;") == 5
    assert "reasoning" not in html
    estimated = turnkeep.count([{"role": "user", "content": "x"}], model="claude-3")
    assert "estimated: up to" in shown(estimated)


def test_a_plan_shows_tokens_before_and_after() -> None:
    """Of what is sent changed."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "result " * 400},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "and?"},
    ]
    plan = turnkeep.plan(
        chat, 200, model="gpt-4o", strategy="truncate-tool-results:max_tokens=50"
    )
    (run,) = (run for run in plan.runs if run.action == "edit")
    before, after = plan.tokens_of(run)

    assert f"<td style='text-align:left'>{before} → {after}</td>" in shown(plan)
