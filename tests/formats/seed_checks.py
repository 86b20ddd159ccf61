"""What the tests of the seeds' formats share: exactness, generated JSON, bad input."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from turnkeep import errors
from turnkeep.formats import get_format
from turnkeep.model import Message, freeze, same

texts = st.text(max_size=12) | st.sampled_from(
    [
        "",
        "hi",
        "[turnkeep:pending 02a2e08b]\nstarted",
        "tool error: no",
        "\ud800",
        "…\n",
    ]
)
names = st.sampled_from(["read_file", "w", "", "größe"])
numbers = st.integers(0, 2**40)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)
unknown = st.dictionaries(st.sampled_from(["x_new", "later"]), json_values, max_size=2)
times = st.sampled_from(
    [
        "2026-01-02T03:04:05.678Z",
        "2026-04-16T12:00:00-04:00",
        "2026-04-16T12:00:00.123456789+05:30",
        "1970-01-01T00:00:00Z",
        "2026-04-16T12:00:00+00:00",
    ]
)
base64s = st.sampled_from(
    ["", "AA==", "iVBORw0KGgo=", "/9j/4AAQ", "JVBERi0x", "UklGRg=="]
)


def assert_exact(name: str, entry: Any) -> tuple[Message, ...]:
    """Decoding and encoding gives the equal JSON value, and changes nothing."""
    before = json.dumps(entry)
    messages = get_format(name).decode(entry)
    again = get_format(name).encode(messages)

    assert len(again) == 1
    assert same(again[0], entry), f"{again[0]} != {entry}"
    assert json.loads(json.dumps(again)) == again
    assert json.dumps(entry) == before
    return messages


def assert_stays(name: str, message: Message) -> None:
    """*message*, written and read, is written the same again."""
    form = get_format(name)
    entries = form.encode([message])
    read = [m for entry in entries for m in form.decode(entry)]

    assert same(freeze(form.encode(read)), freeze(entries))


def assert_refused(name: str, entry: Any, path: str) -> None:
    """*entry* gives one error with *path*, and is not changed."""
    before = repr(entry)
    with pytest.raises(errors.FormatError) as caught:
        get_format(name).decode(entry, "$.messages[3]")

    assert caught.value.path == f"$.messages[3]{path}"
    assert str(caught.value).endswith(f"@ $.messages[3]{path}")
    assert caught.value.reason
    assert repr(entry) == before
