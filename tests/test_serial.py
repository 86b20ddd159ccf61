"""Tests for `turnkeep.serial`."""

import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.seed_checks import json_values, objects, texts
from tests.paths import ROOT
from turnkeep import errors, serial
from turnkeep.model import (
    EMPTY,
    MAX_DEPTH,
    Block,
    Document,
    FrozenDict,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
    same,
)
from turnkeep.serial import _bytes, _document

DATA = Path(__file__).parent / "data" / "turnkeep"


@pytest.fixture(params=["orjson", "json"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once with `orjson` and once as on a machine without it."""
    if request.param == "json":
        monkeypatch.setattr(_bytes, "native", None)
    else:
        pytest.importorskip("orjson")
    name: str = request.param
    return name


# Bytes


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (
            {"b": 1, "a": [1.0, True, None, "é\n\x1b\x7f"]},
            '{"b":1,"a":[1.0,true,null,"é\\n\\u001b\x7f"]}',
        ),
        (
            [1e16, 1e-7, 0.00001, 1.5e300, -0.0, 0.0001],
            "[1e+16,1e-07,1e-05,1.5e+300,-0.0,0.0001]",
        ),
        ([10**30, -(2**63), 2**64], f"[{10**30},{-(2**63)},{2**64}]"),
        (["\ud800", {"\udfff": 1}], '["\\ud800",{"\\udfff":1}]'),
        (freeze({"a": [{"b": (1, 2)}]}), '{"a":[{"b":[1,2]}]}'),
        (Role.USER, '"user"'),
        ("", '""'),
    ],
)
def test_same_value_same_bytes_with_and_without_orjson(
    either: str, value: Any, data: str
) -> None:
    """Compact, keys in order, numbers as Python spells them, surrogates escaped."""
    assert serial.dumps(value) == data.encode(), either
    assert serial.loads(serial.dumps(value)) == value


@given(json_values)
def test_always_the_same_bytes_with_and_without_orjson(value: Any) -> None:
    """Files do not depend on what is installed, and loading gives the same value."""
    pytest.importorskip("orjson")
    fast = serial.dumps(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bytes, "native", None)
        slow = serial.dumps(value)
        read = serial.loads(slow)

    assert fast == slow
    assert same(serial.loads(fast), read)
    assert same(read, json.loads(slow))


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ({"a": [1, float("nan")]}, "nan is not JSON", "$.a[1]"),
        ([float("-inf")], "-inf is not JSON", "$[0]"),
        ({"a": {1: 2}}, "key 1 is not text", "$.a"),
        ({"a": {1, 2}}, "a set is not JSON", "$.a"),
        (datetime(2026, 1, 1, tzinfo=UTC), "a datetime is not JSON", "$"),
        ([10**5000], "Exceeds the limit", "$"),
    ],
)
def test_what_json_cannot_say_is_refused(
    either: str, value: Any, reason: str, path: str
) -> None:
    """With its path."""
    with pytest.raises(errors.FormatError, match=reason) as caught:
        serial.dumps(value)

    assert caught.value.path == path, either


def test_cycles_and_depth_are_refused(either: str) -> None:
    """Neither hangs nor breaks the interpreter."""
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    knot: Any = [float("nan")]
    knot.append(knot)

    with pytest.raises(errors.FormatError, match="nan is not JSON"):
        serial.dumps(knot)
    for value in (cycle, deep):
        with pytest.raises(errors.FormatError, match="nested deeper than 200"):
            serial.dumps(value)
    assert either


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e999", "beyond the range of a double"),
        (b'"\xff"', "not UTF-8: byte 0xff at 1"),
        (b'{"a":1}{', "Extra data"),
        (b"[01]", "not JSON"),
        (b'"a\nb"', "Invalid control character"),
        (b"[" * 100_000, "nested deeper"),
        (b"9" * 5000, "Exceeds the limit"),
        (b"[1,]", "not JSON"),
    ],
)
def test_bad_bytes_give_one_error(either: str, data: bytes, reason: str) -> None:
    """The same one, whatever is installed."""
    with pytest.raises(errors.FormatError, match=reason) as caught:
        serial.loads(data)

    assert caught.value.path == "$", either


def test_good_bytes_load(either: str) -> None:
    """Big numbers stay whole; surrogates, byte order marks and text are fine."""
    assert serial.loads(b"[123456789012345678901234567890]") == [
        123456789012345678901234567890
    ]
    assert serial.loads('"123456789012345678901234567890"') == "1234567890" * 3
    assert serial.loads(b'"\\ud800"') == "\ud800"
    assert serial.loads(b"\xef\xbb\xbf[1.5e3]") == [1500.0]
    assert serial.loads("[1]") == [1], either


def test_a_machine_without_orjson_is_noticed_at_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everything then goes through `json`."""
    had = _bytes.native
    try:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "orjson", None)
            importlib.reload(_bytes)
        assert _bytes.native is None
        assert serial.loads(serial.dumps({"a": [1.5]})) == {"a": [1.5]}
    finally:
        importlib.reload(_bytes)
    assert _bytes.native is had


def test_size_is_limited() -> None:
    """By default to 1 GiB; `None` takes any."""
    with pytest.raises(
        errors.FormatError, match="4 bytes are more than the 3 accepted"
    ):
        serial.loads(b"[10]", max_bytes=3)

    assert serial.loads(b"[10]", max_bytes=None) == [10]
    assert serial.MAX_BYTES == 2**30


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """And no temporary one."""
    path = tmp_path / "a.json"
    serial.write_atomic(path, b"old")

    with pytest.raises(TypeError):
        serial.write_atomic(path, "text")  # type: ignore[arg-type]

    assert path.read_bytes() == b"old"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    path.chmod(0o640)
    serial.write_atomic(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)


def test_parts_that_fail_leave_the_old_file(tmp_path: Path) -> None:
    """Whatever was written of the new one is gone."""
    path = tmp_path / "a.json"
    serial.write_atomic(path, [b"o", memoryview(b"ld")])

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise KeyError

    with pytest.raises(KeyError):
        serial.write_atomic(path, parts())

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# Documents


def test_every_version_ever_written_still_loads() -> None:
    """And comes back byte for byte, unknown fields and all."""
    files = sorted(DATA.glob("*.json"))

    assert {int(f.name[1:].split("-")[0].split(".")[0]) for f in files} == set(
        range(1, serial.SCHEMA + 1)
    )
    for file in files:
        data = file.read_bytes().rstrip(b"\n")
        messages, rest = serial.load_messages(serial.loads(data))
        assert messages
        assert serial.dumps(serial.dump_messages(messages, **rest)) == data


def test_the_sample_file_means_what_it_says() -> None:
    """Fields, blocks and their defaults."""
    messages, rest = serial.load_messages(serial.loads((DATA / "v1.json").read_bytes()))

    assert rest["budget"] == {"max_tokens": 8000, "target": 0.6}
    pinned = messages[1]
    assert pinned.timestamp is not None
    assert pinned.timestamp.utcoffset() == timedelta(hours=-4)
    assert (pinned.pinned, pinned.pin_scope, pinned.token_count) == (True, "step", 9)
    assert messages[3].tool_calls[0].text == '{"target":  "all"}'
    assert messages[3].layout == "anthropic:[]"
    assert messages[4].tool_results[0].pending
    assert messages[4].tool_results[1].interim
    assert messages[7].text == "lone \ud800 surrogate"
    assert messages[8].content == ()


def test_unknown_fields_are_kept_where_nobody_sends_them() -> None:
    """Of messages in the metadata, of blocks in `extra`, unknown blocks whole."""
    data = (DATA / "v1-unknown-fields.json").read_bytes()
    messages, rest = serial.load_messages(serial.loads(data))

    assert rest["from_the_future"] == {"a": [1]}
    assert messages[0].metadata == {
        "kept": True,
        serial.UNKNOWN: {"reactions": ["+1"]},
    }
    text, hologram, cube = messages[0].content
    assert text == Text("hi", extra=freeze({serial.UNKNOWN: {"mood": {"a": 1}}}))
    assert isinstance(hologram, Opaque)
    assert (hologram.format, cube) == (
        "turnkeep",
        Opaque(freeze({"type": "opaque", "value": {}, "shape": "cube"}), "turnkeep"),
    )


def _blocks(*, nested: bool = True) -> st.SearchStrategy[Block]:
    option = st.none() | texts
    extra = objects.map(freeze)
    simple = (
        st.builds(Text, texts, extra=extra)
        | st.builds(Json, json_values, extra=extra)
        | st.builds(
            Image,
            option,
            option,
            option,
            option,
            option,
            st.none() | st.integers(-(2**53), 2**53),
        )
        | st.builds(Document, option, option, option, option, option, option)
        | st.builds(Thinking, texts, option, option, extra=extra)
        | st.builds(ToolCall, option, texts, json_values, extra=extra)
        | st.builds(Opaque, objects.map(freeze), st.none() | st.just("turnkeep"))
        | st.builds(
            Opaque,
            st.sampled_from(
                [
                    {"type": "text"},
                    {"type": "later"},
                    {"type": "opaque", "x": 1},
                    {"type": 1},
                ]
            ).map(freeze),
            st.just("turnkeep"),
        )
    )
    if not nested:
        return simple
    return simple | st.builds(
        ToolResult,
        option,
        st.lists(_blocks(nested=False), max_size=2).map(tuple),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        option,
        extra=extra,
    )


messages_of_any_kind = st.builds(
    Message,
    st.sampled_from(list(Role)),
    st.lists(_blocks(), max_size=3).map(tuple),
    id=st.none(),
    timestamp=st.none()
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5.5))])),
    token_count=st.none() | st.integers(0, 2**40 - 1),
    pinned=st.booleans(),
    pin_scope=st.sampled_from(["turn", "step"]),
    kind=st.none() | texts,
    priority=st.none() | st.integers(-(2**53), 2**53),
    metadata=objects | st.just({serial.UNKNOWN: {"later": 1}}),
    extra=objects | st.just({serial.UNKNOWN: {"later": 1}}),
    layout=st.none() | texts,
)


