"""From our messages to Ollama's chat messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs

from turnkeep.model import (
    DISPLAY_KINDS,
    Block,
    Document,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    join_text,
    thaw,
)

from .._base import is_own, layout_of, origin_of
from .._chat._runs import ASSISTANT_SIDE, join_runs
from .._marker_lines import lined_text
from ._decode import NAME

_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
}


def encode_ollama(messages: Sequence[Message]) -> list[Any]:
    """Entries that say *messages*. Linear in their size."""
    writer = _written(messages)
    links = _Links.of(writer.links)
    for link in writer.links:
        if link.name in links.confused and link.call_id is not None:
            is_call = isinstance(link.block, ToolCall)
            link.entry["id" if is_call else "tool_call_id"] = link.call_id
    return writer.entries


def encode_rounds(
    messages: Sequence[Message], earlier: Sequence[Message]
) -> list[Any] | None:
    """The same behind *earlier* ones, if names alone link the calls and results.

    None otherwise: a call that was passed over may be taken for a later one.
    """
    if _is_open(earlier):
        return None
    writer = _written(messages)
    links = _Links.of(writer.links)
    return None if links.confused or links.passed_over else writer.entries


def _is_open(messages: Sequence[Message]) -> bool:
    """Whether what the model said last in *messages* has a call without an answer."""
    answered: set[str | None] = set()
    spoke = False
    for message in reversed(messages):
        is_model = message.role in ASSISTANT_SIDE
        if spoke and not is_model:
            break
        spoke = is_model
        answered.update(result.tool_call_id for result in message.tool_results)
        if any(call.id not in answered for call in message.tool_calls):
            return True
    return False


def _written(messages: Sequence[Message]) -> _Writer:
    writer = _Writer()
    for message in join_runs(messages, _is_foreign):
        content = message.content
        if (
            message.layout == NAME
            and len(content) == 1
            and type(text := content[0]) is Text
            and not message.extra
            and message.role in _ROLES
            and not writer.results
        ):
            entry = {"role": _ROLES[message.role], "content": text.text}
            writer.entries.append(entry)
        elif not _is_foreign(message) or message.kind not in DISPLAY_KINDS:
            writer.add(message)
    writer.end_results()
    return writer


class _Writer:
    """Writes entry after entry, and sees to it that results find their calls."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.names: dict[str | None, str] = {}
        self.order: dict[str | None, int] = {}
        self.results: list[tuple[int, Any, ToolResult]] = []
        # Calls and results of other origin, in order, with where their id would stand.
        self.links: list[_Link] = []

    def add(self, message: Message) -> None:
        foreign = _is_foreign(message)
        for result in message.tool_results:
            nth = self.order.get(result.tool_call_id, len(self.order))
            entry = _result(result, message, self.names)
            self.results.append((nth if foreign else -1, entry, result))
        if message.role is Role.TOOL_RESULT:
            return
        self.end_results()
        if message.tool_results and len(message.tool_results) == len(message.content):
            return
        entry = _entry(message)
        self.entries.append(entry)
        if message.role is Role.USER or message.role is Role.SYSTEM:
            return
        calls = message.tool_calls
        self.order = {call.id: nth for nth, call in enumerate(calls)}
        self.names |= {call.id: call.name for call in calls if call.id is not None}
        if foreign:
            nth = len(self.entries)
            written = zip(entry.get("tool_calls", ()), calls, strict=True)
            self.links += [_Link(made, call, nth) for made, call in written]

    def end_results(self) -> None:
        if all(nth >= 0 for nth, _, _ in self.results):
            # By name alone, the first result is that of the first call.
            self.results.sort(key=lambda held: held[0])
        for nth, entry, result in self.results:
            self.entries.append(entry)
            if nth >= 0:
                self.links.append(_Link(entry, result))
        self.results = []


@attrs.frozen
class _Link:
    """A call or result as it was written, and the id that it has in our model."""

    entry: dict[str, Any]
    block: ToolCall | ToolResult
    message: int = 0
    """Of a call: the place of its message."""

    @property
    def call_id(self) -> str | None:
        """What links a call to its results."""
        if isinstance(self.block, ToolCall):
            return self.block.id
        return self.block.tool_call_id

    @property
    def name(self) -> str | None:
        """The tool's name, as it was written."""
        if isinstance(self.block, ToolCall):
            return self.block.name
        name: str | None = self.entry.get("tool_name")
        return name


