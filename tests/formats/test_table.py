"""Tables of fields, of which the seeds' records are made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generators import json_values
from turnkeep.errors import FormatError
from turnkeep.formats._table import (
    ANY,
    ARRAY,
    FLAG,
    MILLIS,
    NUMBER,
    OBJECT,
    TEXT,
    TIME,
    UTC_TIME,
    Field,
    Kind,
    Table,
)
from turnkeep.model import freeze

KINDS = {
    "TEXT": (TEXT, "said", 1, "a string"),
    "FLAG": (FLAG, True, 1, "a boolean"),
    "NUMBER": (NUMBER, 3, True, "a whole number"),
    "OBJECT": (OBJECT, {"a": [1]}, [], "an object"),
    "ARRAY": (ARRAY, [{"a": 1}], {}, "an array"),
    "MILLIS": (MILLIS, 1_700_000_000_123, "1", "a whole number"),
    "TIME": (TIME, "2026-01-02T03:04:05+02:00", "then", "RFC 3339 time"),
    "UTC_TIME": (UTC_TIME, "2026-01-02T03:04:05.678Z", "then", "RFC 3339 time"),
}


@pytest.mark.parametrize(("kind", "value", "wrong", "words"), KINDS.values(), ids=KINDS)
def test_a_field_is_read_strictly_and_written_as_it_was(
    kind: Kind, value: Any, wrong: Any, words: str
) -> None:
    """Its kind says what it takes, what is missing and how it is spelled."""
    table = Table(Field("key", kind, home="place"))

    found = table.read({"key": value, "more": 1}, "a record", "$")

    assert found.keys() == {"place"}
    assert table.write(**found) == {"key": value}
    with pytest.raises(FormatError, match=words) as refused:
        table.read({"key": wrong}, "a record", "$")
    assert refused.value.path == "$.key"
    with pytest.raises(FormatError, match="'key' is missing"):
        table.read({}, "a record", "$")
    with pytest.raises(FormatError, match="a record must be an object"):
        table.read([], "a record", "$")


@given(value=json_values)
def test_json_is_always_kept(value: Any) -> None:
    """Frozen inside, plain outside."""
    table = Table(Field("key", ANY))

    found = table.read({"key": value}, "a record", "$")

    assert found == {"key": freeze(value)}
    assert table.write(**found) == {"key": value}


@given(extra=st.dictionaries(st.sampled_from(["a", "b", "c"]), json_values))
def test_other_keys_always_stand_behind(extra: dict[str, Any]) -> None:
    """Those of the fields are never overwritten by them."""
    table = Table(Field("a", TEXT), Field("b", ARRAY, []))

    record = table.write(a="said", extra=freeze(extra))

    assert record == {**extra, "a": "said", "b": []}
    assert list(record)[:2] == ["a", "b"]
    assert table.rest(record, "$") == {k: v for k, v in extra.items() if k == "c"}


def test_defaults_are_written_unless_the_table_is_sparse() -> None:
    """Each writing makes its own."""
    fields = (Field("text", TEXT), Field("calls", ARRAY, []), Field("note", TEXT, None))
    full, sparse = Table(*fields), Table(*fields, sparse=True)

    first = full.write(text="x")
    first["calls"].append(1)

    assert full.write(text="x") == {"text": "x", "calls": [], "note": None}
    assert sparse.write(text="x", calls=[], note=None) == {"text": "x"}
    assert full.read({"text": "x", "note": None}, "it", "$")["calls"] == []
