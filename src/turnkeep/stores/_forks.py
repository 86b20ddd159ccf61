"""Stores in a process that forks.

A child has one thread: a lock that another thread holds while the process forks is
never given back there. Nor may what is open cross a fork: SQLite forgets in the child
that it holds no locks of the file, and two processes on one socket or one file offset
take each other's answers. So a fork waits until no other thread is inside a store, each
store puts away what it has open, and the child's stores begin anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from time import monotonic
from typing import Final
from weakref import WeakMethod, WeakSet

PATIENCE: Final = 5.0
"""Seconds that a fork waits for other threads to leave the stores."""

_kept: Final[list[object]] = []


def keep(inherited: object) -> None:
    """Never collect what a child has inherited: closing it would disturb the parent."""
    _kept.append(inherited)


class Guard:
    """The lock of a store, free in every child.

    Args:
        pause:
            Called with the lock held before the process forks: puts away what must not
            be open then; returns whether it could.
        renew:
            Called in the child, and told whether `pause` could.
    """

    def __init__(
        self, pause: Callable[[], bool], renew: Callable[[bool], None]
    ) -> None:
        """Guard a store as long as the store lives: bound methods of it."""
        self.lock = RLock()
        self._pause = WeakMethod(pause)
        self._renew = WeakMethod(renew)
        self._taken = self._paused = False
        with _registry:
            _guards.add(self)

    def before(self, deadline: float) -> None:
        """Wait for the other threads, until *deadline* at most."""
        self._taken = self.lock.acquire(timeout=max(deadline - monotonic(), 0))
        pause = self._pause()
        self._paused = self._taken and pause is not None and pause()

    def after_in_parent(self) -> None:
        """Go on."""
        if self._taken:
            self.lock.release()

    def after_in_child(self) -> None:
        """Begin anew."""
        self.lock = RLock()
        renew = self._renew()
        if renew is not None:
            renew(self._paused)


_registry: Final = RLock()
_guards: Final[WeakSet[Guard]] = WeakSet()
_forking: Final[list[Guard]] = []


def _before() -> None:
    _registry.acquire()
    deadline = monotonic() + PATIENCE
    _forking.extend(_guards)
    for guard in _forking:
        guard.before(deadline)


def _after_in_parent() -> None:
    for guard in _forking:
        guard.after_in_parent()
    _forking.clear()
    _registry.release()


def _after_in_child() -> None:
    for guard in _forking:
        guard.after_in_child()
    _forking.clear()
    _registry.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - absent from Windows
    os.register_at_fork(
        before=_before,
        after_in_parent=_after_in_parent,
        after_in_child=_after_in_child,
    )
