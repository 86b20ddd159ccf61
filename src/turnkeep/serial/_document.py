from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from turnkeep.errors import DuplicateIdError, FormatError
from turnkeep.model import Message, paused_gc

from ._bytes import MAX_BYTES, dumps, loads, may_be_rounded, read
from ._dump import dump_message
from ._load import below, frozen, load_message, plain, wrong

SCHEMA = 1
"""The schema version that this release writes."""

_PART = 256
# Messages that are turned into bytes at a time: few enough for the processor's cache.

_END = b"]}"

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By schema version: what turns a document of that version into one of the next.

Each gets a copy of the top level and may change it. None is needed yet; every version
ever written keeps its sample files in `tests/data/turnkeep/`, which must load for good.
"""


def dump_messages(
    messages: Iterable[Message], **document_fields: Any
) -> dict[str, Any]:
    """A whole document: *messages*, with *document_fields* before them.

    The fields are any JSON values: what a conversation keeps beside its messages. The
    document shares the frozen JSON values of its messages. Linear in their number.

    Raises:
        FormatError: A field is not JSON; with its path.
        ValueError: A field has the reserved name `turnkeep`.
    """
    if "turnkeep" in document_fields:
        msg = "the field 'turnkeep' is the schema version: it cannot be given"
        raise ValueError(msg)
    for key, value in document_fields.items():
        _check_field(key, value)
    with paused_gc():
        dumped = [dump_message(message) for message in messages]
    return {"turnkeep": SCHEMA, **document_fields, "messages": dumped}


def dump_parts(
    messages: Sequence[Message], **document_fields: Any
) -> Iterator[bytes | memoryview]:
    """The bytes of `dumps(dump_messages(messages, ...))`, one part after the other.

    No more than a part (256 messages) is held in memory at a time. Fields are checked
    when the first part is asked for. Arguments and errors as of `dump_messages` and
    `dumps`.
    """
    envelope = dumps(dump_messages((), **document_fields))
    yield envelope[: -len(_END)]
    for start in range(0, len(messages), _PART):
        try:
            with paused_gc():
                # In two lists, as deep as they stand in a document.
                part = [[dump_message(m) for m in messages[start : start + _PART]]]
                data = dumps(part)
        except FormatError as error:
            nth, _, rest = error.path.removeprefix("$[0][").partition("]")
            path = f"$.messages[{start + int(nth)}]{rest}"
            raise FormatError(error.reason, path) from None
        if start:
            yield b","
        yield memoryview(data)[2:-2]
    yield _END


def load_messages(doc: Any) -> tuple[list[Message], dict[str, Any]]:
    """The messages of a document of any version, and its other fields as they are.

    `dump_messages(messages, **rest)` gives the document again. Linear in its size.

    Raises:
        FormatError: It is not a document that this release reads; with the path.
        DuplicateIdError: Two messages have the same id.
    """
    messages, rest, _ = _load(doc)
    return messages, rest


def load_document(
    data: bytes | str, *, max_bytes: int | None = MAX_BYTES
) -> tuple[list[Message], dict[str, Any]]:
    """`load_messages(loads(data))`, in less time.

    What is a message of plain text needs no second look for numbers that were rounded.
    """
    doc, exact = read(data, max_bytes)
    if exact:
        return load_messages(doc)
    try:
        messages, rest, others = _load(doc)
    except FormatError:
        pass  # perhaps of a number that was rounded: the exact one decides
    else:
        if not may_be_rounded([rest, others]):
            return messages, rest
    return load_messages(loads(data, max_bytes=max_bytes))


def _load(doc: Any) -> tuple[list[Message], dict[str, Any], list[Any]]:
    """The messages of a document, its other fields, and the entries that are odd."""
    doc = migrate(doc)
    entries = doc.get("messages")
    if not isinstance(entries, list):
        raise below(wrong("a list of messages", entries), "$.messages")
    rest = {k: v for k, v in doc.items() if k not in ("turnkeep", "messages")}
    for key, value in rest.items():
        _check_field(key, value)
    messages: list[Message] = []
    odd: list[Any] = []
    with paused_gc():
        try:
            for entry in entries:
                message = plain(entry)
                if message is None:
                    message = load_message(entry)
                    odd.append(entry)
                messages.append(message)
        except FormatError as error:
            _demand_unique(messages)
            raise below(error, f"$.messages[{len(messages)}]") from None
        _demand_unique(messages)
    return messages, rest, odd


def _demand_unique(messages: Sequence[Message]) -> None:
    ids = [message.id for message in messages]
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for nth, identity in enumerate(ids):
        if identity is not None:
            if identity in seen:
                raise DuplicateIdError(identity, f"$.messages[{nth}].id")
            seen.add(identity)


def migrate(doc: Any) -> dict[str, Any]:
    """*doc* as this release would have written it; *doc* itself stays as it is.

    Raises:
        FormatError: It names no version, or one that this release does not know.
    """
    if not isinstance(doc, dict):
        expected = "a document (an object)"
        raise wrong(expected, doc)
    version = doc.get("turnkeep")
    if not isinstance(version, int) or isinstance(version, bool):
        raise below(wrong("the schema version (a whole number)", version), "$.turnkeep")
    if version > SCHEMA:
        reason = (
            f"written by a newer turnkeep (schema {version}; this one reads up to "
            f"{SCHEMA}): upgrade turnkeep"
        )
        raise FormatError(reason, "$.turnkeep")
    while version < SCHEMA:
        if version not in MIGRATIONS:
            reason = f"there is no schema {version}: this one reads 1 to {SCHEMA}"
            raise FormatError(reason, "$.turnkeep")
        doc = {**MIGRATIONS[version](dict(doc)), "turnkeep": version + 1}
        version += 1
    current: dict[str, Any] = doc
    return current


def _check_field(key: str, value: Any) -> None:
    try:
        frozen(value)
    except FormatError as error:
        raise below(error, f"$.{key}") from None
