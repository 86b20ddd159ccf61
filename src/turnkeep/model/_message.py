from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self, TypeAlias

import attrs

from ._blocks import (
    Block,
    Text,
    ToolCall,
    ToolResult,
    as_blocks,
    as_calls,
    join_text,
)
from ._checks import check_message
from ._frozen import EMPTY, FrozenDict, freeze
from ._slots import setter

PinScope: TypeAlias = Literal["turn", "step"]

DISPLAY_KINDS = frozenset({"run_summary"})
"""Kinds that are shown to people and never sent or counted."""


class Role(StrEnum):
    """Who speaks. A developer message is a system message (its format knows)."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


def _role(value: Role | str) -> Role:
    # Most callers give a role itself, and looking it up costs more than the check.
    return value if type(value) is Role else Role(value)


@attrs.frozen
class Message:
    """One entry of a history.

    A value: compared and hashed by what it says, never changed (see `evolve`).

    >>> Message.user("hi") == Message.user("hi")
    True

    Args:
        role:
            Who speaks.
        content:
            Text, one block, or a sequence of blocks.
        id:
            Unique in its history; unset until appended or given.
        timestamp:
            When, with a time zone; unset until appended or given. Never reorders.
        token_count:
            Tokens as the host counted them, all overhead included; trusted.
        pinned:
            Survives every budget and strategy.
        pin_scope:
            `"turn"` also holds the turn's question and last step; `"step"` does not.
        kind:
            What it is to its host (`"summary"`, `"digest"`, `"run_summary"`, ...).
        priority:
            Lower is more important, 0 the most; used by `LowestPriority` only.
        metadata:
            Any JSON object of the host's; kept, never sent.
        extra:
            Keys that its format carries and we do not interpret; sent back unchanged.
        layout:
            How the format spelled it where JSON allows several ways (`content` as text
            or as a list, null or absent): private to the format, not compared.

    Raises:
        NaiveTimestampError: The time stamp has no zone.
        TypeError: A field is of a wrong type.
        ValueError: A field is out of range.
    """

    role: Role = attrs.field(converter=_role)
    content: tuple[Block, ...] = attrs.field(default=(), converter=as_blocks)
    id: str | None = attrs.field(default=None, kw_only=True)
    timestamp: datetime | None = attrs.field(default=None, kw_only=True)
    token_count: int | None = attrs.field(default=None, kw_only=True)
    pinned: bool = attrs.field(default=False, kw_only=True)
    pin_scope: PinScope = attrs.field(default="turn", kw_only=True)
    kind: str | None = attrs.field(default=None, kw_only=True)
    priority: int | None = attrs.field(default=None, kw_only=True)
    metadata: FrozenDict = attrs.field(default=EMPTY, converter=freeze, kw_only=True)
    extra: FrozenDict = attrs.field(
        default=EMPTY, converter=freeze, kw_only=True, repr=False
    )
    layout: str | None = attrs.field(default=None, kw_only=True, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        """Refuse what no store could keep; loaders, which have checked, skip this."""
        check_message(self)

    @classmethod
    def system(cls, content: str | Sequence[Block], **fields: Any) -> Self:
        """An instruction to the model; *fields* as on the class."""
        return cls(Role.SYSTEM, content, **fields)

    @classmethod
    def user(cls, content: str | Sequence[Block], **fields: Any) -> Self:
        """What the user says; *fields* as on the class."""
        return cls(Role.USER, content, **fields)

    @classmethod
    def assistant(
        cls,
        content: str | Sequence[Block] = (),
        *,
        tool_calls: Sequence[ToolCall] = (),
        **fields: Any,
    ) -> Self:
        """What the model answers, and the tools it calls; *fields* as on the class.

        Empty text beside calls is left out: `assistant("", tool_calls=[...])`.
        """
        blocks, calls = as_blocks(content), as_calls(tool_calls)
        if calls and blocks == (Text(""),):
            blocks = ()
        return cls(Role.ASSISTANT, (*blocks, *calls), **fields)

    @classmethod
    def tool_result(
        cls,
        tool_call_id: str | None,
        content: Any = "",
        *,
        is_error: bool = False,
        pending: bool = False,
        interim: bool = False,
        tool_name: str | None = None,
        **fields: Any,
    ) -> Self:
        """The answer to the call *tool_call_id*; *fields* as on the class.

        Args:
            tool_call_id: The call; `None` where the format has no ids.
            content: Text, blocks, or any JSON value: an object is sent as JSON.
            is_error: Whether the tool failed.
            pending: Whether it only stands in for an answer to come.
            interim: Whether it is an answer, but not the last.
            tool_name: The tool, for formats that link by name.
            **fields: As on the class.
        """
        result = ToolResult(
            tool_call_id,
            content,
            is_error=is_error,
            pending=pending,
            interim=interim,
            tool_name=tool_name,
        )
        return cls(Role.TOOL_RESULT, (result,), **fields)

    def stamped(self, identity: str, moment: datetime | None) -> Self:
        """The same message with an id and a time stamp; `evolve` without its checks.

        Appending does this to every message, and nothing else of it can be wrong.
        """
        made = self._copy()
        _set_id(made, identity)
        _set_timestamp(made, moment)
        return made

    def with_blocks(self, content: tuple[Block, ...]) -> Self:
        """`evolve(content=...)` for blocks that need no check."""
        made = self._copy()
        _set_content(made, content)
        _set_token_count(made, None)
        _set_layout(made, self._origin)
        return made

    def _copy(self) -> Self:
        made = object.__new__(type(self))
        # Line by line: a loop over the slots costs twice as much.
        _set_role(made, self.role)
        _set_content(made, self.content)
        _set_id(made, self.id)
        _set_timestamp(made, self.timestamp)
        _set_token_count(made, self.token_count)
        _set_pinned(made, self.pinned)
        _set_pin_scope(made, self.pin_scope)
        _set_kind(made, self.kind)
        _set_priority(made, self.priority)
        _set_metadata(made, self.metadata)
        _set_extra(made, self.extra)
        _set_layout(made, self.layout)
        return made

    @property
    def _origin(self) -> str | None:
        """The format that it came from, if its layout says one."""
        return self.layout and self.layout.partition(":")[0]

    def evolve(self, **changes: Any) -> Self:
        """A copy with *changes*; new content clears `token_count` and most of `layout`.

        The layout keeps the name of the format, which says whose `extra` is.
        """
        if "content" in changes:
            changes.setdefault("token_count", None)
            changes.setdefault("layout", self._origin)
        return attrs.evolve(self, **changes)

    @property
    def text(self) -> str:
        """Its text (and that of its tool results), joined by line breaks."""
        return join_text(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls it makes, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results it carries, in order."""
        return tuple(b for b in self.content if isinstance(b, ToolResult))


(
    _set_role,
    _set_content,
    _set_id,
    _set_timestamp,
    _set_token_count,
    _set_pinned,
    _set_pin_scope,
    _set_kind,
    _set_priority,
    _set_metadata,
    _set_extra,
    _set_layout,
) = (setter(Message, field.name) for field in attrs.fields(Message))
