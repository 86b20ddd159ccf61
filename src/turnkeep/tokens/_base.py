from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import attrs

from turnkeep.model import Message


@runtime_checkable
class TextCounter(Protocol):
    """Counts the tokens of one text."""

    @property
    def name(self) -> str:
        """Identity: counts are only reused for the counter that took them."""
        ...

    @property
    def exact(self) -> bool:
        """Whether the count is the model's own."""
        ...

    @property
    def margin(self) -> float:
        """Share by which a true count may exceed ours; 0.0 when exact."""
        ...

    def count(self, text: str) -> int:
        """Tokens of *text*. Never raises; linear in its length."""
        ...


@attrs.frozen
class Parts:
    """What the tokens of one message are spent on. `total` is what it costs."""

    text: int = 0
    calls: int = 0
    """Names, ids and arguments of tool calls."""
    results: int = 0
    reasoning: int = 0
    images: int = 0
    documents: int = 0
    other: int = 0
    """Blocks nobody knows."""
    overhead: int = 0
    """What the format adds a message (role, separators, name)."""

    @property
    def total(self) -> int:
        """Tokens in all."""
        return (
            self.text
            + self.calls
            + self.results
            + self.reasoning
            + self.images
            + self.documents
            + self.other
            + self.overhead
        )


@runtime_checkable
class RequestCounter(Protocol):
    """Counts whole requests of one provider and model by its published rules."""

    @property
    def name(self) -> str:
        """Identity: text counter and rule, such as `"o200k_base/openai"`."""
        ...

    @property
    def exact(self) -> bool:
        """Whether text and overhead are the model's own."""
        ...

    @property
    def margin(self) -> float:
        """Share by which a true count may exceed ours; 0.0 when exact."""
        ...

    @property
    def rule(self) -> str:
        """The rule used and its source, in a sentence."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of one logical message, its overhead included."""
        ...

    def parts(self, message: Message) -> Parts:
        """The same by kind; `parts(m).total == message(m)`."""
        ...

    def tools(self, tools: Any) -> int:
        """Tokens of the tool definitions in the provider's shape; 0 for none."""
        ...

    def request(self, *, has_tools: bool = False, tool_choice: Any = None) -> int:
        """Tokens a request costs beyond its messages and tools (priming, prompts)."""
        ...
