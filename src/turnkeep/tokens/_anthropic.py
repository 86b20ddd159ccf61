from __future__ import annotations

from typing import Any, Final

from ._rules import Rules
from ._text import dumps
from ._tools import Tool, read_tools

# Source: the documentation of each tool; computer use with the longer of its prompts.
_BUILT_IN: Final = (("bash_", 245), ("text_editor_", 700), ("computer_", 735 + 499))


class AnthropicMessages(Rules):
    """Anthropic's Messages API.

    The tool-use prompt, images, pages and built-in tools by its documentation; what a
    message and a call add is not published (our assumption: 4 and 12 tokens, for the
    tags that a call becomes).
    """

    label = "anthropic"
    source = (
        "Anthropic documentation: images in patches of 28 px, tool prompt by model; "
        "4 a message, 12 a call assumed"
    )
    per_message = 4
    per_call = 12
    per_result = 6
    results_are_messages = False

    def tools(self, tools: Any) -> int:
        """Tokens of tool definitions: compact JSON; built-in ones as published.

        Raises:
            FormatError: A definition is not an object.
        """
        return sum(map(self._tool, read_tools(tools))) if tools else 0

    def _tool(self, tool: Tool) -> int:
        for prefix, tokens in _BUILT_IN:
            if tool.built_in is not None and tool.built_in.startswith(prefix):
                return tokens
        return self._count(dumps(tool.raw))

    def _name(self, name: str) -> int:
        del name  # not sent
        return 0
