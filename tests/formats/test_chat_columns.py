"""Reading a long chat as columns says what decoding its messages says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import Entry, call, chats, result, say, user
from tests.paths import read_corpus
from tests.test_turns import state_of
from turnkeep.formats import get_format
from turnkeep.formats._chat_columns import sketch_chat
from turnkeep.turns import Grouping, entry_of, group_columns

ODD: list[dict[str, Any]] = [
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
    {"role": "assistant", "content": None},
    {"role": "assistant"},
    {"role": "assistant", "content": "x", "tool_calls": []},
    {"role": "assistant", "content": "x", "tool_calls": None},
    {"role": "developer", "content": "be brief", "name": "boss"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}], "id": "own"},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "r"}]},
    {"role": "tool", "tool_call_id": "a", "content": "[turnkeep:error]\nno"},
    {"role": "tool", "tool_call_id": "a", "content": "[turnkeep:interim]\nhalf"},
    {"role": "assistant", "function_call": {"name": "f", "arguments": ""}},
    {"role": "function", "name": "f", "content": "r"},
]


def decoded(entries: list[Any]) -> Grouping:
    """Grouped the ordinary way."""
    openai = get_format("openai")
    return Grouping(entry_of(m) for e in entries for m in openai.decode(e))


def agrees(entries: list[Any]) -> bool:
    """Whether the columns, where there are any, say the same."""
    sketch = sketch_chat(entries)
    if sketch is None:
        return False
    assert state_of(group_columns(sketch.columns)) == state_of(decoded(entries))
    assert dict(sketch.ids) == {n: e["id"] for n, e in enumerate(entries) if "id" in e}
    return True


@given(st.lists(chats(broken=True), min_size=1, max_size=3), st.data())
def test_columns_always_say_what_decoding_says(
    parts: list[list[Entry]], data: st.DataObject
) -> None:
    """With odd spellings strewn in."""
    entries = [
        {k: v for k, v in entry.items() if k not in ("id", "size")}
        for part in parts
        for entry in part
    ]
    for odd in data.draw(st.lists(st.sampled_from(ODD), max_size=3)):
        entries.insert(data.draw(st.integers(0, len(entries))), odd)

    try:
        agrees(entries)
    except (KeyError, ValueError):
        raise
    except Exception as error:
        if type(error).__name__ != "FormatError":
            raise


def test_plain_chats_are_read_as_columns() -> None:
    """The quick way is taken at all."""
    chat = [user(), call("a", "b"), result("a"), result("b"), say()] * 300

    assert agrees(chat)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "nobody", "content": ""},
        {"role": "user", "content": 7},
        {"content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "tool", "content": "x"},
        {"role": "tool", "tool_call_id": 7, "content": "x"},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": None}]},
        {"role": "assistant", "content": "x", "tool_calls": [7]},
        {"role": "assistant", "content": "x", "tool_calls": 7},
        ["role"],
        None,
    ],
)
def test_what_is_malformed_is_never_read_as_columns(wrong: Any) -> None:
    """So that decoding names it."""
    assert sketch_chat([user(), wrong, say()]) is None


@pytest.mark.corpus
def test_recorded_chats() -> None:
    """Every one of them, and most are read as columns."""
    read = 0
    for row in read_corpus("openai"):
        read += agrees(list(get_format("openai").open(row["body"]).entries))
    assert read > 400
