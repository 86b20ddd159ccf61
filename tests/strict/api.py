"""What the strict provider knows of one API: its rules, its words, its answers."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.strict.scripts import Answer, Seen

Body = dict[str, Any]
Event = tuple[str | None, Any]
"""An event of a stream: its name, where the API names them, and its data."""

CHARACTERS: Final = 4
"""Characters that this provider takes for a token."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Fault:
    """A rule that a request breaks, in the API's own words."""

    rule: str
    message: str
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of a request and its answer."""

    read: int
    written: int


@dataclass(frozen=True)
class Api:
    """One API. What it refuses is written down in `faults`, with nobody's help."""

    name: str
    counted: Sequence[str]
    """Keys of a request that fill the context."""

    rules: Sequence[str]
    """Rules that `faults` knows."""

    faults: Callable[[Body, str], Iterator[Fault]]
    """The rules that a request to a model breaks, the first of them first."""

    seen: Callable[[Body], Seen]
    """What a request without faults shows."""

    whole: Callable[[Answer, Body, str, Usage], Body]
    """An answer in one piece."""

    events: Callable[[Body, Body], Iterator[Event]]
    """The same answer as a stream; the request says what was asked for."""

    refusal: Callable[[Fault], Body]
    """The body of a 400."""

    too_long: Callable[[int, int], Fault]
    """A request of so many tokens, where so many are allowed."""

    def tokens(self, body: Body) -> int:
        """What a request fills of the context."""
        said = {key: body[key] for key in self.counted if body.get(key)}
        return -(-len(json.dumps(said, ensure_ascii=False)) // CHARACTERS)


def fresh(prefix: str) -> str:
    """An id that no answer had before."""
    return f"{prefix}{next(_numbers):06d}"


def printed(*values: Any) -> str:
    """A signature of *values*: the same for the same JSON, whoever asks."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def words(text: str) -> list[str]:
    """*text* in the pieces in which it is streamed."""
    return re.findall(r"\S+\s*|\s+", text)


def written(answer: Answer) -> int:
    """Tokens of an answer."""
    calls = sum(len(json.dumps(dict(call.arguments))) + 20 for call in answer.calls)
    characters = len(answer.text) + len(answer.thinking) + calls
    return -(-characters // CHARACTERS)


def entries(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing where it is none."""
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]  # type: ignore[misc]


def text_of(content: Any) -> str:
    """The text of a content, whether a string or parts."""
    if isinstance(content, str):
        return content
    parts = entries(content)
    return "\n".join(str(part["text"]) for part in parts if part.get("text"))
