"""Bedrock's `cachePoint`: a block of its own behind what is to be cached.

In `system`, `messages[].content` and `toolConfig.tools`, never inside a tool's result
(botocore 1.44.8). Claude and Nova know it, Nova not among tools; others refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from turnkeep.providers import parse_model

from ._spots import has_text, ttl_of

_HALF_SAID: Final = ("reasoningContent", "cachePoint")
"""What no mark stands behind."""


class BedrockMarks:
    """See `Marks`."""

    key = "cachePoint"
    default = "5m"

    def __init__(self, model: str | None) -> None:
        """How requests for *model* are marked."""
        self._name = parse_model(model or "")

    @property
    def _is_nova(self) -> bool:
        family = self._name.family
        return family is not None and family.name == "nova"

    @property
    def takes(self) -> bool:
        """Claude and Nova do; a name that says nothing is taken for one of them."""
        name = self._name
        return name.family is None or name.maker == "anthropic" or self._is_nova

    def blocks(self, entry: Any) -> Sequence[Any]:
        """See `Marks.blocks`."""
        content = entry.get("content") if isinstance(entry, dict) else None
        return content if isinstance(content, (list, tuple)) else ()

    def carries(self, entry: Any, block: Any) -> bool:
        """Never behind reasoning or blank text."""
        del entry
        if "text" in block:
            return has_text(block)
        return not any(key in block for key in _HALF_SAID)

    def run(self, block: Any) -> str:
        """See `Spot.run`."""
        return next((key for key in ("toolUse", "toolResult") if key in block), "")

    def marked(self, entry: Any, block: int, ttl: str) -> Any:
        """See `Marks.marked`."""
        content = [*entry["content"]]
        content.insert(block + 1, self._point(ttl))
        return {**entry, "content": content}

    def frame(self, body: Mapping[str, Any], ttl: str, *, tools: bool) -> Any:
        """See `Marks.frame`."""
        point = self._point(ttl)
        if not tools:
            system = body.get("system")
            if not isinstance(system, list) or not system:
                return None
            return {**body, "system": [*system, point]}
        config = body.get("toolConfig")
        listed = config.get("tools") if isinstance(config, dict) else None
        if self._is_nova or not isinstance(config, dict) or not listed:
            return None
        return {**body, "toolConfig": {**config, "tools": [*listed, point]}}

    def plain(self, value: Any, found: list[str]) -> Any:
        """See `Marks.plain`."""
        if isinstance(value, dict):
            for key in ("content", "tools"):
                inside = value.get(key)
                if isinstance(inside, (list, tuple)):
                    made = self.plain(inside, found)
                    if made is not inside and made:
                        value = {**value, key: made}
            return value
        if not isinstance(value, (list, tuple)):
            return value
        points = [v[self.key] for v in value if isinstance(v, dict) and self.key in v]
        if not points:
            return value
        found += [ttl_of(point, self.default) for point in points]
        return [v for v in value if not isinstance(v, dict) or self.key not in v]

    def _point(self, ttl: str) -> dict[str, Any]:
        made = {"type": "default"}
        return {self.key: made if ttl == self.default else {**made, "ttl": ttl}}