@given(st.lists(messages_of_any_kind, max_size=3), st.dictionaries(texts, json_values))
def test_whatever_is_saved_is_loaded_equal(
    messages: list[Message], fields: dict[str, Any]
) -> None:
    """Messages, their layouts, the document's fields; and the bytes are stable."""
    for key in ("turnkeep", "messages"):
        fields.pop(key, None)
    data = serial.dumps(serial.dump_messages(messages, **fields))

    loaded, rest = serial.load_messages(serial.loads(data))

    # Two surrogates that make a character are read as it.
    joined = json.loads(data)
    assert serial.dumps(serial.dump_messages(loaded, **rest)) == serial.dumps(joined)
    if b"\\ud" not in data:
        assert loaded == messages
        assert [m.layout for m in loaded] == [m.layout for m in messages]
        assert same(rest, fields)


@given(
    st.lists(messages_of_any_kind, max_size=5),
    st.dictionaries(texts, json_values),
    st.integers(1, 3),
)
def test_the_parts_of_a_document_are_its_bytes(
    messages: list[Message], fields: dict[str, Any], size: int
) -> None:
    """However many messages a part has."""
    fields.pop("turnkeep", None)
    fields.pop("messages", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_document, "_PART", size)

        data = b"".join(serial.dump_parts(messages, **fields))

    assert data == serial.dumps(serial.dump_messages(messages, **fields))


