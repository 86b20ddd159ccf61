"""Checks that the tests of the block formats share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.generators import decoded
from tests.paths import read_corpus
from turnkeep.errors import FormatError
from turnkeep.formats import Format, match_format
from turnkeep.model import Message, same


def read(fmt: Format, *entries: Any) -> list[Message]:
    """The messages of *entries*, after checking that they are written back equal."""
    messages = decoded(fmt.decode, list(entries))

    written = fmt.encode(messages)

    assert same(written, list(entries)), written
    return messages


def refuse(fmt: Format, entry: Any, path: str, reason: str) -> None:
    """Check that *entry* is one error, at *path* below the entry, that says why."""
    with pytest.raises(FormatError, match=reason) as caught:
        fmt.decode(entry, "$[7]")

    assert caught.value.path == f"$[7]{path}"


def check_corpus(fmt: Format) -> None:
    """Every recorded history is written back equal, and recognised by its shape."""
    count = 0
    for record in read_corpus(fmt.name):
        body = record["body"]
        envelope = fmt.open(body)
        messages = [
            message
            for nth, entry in enumerate(envelope.entries)
            for message in fmt.decode(entry, f"{envelope.path}[{nth}]")
        ]
        before = json.dumps(body)

        written = envelope.replace(fmt.encode(messages))

        assert same(written, body), record["name"]
        assert json.dumps(body) == before, record["name"]
        assert match_format(body, fmt.name).score >= 1, record["name"]
        count += 1
    assert count


def read_or_refuse(fmt: Format, entry: Any) -> None:
    """Check that *entry* is either refused with a path below it, or kept as it is."""
    path, messages = "$[3]", None
    try:
        messages = fmt.decode(entry, path)
    except FormatError as error:
        path = error.path
    assert path.startswith("$[3]")
    if messages is not None:
        assert same(fmt.encode(messages), [entry])


def nested(levels: int) -> Any:
    """A JSON value of that many levels."""
    value: Any = "bottom"
    for _ in range(levels):
        value = {"parts": [value]}
    return value
