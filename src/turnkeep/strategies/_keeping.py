"""What is put away before a window is handed out, and never while one is planned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Protocol, TypeAlias, runtime_checkable

import attrs

from turnkeep.model import Message

from ._base import Strategy, parts_of

Task: TypeAlias = Callable[[], None]


@runtime_checkable
class Keeper(Protocol):
    """A strategy whose windows refer to what has to be kept somewhere first."""

    def put_away(self, original: Message, sent: Message, /) -> Iterable[Task]:
        """What to do before *sent* is handed out in place of *original*."""
        ...


class Handover:
    """Does what is to be done before a window is handed out, once."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Nothing is done yet."""
        self._lock = Lock()
        self._tasks = list(tasks)

    def __bool__(self) -> bool:
        """Whether something is still to be done."""
        return bool(self._tasks)

    def __call__(self) -> None:
        """Do it; what fails is tried again the next time."""
        with self._lock:
            while self._tasks:
                self._tasks[0]()
                del self._tasks[0]


@runtime_checkable
class Particular(Protocol):
    """A strategy that is another one for each conversation."""

    def for_conversation(self, conversation_id: str) -> Strategy:
        """The same for that conversation."""
        ...


def for_conversation(strategy: Strategy, conversation_id: str) -> Strategy:
    """*strategy* with those of its parts that are another one for each conversation."""
    if isinstance(strategy, Particular):
        return strategy.for_conversation(conversation_id)
    kind: type[Any] = type(strategy)
    if not attrs.has(kind):
        return strategy
    changes: dict[str, Strategy] = {}
    for field in attrs.fields(kind):
        part = getattr(strategy, field.name)
        if field.init and isinstance(part, Strategy):
            made = for_conversation(part, conversation_id)
            if made is not part:
                changes[field.alias or field.name] = made
    whole: Any = strategy
    made_of: Strategy = attrs.evolve(whole, **changes) if changes else strategy
    return made_of


def handover_of(
    strategy: Strategy, edits: Iterable[tuple[Message, Message]]
) -> Handover | None:
    """What *strategy* has to do before *edits* (what was, what is sent) are sent."""
    keepers = [part for part in parts_of(strategy) if isinstance(part, Keeper)]
    if not keepers:
        return None
    made = Handover(
        task
        for original, sent in edits
        for keeper in keepers
        for task in keeper.put_away(original, sent)
    )
    return made or None
