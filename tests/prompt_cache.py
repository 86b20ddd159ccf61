"""A prompt cache that keeps Anthropic's published rules, to replay requests against.

https://platform.claude.com/docs/en/build-with-claude/prompt-caching: a mark caches the
whole prefix up to its block (tools, system, messages). A later request reads the
longest cached prefix that ends within 20 positions before one of its own marks; a run
of calls and a run of results count as one position each. Prefixes below the model's
minimum are not cached. What is cached lives 5 minutes or an hour from its last use.
A request has at most 4 marks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import attrs

LOOK_BACK = 20
MOST = 4
LIVES = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}


@attrs.frozen
class Read:
    """What one request cost."""

    tokens: int
    cached: int
    written: int


@attrs.define
class PromptCache:
    """A cache of one account and one model.

    Args:
        minimum:
            Tokens below which a prefix is not cached.
    """

    minimum: int = 1_024
    _until: dict[str, tuple[datetime, timedelta]] = attrs.field(factory=dict)
    requests: list[Read] = attrs.field(factory=list)

    def send(self, body: Mapping[str, Any], at: datetime) -> Read:
        """One request; what it read and wrote is noted.

        Raises:
            ValueError: It has more marks than a request may have.
        """
        prefixes: list[tuple[str, int, int]] = []
        marked: list[tuple[int, timedelta]] = []
        digest, tokens, position, run = sha256(), 0, 0, ""
        for block, kind in _blocks(body):
            mark = block.pop("cache_control", None)
            text = json.dumps(block, sort_keys=True)
            digest.update(text.encode())
            tokens += len(text) // 4
            position += not (kind and kind == run)
            run = kind
            prefixes.append((digest.hexdigest(), tokens, position))
            if mark is not None:
                life = LIVES[mark.get("ttl", "5m")]
                marked.append((len(prefixes) - 1, life))
        if len(marked) > MOST:
            msg = f"A maximum of {MOST} blocks with cache_control may be provided."
            raise ValueError(msg)
        cached = max((self._found(prefixes, nth, at) for nth, _ in marked), default=0)
        written = cached
        for nth, life in marked:
            key, size, _ = prefixes[nth]
            if size >= self.minimum:
                self._until[key] = at + life, life
                written = max(written, size)
        made = Read(tokens, cached, written - cached)
        self.requests.append(made)
        return made

    def _found(
        self, prefixes: list[tuple[str, int, int]], nth: int, at: datetime
    ) -> int:
        """Tokens of the longest cached prefix that one mark finds."""
        least = prefixes[nth][2] - LOOK_BACK + 1
        while nth >= 0 and prefixes[nth][2] >= least:
            key, tokens, _ = prefixes[nth]
            known = self._until.get(key)
            if known is not None and known[0] >= at:
                self._until[key] = at + known[1], known[1]
                return tokens
            nth -= 1
        return 0

    @property
    def share(self) -> float:
        """The share of all input tokens that was read from the cache."""
        total = sum(read.tokens for read in self.requests)
        return sum(read.cached for read in self.requests) / total if total else 0.0

    def cost(self, read: float = 0.1, write: float = 1.25) -> float:
        """What all requests cost, in plain tokens."""
        return sum(
            r.cached * read + r.written * write + (r.tokens - r.cached - r.written)
            for r in self.requests
        )


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The blocks of a request in the order in which they are cached, and their runs."""
    for tool in body.get("tools") or ():
        yield dict(tool), ""
    for block in _listed(body.get("system")):
        yield dict(block), ""
    for entry in body["messages"]:
        for block in _listed(entry["content"]):
            kind = str(block["type"])
            run = kind if kind in ("tool_use", "tool_result") else ""
            yield {"role": entry["role"], **block}, run


def _listed(content: Any) -> list[dict[str, Any]]:
    """Content as blocks: a text and one text block say the same."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())