def test_what_is_wrong_in_a_part_has_its_path_in_the_document() -> None:
    """As if the document were one piece."""
    messages = [Message.user("x")] * 300
    odd = Message.user("x")
    # No caller can make one; a fault of ours must not pass unseen all the same.
    object.__setattr__(odd, "token_count", math.nan)
    messages.append(odd)

    with pytest.raises(errors.FormatError) as whole:
        serial.dumps(serial.dump_messages(messages))
    with pytest.raises(errors.FormatError) as parts:
        list(serial.dump_parts(messages))

    assert parts.value.path == whole.value.path == "$.messages[300].token_count"
    assert parts.value.reason == whole.value.reason


@given(st.lists(messages_of_any_kind, max_size=4), st.dictionaries(texts, json_values))
def test_bytes_load_as_their_document_does(
    messages: list[Message], fields: dict[str, Any]
) -> None:
    """In one step or in two."""
    fields.pop("turnkeep", None)
    fields.pop("messages", None)
    data = serial.dumps(serial.dump_messages(messages, **fields))

    loaded, rest = serial.load_document(data)

    assert (loaded, rest) == serial.load_messages(serial.loads(data))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    "text",
    [
        '{"turnkeep":1,"x":NUMBER,"messages":[{"id":"a","role":"user","content":"x"}]}',
        '{"turnkeep":1,"messages":[{"id":"a","role":"user","priority":NUMBER}]}',
        '{"turnkeep":1,"messages":[{"role":"user","metadata":{"x":[NUMBER]}}]}',
        '{"turnkeep":1,"messages":[{"id":"a","role":"user","content":NUMBER}]}',
        '{"turnkeep":1,"messages":[{"id":"a\\ud800","role":"user","priority":NUMBER}]}',
        '{"turnkeep":NUMBER,"messages":[]}',
    ],
)
def test_large_numbers_of_a_document_stay_whole(text: str) -> None:
    """Wherever they stand, and what is wrong with them is said of themselves."""
    data = text.replace("NUMBER", str(2**70 + 1)).encode()

    def outcome(load: Callable[[], Any]) -> Any:
        try:
            return load()
        except errors.FormatError as error:
            return error.reason, error.path

    made = outcome(lambda: serial.load_document(data))
    assert made == outcome(lambda: serial.load_messages(json.loads(data)))
    assert str(2**70 + 1) in repr(made)


