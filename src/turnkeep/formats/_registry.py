from __future__ import annotations

from functools import cache

from turnkeep.model._checks import near
from turnkeep.providers import PROVIDERS, load

from ._base import Format

_OTHERS = {
    "claude-code": "_claude_code:ClaudeCode",
    "codex": "_codex:Codex",
    "gemini-cli": "_gemini_cli:GeminiCli",
    "opencode": "_opencode:Opencode",
    "goose": "_goose:Goose",
    "adk": "_adk:Adk",
    "otel-genai": "_otel_genai:OtelGenai",
    "chatgpt": "_chatgpt:ChatGpt",
    "claude-ai": "_claude_ai:ClaudeAi",
    "librechat": "_librechat:LibreChat",
    "batch": "_batch:Batch",
    "response": "_response:Response",
    "orion": "_orion:Orion",
    "molo": "_molo:Molo",
    "multi-llm": "_multi_llm:MultiLlm",
    "lellm": "_lellm:Lellm",
    "mermaid": "_mermaid:Mermaid",
    "langchain": "_langchain:LangChain",
    "pydantic-ai": "_pydantic_ai:PydanticAi",
    "turnkeep": "_turnkeep:Turnkeep",
    "messages": "_messages:Messages",
}
"""Where the formats live that no provider takes: one file here and one entry each."""

_CLASSES = {
    **{row.name: row.codec for row in PROVIDERS.values()},
    **{name: f"{__package__}.{place}" for name, place in _OTHERS.items()},
}
"""Where each format lives: what providers take, their table says."""

FORMATS: tuple[str, ...] = tuple(_CLASSES)
"""The names of all formats, in the order in which detection mentions them."""

PYTHON_ONLY = frozenset({"messages"})
"""Formats of Python objects, which no file can hold."""

SESSIONS = (
    "codex",
    "gemini-cli",
    "opencode",
    "goose",
    "adk",
    "otel-genai",
    "chatgpt",
    "claude-ai",
    "librechat",
    "batch",
    "response",
)
"""Formats whose messages are given as their program would send them next."""

READ_ONLY = frozenset({"claude-code", *SESSIONS})
"""Formats that are only read: their files are written by the program they are of."""


@cache
def get_format(name: str) -> Format:
    """The format called *name*; loads its module on first use.

    >>> get_format("openai").name
    'openai'

    Raises:
        ValueError: There is no such format.
    """
    if name not in _CLASSES:
        msg = f"no format {name!r}; there are {', '.join(FORMATS)}{near(name, FORMATS)}"
        raise ValueError(msg)
    made: Format = load(_CLASSES[name])()
    return made
