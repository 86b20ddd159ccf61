"""Bringing tables of earlier versions up to date: what SQL alone cannot do.

Version 3 seals each row (see `_sql_seals`), and knows whose call a result answers where
the result says so. What is damaged already stays so, and is told of where it is read.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any, Final

from turnkeep.errors import CorruptStoreError
from turnkeep.turns import ANSWERS

from ._sql import CALL, HEAD, Dialect, Query, Rows, all_rows, open_head
from ._sql_seals import is_text, seal
from ._sql_write import Writer, leave
from ._values import Change

_BESIDE: Final = (
    ("states", "conversation, body", 1),
    ("calls", f"conversation, {CALL.removesuffix(', crc')}", 3),
    ("changes", "conversation, version, message_id, removed", 4),
)
# Tables beside the messages: what is sealed, and how many columns are the key.


def seal_everything(dialect: Dialect) -> Generator[Query, Rows, None]:
    """Give each row its checksum; costs the database once."""
    for table, columns, keys in _BESIDE:
        rows = yield Query(f"SELECT {columns} FROM {table}")  # noqa: S608
        names = columns.split(", ")[:keys]
        where = " AND ".join(f"{name} = ?" for name in names)
        yield Query(
            f"UPDATE {table} SET crc = ? WHERE {where}",  # noqa: S608
            [(_seal(row), *row[:keys]) for row in rows],
            many=True,
        )
    everything = yield Query(f"SELECT {HEAD} FROM conversations ORDER BY n")  # noqa: S608
    for row in everything:
        yield from _seal_one(dialect, row)


def _seal_one(dialect: Dialect, row: tuple[Any, ...]) -> Generator[Query, Rows, None]:
    n = row[1]
    rows = yield from all_rows(n)
    yield Query(
        "UPDATE messages SET crc = ? WHERE conversation = ? AND seq = ?",
        [(_seal((n, *each[:-1])), n, each.seq) for each in rows],
        many=True,
    )
    yield Query("UPDATE conversations SET crc = ? WHERE n = ?", (_seal(row[:-1]), n))
    if any(ANSWERS in str(each.body) for each in rows):
        # Where a message is damaged, nobody can say what belongs where.
        with suppress(CorruptStoreError):
            writer = Writer(dialect, open_head(row), Change())
            yield from writer.group_again()
            progress = writer.progress
            left = writer.before._replace(progress=progress, kept=progress.text())
            yield leave(left)


def _seal(columns: tuple[Any, ...]) -> int:
    """The seal of a row; one that fits nothing where it cannot be read as UTF-8."""
    texts = [column for column in columns if isinstance(column, str)]
    made = seal(*columns)
    return made if all(map(is_text, texts)) else made ^ 1