@attrs.frozen
class _Links:
    """What becomes of calls and results whose servers know no ids."""

    confused: set[str | None]
    """Names of tools whose results would not find their calls by name alone.

    Ids are written for those: newer servers know them, older ones skip them.
    """

    passed_over: bool
    """Whether the model called on while calls had no answer."""

    @classmethod
    def of(cls, links: Sequence[_Link]) -> _Links:
        """Pair *links* as a server does."""
        unanswered: dict[str | None, list[_Link]] = {}
        waiting: dict[str | None, list[str | None]] = {}
        confused: set[str | None] = set()
        for link in links:
            name = link.name
            calls = unanswered.setdefault(name, [])
            if isinstance(link.block, ToolCall):
                if calls and calls[-1].message != link.message:
                    confused.add(name)
                calls.append(link)
                continue
            placeholders = waiting.setdefault(name, [])
            if calls:
                meant = calls.pop(0).call_id
            else:
                meant = placeholders.pop() if len(placeholders) == 1 else None
            if meant is None or meant != link.call_id:
                confused.add(name)
            if not link.block.final:
                placeholders.append(link.call_id)
        confused |= {name for name, calls in unanswered.items() if len(calls) > 1}
        newest = max((link.message for link in links), default=0)
        left = (call for calls in unanswered.values() for call in calls)
        return cls(confused, any(call.message != newest for call in left))


def _is_foreign(message: Message) -> bool:
    return origin_of(message) != NAME


def _entry(message: Message) -> dict[str, Any]:
    detail = layout_of(message, NAME)
    if detail:
        raw: dict[str, Any] = json.loads(detail)
        return raw
    entry: dict[str, Any] = {
        "role": _ROLES[message.role],
        "content": text_of(message.content),
    }
    thinking = [block.text for block in message.content if isinstance(block, Thinking)]
    if any(thinking) or (thinking and not _is_foreign(message)):
        entry["thinking"] = "\n".join(thinking)
    if images := _images(message.content):
        entry["images"] = images
    own = is_own(message, NAME)
    if calls := message.tool_calls:
        native = not _is_foreign(message)
        entry["tool_calls"] = [_call(call, own=own, native=native) for call in calls]
    if own:
        for key, value in message.extra.items():
            if key != "role":
                entry.setdefault(key, thaw(value))
    return entry


def text_of(blocks: Sequence[Block]) -> str:
    """The text of *blocks*, that of text documents included."""
    pieces = []
    for block in blocks:
        if isinstance(block, Document) and block.text is not None:
            pieces.append(f"{block.title or ''}\n{block.text}".lstrip("\n"))
        elif isinstance(block, Text):
            pieces.append(block.text)
        elif text := join_text((block,) if not isinstance(block, ToolResult) else ()):
            pieces.append(text)
    return "\n".join(pieces)


def _images(blocks: Sequence[Block]) -> list[str]:
    return [b.data for b in blocks if isinstance(b, Image) and b.data is not None]


def _call(call: ToolCall, *, own: bool, native: bool) -> dict[str, Any]:
    arguments = thaw(call.arguments)
    if not isinstance(arguments, dict):
        # The server takes objects only (rule OL-03).
        arguments = {"input": arguments}
    made: dict[str, Any] = {"function": {"name": call.name, "arguments": arguments}}
    if native and call.id is not None:
        made["id"] = call.id
    if own:
        extra = thaw(call.extra)
        made["function"] |= extra.pop("function", {})
        made |= {key: v for key, v in extra.items() if key not in made}
    return made


def _result(
    result: ToolResult, message: Message, names: dict[str | None, str]
) -> dict[str, Any]:
    detail = layout_of(message, NAME)
    if detail:
        raw: dict[str, Any] = json.loads(detail)
        return raw
    text = lined_text(result, text_of(result.content))
    entry: dict[str, Any] = {"role": "tool", "content": text}
    name = result.tool_name
    if name is None and _is_foreign(message):
        name = names.get(result.tool_call_id)
    if name is not None:
        entry["tool_name"] = name
    if not _is_foreign(message) and result.tool_call_id is not None:
        entry["tool_call_id"] = result.tool_call_id
    if images := _images(result.content):
        entry["images"] = images
    if is_own(message, NAME):
        for key, value in message.extra.items():
            entry.setdefault(key, thaw(value))
    return entry
