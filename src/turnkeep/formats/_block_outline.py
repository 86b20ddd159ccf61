"""What the outlines of block formats share: entries of several blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from turnkeep.turns import LinkId

from ._outline import MOST, OutlineReader


class Says(Enum):
    """What a block is to an outline."""

    CALL = auto()
    RESULT = auto()
    REASONING = auto()
    WORDS = auto()
    """Text, or what is shown: the user's own, also beside results."""
    NOTHING = auto()
    """It stays with what it follows."""


Look: TypeAlias = tuple[Says, Any]
"""What a block is, and what links a call or a result to the other."""

WORDS: Final[Look] = (Says.WORDS, None)
REASONING: Final[Look] = (Says.REASONING, None)
NOTHING: Final[Look] = (Says.NOTHING, None)


class BlockReader(OutlineReader):
    """Reads lists whose entries are made of blocks."""

    @staticmethod
    @abstractmethod
    def look(block: Any, *, by_model: bool) -> Look:
        """What a block says in an entry of the model's, or of the user's.

        Raises one of `UNKNOWN` for a block that makes its entry odd.
        """

    def add_answer(self, content: Sequence[Any]) -> None:
        """Note what the model says in several blocks."""
        ids: list[Any] = []
        thinks = False
        for block in content:
            said, link = self.look(block, by_model=True)
            if said is Says.CALL:
                ids.append(link)
            elif said is Says.REASONING:
                thinks = True
        found = _few(ids)
        if thinks:
            self.reasoning.append(len(self.codes))
        self.add_calls(found)

    def add_blocks(self, entry: dict[str, Any], content: Sequence[Any]) -> None:
        """Note an entry of the user's with several blocks, and its id."""
        ids: list[Any] = []
        words = late = False
        for block in content:
            said, link = self.look(block, by_model=False)
            if said is Says.RESULT:
                late = late or words
                ids.append(link)
            elif said is Says.WORDS:
                words = True
        self.add_results(_few(ids), entry.get("id"), words=words)
        if late:
            self.in_front.append(len(self.codes) - 1)


def _few(ids: list[Any]) -> list[LinkId]:
    """The *ids*, where a code can say how many they are.

    Raises:
        ValueError: It cannot.
        TypeError: One is neither an id nor a name.
    """
    if len(ids) > MOST:
        raise ValueError
    if any(type(link) is not str and type(link) is not tuple for link in ids):
        raise TypeError
    return ids
