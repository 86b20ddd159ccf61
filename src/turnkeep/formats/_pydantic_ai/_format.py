from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    DISPLAY_KINDS,
    EMPTY,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    thaw,
    trusted_message,
)

from .._base import Envelope, is_own, layout_of, origin_of
from .._fields import checked, optional, required, with_others, with_tool_names
from .._ids import with_call_ids
from .._joins import answers
from .._losses import flat_blocks, opaque_losses
from .._marker_lines import lined_content
from .._marks import NEVER, SIGNED, WEAK, Judgement
from .._records import RecordFormat
from .._shape import compact, frozen
from .._spelling import recall, remember
from .._wire import kind_of, rest, take_marker
from ._content import NAME, has_place, read_answer, read_prompt, write_content

_WRAPPER: Final = frozenset({"parts", "kind"})
_PART: Final = "part"
"""Where a message's `extra` has the keys of its part, beside those of the request."""

_SAID: Final = frozenset({"content", "part_kind"})
_ANSWERED: Final = _SAID | {"tool_name", "tool_call_id", "outcome"}
_CALLED: Final = frozenset({"tool_name", "args", "tool_call_id", "part_kind"})
_THOUGHT: Final = _SAID | {"signature"}
_PENDING_TOOL: Final = "tool"
"""The name of a tool that no message names."""


