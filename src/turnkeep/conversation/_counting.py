"""The counter of a conversation: one of ours, by name, or a caller's callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from turnkeep.formats import get_format
from turnkeep.model import Message
from turnkeep.model._checks import quoted
from turnkeep.tokens import (
    Parts,
    RequestCounter,
    TextCounter,
    request_counter,
    text_counter,
)

TokenCounter: TypeAlias = TextCounter | RequestCounter | str | Callable[[Any], int]
"""What may be given: a counter, its name, or a callable from one message, as the
provider of the conversation's format gets it, to its tokens."""


def counter_for(
    given: TokenCounter | None, format_name: str, model: str | None
) -> RequestCounter:
    """The counter of whole requests that *given* asks for; the model's for none.

    Raises:
        TypeError: It is nothing that counts.
        TokenizerUnavailableError: Nobody knows a counter of that name.
    """
    if isinstance(given, RequestCounter):
        return given
    if isinstance(given, str):
        given = text_counter(model, given)
    if given is None or isinstance(given, TextCounter):
        return request_counter(format=format_name, model=model, text=given)
    if callable(given):
        return EntryCounter(given, format_name, model)
    msg = f"token_counter must be a counter, a name or a callable, not {quoted(given)}"
    raise TypeError(msg)


class EntryCounter:
    """Counts messages by a callable of the caller's, tools by the model's counter.

    Every message is counted by it, stand-ins included, and nothing is added.
    """

    exact = True
    margin = 0.0

    def __init__(
        self, count: Callable[[Any], int], format_name: str, model: str | None
    ) -> None:
        """Count entries of the format with *count*."""
        self._count = count
        self._format = get_format(format_name)
        self._model_counter = request_counter(format=format_name, model=model)
        module = getattr(count, "__module__", None)
        called = getattr(count, "__qualname__", type(count).__qualname__)
        self.name = f"{module}.{called}/{format_name}"
        self.rule = (
            f"a message is what {called} says; tools: {self._model_counter.rule}"
        )

    def message(self, message: Message) -> int:
        """Tokens of the entries that *message* becomes.

        Raises:
            TypeError: The callable says no whole number from 0 on.
        """
        if message.token_count is not None:
            return message.token_count
        total = 0
        for entry in self._format.encode([message]):
            tokens: Any = self._count(entry)
            if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
                msg = f"token_counter must return a whole number >= 0, got {tokens!r}"
                raise TypeError(msg)
            total += tokens
        return total

    def parts(self, message: Message) -> Parts:
        """All of it is text: the callable does not say what it is for."""
        return Parts(text=self.message(message))

    def tools(self, tools: Any) -> int:
        """Tokens of tool definitions, by the model's counter."""
        return self._model_counter.tools(tools)

    def request(self, *, has_tools: bool = False, tool_choice: Any = None) -> int:
        """Nothing: what a request costs beside its messages is the caller's affair."""
        del has_tools, tool_choice
        return 0
