from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import attrs

from turnkeep.demands import NO_DEMANDS, Demands
from turnkeep.formats._chat_open import request
from turnkeep.model import Message
from turnkeep.plans import Inserted, Plan

from ._sending import request_of


class Recent(Protocol):
    """The window before, of which most of the next one is made."""

    def messages(self) -> list[Message] | None:
        """The window's messages, where little is to be done for them."""
        ...

    def entries(self, name: str, messages: Sequence[Message]) -> list[Any] | None:
        """The same encoded, where little is to be done for that."""
        ...


@attrs.frozen(eq=False, repr=False)
class Window:
    """What a plan leaves: the messages to send now. A projection, never the history.

    It shares its messages with the conversation and stays as it is, whatever happens
    there later. The list is made when it is asked for, and costs its length then.
    """

    plan: Plan
    """Why these messages."""

    format: str
    """The format it was planned for."""

    tools: Any
    """Tool definitions that were counted, in the provider's shape."""

    expected: int
    """The provider's likely figure for it: `tokens`, corrected by what was observed."""

    _message: Callable[[int], Message]

    _demands: Demands = NO_DEMANDS
    """What its provider demands."""

    _scene: Recent | None = None
    """What it shares with the windows before it."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        return self.plan.tokens

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The messages to send, in order, stand-ins included."""
        if self._scene is not None:
            known = self._scene.messages()
            if known is not None:
                return known
        message, edits = self._message, self.plan.edits
        if not edits and not self.plan.inserted:
            return list(map(message, self.plan.order))  # type: ignore[arg-type]
        made: list[Message] = []
        for item in self.plan.order:
            if isinstance(item, Inserted):
                made.append(item.message)
            elif item in edits:
                made.append(edits[item][0])
            else:
                made.append(message(item))
        return made

    def encode(self, format: str | None = None) -> dict[str, Any]:  # noqa: A002
        """A request body in the provider's shape, tools included.

        System text that the provider does not take in its place goes to the front.

        Raises:
            ValueError: *format* is not the one that the window was planned for; its
                tokens and its validity would not hold.
        """
        if format is not None and format != self.format:
            msg = (
                f"this window was planned for {self.format!r}; call "
                f"fit(format={format!r}) for one in that format"
            )
            raise ValueError(msg)
        messages, demands, scene = self.messages, self._demands, self._scene
        if scene is not None and not (demands.system_first or demands.system_between):
            entries = scene.entries(self.format, messages)
            if entries is not None:
                return request(entries, self.tools)
        return request_of(self.format, messages, self.tools, demands)

    def __len__(self) -> int:
        """Number of messages."""
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages, in order."""
        return iter(self.messages)

    def __repr__(self) -> str:
        """Show the figures."""
        return f"Window({self.tokens} tokens, format={self.format!r})"

    def _repr_html_(self) -> str:
        """For notebooks: figures and the newest messages."""
        from turnkeep.notebook import window_html  # noqa: PLC0415 - rarely shown

        return window_html(self)
