"""Stores and saved conversations, by what people type."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias, TypeGuard

import typer

from turnkeep.conversation import Conversation
from turnkeep.stores import JsonlStore, SqliteStore, Store

from ._files import STDIO, UsageError, is_database, read

StoreName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        help="A folder of logs, a SQLite file, or `postgresql://user@host/name`.",
        show_default=False,
    ),
]

Place: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE|STORE",
        help="A saved conversation, a folder of logs, a SQLite file, or "
        "`postgresql://user@host/name`.",
        show_default=False,
    ),
]

_PREFIXES = ("postgresql://", "postgres://")


def is_store(name: str) -> bool:
    """Whether *name* names a store, and not a file of messages."""
    if name.startswith(_PREFIXES):
        return True
    path = Path(name)
    return path.is_dir() or (is_database(name) and not is_programs(path))


def is_programs(path: Path) -> bool:
    """Whether a database is that of another program, which keeps its sessions in it."""
    # Few read databases, and everybody reads files.
    from turnkeep.formats._databases import program_of  # noqa: PLC0415

    return program_of(path) is not None


@contextmanager
def opened(name: str, *, create: bool = False) -> Iterator[Store]:
    """The store called *name*; with *create*, made if it is not there.

    Raises:
        UsageError: There is none, or it cannot be opened or written.
        CorruptStoreError: It is damaged.
    """
    try:
        with _open(name, create) as store:
            yield store
    except OSError as error:
        reason = f"cannot use the store: {error.strerror or error}"
        raise UsageError(reason, hidden(name)) from None


def _open(name: str, create: bool) -> Store:
    if name.startswith(_PREFIXES):
        try:
            from turnkeep.stores import PostgresStore  # noqa: PLC0415 - an extra
        except ImportError:
            reason = "PostgreSQL needs psycopg: pip install 'turnkeep[postgres]'"
            raise UsageError(reason, hidden(name)) from None
        return PostgresStore(name, connections=1)
    path = Path(name)
    if not is_store(name) and (path.exists() or not create):
        reason = (
            "no store there: a store is a folder, a SQLite file or a postgresql:// "
            "address"
        )
        raise UsageError(reason, name)
    if path.is_dir() or (create and not path.suffix and not path.exists()):
        return JsonlStore(path)
    return SqliteStore(path)


def hidden(name: str) -> str:
    """*name* for people, without the password that it may hold.

    >>> hidden("postgresql://me:secret@db/chats")
    'postgresql://me@db/chats'
    """
    scheme, mark, rest = name.partition("://")
    if not mark or "@" not in rest:
        return name
    user, _, host = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}@{host}"


def load_file(path: str) -> Conversation:
    """The conversation in a file: one of ours, or messages in any format.

    Raises:
        UsageError: It cannot be read, or holds several conversations.
        FormatError: It is malformed, with the path of the offending value.
    """
    sources = read(path)
    if len(sources) != 1:
        reason = f"{len(sources)} conversations, one a line: pick one of them"
        raise UsageError(reason, path)
    value = sources[0].value
    if is_saved(value):
        return Conversation.from_json(value)
    return Conversation.from_messages(value)


def save_file(chat: Conversation, path: str) -> None:
    """Write a conversation back to the file it came from.

    Raises:
        UsageError: It cannot be written; what stood there still does.
    """
    try:
        chat.save(path)
    except OSError as error:
        reason = f"cannot write: {error.strerror}"
        raise UsageError(reason, path) from None


def is_ours(path: str) -> bool:
    """Whether a file holds a conversation of ours, which can be written back."""
    if path == STDIO:
        return False
    sources = read(path)
    return len(sources) == 1 and is_saved(sources[0].value)


def is_saved(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is a conversation of ours, whatever is wrong inside."""
    return isinstance(value, dict) and "turnkeep" in value


def refuse_unsaved(path: str, what: str) -> NoReturn:
    """Say that only saved conversations can be *what*, and how *path* becomes one.

    Raises:
        UsageError: Always.
    """
    reason = (
        f"only a conversation that turnkeep saved can be {what}; convert it first: "
        f"turnkeep convert {shlex.quote(path)} --to turnkeep -o saved.json"
    )
    raise UsageError(reason, path)


def age(since: datetime | None, now: datetime) -> str:
    """How long ago (or how far ahead) a time is, in two units at most.

    >>> age(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    '1 d 3 h'
    """
    if since is None:
        return "?"
    seconds = int(abs(now - since) / timedelta(seconds=1))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)
