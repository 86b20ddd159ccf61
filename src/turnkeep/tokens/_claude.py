from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._models import claude_version

# Tokens of the system prompt that comes with tools: (tool choice auto or none, any or
# tool). Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
_PROMPTS: Final[dict[str, tuple[tuple[tuple[int, int], int, int], ...]]] = {
    "opus": (
        ((4, 8), 290, 410),
        ((4, 7), 675, 804),
        ((4, 6), 497, 589),
        ((4, 5), 496, 588),
        ((4, 0), 313, 315),
        ((3, 0), 530, 281),
    ),
    "sonnet": (
        ((5, 0), 354, 474),
        ((4, 6), 497, 589),
        ((4, 5), 496, 588),
        ((4, 0), 313, 315),
        ((3, 7), 346, 313),
        ((3, 5), 346, 313),
        ((3, 0), 159, 235),
    ),
    "haiku": (((4, 5), 496, 588), ((3, 0), 264, 340)),
}
_JUNE_SONNET: Final = (294, 261)
_UNKNOWN: Final = (497, 589)


def tool_prompt(model: str, tool_choice: Any = None) -> int:
    """Tokens of the prompt that Claude gets with tools, by the published table.

    Models newer than the table count as the newest of their tier; unknown tiers as
    Opus 4.6, the middle of the table.

    >>> tool_prompt("claude-opus-4-8"), tool_prompt("claude-opus-4-8", {"type": "any"})
    (290, 410)
    """
    if isinstance(tool_choice, Mapping):
        # Chat completions have `{"type": "function"}` where Anthropic has `tool`.
        tool_choice = tool_choice.get("type")
    return _prompts(model)[tool_choice in {"any", "tool", "function", "required"}]


def _prompts(model: str) -> tuple[int, int]:
    if "claude-3-5-sonnet-20240620" in model:
        return _JUNE_SONNET
    version = claude_version(model)
    rows = next((rows for tier, rows in _PROMPTS.items() if tier in model), ())
    known = ((auto, forced) for since, auto, forced in rows if version >= since)
    return next(known, _UNKNOWN)
