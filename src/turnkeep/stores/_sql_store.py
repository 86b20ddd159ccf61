"""A store in a database whose connections wait: each operation, run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

from ._base import Store
from ._closing import Closing
from ._sql import Append, Query, Rows
from ._sql_operations import Operation, SqlOperations
from ._texts import Texts
from ._values import Damage

P = ParamSpec("P")
T = TypeVar("T")


class Performed(Generic[P, T]):
    """A method of `SqlStore`: an operation, run, with the same parameters."""

    def __init__(
        self, operation: Callable[Concatenate[SqlOperations, P], Operation[T]]
    ) -> None:
        """What runs *operation*."""
        twin = getattr(Store, operation.__name__)

        @wraps(twin)
        def method(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
            made = operation(store._operations, *args, **options)  # noqa: SLF001
            return store._perform(made)  # noqa: SLF001

        self.__doc__ = twin.__doc__
        self._method = method

    @overload
    def __get__(
        self, instance: None, owner: type
    ) -> Callable[Concatenate[Any, P], T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Callable[P, T]: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        """The method, of a store or of the class."""
        method = self._method
        return method if instance is None else MethodType(method, instance)


class SqlStore(Closing, Texts):
    """A store whose operations are statements; see `Store` for what each does."""

    _operations: SqlOperations

    create: Final = Performed(SqlOperations.create)
    write: Final = Performed(SqlOperations.write)
    update: Final = Performed(SqlOperations.update)
    put_state: Final = Performed(SqlOperations.put_state)
    delete: Final = Performed(SqlOperations.delete)
    read: Final = Performed(SqlOperations.read)
    read_tail: Final = Performed(SqlOperations.read_tail)
    read_messages: Final = Performed(SqlOperations.read_messages)
    read_since: Final = Performed(SqlOperations.read_since)
    conversations: Final = Performed(SqlOperations.conversations)
    search: Final = Performed(SqlOperations.search)
    due: Final = Performed(SqlOperations.due)

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`."""
        self._perform(self._operations.compact(conversation_id))

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`."""
        return self._perform(self._operations.check(conversation_id))

    def _perform(self, operation: Operation[T]) -> T:
        first = operation.first
        if first is not None and self._append(first):
            version: Any = self._operations.heads.keep(first.left)
            made: T = version
            return made
        run = self._write if operation.writes else self._read
        return run(operation.steps)

    @abstractmethod
    def _append(self, one: Append) -> bool:
        """Append a message; False if a conversation or an id is not as expected.

        Nothing is written then.
        """

    @abstractmethod
    def _write(self, operation: Generator[Query, Rows, T]) -> T:
        """Run an operation in a transaction that writes."""

    @abstractmethod
    def _read(self, operation: Generator[Query, Rows, T]) -> T:
        """Run an operation on one moment of the database."""
