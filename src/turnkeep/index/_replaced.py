from __future__ import annotations

from array import array

from turnkeep.model import Message


class Replaced:
    """A message that was replaced, for plans made before; a chain from old to new.

    A plan remembers where the chain ended when it was made, and nothing remembers its
    beginning: what no plan can ask for any more is freed.
    """

    __slots__ = ("counts", "index", "later", "message", "tokens")

    def __init__(self) -> None:
        """The end of the chain: nothing has been replaced since."""
        self.index = -1
        self.message: Message
        self.tokens = -1
        self.counts: array[int]
        """Where *tokens* stood."""
        self.later: Replaced | None = None
        """What was replaced next; none at the end of the chain."""
