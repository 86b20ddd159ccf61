from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, overload

import attrs

from turnkeep.model import Message

from ._base import RequestCounter, TextCounter

_CHUNKS: Final = 8
"""Parts a thread gets: enough to even out long and short messages."""


@overload
def count_till(
    limit: int, items: Iterable[str], counter: TextCounter
) -> int | None: ...
@overload
def count_till(
    limit: int, items: Iterable[Message], counter: RequestCounter
) -> int | None: ...
def count_till(
    limit: int, items: Iterable[Any], counter: TextCounter | RequestCounter
) -> int | None:
    """Tokens of *items*, or none as soon as they exceed *limit*.

    Counts no further than it must: O(tokens up to the limit), not O(items).

    >>> from turnkeep.tokens import CallableCounter
    >>> count_till(10, ["four", "five"], CallableCounter(len))
    8
    >>> count_till(7, ["four", "five"], CallableCounter(len)) is None
    True
    """
    count = _counting(counter)
    total = 0
    for item in items:
        total += count(item)
        if total > limit:
            return None
    return total


@overload
def count_many(
    items: Sequence[str], counter: TextCounter, *, threads: int = 1
) -> list[int]: ...
@overload
def count_many(
    items: Sequence[Message], counter: RequestCounter, *, threads: int = 1
) -> list[int]: ...
def count_many(
    items: Sequence[Any],
    counter: TextCounter | RequestCounter,
    *,
    threads: int = 1,
) -> list[int]:
    """Tokens of each of *items*, in their order, counted by several threads.

    tiktoken releases the interpreter's lock while it works. Where texts are long (from
    about 2,000 characters on average) and cores idle, two threads count up to 1.6 times
    as fast as one; on short texts handing over the lock costs more than it brings. The
    result is the same for any number.

    Args:
        items: Messages (for a request counter) or texts (for a text counter).
        counter: Must be usable by several threads; ours are.
        threads: How many.
    """
    count = _counting(counter)
    if threads <= 1:
        return list(map(count, items))
    size = max(len(items) // (threads * _CHUNKS), 1)
    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    with ThreadPoolExecutor(threads) as pool:
        counted = pool.map(lambda chunk: list(map(count, chunk)), chunks)
        return [tokens for part in counted for tokens in part]


def _counting(counter: TextCounter | RequestCounter) -> Callable[[Any], int]:
    return counter.count if isinstance(counter, TextCounter) else counter.message


@attrs.define
class Memo:
    """Counts of messages, each taken once.

    Keeps a count beside the message *object*: messages never change, and comparing
    objects costs nothing where comparing long texts would. Asking again for 100,000
    messages costs a hundredth of counting them. Forgets everything when the counter's
    name changes, because a count is only good for the counter that took it.

    >>> from turnkeep.tokens import request_counter
    >>> memo = Memo(request_counter())
    >>> message = Message.user("hi")
    >>> memo.message(message) == memo.message(message) == 5
    True
    """

    counter: RequestCounter
    _counts: dict[int, tuple[Message, int]] = attrs.field(
        factory=dict, init=False, repr=False
    )
    _name: str = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._name = self.counter.name

    def message(self, message: Message) -> int:
        """Tokens of *message*, counted at most once."""
        found = self._counts.get(id(message))
        # The message is kept with its count, so that its address is not used again.
        if found is not None:
            return found[1]
        tokens = self.counter.message(message)
        self._counts[id(message)] = (message, tokens)
        return tokens

    def use(self, counter: RequestCounter) -> None:
        """Count with *counter* from now on; old counts stay if it has the same name."""
        if counter.name != self._name:
            self._counts.clear()
        self.counter, self._name = counter, counter.name

    def forget(self, messages: Iterable[Message]) -> None:
        """Let go of messages that have left the history."""
        for message in messages:
            self._counts.pop(id(message), None)

    def __len__(self) -> int:
        return len(self._counts)
