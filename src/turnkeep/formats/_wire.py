"""What the block formats (Anthropic, Gemini, Bedrock, Claude Code) share.

How a layout says what JSON leaves open, markers in tool results, legal call ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    INTERIM,
    PENDING,
    Block,
    Document,
    FrozenDict,
    Image,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    mark,
    marker_of,
    thaw,
    unmark,
)

from ._base import origin_of
from ._shape import MARKS, frozen, kind_of_text, wrong


def need(value: dict[str, Any], key: str, kind: type, expected: str, path: str) -> Any:
    """The value of *key*, which must be there and be of *kind*.

    Raises:
        FormatError: It is absent, or something else.
    """
    try:
        found = value[key]
    except KeyError:
        reason = f"{key!r} is missing (it must be {expected})"
        raise FormatError(reason, path) from None
    if not isinstance(found, kind):
        raise wrong(repr(key), expected, found, f"{path}.{key}")
    return found


def rest(value: dict[str, Any], known: frozenset[str], path: str) -> FrozenDict:
    """The keys of *value* that are not *known*, frozen."""
    if known.issuperset(value):
        return EMPTY
    unknown = {key: v for key, v in value.items() if key not in known}
    result: FrozenDict = frozen(unknown, path)
    return result


def weave(first: list[Any], second: list[Any], positions: Sequence[int]) -> list[Any]:
    """One list of both: *first* at *positions*, where those fit; else in front."""
    total = len(first) + len(second)
    if len(positions) != len(first) or (positions and positions[-1] >= total):
        return [*first, *second]
    places = set(positions)
    ours, theirs = iter(first), iter(second)
    return [next(ours if nth in places else theirs) for nth in range(total)]


def in_front(positions: Sequence[int]) -> bool:
    """Whether *positions* are simply the first ones."""
    return not positions or positions[-1] == len(positions) - 1


def kind_of(blocks: Sequence[Block]) -> str | None:
    """The kind of a message by the marker on its first line, or none.

    Whoever says something more in the same message has said something; pictures alone
    may follow the line that says whose they are.
    """
    if not blocks or not isinstance(first := blocks[0], Text):
        return None
    kind = kind_of_text(first.text)
    if kind is not None and len(blocks) > 1:
        texts = [block.text for block in blocks[1:] if isinstance(block, Text)]
        said = any(kind_of_text(text) != kind for text in texts)
        return None if said or kind != "bridge" else kind
    return kind


def take_marker(text: str) -> tuple[str, bool, bool]:
    """Text of a tool result without its marker line; whether pending; whether interim.

    Text whose marker line could not be put back exactly as it was keeps it.
    """
    if not text.startswith(MARKS):
        return text, False, False
    marker = marker_of(text)
    if marker is None or marker not in {PENDING, INTERIM}:
        return text, False, False
    bare = unmark(text)
    if mark(marker, bare) != text:
        bare = text
    return bare, marker == PENDING, marker == INTERIM


def object_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as the object that these formats demand.

    Text that is no JSON object goes under `INVALID_JSON`, as Anthropic's documents on
    fine-grained tool streaming have it; no arguments at all become an empty object.
    """
    arguments = call.arguments
    if isinstance(arguments, dict):
        plain: dict[str, Any] = thaw(arguments)
        return plain
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    return {"INVALID_JSON": call.text}


def argument_losses(message: Message) -> list[str]:
    """Calls whose arguments are no object, for `losses`."""
    return [
        (
            f"call {call.name!r}: its arguments are no JSON object, "
            "so they go under INVALID_JSON"
        )
        for call in message.tool_calls
        if call.arguments_text is not None and "INVALID_JSON" in object_arguments(call)
    ]


def has_no_source(block: Image | Document) -> bool:
    """Whether nothing but a provider's file id says what the picture or file is."""
    text = block.text if isinstance(block, Document) else None
    return block.data is None and block.url is None and text is None


def results_first(message: Message) -> Sequence[Block]:
    """The blocks of a message, the tool results of a user message in front."""
    if message.role in {Role.USER, Role.TOOL_RESULT}:
        return sorted(
            message.content, key=lambda block: not isinstance(block, ToolResult)
        )
    return message.content


_CALLERS: Final = frozenset({Role.ASSISTANT, Role.TOOL_CALL, Role.TOOL_RESULT})


class CallIds:
    """Legal ids for calls of other formats.

    An id that breaks the pattern gets a number instead, in the order of the calls, so
    that the same history always gets the same ids. One pass over the blocks.

    Args:
        messages:
            The messages to encode, none of whose calls lacks an id.
        own:
            Formats whose ids are written as they are.
        legal:
            Pattern of a legal id.
    """

    def __init__(
        self, messages: Sequence[Message], own: frozenset[str], legal: re.Pattern[str]
    ) -> None:
        """See the class."""
        self._renamed: dict[str, str] = {
            block.id: ""
            for message in messages
            if message.role in _CALLERS and origin_of(message) not in own
            for block in message.content
            if type(block) is ToolCall
            and block.id is not None
            and not legal.fullmatch(block.id)
        }
        if not self._renamed:
            return
        taken = {
            block.id
            for message in messages
            if message.role in _CALLERS
            for block in message.content
            if isinstance(block, ToolCall)
        }
        number = 0
        for old in self._renamed:
            while not number or f"call_{number}" in taken:
                number += 1
            self._renamed[old] = f"call_{number}"
            number += 1

    @property
    def renames(self) -> bool:
        """Whether any id is not written as it is."""
        return bool(self._renamed)

    def write(self, call_id: str | None) -> str:
        """The id to write; a result that belongs to no call gets one that says so."""
        if call_id is None:
            return "unknown_call"
        return self._renamed.get(call_id, call_id) if self._renamed else call_id
