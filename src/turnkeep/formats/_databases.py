"""The databases in which other programs keep their sessions; read, never written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

_OPENCODE: Final = frozenset({"session", "message", "part"})
_GOOSE: Final = frozenset({"sessions", "messages"})


@attrs.frozen
class Stored:
    """A session in a database, without its messages."""

    id: str
    title: str
    folder: str
    parent: str | None
    """The session that a subagent works for."""
    updated: float
    """When it was last written, in seconds since 1970."""


def stored_sessions(path: Path) -> list[Stored]:
    """The sessions in a database, newest first.

    Raises:
        FormatError: It is damaged, or no database of a program that we know.
    """
    with _opened(path) as (database, program):
        found = [
            Stored(str(i), str(title or ""), str(folder or ""), parent, updated)
            for i, title, folder, parent, updated in database.execute(_LISTS[program])
        ]
    return sorted(found, key=lambda session: (-session.updated, session.id))


def read_stored(path: Path, session_id: str) -> Any:
    """One session of a database, in the shape in which its program exports it.

    Raises:
        FormatError: The database is damaged, or has no such session.
    """
    with _opened(path) as (database, program):
        read = _read_opencode if program == "opencode" else _read_goose
        return read(database, session_id)


_LISTS: Final = {
    "opencode": "SELECT id, title, directory, parent_id, time_updated / 1000.0 "
    "FROM session",
    "goose": "SELECT s.id, s.name, s.working_dir, NULL, "
    "coalesce(max(m.created_timestamp), 0) "
    "FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
}


def program_of(path: Path) -> str | None:
    """Whose database a file is, `opencode` or `goose`; none where it is neither's."""
    try:
        with _opened(path) as (_, program):
            return program
    except FormatError:
        return None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """A database that cannot be changed through it, and the program that it is of."""
    try:
        with closing(_connect(path)) as database:
            rows = database.execute("SELECT name FROM sqlite_master")
            tables = {name for (name,) in rows}
            if tables >= _OPENCODE:
                yield database, "opencode"
            elif tables >= _GOOSE:
                yield database, "goose"
            else:
                reason = f"{path.name}: no database of opencode or goose"
                raise FormatError(reason, "$")
    except sqlite3.Error as error:
        reason = f"{path.name}: the database cannot be read: {error}"
        raise FormatError(reason, "$") from None


def _connect(path: Path) -> sqlite3.Connection:
    address = path.resolve().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # In a folder that cannot be written, a log that another program keeps beside
        # the file cannot be followed: what the file itself holds can be read.
        database.close()
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return database


def _read_opencode(database: sqlite3.Connection, session_id: str) -> Any:
    row = database.execute(
        "SELECT id, parent_id, directory, title FROM session WHERE id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        raise _missing(session_id)
    parts: dict[Any, list[Any]] = {}
    for part_id, message_id, data in database.execute(
        "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id",
        (session_id,),
    ):
        found = {**_parsed(data, part_id), "id": part_id}
        parts.setdefault(message_id, []).append(found)
    messages = [
        {"info": {**_parsed(data, i), "id": i}, "parts": parts.get(i, [])}
        for i, data in database.execute(
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY id",
            (session_id,),
        )
    ]
    names = ("id", "parentID", "directory", "title")
    return {"info": dict(zip(names, row, strict=True)), "messages": messages}


def _read_goose(database: sqlite3.Connection, session_id: str) -> Any:
    row = database.execute(
        "SELECT id, working_dir, name FROM sessions WHERE id = ?", (session_id,)
    ).fetchone()
    if row is None:
        raise _missing(session_id)
    names = ("id", "working_dir", "description")
    lines: list[Any] = [dict(zip(names, row, strict=True))]
    for message_id, role, content, created, around in database.execute(
        "SELECT id, role, content_json, created_timestamp, metadata_json "
        "FROM messages WHERE session_id = ? ORDER BY id",
        (session_id,),
    ):
        line = {
            "role": role,
            "created": created,
            "content": _json(content, message_id),
        }
        if around:
            line["metadata"] = _json(around, message_id)
        lines.append(line)
    return lines


def _missing(session_id: str) -> FormatError:
    return FormatError(f"no session {session_id[:80]!r} in the database", "$")


def _json(text: Any, row: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        reason = f"the row {str(row)[:80]!r} holds no JSON"
        raise FormatError(reason, "$") from None


def _parsed(text: Any, row: Any) -> dict[str, Any]:
    """The object in a row; an empty one of no text, which a full disk leaves behind."""
    if not text:
        return {}
    found = _json(text, row)
    if not isinstance(found, dict):
        reason = f"the row {str(row)[:80]!r} holds no object"
        raise FormatError(reason, "$")
    return found