def test_fields_at_their_default_are_left_out() -> None:
    """Short, and readable."""
    assert serial.dump_message(Message.user("hi")) == {"role": "user", "content": "hi"}
    assert serial.dump_message(Message(Role.ASSISTANT)) == {"role": "assistant"}
    assert serial.dump_block(ToolResult(None)) == {"type": "tool_result"}


def test_dumping_what_is_no_block_is_a_type_error() -> None:
    """A mistake of the program, not of the data."""
    with pytest.raises(TypeError, match="str is not a block"):
        serial.dump_block("text")  # type: ignore[arg-type]


def test_a_document_cannot_be_given_its_version() -> None:
    """It is the schema's."""
    with pytest.raises(ValueError, match="schema version"):
        serial.dump_messages([], turnkeep=2)


def test_fields_that_are_not_json_are_refused() -> None:
    """When saving and when loading."""
    with pytest.raises(errors.FormatError) as caught:
        serial.dump_messages([], budget={"a": float("nan")})
    assert caught.value.path == "$.budget.a"

    document = {"turnkeep": 1, "messages": [], "counts": [{1: 2}]}
    with pytest.raises(errors.FormatError) as caught:
        serial.load_messages(document)
    assert caught.value.path == "$.counts[0]"


@pytest.mark.parametrize(
    ("document", "path", "reason"),
    [
        ([], "$", "a document"),
        ({"messages": []}, "$.turnkeep", "found null"),
        ({"turnkeep": "1", "messages": []}, "$.turnkeep", "whole number"),
        ({"turnkeep": True, "messages": []}, "$.turnkeep", "whole number"),
        ({"turnkeep": 0, "messages": []}, "$.turnkeep", "no schema 0"),
        ({"turnkeep": 2, "messages": []}, "$.turnkeep", "newer turnkeep"),
        ({"turnkeep": 1}, "$.messages", "list of messages"),
        ({"turnkeep": 1, "messages": {}}, "$.messages", "list of messages"),
        (
            {"turnkeep": 1, "messages": [{"role": "user"}, {"role": "x" * 99}]},
            "$.messages[1].role",
            r"'x{40}'\.\.\.",
        ),
        (
            {"turnkeep": 1, "messages": [{"role": "user", "content": [{"type": []}]}]},
            "$.messages[0].content[0].type",
            "a list",
        ),
        (
            {"turnkeep": 1, "messages": [{"role": "user", "content": 5}]},
            "$.messages[0].content",
            "found 5",
        ),
    ],
)
def test_bad_documents_are_refused_with_a_path(
    document: Any, path: str, reason: str
) -> None:
    """One error, saying what was expected and what is there."""
    with pytest.raises(errors.FormatError, match=reason) as caught:
        serial.load_messages(document)

    assert caught.value.path == path


