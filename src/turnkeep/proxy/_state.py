"""What outlives the process: figures of where sessions were cut, and no text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from turnkeep.conversation._track import Cutting, from_saved, to_saved
from turnkeep.errors import ConflictError, TurnkeepError, UnknownConversationError
from turnkeep.stores import Store

from ._sessions import Session

_MOST: Final = 200
"""Cuts of a session that are kept: the newest contain what older ones left out."""


class State:
    """Cuts of sessions in a store, where there is one."""

    def __init__(self, store: Store | None) -> None:
        """In *store*; none: nothing outlives the process."""
        self._store = store

    def read(self, session: Session) -> tuple[Cutting, ...] | None:
        """Where a session was cut; none where nobody has written it down."""
        if self._store is None:
            return None
        try:
            saved: Any = self._store.read(session.key).state.get("track")
            return None if saved is None else from_saved(saved)
        except TurnkeepError:
            return None

    def save(self, session: Session) -> None:
        """Write down where a session was cut. The last writer wins."""
        if self._store is None:
            return
        session.track = session.track[-_MOST:]
        state = {"track": to_saved(session.track)}
        try:
            self._store.put_state(session.key, state)
        except UnknownConversationError:
            with suppress(ConflictError):  # another process was faster
                self._store.create(session.key)
            self._store.put_state(session.key, state)
