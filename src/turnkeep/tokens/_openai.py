from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from turnkeep.model import Role

from ._base import TextCounter
from ._media_rules import MediaRule
from ._rules import Rules
from ._tools import count_openai_tools


class OpenAIChat(Rules):
    """OpenAI chat completions, by the cookbook's formula.

    3 tokens a message, the tokens of every value in it, 1 for a name, and 3 once. Tool
    definitions by `count_openai_tools`, images by the model's tiles or patches.
    """

    label = "openai"
    source = (
        "OpenAI cookbook, How to count tokens with tiktoken: 3 a message, every value, "
        "1 for a name, 3 for the reply"
    )
    published = True
    per_message = 3
    # `"type": "function"` is a value, too.
    per_call = 1
    roles: ClassVar = {
        Role.SYSTEM: "system",
        Role.USER: "user",
        Role.ASSISTANT: "assistant",
        Role.TOOL_CALL: "assistant",
        Role.TOOL_RESULT: "tool",
    }

    def __init__(self, text: TextCounter, media: MediaRule, default: MediaRule) -> None:
        super().__init__(text, media, default)
        # The models of cl100k_base write definitions with three tokens more.
        self._per_function = 10 if text.name == "cl100k_base" else 7

    def tools(self, tools: Any) -> int:
        """Tokens of tool definitions by the cookbook's formula.

        Raises:
            FormatError: A definition is not an object.
        """
        if not tools:
            return 0
        return count_openai_tools(tools, self._count, per_function=self._per_function)

    def request(self, *, has_tools: bool = False, tool_choice: Any = None) -> int:
        """3 for the reply, and a tool choice as openai-chat-tokens measured it."""
        total = super().request(has_tools=has_tools, tool_choice=tool_choice)
        if tool_choice == "none":
            return total + 1
        if isinstance(tool_choice, Mapping):
            function = tool_choice.get("function", tool_choice)
            name = function.get("name") if isinstance(function, Mapping) else None
            if isinstance(name, str):
                return total + 4 + self._count(name)
        return total

    def _name(self, name: str) -> int:
        return self._count(name) + 1


class OpenAIResponses(OpenAIChat):
    """OpenAI Responses: the chat formula, which nobody has published for its items."""

    label = "openai-responses"
    source = "the chat formula; nothing is published for Responses items"
    published = False
    uncertainty = 0.03
