"""The databases in which other programs keep their sessions; read, never written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError


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


@attrs.frozen
class _Program:
    """How a program lays out its database."""

    name: str
    columns: Mapping[str, str]
    """Tables by which it is known, each with a column that it has."""
    listing: str
    """Gives id, title, folder, parent and time of each session."""
    read: Callable[[sqlite3.Connection, str], Any]


def stored_sessions(path: Path) -> list[Stored]:
    """The sessions in a database, newest first.

    Raises:
        FormatError: It is damaged, or no database of a program that we know.
    """
    with _opened(path) as (database, program):
        found = [
            Stored(str(i), str(title or ""), str(folder or ""), parent, updated or 0.0)
            for i, title, folder, parent, updated in database.execute(program.listing)
        ]
    return sorted(found, key=lambda session: (-session.updated, session.id))


def read_stored(path: Path, session_id: str) -> Any:
    """One session of a database, in the shape in which its program exports it.

    Raises:
        FormatError: The database is damaged, or has no such session.
    """
    with _opened(path) as (database, program):
        return program.read(database, session_id)


def program_of(path: Path) -> str | None:
    """Whose database a file is, by the program's name; none where it is nobody's."""
    try:
        with _opened(path) as (_, program):
            return program.name
    except FormatError:
        return None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[sqlite3.Connection, _Program]]:
    """A database that cannot be changed through it, and the program that it is of."""
    try:
        with closing(_connect(path)) as database:
            yield database, _known(database, path)
    except sqlite3.Error as error:
        reason = f"{path.name}: the database cannot be read: {error}"
        raise FormatError(reason, "$") from None


def _known(database: sqlite3.Connection, path: Path) -> _Program:
    for program in _PROGRAMS:
        if all(_has(database, *column) for column in program.columns.items()):
            return program
    *names, last = (program.name for program in _PROGRAMS)
    reason = f"{path.name}: no database of {', '.join(names)} or {last}"
    raise FormatError(reason, "$")


def _has(database: sqlite3.Connection, table: str, column: str) -> bool:
    found = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return (column,) in found.fetchall()


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


def _read_adk(database: sqlite3.Connection, session_id: str) -> Any:
    row = database.execute(
        f"SELECT app_name, user_id, id FROM sessions WHERE {_ADK_ID} = ?",  # noqa: S608 - a constant
        (session_id,),
    ).fetchone()
    if row is None:
        raise _missing(session_id)
    events = database.execute(
        "SELECT id, event_data FROM events WHERE (app_name, user_id, session_id) = "
        "(?, ?, ?) ORDER BY timestamp, rowid",
        row,
    )
    found = [_json(data, event_id) for event_id, data in events]
    return {**dict(zip(("appName", "userId", "id"), row, strict=True)), "events": found}


def _read_openai_agents(database: sqlite3.Connection, session_id: str) -> Any:
    rows = database.execute(
        "SELECT id, message_data FROM agent_messages WHERE session_id = ? ORDER BY id",
        (session_id,),
    ).fetchall()
    if not rows:
        raise _missing(session_id)
    return {"input": [_json(data, row) for row, data in rows]}


_ADK_ID: Final = "app_name || '/' || user_id || '/' || id"
"""One id of the three that a session has."""


def _seconds(column: str) -> str:
    """A time since 1970, from a number or a text."""
    text = f"CAST(strftime('%s', {column}) AS REAL)"
    return f"CASE typeof({column}) WHEN 'text' THEN {text} ELSE {column} END"


_PROGRAMS: Final = (
    _Program(
        "opencode",
        {"session": "directory", "message": "session_id", "part": "message_id"},
        "SELECT id, title, directory, parent_id, time_updated / 1000.0 FROM session",
        _read_opencode,
    ),
    _Program(
        "goose",
        {"sessions": "working_dir", "messages": "content_json"},
        "SELECT s.id, s.name, s.working_dir, NULL, "
        "coalesce(max(m.created_timestamp), 0) "
        "FROM sessions s LEFT JOIN messages m ON m.session_id = s.id GROUP BY s.id",
        _read_goose,
    ),
    _Program(
        "ADK",
        {"sessions": "app_name", "events": "event_data"},
        f"SELECT {_ADK_ID}, id, app_name, NULL, {_seconds('update_time')} "  # noqa: S608 - constants
        "FROM sessions",
        _read_adk,
    ),
    _Program(
        "the OpenAI Agents SDK",
        {"agent_messages": "message_data"},
        f"SELECT session_id, session_id, '', NULL, max({_seconds('created_at')}) "  # noqa: S608 - constants
        "FROM agent_messages GROUP BY session_id",
        _read_openai_agents,
    ),
)
"""The order counts: a database may hold the tables of several."""
