"""Messages as a plain text, for models that read them and do not take part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from turnkeep.model import (
    SUMMARY,
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    marker_of,
    unmark,
)
from turnkeep.model._frozen import thaw

_SPEAKERS: Final = {"tool_call": "assistant", "tool_result": "tool"}


def transcript(messages: Iterable[Message]) -> str:
    r"""*messages* as text: who speaks, with its id where it has one, and what is said.

    Calls and their results are written out; reasoning is left out, a picture is a line
    that says so. An earlier summary says what it is. Costs the messages.

    >>> print(transcript([
    ...     Message.user("Build it.", id="msg-1"),
    ...     Message.assistant("", tool_calls=[ToolCall("c1", "build", "{}")]),
    ...     Message.tool_result("c1", "0 errors"),
    ... ]))
    [user, msg-1]
    Build it.
    <BLANKLINE>
    [assistant]
    build({})
    <BLANKLINE>
    [tool]
    build: 0 errors
    """
    return "\n\n".join(
        f"[{heading_of(message)}]\n{said}" for message, said in spoken(messages)
    )


def spoken(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Each message, and what a transcript has of it."""
    tools: dict[str | None, str] = {}
    for message in messages:
        parts = [said for b in message.content if (said := _said(b, tools)) is not None]
        yield message, "\n".join(parts)


def heading_of(message: Message) -> str:
    """Who speaks, and the message's id."""
    if message.kind == "summary":
        who = "summary of what came before"
    else:
        who = _SPEAKERS.get(message.role.value, message.role.value)
    return who if message.id is None else f"{who}, {message.id}"


def _said(block: Block, tools: dict[str | None, str]) -> str | None:
    """What a transcript has of a block; notes the tools that are called."""
    match block:
        case Text():
            text = block.text
            return unmark(text) if marker_of(text) == SUMMARY else text
        case ToolCall():
            tools[block.id] = block.name
            return f"{block.name}({block.text})"
        case ToolResult():
            name = block.tool_name or tools.get(block.tool_call_id) or "result"
            parts = (_said(part, tools) for part in block.content)
            failed = " (failed)" if block.is_error else ""
            return f"{name}{failed}: {chr(10).join(p for p in parts if p is not None)}"
        case Thinking():
            return None
        case _:
            return _shown(block)


def _shown(block: Json | Image | Document | Opaque) -> str:
    match block:
        case Json():
            return Message.user([block]).text
        case Image():
            return "[a picture]"
        case Document():
            return block.text or f"[a file{f': {block.title}' if block.title else ''}]"
        case Opaque():
            value: Mapping[str, object] = thaw(block.value)
            if isinstance(said := value.get("content"), str):
                return said  # such as what a provider compacted, readable
            return f"[{value.get('type', 'something')}]"
