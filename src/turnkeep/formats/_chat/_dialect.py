from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from turnkeep.model import Block, Role

from ._parts import decode_part, encode_part

WIRE_ROLES: Mapping[str, Role] = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL_RESULT,
    "function": Role.TOOL_RESULT,
    "latest_reminder": Role.SYSTEM,
}
"""What each role of a chat message means to us."""


@attrs.frozen
class Dialect:
    """How one provider speaks the chat messages that OpenAI made common."""

    name: str
    """The format's name."""

    roles: tuple[str, ...]
    """The roles it accepts."""

    thinking: Literal["key", "part"] | None = None
    """Where reasoning of other origin goes: a key, a content part, nowhere."""

    thinking_keys: tuple[str, ...] = ("reasoning_content", "reasoning")
    """Keys of an assistant message that hold reasoning; the first is the usual one."""

    object_arguments: bool = False
    """Whether call arguments may also be an object."""

    custom_tools: bool = False
    """Whether calls may have free text instead of arguments."""

    file_addresses: bool = False
    """Whether a file may be given by its address."""

    images: tuple[str, ...] = ("user",)
    """Roles whose content may show images and files."""

    decode_part: Callable[[Any, str, str], Block] = decode_part
    encode_part: Callable[..., dict[str, Any] | None] = encode_part
