from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import attrs

from turnkeep.errors import AmbiguousFormatError, FormatError
from turnkeep.model import STAND_IN_TEXT, Block, FrozenDict, Message, Opaque, ToolResult
from turnkeep.providers import format_of_model

from ._base import Detection, Format
from ._registry import FORMATS, get_format
from ._shape import sample


def detect(value: Any, *, model: str | None = None) -> Detection:
    """Find out the format of *value* (a list of messages or a request body).

    From the shape alone: the formats with the strongest marks are candidates. When all
    of them would return the same JSON, the model's own format is taken, else `openai`.
    Looks at no more than 250 entries.

    >>> detect([{"role": "user", "content": [{"text": "hi", "type": "text"}]}]).format
    'openai'

    Raises:
        FormatError: No format fits.
        AmbiguousFormatError: Several do, and would return different JSON.
    """
    found = {name: get_format(name).matches(value) for name in FORMATS}
    best = max((match.score for match in found.values()), default=0)
    model = model or _model_in(value)
    usual = format_of_model(model)
    if best == 0:
        raise _nothing_fits(value, usual, found[usual].reason)
    names = tuple(name for name, match in found.items() if match.score == best)
    if len(names) == 1:
        return Detection(names[0], names, found[names[0]].reason)
    if not _same(value, [get_format(name) for name in names]):
        reason = f"several formats could be meant: {found[names[0]].reason}"
        raise AmbiguousFormatError(reason, "$", names)
    chosen = usual if usual in names else "openai" if "openai" in names else names[0]
    if chosen != usual:
        model = None
    why = f"the model speaks {chosen}" if model else f"{chosen} is the default"
    same = f"{', '.join(names)} would return the same JSON"
    return Detection(chosen, names, f"{found[chosen].reason}; {same}, and {why}")


def _model_in(value: Any) -> str | None:
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else None


def _nothing_fits(value: Any, usual: str, why: str) -> FormatError:
    """What *value* is, and what its *usual* format has against which entry of it."""
    said, _, place = why.rpartition(" @ ")
    # Without an index it is about the value as a whole, whose keys are named anyway.
    entry = f"; {usual} says: {said}" if "[" in place else ""
    path = place if entry else "$"
    more = "; name the format with format= to hear why"
    kind = ""
    if isinstance(value, (list, tuple)):
        first = value[0] if value else None
        keys = f" with the keys {', '.join(map(str, first))}" if _keyed(first) else ""
        kind = f"this list; its first entry is {type(first).__name__}{keys}"
    elif _keyed(value):
        kind = f"an object with the keys {', '.join(map(str, value))}"
    if kind:
        return FormatError(f"no format fits {kind}{entry}{more}", path)
    got = type(value).__name__
    reason = f"a list of messages or a request body is expected, got {got}"
    return FormatError(reason, "$")


def _keyed(value: Any) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict) and bool(value)


def _same(value: Any, formats: Sequence[Format]) -> bool:
    """Whether every format reads the same, and would say what we add the same way.

    What none of them can read is the same for all: decoding it says what is wrong.
    """
    readings = [_reading(value, fmt) for fmt in formats]
    return all(reading == readings[0] for reading in readings)


def _reading(value: Any, fmt: Format) -> Any:
    try:
        envelope = fmt.open(value)
        messages = [
            message
            for nth, entry in sample(envelope.entries)
            for message in fmt.decode(entry, f"{envelope.path}[{nth}]")
        ]
    except FormatError:
        return None
    if not messages:
        return []
    # Layouts are not compared, and each format has names of its own for opaque blocks:
    # what matters is what the engine sees, and what it would have us write.
    added: list[Message] = [Message.user("a")]
    calls = [call for message in messages for call in message.tool_calls]
    if calls:
        call = calls[0]
        added = [
            Message.tool_result(
                call.id, STAND_IN_TEXT, pending=True, tool_name=call.name
            ),
        ]
    return [_nameless(message) for message in messages], fmt.encode(added)


def _nameless(message: Message) -> Message:
    """*message* without what only says which format read it."""
    extra = message.extra
    if message.id is not None and "id" in extra:
        # Our own format has a field for it, the others keep it among the caller's keys.
        extra = FrozenDict({key: v for key, v in extra.items() if key != "id"})
    content = message.content
    if any(map(_is_named, content)):
        content = tuple(map(_unnamed, content))
    elif extra is message.extra:
        return message  # nearly always: a copy of each is half of what detection costs
    return attrs.evolve(message, content=content, extra=extra)


def _is_named(block: Block) -> bool:
    if type(block) is ToolResult:
        return any(map(_is_named, block.content))
    return type(block) is Opaque


def _unnamed(block: Block) -> Block:
    if isinstance(block, Opaque):
        return attrs.evolve(block, format=None)
    if isinstance(block, ToolResult):
        return attrs.evolve(block, content=tuple(map(_unnamed, block.content)))
    return block
