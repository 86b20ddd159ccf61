"""The sessions that programs left on this machine: found, never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import attrs

from turnkeep.errors import FormatError
from turnkeep.formats._databases import read_stored, stored_sessions

from ._files import Source, UsageError, read_one
from ._json import dumps

_HEADER = 1_000_000
"""Bytes that a rollout's first line may have: the instructions stand in it."""


@attrs.frozen
class Found:
    """One session, without its messages."""

    program: str
    """The name of its format."""
    path: Path
    title: str
    updated: datetime
    folder: str | None = None
    """What its program keeps it apart by; none where only the file says it."""
    id: str | None = None
    """Its id in a database; none where the file is the session."""
    is_subagent: bool = False

    @property
    def project(self) -> str:
        """The folder that it is about, as far as its program tells."""
        return _codex_project(self.path) if self.folder is None else self.folder

    def read(self) -> Source:
        """The session itself, with its size.

        Raises:
            UsageError: It cannot be read any more.
            FormatError: It is damaged beyond reading.
        """
        if self.id is None:
            return read_one(str(self.path))
        value = read_stored(self.path, self.id)
        return Source(self.title or self.id, value, len(dumps(value)))


def find_sessions(*, subagents: bool = False) -> list[Found]:
    """The sessions of Claude Code, Codex, Gemini CLI and opencode, newest first.

    In the homes that those programs use, environment variables included. What cannot
    be looked at is not there.
    """
    found = [*_claude_code(), *_codex(), *_gemini_cli(), *_opencode()]
    return sorted(
        (one for one in found if subagents or not one.is_subagent),
        key=lambda one: (-one.updated.timestamp(), str(one.path), one.id or ""),
    )


def nth_session(name: str) -> Source:
    """The session that *name* (such as `@1`) is the number of.

    Raises:
        UsageError: There are not so many.
        FormatError: It is damaged beyond reading.
    """
    found = find_sessions()
    number = int(name[1:])
    if not 1 <= number <= len(found):
        there = f"there are {len(found)}" if found else "there is none on this machine"
        reason = f"no session {name}: {there}; `turnkeep sessions` lists them"
        raise UsageError(reason, name)
    return found[number - 1].read()


def _home(variable: str, *default: str) -> Path:
    """Where a program keeps its files: as its variable says, or where it does so."""
    named = os.environ.get(variable)
    if named:
        return Path(named).expanduser()
    return Path(os.path.expanduser("~"), *default)  # noqa: PTH111 - no home, no error


def _claude_code() -> Iterator[Found]:
    projects = _home("CLAUDE_CONFIG_DIR", ".claude") / "projects"
    for path in _files(projects, "*/*.jsonl"):
        is_subagent = path.name.startswith("agent-")
        yield from _file("claude-code", path, path.parent.name, subagent=is_subagent)
    for path in _files(projects, "*/*/subagents/agent-*.jsonl"):
        yield from _file("claude-code", path, path.parents[2].name, subagent=True)


def _codex() -> Iterator[Found]:
    home = _home("CODEX_HOME", ".codex")
    for folder, pattern in (
        ("sessions", "**/rollout-*.jsonl"),
        ("archived_sessions", "rollout-*.jsonl"),
    ):
        for path in _files(home / folder, pattern):
            yield from _file("codex", path, None)


def _codex_project(path: Path) -> str:
    """The folder that a rollout's first line names."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline(_HEADER))
        return str(header["payload"]["cwd"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return path.parent.name


def _gemini_cli() -> Iterator[Found]:
    home = _home("GEMINI_CLI_HOME") / ".gemini" / "tmp"
    for path in _files(home, "*/chats/session-*.json*"):
        yield from _file("gemini-cli", path, path.parents[1].name)
    for path in _files(home, "*/chats/*/*.jsonl"):
        yield from _file("gemini-cli", path, path.parents[2].name, subagent=True)


def _opencode() -> Iterator[Found]:
    path = _home("XDG_DATA_HOME", ".local", "share") / "opencode" / "opencode.db"
    if not path.is_file():
        return
    try:
        stored = stored_sessions(path)
    except FormatError:
        return
    for one in stored:
        updated = datetime.fromtimestamp(one.updated, UTC)
        yield Found(
            "opencode",
            path,
            one.title,
            updated,
            one.folder,
            one.id,
            is_subagent=one.parent is not None,
        )


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _file(
    program: str, path: Path, folder: str | None, *, subagent: bool = False
) -> Iterator[Found]:
    try:
        about = path.stat()
    except OSError:
        return
    if about.st_size and path.is_file():
        updated = datetime.fromtimestamp(about.st_mtime, UTC)
        yield Found(
            program,
            path,
            path.name,
            updated,
            folder,
            is_subagent=subagent,
        )