class PydanticAi(RecordFormat):
    """Pydantic AI: what `ModelMessagesTypeAdapter` writes, and its message objects.

    Each part of a request is a message of its own, so that a prompt can go and the
    system text beside it stay; what is kept of a request stands together again.
    """

    name = NAME
    lacks = frozenset({"id", "token_count", "kind", "pin_scope"})
    names_tools = True

    def open(self, value: Any) -> Envelope:
        """See `Format.open`; the last request's instructions are the system text."""
        envelope = super().open(value)
        last = None
        for entry in reversed(envelope.entries):
            if isinstance(entry, dict) and entry.get("kind") == "request":
                last = entry.get("instructions")
                break
        if not isinstance(last, str) or not last or envelope.system is not None:
            return envelope
        return attrs.evolve(envelope, system=last)

    def judge(self, entry: dict[str, Any]) -> Judgement:
        """See `RecordFormat.judge`."""
        parts = entry.get("parts")
        if not isinstance(entry.get("kind"), str) or not isinstance(parts, list):
            return NEVER, "no kind with parts"
        if not all(isinstance(part, dict) and "part_kind" in part for part in parts):
            return NEVER, "a part without 'part_kind'"
        return (SIGNED, "the key 'part_kind'") if parts else (WEAK, "a kind with parts")

    def lost_content(self, message: Message) -> list[str]:
        """See `RecordFormat.lost_content`."""
        lost = opaque_losses(message, NAME)
        speaks = message.role in {Role.USER, Role.TOOL_RESULT}
        for block in flat_blocks(message.content):
            if isinstance(block, (Image, Document)) and not (
                speaks and has_place(block)
            ):
                lost.append("an image or file that has no place here")
            elif isinstance(block, Thinking) and block.data is not None:
                lost.append("the ciphertext of reasoning")
        return lost

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`: a message for each part of a request."""
        checked(entry, "a message", dict, path)
        kind = required(entry, "kind", str, path)
        parts = required(entry, "parts", list, path)
        if kind != "request" or len(parts) < 2:
            whole = self.read(entry, path)
            return (remember(whole, entry, whole.layout or NAME, self.write),)
        made = []
        for nth, part in enumerate(parts):
            alone = {**entry, "parts": [part]}
            said = _read_request(alone, path, nth)
            layout = f"{NAME}:{nth}"
            said = attrs.evolve(said, layout=layout)
            made.append(remember(said, alone, layout, self.write))
        return tuple(made)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`; parts of one request stand together again."""
        messages = [m for m in messages if m.kind not in DISPLAY_KINDS]
        messages = with_call_ids(messages, lambda m: origin_of(m) != NAME)
        messages = with_tool_names(messages, NAME)
        made: list[Any] = []
        place = -1
        for message in messages:
            entries = recall(message, _key_of(message), self.read, self.write)
            nth = _place_of(message)
            if nth and place >= 0 and nth > place and _shares(made[-1], entries):
                made[-1] = {
                    **made[-1],
                    "parts": made[-1]["parts"] + entries[0]["parts"],
                }
            else:
                made += entries
            place = nth
        return made

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        del before
        return not answers(after) and _place_of(after) <= 0

    def read_short(self, entry: Any, path: str) -> Message | None:
        """See `RecordFormat.read_short`: every message is read whole."""
        del entry, path
        return None

    def read(self, entry: Any, path: str) -> Message:
        """See `RecordFormat.read`; of a request with one part or none."""
        checked(entry, "a message", dict, path)
        kind = required(entry, "kind", str, path)
        if kind == "request":
            return _read_request(entry, path, 0)
        if kind == "response":
            return _read_response(entry, path)
        reason = f"unknown kind {kind!r} (expected request or response)"
        raise FormatError(reason, f"{path}.kind")

    def write(self, message: Message) -> list[Any]:
        """See `RecordFormat.write`."""
        own = is_own(message, NAME)
        extra = message.extra if own else EMPTY
        if message.role in {Role.ASSISTANT, Role.TOOL_CALL}:
            parts = [
                made
                for block in message.content
                if (made := _write_block(block, own=own)) is not None
            ]
            made = with_others({"parts": parts, "kind": "response"}, extra)
            results = _written_results(message, EMPTY, own=own)
            return [*({"parts": [r], "kind": "request"} for r in results), made]
        found = extra.get(_PART)
        about = found if isinstance(found, FrozenDict) else EMPTY
        around = {key: v for key, v in extra.items() if key != _PART or found is None}
        parts = _written_parts(message, about, own=own)
        return [
            with_others({"parts": [part], "kind": "request"}, around) for part in parts
        ]


def _key_of(message: Message) -> str:
    """The layout of *message* without its spelling."""
    place = _place_of(message)
    return NAME if place < 0 else f"{NAME}:{place}"


def _place_of(message: Message) -> int:
    """Which part of its request *message* was; -1 for a message of its own."""
    place, _, _ = layout_of(message, NAME).partition(":")
    return int(place) if place.isascii() and place.isdigit() and len(place) < 9 else -1


def _shares(before: Any, entries: Sequence[Any]) -> bool:
    """Whether what stands around the parts is the same."""
    if len(entries) != 1 or before["kind"] != "request":
        return False
    after = entries[0]
    return {**before, "parts": 0} == {**after, "parts": 0}


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    """*fields* without those that are null; the layout says that they were there."""
    return {key: value for key, value in fields.items() if value is not None}


def _read_request(entry: dict[str, Any], path: str, nth: int) -> Message:
    """The message of a request with one part or none; *nth* is its place."""
    parts = required(entry, "parts", list, path)
    where = f"{path}.parts[{nth}]"
    around = dict(rest(_set(entry), _WRAPPER, path))
    if len(parts) > 1:
        reason = "more than one part"
        raise FormatError(reason, where)
    if not parts:
        extra = frozen(around, path)
        return trusted_message(Role.USER, (), extra=extra, layout=NAME)
    part = checked(parts[0], "a part", dict, where)
    kind = required(part, "part_kind", str, where)
    known = _SAID
    blocks: list[Block]
    if kind in {"system-prompt", "user-prompt"}:
        role = Role.SYSTEM if kind == "system-prompt" else Role.USER
        blocks = read_prompt(part.get("content"), f"{where}.content")
    elif kind == "tool-return" or (
        kind == "retry-prompt" and part.get("tool_name") is not None
    ):
        role, known = Role.TOOL_RESULT, _ANSWERED
        blocks = [_read_result(part, kind, where)]
    elif kind == "retry-prompt":
        role = Role.USER
        blocks = read_answer(part.get("content"), f"{where}.content")
    else:
        role, known = Role.USER, frozenset(part)
        blocks = [Opaque(frozen(part, where), NAME)]
    about = rest(_set(part), known, where)
    extra = frozen({**around, _PART: about} if about else around, path)
    return trusted_message(
        role, tuple(blocks), kind=kind_of(blocks), extra=extra, layout=NAME
    )


def _read_result(part: dict[str, Any], kind: str, path: str) -> ToolResult:
    content = part.get("content")
    pending = interim = False
    if isinstance(content, str):
        content, pending, interim = take_marker(content)
    outcome = optional(part, "outcome", str, path)
    return ToolResult(
        optional(part, "tool_call_id", str, path),
        tuple(read_answer(content, f"{path}.content")),
        is_error=kind == "retry-prompt" or outcome in {"failed", "retried"},
        pending=pending,
        interim=interim,
        tool_name=optional(part, "tool_name", str, path),
    )


def _read_response(entry: dict[str, Any], path: str) -> Message:
    parts = required(entry, "parts", list, path)
    blocks = [
        _read_part(checked(part, "a part", dict, where), where)
        for nth, part in enumerate(parts)
        for where in (f"{path}.parts[{nth}]",)
    ]
    return trusted_message(
        Role.ASSISTANT,
        tuple(blocks),
        kind=kind_of(blocks),
        extra=rest(_set(entry), _WRAPPER, path),
        layout=NAME,
    )


def _read_part(part: dict[str, Any], path: str) -> Block:
    kind = required(part, "part_kind", str, path)
    if kind == "text":
        text = required(part, "content", str, path)
        return Text(text, extra=rest(_set(part), _SAID, path))
    if kind == "thinking":
        return Thinking(
            required(part, "content", str, path),
            signature=optional(part, "signature", str, path),
            extra=rest(_set(part), _THOUGHT, path),
        )
    if kind == "tool-call":
        args = part.get("args")
        arguments = args if isinstance(args, str) else frozen(args, path, ".args")
        return ToolCall(
            optional(part, "tool_call_id", str, path),
            required(part, "tool_name", str, path),
            EMPTY if args is None else arguments,
            extra=rest(_set(part), _CALLED, path),
        )
    return Opaque(frozen(part, path), NAME)


def _write_block(block: Block, *, own: bool) -> dict[str, Any] | None:
    if isinstance(block, Opaque):
        return dict(thaw(block.value)) if block.format == NAME else None
    match block:
        case Text():
            made: dict[str, Any] = {"content": block.text, "part_kind": "text"}
        case Json():
            made = {"content": compact(block.value), "part_kind": "text"}
        case Thinking():
            made = {"content": block.text, "part_kind": "thinking"}
            if block.signature is not None:
                made["signature"] = block.signature
        case ToolCall():
            value = block.arguments_value
            is_object = block.arguments_text is None and isinstance(value, dict)
            made = {
                "tool_name": block.name,
                "args": thaw(value) if is_object else block.text,
                "tool_call_id": block.id,
                "part_kind": "tool-call",
            }
        case _:
            return None
    return with_others(made, block.extra if own else EMPTY)


def _written_results(
    message: Message, about: FrozenDict, *, own: bool
) -> list[dict[str, Any]]:
    made = []
    for result in message.tool_results:
        fields: dict[str, Any] = {
            "tool_name": result.tool_name or _PENDING_TOOL,
            "content": _answer(result, own=own),
            "tool_call_id": result.tool_call_id,
            "part_kind": "tool-return",
        }
        if result.is_error:
            fields["outcome"] = "failed"
        made.append(with_others(fields, about))
    return made


def _answer(result: ToolResult, *, own: bool) -> Any:
    return write_content(lined_content(result), own=own, answer=True)


def _written_parts(
    message: Message, about: FrozenDict, *, own: bool
) -> list[dict[str, Any]]:
    """The parts of requests that say *message*."""
    made = _written_results(message, about, own=own)
    blocks = [b for b in message.content if not isinstance(b, (ToolResult, ToolCall))]
    if not blocks and made:
        return made
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, Opaque) and only.format == NAME and "part_kind" in only.value:
        return [*made, dict(thaw(only.value))]
    kind = "system-prompt" if message.role is Role.SYSTEM else "user-prompt"
    content = write_content(blocks, own=own)
    if kind == "system-prompt" and not isinstance(content, str):
        content = message.text
    return [*made, with_others({"content": content, "part_kind": kind}, about)]
