from __future__ import annotations

from typing import Any

from ._anthropic import AnthropicMessages
from ._rules import Rules
from ._text import write
from ._tools import read_tools


class GeminiContents(Rules):
    """Gemini: contents have next to no overhead; no ids travel with calls."""

    label = "gemini"
    source = (
        "Gemini documentation: images in tiles of 258 (Gemini 3: by media resolution), "
        "258 a page, 32 a second of sound; 1 token a message, as in its examples"
    )
    per_message = 1
    per_call = 4
    per_result = 4
    priming = 1
    results_are_messages = False
    sends_call_ids = False


class BedrockClaude(AnthropicMessages):
    """Bedrock Converse with Claude: Anthropic's rules."""

    label = "bedrock"


class BedrockConverse(Rules):
    """Bedrock Converse with another model than Claude: as the model, not published."""

    label = "bedrock"
    source = "as the model behind it; overhead of 4 tokens a message assumed"
    results_are_messages = False

    @classmethod
    def for_family(cls, family: str) -> type[Rules]:
        """Claude is counted by Anthropic's rules here too."""
        return BedrockClaude if family.startswith("claude") else cls


class MistralChat(Rules):
    """Mistral: the control tokens of its template, as mistral-common writes them."""

    label = "mistral"
    source = (
        "mistral-common: 2 control tokens a message, calls and results as JSON, images "
        "in patches"
    )
    uncertainty = 0.03
    per_message = 2
    per_call = 12
    per_result = 8
    priming = 1

    def tools(self, tools: Any) -> int:
        """Tokens of tool definitions: JSON in brackets between two control tokens.

        Raises:
            FormatError: A definition is not an object.
        """
        if not tools:
            return 0
        # The template writes them with spaces, as `json.dumps` does by default.
        given = [write(tool.raw, (", ", ": ")) for tool in read_tools(tools)]
        return self._count(", ".join(given)) + 4 if given else 0


class DeepSeekChat(Rules):
    """DeepSeek: a control token for the role, one for the end; reasoning is sent."""

    label = "deepseek"
    source = "the model's chat template; no published overhead: 3 tokens a message"
    per_message = 3
    per_call = 8
    per_result = 4


class ChatTemplate(Rules):
    """Local models behind a chat template (Ollama, llama.cpp, vLLM): as ChatML."""

    label = "template"
    source = "ChatML: start, role, line break, end, line break; differs by template"
    per_message = 5
    per_call = 8
    per_result = 4
    priming = 3
    sends_call_ids = False
