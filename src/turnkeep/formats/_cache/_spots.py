"""Where the requests of each format can be marked, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

import attrs

_INSIDE: Final = ("content", "output")
"""Keys of the lists whose elements carry marks."""

_TTLS: Final = ("5m", "30m", "1h", "12h")
"""The lives that providers offer, from the shortest to the longest."""


@attrs.frozen
class Spot:
    """One block of a list of entries."""

    entry: int
    block: int
    """Its place in the entry's content; 0 for content that is a text."""
    is_last: bool
    """Whether it is the last one of its entry."""
    carries: bool
    """Whether a mark may stand on it (or right behind it)."""
    run: str
    """Blocks in a row of one such kind count as one for the look-back; or none."""


class Marks(Protocol):
    """How one format spells cache marks."""

    key: str
    """The key of a mark."""

    default: str
    """How long a mark lives that does not say it."""

    @property
    def takes(self) -> bool:
        """Whether requests for its model may be marked."""
        ...

    def blocks(self, entry: Any) -> Sequence[Any]:
        """What an entry says, block by block, a text as a block of it."""
        ...

    def carries(self, entry: Any, block: Any) -> bool:
        """Whether *block* of *entry* may be marked."""
        ...

    def run(self, block: Any) -> str:
        """See `Spot.run`."""
        ...

    def marked(self, entry: Any, block: int, ttl: str) -> Any:
        """*entry* with one block marked."""
        ...

    def frame(self, body: Mapping[str, Any], ttl: str, *, tools: bool) -> Any:
        """*body* with the end of its system text (or *tools*) marked.

        None where there is nothing that could be.
        """
        ...

    def plain(self, value: Any, found: list[str]) -> Any:
        """*value* (an entry, system text, tools) without marks.

        The very object where it has none. The lives of those there were go to *found*.
        """
        ...


def longest(ttls: Sequence[str], default: str) -> str:
    """The longest of some lives that are known; *default* where there is none."""
    return max((t for t in ttls if t in _TTLS), key=_TTLS.index, default=default)


def shortest(ttls: Sequence[str], default: str) -> str:
    """The shortest of them."""
    return min((t for t in ttls if t in _TTLS), key=_TTLS.index, default=default)


def spots_in(entries: Sequence[Any], marks: Marks) -> Iterator[Spot]:
    """The blocks of a list, in order. Linear."""
    for nth, entry in enumerate(entries):
        blocks = marks.blocks(entry)
        for at, block in enumerate(blocks):
            carries = isinstance(block, dict) and marks.carries(entry, block)
            last = at == len(blocks) - 1
            run = marks.run(block) if isinstance(block, dict) else ""
            yield Spot(nth, at, last, carries, run)


def has_text(block: Any) -> bool:
    text = block.get("text")
    return isinstance(text, str) and bool(text.strip())


class KeyMarks:
    """Marks that are a key of the block they stand on."""

    key: ClassVar[str]
    default: ClassVar[str]

    def __init__(self, model: str | None) -> None:
        """How requests for *model* are marked."""
        self.model = model

    def mark(self, ttl: str) -> dict[str, Any]:
        """The value of the key."""
        raise NotImplementedError

    def plain(self, value: Any, found: list[str]) -> Any:
        """See `Marks.plain`."""
        if isinstance(value, (list, tuple)):
            made = [self.plain(item, found) for item in value]
            same = all(new is old for new, old in zip(made, value, strict=True))
            return value if same else made
        if not isinstance(value, dict):
            return value
        rest = value
        if self.key in value:
            found.append(ttl_of(value[self.key], self.default))
            rest = {key: item for key, item in value.items() if key != self.key}
        for key in _INSIDE:
            inside = rest.get(key)
            if isinstance(inside, (list, tuple)):
                made = self.plain(inside, found)
                if made is not inside:
                    rest = {**rest, key: made}
        return rest

    def with_key(self, content: Any, nth: int, ttl: str, kind: str) -> list[Any]:
        """*content* with its *nth* block marked; a text becomes a block of *kind*."""
        if isinstance(content, str):
            content = [{"type": kind, "text": content}]
        made = list(content)
        made[nth] = {**made[nth], self.key: self.mark(ttl)}
        return made


def ttl_of(mark: Any, default: str) -> str:
    """How long a mark lives."""
    ttl = mark.get("ttl") if isinstance(mark, dict) else None
    return ttl if isinstance(ttl, str) else default
