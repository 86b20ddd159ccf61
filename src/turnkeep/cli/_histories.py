"""Histories by what people type: files, stdin, sessions, conversations in a store."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from turnkeep.budgets import Budget
from turnkeep.conversation import Conversation
from turnkeep.stores import Info, Store, document_of

from . import _files
from ._draw import counted
from ._files import STDIO, Source, UsageError, is_database
from ._json import dumps
from ._stores import hidden, is_saved, is_store, opened

if TYPE_CHECKING:
    from turnkeep.formats._databases import Stored

_One = TypeVar("_One", Info, "Stored")

ConversationId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--conversation",
        "-c",
        metavar="ID",
        help="Where FILE is a store, or a program's database: which of its "
        "conversations. Not needed where it holds one.",
        show_default=False,
    ),
]


def read(path: str, conversation: str | None = None) -> list[Source]:
    """What *path* holds: the conversations of a file, or one or all of a store.

    Raises:
        UsageError: It cannot be read, or a file was given a conversation's id.
        UnknownConversationError: The store has none of that id.
        FormatError: A file is no JSON, with the path of the offending value.
    """
    if path == STDIO or not is_store(path):
        if conversation is not None:
            return [_stored(path, conversation)]
        return _files.read(path)
    with opened(path) as store:
        found: Sequence[Info] = store.conversations()
        if conversation is not None:
            found = [_named(found, conversation, path)]
        return [_source(store, info, path) for info in found]


def read_one(path: str, conversation: str | None = None) -> Source:
    """The same for commands that take one history.

    Raises:
        UsageError: There are several, with the way to pick one.
    """
    if path == STDIO or not is_store(path):
        if conversation is not None:
            return _stored(path, conversation)
        return _files.read_one(path)
    with opened(path) as store:
        found = store.conversations()
        if conversation is not None:
            return _source(store, _named(found, conversation, path), path)
        if len(found) == 1:
            return _source(store, found[0], path)
    name = hidden(path)
    if not found:
        reason = "the store holds no conversation"
        raise UsageError(reason, name)
    newest = ", ".join(info.id for info in found[:5])
    more = ", ..." if len(found) > 5 else ""
    reason = (
        f"the store holds {counted(len(found), 'conversation')}: pick one with "
        f"--conversation ID ({newest}{more})"
    )
    raise UsageError(reason, name)


def _stored(path: str, session: str) -> Source:
    """A session in the database of another program."""
    if path == STDIO or not is_database(path):
        reason = f"{path!r} is no store, so that it has no conversations by id"
        raise UsageError(reason, "--conversation")
    # Few read databases, and everybody reads files.
    from turnkeep.formats._databases import (  # noqa: PLC0415
        read_stored,
        stored_sessions,
    )

    found = _named(stored_sessions(Path(path)), session, path)
    value = read_stored(Path(path), found.id)
    return Source(f"{Path(path).name}:{found.id}", value, len(dumps(value)))


def _named(found: Sequence[_One], conversation: str, path: str) -> _One:
    for info in found:
        if info.id == conversation:
            return info
    near = get_close_matches(conversation, [info.id for info in found], 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    reason = (
        f"no conversation {conversation!r} among the {len(found):,} of "
        f"{hidden(path)}{hint}"
    )
    raise UsageError(reason, "--conversation")


def _source(store: Store, info: Info, path: str) -> Source:
    document = document_of(store.read(info.id))
    return Source(f"{hidden(path)}:{info.id}", document, len(dumps(document)))


def budget_in(value: Any) -> Budget | None:
    """The budget that a saved conversation brings, if *value* is one and has any."""
    if not is_saved(value) or not value.get("budget"):
        return None
    settings = {key: value[key] for key in ("turnkeep", "budget")}
    return Conversation.from_json({**settings, "messages": []}).budget
