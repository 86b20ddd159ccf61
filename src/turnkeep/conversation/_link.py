"""A conversation's tie to a store: what is written here is written there first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from turnkeep.errors import ConflictError, CorruptStoreError, TurnkeepError
from turnkeep.stores import Change, Delta, Snapshot, Store

from ._changes import apply_change
from ._recovery import reload
from ._saving import settings_of

if TYPE_CHECKING:
    from ._core import Core


class RestNeededError(LookupError):
    """This needs what is only in the store, at a moment when that cannot be read."""

    def __str__(self) -> str:
        """Say what to do."""
        return "this needs what is only in the store: await read_rest() first"


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
        self._is_writing = False  # inside a write: the store is not read then
        self._unsure = False  # whether the store may know more than memory
        self._broken = False  # whether a change of memory was begun and not finished

    def commit(self, chat: Core, make: Callable[[], Change], *, rebase: bool) -> Change:
        """Write what *make* makes, then make it in memory.

        With *rebase*, it is made again on top of what is new. Whatever comes out, a
        signal's exception included: memory is as the store is.

        Raises:
            ConflictError: Somebody else wrote first, and *rebase* is not set. Memory
                holds what they wrote; nothing of ours is written.
        """
        self.mend(chat)
        change = make()
        try:
            self._unsure = True
            change, version = self._write(chat, change, make, rebase=rebase)
            self._take(chat, change, version)
            self._unsure = False
        except CorruptStoreError:
            raise  # to be read again before anything is written
        except TurnkeepError:
            self._unsure = self._broken
            raise
        except BaseException:
            with suppress(TurnkeepError, OSError, ValueError):
                self.mend(chat)
            raise
        return change

    def _write(
        self, chat: Core, change: Change, make: Callable[[], Change], *, rebase: bool
    ) -> tuple[Change, int]:
        """Write a change, or what *make* makes of the news; and the version it is."""
        try:
            self._is_writing = True
            return change, self.store.write(self.id, change, expected=self.version)
        except ConflictError:
            self._is_writing = False
            if not rebase:
                self._refresh(chat)
                raise
        finally:
            self._is_writing = False

        def remake(news: Delta) -> Change:
            nonlocal change
            self._follow(chat, news)
            change = make()
            return change

        # Nobody else can write between the news and the change: this cannot conflict.
        version = self._update(chat, remake)
        return change, version

    def _take(self, chat: Core, change: Change, version: int) -> None:
        """Make a change in memory that leads to *version*."""
        self._broken = True
        apply_change(chat, change)
        self.version = version
        self._broken = False

    def mend(self, chat: Core) -> None:
        """Make memory as the store is, where something came between the two."""
        if not self._unsure:
            return
        if self._broken:
            reload(chat, snapshot := self.store.read(self.id))
            self.version, self.tail = snapshot.version, None
            self._broken = False
        else:
            self._refresh(chat)
        self._unsure = False

    def _update(self, chat: Core, remake: Callable[[Delta], Change]) -> int:
        """Write what *remake* makes of the news; returns the version that it is."""
        while True:
            self._is_writing = True
            try:
                return self.store.update(self.id, remake, since=self.version).version
            except RestNeededError:
                pass  # nothing was written; a store is not read inside its own write
            finally:
                self._is_writing = False
            self.load_rest(chat)  # at most once: then everything is here

    def refresh(self, chat: Core) -> tuple[str, ...]:
        """Take over what others wrote; returns the ids of the messages concerned."""
        self.mend(chat)
        return self._refresh(chat)

    def _refresh(self, chat: Core) -> tuple[str, ...]:
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
        chat._next = max(chat._next, news.serial + 1)
        self._take(chat, changes, news.version)
        fresh = (row.message.id or "" for row in changes.append)
        return tuple(dict.fromkeys([*fresh, *named, *news.changes.remove]))

    def load_rest(self, chat: Core) -> None:
        """Read everything, where only the newest part is here; forgets the cut."""
        if not self._is_writing:
            self.mend(chat)
        if self.tail is None:
            return
        if self._is_writing:
            raise RestNeededError
        snapshot = self.store.read(self.id)
        gone, unread = tuple(chat._ledger.index), tuple(chat._ledger.renewed)
        change = Change(snapshot.rows, remove=gone, calls=snapshot.calls)
        self._take(chat, change, snapshot.version)
        chat._ledger.renew(unread)
        chat._desk.settle()
        self.tail = None

    def flush(self, chat: Core) -> None:
        """Write the settings and the cut, if they are others than before."""
        now = settings_of(chat)
        patch = {key: None for key in self._settings if key not in now}
        patch |= {k: v for k, v in now.items() if self._settings.get(k, ...) != v}
        patch.pop("next_id", None)
        if patch:
            self.store.put_state(self.id, patch)
            self._settings = now
