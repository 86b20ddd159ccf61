from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from ._checks import check_flag, check_text, check_text_or_none, check_whole, quoted
from ._frozen import EMPTY, FrozenDict, freeze

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""The same as `json.dumps`, which makes an encoder for each call."""


def _typed(value: object) -> tuple[type, object]:
    """What a bare JSON value is compared by: `1`, `1.0` and `true` differ as JSON."""
    return type(value), value


def _is_text(_instance: object, attribute: Any, value: Any) -> None:
    check_text(attribute.name, value)


def _is_text_or_none(_instance: object, attribute: Any, value: Any) -> None:
    check_text_or_none(attribute.name, value)


def _is_whole_or_none(_instance: object, attribute: Any, value: Any) -> None:
    if value is not None:
        check_whole(attribute.name, value)


def _extra() -> Any:
    return attrs.field(default=EMPTY, converter=freeze, repr=False, kw_only=True)


@attrs.frozen
class Text:
    """Plain text."""

    text: str = attrs.field(validator=_is_text)
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field
    """Keys that the block's format carries and we do not interpret; every block has it.

    Formats put them back where they found them."""


@attrs.frozen
class Json:
    """Structured content: any JSON value."""

    value: Any = attrs.field(converter=freeze, eq=_typed)
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field


@attrs.frozen
class Image:
    """A picture: inline (base64), by address, or by a provider's file id."""

    data: str | None = attrs.field(default=None, repr=False, validator=_is_text_or_none)
    """Base64, exactly as it came."""
    media_type: str | None = attrs.field(default=None, validator=_is_text_or_none)
    url: str | None = attrs.field(default=None, validator=_is_text_or_none)
    file_id: str | None = attrs.field(default=None, validator=_is_text_or_none)
    detail: str | None = attrs.field(default=None, validator=_is_text_or_none)
    """How closely to look, in the provider's own words (`low`, `high`, `auto`)."""
    number: int | None = attrs.field(default=None, validator=_is_whole_or_none)
    """The number quoted for it in a transcript, where a host numbers its images."""
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field


@attrs.frozen
class Document:
    """A file: inline (base64 or text), by address, or by a provider's file id."""

    data: str | None = attrs.field(default=None, repr=False, validator=_is_text_or_none)
    """Base64, exactly as it came."""
    media_type: str | None = attrs.field(default=None, validator=_is_text_or_none)
    url: str | None = attrs.field(default=None, validator=_is_text_or_none)
    file_id: str | None = attrs.field(default=None, validator=_is_text_or_none)
    text: str | None = attrs.field(default=None, repr=False, validator=_is_text_or_none)
    """The content of a plain-text document."""
    title: str | None = attrs.field(default=None, validator=_is_text_or_none)
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field


@attrs.frozen
class Thinking:
    """Reasoning of the model. Never changed: providers check it byte for byte."""

    text: str = attrs.field(default="", validator=_is_text)
    signature: str | None = attrs.field(
        default=None, repr=False, validator=_is_text_or_none
    )
    """The provider's seal over it, exactly as it came."""
    data: str | None = attrs.field(default=None, repr=False, validator=_is_text_or_none)
    """Encrypted or redacted reasoning, exactly as it came."""
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field


@attrs.frozen(init=False)
class ToolCall:
    """A tool call made by the model.

    The arguments keep the exact text they arrived in, because some providers sign or
    cache it; `arguments` offers the parsed value.

    >>> ToolCall("call_1", "build", '{"target":  "all"}').arguments["target"]
    'all'

    Args:
        id:
            Links the call to its result; `None` where the format has no ids.
        name:
            The tool.
        arguments:
            JSON text (a `str`, kept byte for byte) or any other JSON value.
        extra:
            Keys of the format that we do not interpret.
    """

    id: str | None
    name: str
    arguments_text: str | None
    """The arguments as text, when they arrived as text."""
    arguments_value: Any = attrs.field(repr=False, eq=_typed)
    """The arguments as a frozen JSON value, when they did not arrive as text."""
    extra: FrozenDict = attrs.field(repr=False)

    def __init__(
        self,
        id: str | None,  # noqa: A002 - the field's name in every format
        name: str,
        arguments: Any = EMPTY,
        *,
        extra: Any = EMPTY,
    ) -> None:
        """See the class."""
        check_text_or_none("id", id)
        check_text("name", name)
        is_text = isinstance(arguments, str)
        self.__attrs_init__(
            id,
            name,
            arguments if is_text else None,
            None if is_text else freeze(arguments),
            freeze(extra),
        )

    @property
    def arguments(self) -> Any:
        """The parsed arguments; text that is not JSON comes back as it is."""
        if self.arguments_text is None:
            return self.arguments_value
        try:
            return freeze(json.loads(self.arguments_text))
        except (ValueError, RecursionError):
            return self.arguments_text

    @property
    def text(self) -> str:
        """The arguments as text: as they arrived, else compact JSON."""
        if self.arguments_text is not None:
            return self.arguments_text
        return _compact(self.arguments_value)


