"""OpenAI chat completions: the cookbook's formula."""

from __future__ import annotations

from typing import Any

from turnkeep.model import (
    DISPLAY_KINDS,
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from ._base import Parts, TextCounter
from ._schemas import count_openai_tools
from ._text import dumps

_PER_MESSAGE = 3
_PRIMING = 3
_WIRE_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL_CALL: "assistant",
    Role.TOOL_RESULT: "tool",
}


class OpenAIRequestCounter:
    """Chat completions."""

    def __init__(self, text: TextCounter, model: str | None = None) -> None:
        """See the class."""
        self.text = text
        self.model = model
        self.name = f"{text.name}/openai"
        self.exact = text.exact
        self.margin = text.margin
        self.rule = "OpenAI cookbook"
        self._roles: dict[str, int] = {}

    def message(self, message: Message) -> int:
        """Tokens of one message."""
        if message.kind in DISPLAY_KINDS:
            return 0
        if message.token_count is not None:
            return message.token_count
        return self.parts(message).total

    def parts(self, message: Message) -> Parts:
        """By kind."""
        if message.kind in DISPLAY_KINDS:
            return Parts()
        if message.token_count is not None:
            return Parts(text=message.token_count)
        spent = dict.fromkeys(("text", "calls", "results", "reasoning", "images", "documents", "other"), 0)
        results = 0
        plain = False
        for block in message.content:
            if isinstance(block, ToolResult):
                results += 1
            else:
                plain = True
            self._add(block, spent)
        overhead = 0
        if results:
            overhead += results * (_PER_MESSAGE + self._role("tool"))
        if plain or not results:
            role = "user" if results else _WIRE_ROLES[message.role]
            overhead += _PER_MESSAGE + self._role(role)
        name = message.extra.get("name")
        if isinstance(name, str):
            overhead += self.text.count(name) + 1
        return Parts(**spent, overhead=overhead)

    def tools(self, tools: Any) -> int:
        """Tools."""
        return count_openai_tools(tools, self.text, self.model)

    def request(self, *, has_tools: bool = False) -> int:  # noqa: ARG002
        """Priming."""
        return _PRIMING

    def _role(self, role: str) -> int:
        if (tokens := self._roles.get(role)) is None:
            tokens = self._roles[role] = self.text.count(role)
        return tokens

    def _add(self, block: Block, spent: dict[str, int]) -> None:
        count = self.text.count
        match block:
            case Text():
                spent["text"] += count(block.text)
            case Json():
                spent["text"] += count(dumps(block.value))
            case ToolCall():
                spent["calls"] += count(block.name) + count(block.text) + count(block.id or "")
            case ToolResult():
                inner = dict.fromkeys(spent, 0)
                for part in block.content:
                    self._add(part, inner)
                spent["images"] += inner.pop("images")
                spent["documents"] += inner.pop("documents")
                spent["results"] += sum(inner.values()) + count(block.tool_call_id or "")
            case Thinking():
                spent["reasoning"] += count(block.text)
            case Image():
                spent["images"] += 765
            case Document():
                spent["documents"] += count(block.text or "") or 1000
            case Opaque():
                spent["other"] += count(dumps(block.value))
