"""Which requests hold a list of messages, and in which format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote

import attrs

Kind = Literal["answer", "count"]

_PATHS: Final[tuple[tuple[re.Pattern[str], str, Kind], ...]] = (
    (re.compile(r".*/messages"), "anthropic", "answer"),
    (re.compile(r".*/messages/count_tokens"), "anthropic", "count"),
    (re.compile(r".*/chat/completions"), "openai", "answer"),
    (re.compile(r".*/responses"), "openai-responses", "answer"),
    (
        re.compile(r".*/models/(?P<model>[^/:]+):(?:streamG|g)enerateContent"),
        "gemini",
        "answer",
    ),
    (
        re.compile(r".*/model/(?P<model>.+)/converse(?:-stream)?"),
        "bedrock",
        "answer",
    ),
)


@attrs.frozen
class Route:
    """A request that is fitted."""

    format: str
    kind: Kind
    model: str | None
    """The model, where the path names it."""

    def model_of(self, body: Mapping[str, Any]) -> str:
        """The model that a request asks for."""
        named = self.model or body.get("model")
        return named if isinstance(named, str) else ""


def route_of(method: str, path: str) -> Route | None:
    """What a request is, by its path; none: it passes as it is.

    >>> route_of("POST", "/v1/messages").format
    'anthropic'
    >>> route_of("POST", "/v1/models/gemini-2.5-pro:generateContent").model
    'gemini-2.5-pro'
    """
    if method != "POST":
        return None
    for pattern, name, kind in _PATHS:
        found = pattern.fullmatch(path)
        if found is not None:
            model = found.groupdict().get("model")
            return Route(name, kind, None if model is None else unquote(model))
    return None
