"""Many conversations by id, as a server keeps them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Any, Unpack
from weakref import WeakValueDictionary

from turnkeep.stores import Store
from turnkeep.strategies import strategy_of
from turnkeep.strategies._keeping import for_conversation

from ._conversation import Conversation
from ._settings import Settings


class _Place:
    """Where one conversation is made, by one thread at a time."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.lock = Lock()


class Conversations:
    """Conversations by id; those that were not asked for longest are put out.

    Each has a lock of its own, and none of them waits for another: a store is read
    without the lock that finds them. Whoever still holds a conversation that was put
    out, and whoever asks for its id meanwhile, have the same object.

    >>> chats = Conversations(budget=8_000, model="gpt-4o")
    >>> chats["a"] is chats["a"]
    True

    Args:
        limit:
            How many are kept in memory. One that waits for an answer is never put out
            without a store, so there may be more.
        store:
            Where they are kept; another process with the same store goes on with the
            same messages, calls, pins and cut. None: in memory alone.
        **options:
            Arguments of `Conversation` for each that is new.
    """

    def __init__(
        self,
        limit: int = 1_000,
        store: Store | None = None,
        **options: Unpack[Settings],
    ) -> None:
        """See the class.

        Raises:
            ValueError: *limit* is below 1.
        """
        if type(limit) is not int or limit < 1:
            msg = f"limit must be at least 1 conversation, not {limit!r}"
            raise ValueError(msg)
        self.limit = limit
        self.store = store
        self._options: dict[str, Any] = dict(options)
        self._lock = Lock()
        self._kept: OrderedDict[str, Conversation] = OrderedDict()
        self._alive: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        self._places: WeakValueDictionary[str, _Place] = WeakValueDictionary()

    def __getitem__(self, conversation_id: str) -> Conversation:
        """The same as `get`."""
        return self.get(conversation_id)

    def get(self, conversation_id: str, **options: Unpack[Settings]) -> Conversation:
        """The conversation of that id, made on first use.

        In a store it holds what other processes have written by now; costs that.

        Args:
            conversation_id:
                Any text.
            **options:
                Arguments of `Conversation` that replace those of the class, where it
                is made or read.

        Raises:
            CorruptStoreError: What the store has of it is damaged.
        """
        if not isinstance(conversation_id, str):
            msg = f"a conversation's id is a text, not {conversation_id!r}"
            raise TypeError(msg)
        with self._lock:
            chat = self._known(conversation_id)
            place = self._places.get(conversation_id)
            if chat is None and place is None:
                place = self._places[conversation_id] = _Place()
        if chat is not None:
            if self.store is not None:
                chat.refresh()
            return chat
        assert place is not None  # noqa: S101 - made above
        with place.lock:
            with self._lock:
                chat = self._known(conversation_id)
            if chat is not None:
                return chat
            settings: dict[str, Any] = {**self._options, **options}
            strategy = strategy_of(settings.get("strategy"))
            if strategy is not None:
                settings["strategy"] = for_conversation(strategy, conversation_id)
            if self.store is None:
                chat = Conversation(**settings)
            else:
                chat = Conversation.open(self.store, conversation_id, **settings)
            with self._lock:
                self._alive[conversation_id] = self._kept[conversation_id] = chat
        self._make_room()
        return chat

    def _known(self, conversation_id: str) -> Conversation | None:
        """One that is in memory, as the last that was asked for."""
        chat = self._alive.get(conversation_id)
        if chat is not None:
            self._kept[conversation_id] = chat
            self._kept.move_to_end(conversation_id)
        return chat

    def _make_room(self) -> None:
        """Put out those not asked for longest; costs those that may not go."""
        with self._lock:
            over = len(self._kept) - self.limit
            oldest = list(self._kept.items())[:-1] if over > 0 else []
        for identity, chat in oldest:
            if over <= 0:
                break
            if self.store is None and chat.pending:
                continue
            if self.store is not None:
                chat.flush()
            with self._lock:
                if self._kept.get(identity) is chat and len(self._kept) > self.limit:
                    del self._kept[identity]
            over -= 1

    def discard(self, conversation_id: str) -> bool:
        """Put a conversation out of memory; returns whether it was there.

        In a store it stays as it is. Without one it is gone, open calls included, once
        nobody holds it.
        """
        with self._lock:
            chat = self._kept.pop(conversation_id, None)
            self._alive.pop(conversation_id, None)
        if chat is not None and self.store is not None:
            chat.flush()
        return chat is not None

    def __contains__(self, conversation_id: object) -> bool:
        """Whether a conversation is in memory."""
        with self._lock:
            return conversation_id in self._alive

    def __len__(self) -> int:
        """How many are kept in memory."""
        with self._lock:
            return len(self._kept)

    def __iter__(self) -> Iterator[str]:
        """Ids of those in memory, the one asked for last at the end."""
        with self._lock:
            return iter(list(self._kept))

    def __repr__(self) -> str:
        """Show the figures."""
        where = "in memory" if self.store is None else f"in {self.store!r}"
        return f"Conversations({len(self)} of {self.limit:,} {where})"
