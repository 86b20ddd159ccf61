"""A conversation's tie to a store: what is written here is written there first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from turnkeep.errors import ConflictError
from turnkeep.stores import Change, Delta, Snapshot, Store

from ._changes import apply_change
from ._saving import settings_of

if TYPE_CHECKING:
    from ._core import Core


class _RestNeededError(Exception):
    """A change cannot be made without the part of the history that is not here."""


class Link:
    """The store, the version this process has seen, and how much of it is here."""

    def __init__(
        self, store: Store, snapshot: Snapshot, *, rebase: bool, tail: int | None
    ) -> None:
        """Tie to *store* at the version of *snapshot*."""
        self.store = store
        self.id = snapshot.id
        self.version = snapshot.version
        self.rebase = rebase
        self.tail = None if snapshot.whole else tail
        """Tokens of the newest part that is here; `None` where everything is."""
        self._settings: dict[str, Any] = dict(snapshot.state)
        self._is_writing = False  # inside a write of the store

    def commit(self, chat: Core, make: Callable[[], Change], *, rebase: bool) -> Change:
        """Write what *make* makes; with *rebase*, made again on top of what is new.

        The change itself is not made in memory yet; what is new is.

        Raises:
            ConflictError: Somebody else wrote first, and *rebase* is not set. Memory
                holds what they wrote; nothing of ours is written.
        """
        change = make()
        try:
            self.version = self.store.write(self.id, change, expected=self.version)
        except ConflictError:
            if not rebase:
                self.refresh(chat)
                raise
        else:
            return change

        def remake(news: Delta) -> Change:
            nonlocal change
            self._follow(chat, news)
            change = make()
            return change

        # Nobody else can write between the news and the change: this cannot conflict.
        self.version = self._update(chat, remake)
        return change

    def _update(self, chat: Core, remake: Callable[[Delta], Change]) -> int:
        """Write what *remake* makes of the news; returns the version that it is."""
        while True:
            self._is_writing = True
            try:
                return self.store.update(self.id, remake, since=self.version).version
            except _RestNeededError:
                pass  # nothing was written; a store is not read inside its own write
            finally:
                self._is_writing = False
            self.load_rest(chat)  # at most once: then everything is here

    def refresh(self, chat: Core) -> tuple[str, ...]:
        """Take over what others wrote; returns the ids of the messages concerned."""
        return self._follow(chat, self.store.read_since(self.id, self.version))

    def _follow(self, chat: Core, news: Delta) -> tuple[str, ...]:
        changes = news.changes
        known = chat._ledger.index
        named = [row.message.id or "" for row in changes.replace]
        if news.reset:
            # It was compacted since: what was here makes way for what is there.
            changes = Change(changes.append, remove=tuple(known), calls=changes.calls)
            self.tail = None
        elif self.tail is not None and any(i not in known for i in named):
            # A message that is not here may be held from now on.
            self.load_rest(chat)
            return (*named, *(row.message.id or "" for row in changes.append))
        apply_change(chat, changes)
        chat._next = max(chat._next, news.serial + 1)
        self.version = news.version
        fresh = (row.message.id or "" for row in changes.append)
        return tuple(dict.fromkeys([*fresh, *named, *news.changes.remove]))

    def load_rest(self, chat: Core) -> None:
        """Read everything, where only the newest part is here; forgets the cut."""
        if self.tail is None:
            return
        if self._is_writing:
            raise _RestNeededError
        snapshot = self.store.read(self.id)
        gone = tuple(chat._ledger.index)
        apply_change(chat, Change(snapshot.rows, remove=gone, calls=snapshot.calls))
        chat._desk.settle()
        self.version, self.tail = snapshot.version, None

    def flush(self, chat: Core) -> None:
        """Write the settings and the cut, if they are others than before."""
        now = settings_of(chat)
        patch = {key: None for key in self._settings if key not in now}
        patch |= {k: v for k, v in now.items() if self._settings.get(k, ...) != v}
        patch.pop("next_id", None)
        if patch:
            self.store.put_state(self.id, patch)
            self._settings = now
