"""Tool definitions by the cookbook's formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._base import TextCounter


def count_openai_tools(tools: Any, text: TextCounter, model: str | None) -> int:
    """Tokens of tool definitions."""
    if not tools:
        return 0
    func_init = 10 if model and model.rsplit("/", 1)[-1].startswith(("gpt-3.5", "gpt-4-")) or model == "gpt-4" else 7
    total = 12
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        description = str(function.get("description") or "").rstrip(".")
        total += func_init + text.count(f"{function.get('name')}:{description}")
        properties = (function.get("parameters") or {}).get("properties") or {}
        if properties:
            total += 3
        for key, value in properties.items():
            line = f"{key}:{value.get('type', '')}:{str(value.get('description') or '').rstrip('.')}"
            total += 3 + text.count(line)
            if enum := value.get("enum"):
                total -= 3
                total += sum(3 + text.count(str(item)) for item in enum)
    return total
