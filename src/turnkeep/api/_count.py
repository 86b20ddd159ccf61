"""`count`: what a request costs, and what on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.api._arguments import Messages, TokenCounter, with_hints
from turnkeep.api._job import rule_counter
from turnkeep.formats import decode_entries, open_messages
from turnkeep.index._memory import forgotten_among
from turnkeep.model import Message, as_sent
from turnkeep.tokens import RequestCounter
from turnkeep.tokens._old_thinking import leaves_out_thinking, without_thinking
from turnkeep.tokens._tools import read_tools
from turnkeep.turns import ASSISTANT, USER, entry_of

_PARTS = ("system", "tools", "messages", "overhead")
_WITHIN = ("reasoning", "images")
"""Parts of what the messages cost."""


@attrs.frozen
class ToolTokens:
    """What one tool definition costs beside others."""

    name: str
    tokens: int


@attrs.frozen
class TokenCount:
    """What a request costs, and what on.

    `print(count)` shows a short table.
    """

    total: int
    system: int
    """System text, in the list and beside it."""
    tools: int
    messages: int
    """All other messages, reasoning and images included."""
    reasoning: int
    """The part of it that is reasoning."""
    images: int
    """The part of it that is pictures and documents."""
    overhead: int
    """Per-request overhead."""
    exact: bool
    margin: float
    """Share by which the true count may exceed `total`."""
    rule: str
    """The rule used, and its source."""
    format: str
    definitions: tuple[ToolTokens, ...] = attrs.field(default=(), repr=False)
    """What each tool definition costs, in their order; what all share is not in it."""

    def __str__(self) -> str:
        """A short table: the total and its parts."""
        about = "exact" if self.exact else f"estimated, up to {self.margin:.0%} more"
        lines = [f"{self.total:,} tokens, {about} ({self.format})"]
        lines += [
            f"  {name:<10} {getattr(self, name):>10,}"
            for name in _PARTS
            if getattr(self, name)
        ]
        within = [n for n in _WITHIN if getattr(self, n)]
        lines += [f"    {name:<8} {getattr(self, name):>10,}" for name in within]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: the total, its parts and the largest tools."""
        from turnkeep.plans._notebook import count_html  # noqa: PLC0415 - rarely shown

        return count_html(self, (*_PARTS, *_WITHIN))


@with_hints
def count(
    messages: Messages,
    *,
    model: str | None = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002 - the public name
    system: Any = None,
    token_counter: TokenCounter | None = None,
) -> TokenCount:
    """Tokens of a whole request; costs one pass that counts every message.

    >>> count([{"role": "user", "content": "hi"}], model="gpt-4o").total
    8

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        model:
            Chooses the tokenizer and the provider's rule; else the one a body names.
        tools:
            Tool definitions sent beside the list, in the provider's shape.
        format:
            A name from `turnkeep.FORMATS`; detected unless given.
        system:
            System text sent beside the list, in the provider's shape.
        token_counter:
            One of our counters, or the name of one.

    Raises:
        FormatError: The input is malformed; its path says where.
    """
    fmt, envelope = open_messages(messages, format, model)
    counter = rule_counter(fmt, model or envelope.model, token_counter)
    tools = envelope.tools if tools is None else tools
    system = envelope.system if system is None else system
    spent = {"system": 0, "messages": 0, "reasoning": 0, "images": 0}
    parts = list(fmt.decode_system(system)) if system else []
    parts.extend(decode_entries(envelope, fmt))
    if leaves_out_thinking(counter):
        parts = _without_old_thinking(parts)
    forgotten = forgotten_among(parts)
    for nth, message in enumerate(parts):
        if nth in forgotten:
            continue  # the provider's memory has replaced it
        cost = counter.parts(as_sent(message))
        spent["system" if message.role == "system" else "messages"] += cost.total
        spent["reasoning"] += cost.reasoning
        spent["images"] += cost.images + cost.documents
    tool_tokens = counter.tools(tools) if tools else 0
    overhead = counter.request(has_tools=bool(tools)) if parts else 0
    return TokenCount(
        total=spent["system"] + spent["messages"] + tool_tokens + overhead,
        tools=tool_tokens,
        overhead=overhead,
        exact=counter.exact,
        margin=counter.margin,
        rule=counter.rule,
        format=envelope.session or fmt.name,
        definitions=_definitions(tools, counter) if tools else (),
        **spent,
    )


def _without_old_thinking(parts: Sequence[Message]) -> list[Message]:
    """*parts* without what was thought before the newest question."""
    entries = list(map(entry_of, parts))
    asked = next((n for n in reversed(range(len(parts))) if entries[n].kind == USER), 0)
    found = [
        without_thinking(message)
        if nth < asked and entries[nth].kind == ASSISTANT
        else message
        for nth, message in enumerate(parts)
    ]
    return [message for message in found if message is not None]


def _definitions(tools: Any, counter: RequestCounter) -> tuple[ToolTokens, ...]:
    """What each definition adds; a second copy tells it from what all share."""
    return tuple(
        ToolTokens(tool.name, counter.tools([tool.raw] * 2) - counter.tools([tool.raw]))
        for tool in read_tools(tools)
    )