def test_ids_are_unique_in_a_document() -> None:
    """The second one is named."""
    entry = {"role": "user", "id": "m"}
    nameless = {"role": "user"}
    serial.load_messages({"turnkeep": 1, "messages": [nameless, entry, nameless]})

    with pytest.raises(errors.DuplicateIdError) as caught:
        serial.load_messages({"turnkeep": 1, "messages": [entry, entry, "no message"]})

    assert (caught.value.id, caught.value.path) == ("m", "$.messages[1].id")


def test_depth_of_values_is_limited() -> None:
    """`MAX_DEPTH` levels fit, in the deepest place there is; one more does not."""
    value: Any = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    message = Message.tool_result("c", [Json(value)])

    data = serial.dumps(serial.dump_messages([message]))

    assert serial.load_messages(serial.loads(data))[0] == [message]
    entry = {"role": "user", "content": [{"type": "json", "value": [value]}]}
    with pytest.raises(errors.FormatError, match="nested deeper"):
        serial.load_message(entry)


@pytest.mark.parametrize(
    "entry",
    [
        {"role": "user", "metadata": {serial.UNKNOWN: {"later": 1}}},
        {"role": "user", "metadata": {serial.UNKNOWN: 5}, "later": 1},
    ],
)
def test_the_reserved_key_cannot_be_smuggled_in(entry: Any) -> None:
    """Writing it back would not give the same again."""
    with pytest.raises(errors.FormatError, match="reserved") as caught:
        serial.load_message(entry)

    assert caught.value.path == f"$.metadata.{serial.UNKNOWN}"


def test_the_reserved_key_with_another_meaning_is_ordinary_metadata() -> None:
    """A host that uses it for something else gets it back."""
    entry = {"role": "user", "metadata": {serial.UNKNOWN: 5}}

    message = serial.load_message(entry)

    assert message.metadata == {serial.UNKNOWN: 5}
    assert serial.dump_message(message) == entry