def as_calls(calls: Sequence[Any] | Any) -> tuple[ToolCall, ...]:
    """The calls of a message.

    Raises:
        TypeError: They are anything else, with the place of what is wrong.
    """
    if isinstance(calls, (ToolCall, str, Mapping)) or not isinstance(calls, Iterable):
        msg = f"tool_calls must be a list of ToolCall, not {quoted(calls)}"
        raise TypeError(msg)
    made = tuple(calls)
    for nth, call in enumerate(made):
        if not isinstance(call, ToolCall):
            hint = "; append() takes a whole message as a dict"
            msg = f"tool_calls[{nth}] must be a ToolCall, not {quoted(call)}{hint}"
            raise TypeError(msg)
    return made


def as_blocks(content: str | Sequence[Any] | Any) -> tuple[Any, ...]:
    """Content given in short (text, one block, a sequence of both) as blocks.

    Raises:
        TypeError: It is anything else, with the place of what is wrong.
    """
    if isinstance(content, str):
        return (Text(content),)
    if type(content) is tuple and _BLOCK_TYPES.issuperset(map(type, content)):
        return content
    if isinstance(content, BLOCK_TYPES):
        return (content,)
    if not isinstance(content, Iterable) or isinstance(content, (bytes, Mapping)):
        msg = f"content must be text or blocks, not {quoted(content)}{_hint(content)}"
        raise TypeError(msg)
    blocks = tuple(Text(c) if isinstance(c, str) else c for c in content)
    for nth, block in enumerate(blocks):
        if not isinstance(block, BLOCK_TYPES):
            msg = (
                f"content[{nth}] must be text or a block such as Text or Image, not "
                f"{quoted(block)}{_hint(block)}"
            )
            raise TypeError(msg)
    return blocks


def _hint(value: object) -> str:
    """The way out for what people give instead of blocks."""
    if isinstance(value, Mapping):
        return "; append() takes a whole message as a dict"
    if isinstance(value, (bytes, bytearray)):
        return "; decode it first"
    return ""


def as_result(content: Any) -> tuple[Any, ...]:
    """What a tool answered as blocks: text, blocks, or any JSON value.

    A sequence of texts and blocks is read as such, any other value is sent as JSON.

    >>> as_result({"temperature": 22})
    (Json(value={'temperature': 22}),)

    Raises:
        UnfitValueError: It is neither; a `ValueError` with the path of what is wrong.
    """
    if isinstance(content, (str, *BLOCK_TYPES)):
        return as_blocks(content)
    if isinstance(content, (list, tuple)) and all(
        isinstance(part, (str, *BLOCK_TYPES)) for part in content
    ):
        return as_blocks(content)
    if isinstance(content, Iterator):
        return as_blocks(content)
    return (Json(content),)


@attrs.frozen
class ToolResult:
    """The answer to a tool call.

    It is *final* unless it is `pending` (a placeholder: the answer is still to come) or
    `interim` (an answer, but not the last). Only a final result closes its call.
    """

    tool_call_id: str | None
    content: tuple[Block, ...] = attrs.field(default=(), converter=as_result)
    is_error: bool = False
    pending: bool = False
    interim: bool = False
    tool_name: str | None = None
    extra: FrozenDict = _extra()  # noqa: RUF009 - makes an attrs field

    def __attrs_post_init__(self) -> None:
        """Refuse fields of wrong types."""
        check_text_or_none("tool_call_id", self.tool_call_id)
        check_flag("is_error", self.is_error)
        check_flag("pending", self.pending)
        check_flag("interim", self.interim)
        check_text_or_none("tool_name", self.tool_name)

    @property
    def final(self) -> bool:
        """Whether it closes its call."""
        return not (self.pending or self.interim)

    @property
    def text(self) -> str:
        """Its text and JSON content, joined by line breaks."""
        return join_text(self.content)


@attrs.frozen
class Opaque:
    """A vendor's block that we do not know: carried along unchanged."""

    value: FrozenDict = attrs.field(converter=freeze)
    format: str | None = None
    """Name of the format whose block it is."""


Content: TypeAlias = Text | Json | Image | Document | Opaque
"""What the content of a tool result is made of."""

Block: TypeAlias = (
    Text | Json | Image | Document | Thinking | ToolCall | ToolResult | Opaque
)
"""One part of a message's content."""

BLOCK_TYPES = (Text, Json, Image, Document, Thinking, ToolCall, ToolResult, Opaque)
_BLOCK_TYPES = frozenset(BLOCK_TYPES)


def join_text(blocks: Sequence[Block]) -> str:
    """The text of text, JSON and tool-result blocks, joined by line breaks."""
    if len(blocks) == 1 and type(blocks[0]) is Text:  # nearly always
        return blocks[0].text
    return "\n".join(part for block in blocks if (part := _text_of(block)) is not None)


def _text_of(block: Block) -> str | None:
    match block:
        case Text():
            return block.text
        case Json():
            return json.dumps(block.value, ensure_ascii=False)
        case ToolResult():
            return block.text
        case _:
            return None
