"""Histories of turns with sizes of their own, for tests of single strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from turnkeep import Budget, Message, ToolCall, plan
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy


def tokens_of(message: Message) -> int:
    """A token for four characters of text, calls' arguments included, at least one."""
    return 1 + (len(message.text) + sum(len(c.text) for c in message.tool_calls)) // 4


def sized(tokens: int) -> str:
    """A text that, as a message, has that many tokens."""
    return "x" * (4 * (tokens - 1))


def turns(*sizes: int, **fields: Any) -> list[Message]:
    """One user message a turn, `u0`, `u1`, ..., of these sizes."""
    return [
        Message.user(sized(size), id=f"u{nth}", **fields)
        for nth, size in enumerate(sizes)
    ]


def tool(
    call_id: str, text: str, arguments: Any = "{}", name: str = "f"
) -> list[Message]:
    """A call and its result: `a-<id>` and `r-<id>`."""
    return [
        Message.assistant(
            tool_calls=[ToolCall(call_id, name, arguments)], id=f"a-{call_id}"
        ),
        Message.tool_result(call_id, text, id=f"r-{call_id}"),
    ]


def decide(
    history: Sequence[Message],
    tokens: int,
    strategy: Strategy | None = None,
    *,
    target: float = 1.0,
    counter: Callable[[Message], int] = tokens_of,
    **options: Any,
) -> Plan:
    """The plan, with the tests' own counts."""
    return plan(
        list(history),
        budget=Budget(tokens, target=target),
        strategy=strategy,
        token_counter=counter,
        **options,
    )


def window(
    history: Sequence[Message], tokens: int, strategy: Strategy | None, **options: Any
) -> list[Message]:
    """What is sent."""
    made = decide(history, tokens, strategy, **options).apply(list(history))
    assert isinstance(made, list)
    return made


def gone(
    history: Sequence[Message], tokens: int, strategy: Strategy | None, **options: Any
) -> list[str]:
    """Ids of what was dropped, in the order of the history."""
    return list(decide(history, tokens, strategy, **options).dropped.ids)


def texts(messages: Sequence[Message]) -> list[str]:
    """The texts of messages."""
    return [message.text for message in messages]