def test_migrations_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of any version becomes one of today; the given one stays."""

    def second(doc: dict[str, Any]) -> dict[str, Any]:
        doc["messages"] = doc.pop("log")
        return doc

    def third(doc: dict[str, Any]) -> dict[str, Any]:
        return {**doc, "counts": {}}

    monkeypatch.setattr(_document, "SCHEMA", 3)
    monkeypatch.setattr(_document, "MIGRATIONS", {1: second, 2: third})
    old = {"turnkeep": 1, "log": [{"role": "user"}]}

    messages, rest = serial.load_messages(old)

    assert (messages, rest) == ([Message(Role.USER)], {"counts": {}})
    assert serial.migrate(old)["turnkeep"] == 3
    assert old == {"turnkeep": 1, "log": [{"role": "user"}]}


# Records


@attrs.frozen
class Inner:
    """A record inside another."""

    calls: int
    share: float = 1.0
    open: bool = False


@attrs.frozen
class Record:
    """A record with a field of every kind."""

    name: str
    inner: Inner | None = None
    messages: tuple[Message, ...] = ()
    since: datetime | None = None
    notes: FrozenDict = EMPTY
    block: Text | None = None
    blocks: tuple[Block, ...] = ()


def test_records_go_by_their_fields() -> None:
    """Defaults are left out; messages, blocks and times are those of our JSON."""
    record = Record(
        "x",
        Inner(3, 2.0),
        (Message.user("hi"),),
        datetime(2026, 1, 2, tzinfo=UTC),
        freeze({"a": 1}),
        Text("t"),
        (ToolCall("c", "f"),),
    )

    plain = serial.unstructure(record)

    assert json.loads(serial.dumps(plain)) == {
        "name": "x",
        "inner": {"calls": 3, "share": 2.0},
        "messages": [{"role": "user", "content": "hi"}],
        "since": "2026-01-02T00:00:00+00:00",
        "notes": {"a": 1},
        "block": {"type": "text", "text": "t"},
        "blocks": [{"type": "tool_call", "id": "c", "name": "f"}],
    }
    assert serial.structure(json.loads(serial.dumps(plain)), Record) == record
    assert serial.unstructure(Record("x")) == {"name": "x"}
    assert serial.structure({"calls": 1, "share": 2}, Inner) == Inner(1, 2)


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (5, "$.at", "an object, found 5"),
        ({"name": 5}, "$.at.name", "text, found 5"),
        ({"name": "x", "inner": {"calls": "1"}}, "$.at.inner.calls", "whole number"),
        ({"name": "x", "inner": {"calls": True}}, "$.at.inner.calls", "whole number"),
        (
            {"name": "x", "inner": {"calls": 1, "open": 0}},
            "$.at.inner.open",
            "true or false",
        ),
        ({"name": "x", "inner": {}}, "$.at.inner.calls", "missing"),
        ({"name": "x", "later": 1}, "$.at", "extra fields"),
        (
            {"name": "x", "messages": [{"role": "user"}, {"role": 1}]},
            "$.at.messages[1].role",
            "a role",
        ),
        ({"name": "x", "since": "soon"}, "$.at.since", "ISO 8601"),
        ({"name": "x", "notes": {"a": float("nan")}}, "$.at.notes.a", "nan"),
        (
            {"name": "x", "block": {"type": "json", "value": 1}},
            "$.at.block",
            "a block that is a Text",
        ),
        (
            {"name": "x", "blocks": [{"type": "text"}]},
            "$.at.blocks[0]",
            "needs 'text'",
        ),
    ],
)
def test_bad_records_are_refused_with_a_path(
    value: Any, path: str, reason: str
) -> None:
    """The paths of cattrs, joined with ours."""
    with pytest.raises(errors.FormatError, match=reason) as caught:
        serial.structure(value, Record, "$.at")

    assert caught.value.path == path


def test_a_bad_message_alone_is_refused_too() -> None:
    """Hooks at the root raise our error themselves."""
    with pytest.raises(errors.FormatError) as caught:
        serial.structure({"role": 1}, Message, "$.at")

    assert caught.value.path == "$.at.role"


def test_importing_it_does_not_import_cattrs() -> None:
    """Only `converter`, `structure` and `unstructure` need it."""
    code = (
        "import sys, turnkeep.serial as s; from turnkeep.model import Message;"
        "s.load_messages(s.loads(s.dumps(s.dump_messages([Message.user('x')]))));"
        "sys.exit('cattrs' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own code


def test_bulk_work_leaves_the_garbage_collector_as_it_was() -> None:
    """On or off, also after an error."""
    import gc

    def broken() -> Iterator[Message]:
        assert not gc.isenabled()
        yield Message.user("x")
        raise KeyError

    assert gc.isenabled()
    with pytest.raises(KeyError):
        serial.dump_messages(broken())
    assert gc.isenabled()
    gc.disable()
    try:
        serial.dump_messages([])
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_reference_names_every_field() -> None:
    """The tables of `docs/reference/json.md` are those of the code."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    fields = set(re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE))
    blocks = {
        tag: set(re.findall(r"`(\w+)`", row))
        for tag, row in re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", page, re.MULTILINE)
        if tag != "type"  # the head of the table
    }

    assert fields == serial.MESSAGE_FIELDS
    assert blocks == {
        tag: known - {"type", "extra"} for tag, known in serial.BLOCK_FIELDS.items()
    }
