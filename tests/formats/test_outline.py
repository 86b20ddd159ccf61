"""Reading a long chat as columns says what decoding its messages says."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.chats import Entry, call, chats, placeholder, result, say, size, system, user
from tests.paths import read_corpus
from tests.test_turns import answers_of, in_blocks_of, state_of
from turnkeep import FormatError, LargestFirst, OldestTurns
from turnkeep.formats import get_format
from turnkeep.formats._chat._columns import sketch_chat
from turnkeep.formats._chat._format import ChatFormat
from turnkeep.formats._deepseek import DeepSeek
from turnkeep.formats._mistral import Mistral
from turnkeep.formats._openai import OpenAI
from turnkeep.model import BRIDGE
from turnkeep.turns import Grouping, entry_of, group_columns


class Words(str):
    """A text of a caller's own type."""

    __slots__ = ()


MANY = [f"c{nth}" for nth in range(40)]
OURS = f"{BRIDGE}\nSeen:"
OURS_IN_PARTS: list[Any] = [
    {"type": "text", "text": OURS},
    {"type": "text", "text": Words(OURS)},
    {"type": Words("text"), "text": OURS},
    OrderedDict(type="text", text=OURS),
    {"type": "refusal", "refusal": OURS},
]
"""First content parts that begin as messages of ours do."""
CUSTOM = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}
ODD: list[list[dict[str, Any]]] = [
    [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}],
    [{"role": "assistant", "content": None}],
    [{"role": "assistant"}],
    [{"role": "assistant", "content": "x", "tool_calls": []}],
    [{"role": "assistant", "content": "x", "tool_calls": None, "id": "quiet"}],
    [{"role": "assistant", "content": [{"type": "text", "text": "so"}]}],
    [{"role": "assistant", "content": None, "tool_calls": [CUSTOM], "id": "caller"}],
    [{"role": "developer", "content": "be brief", "name": "boss"}],
    [{"role": "system", "content": [{"type": "text", "text": "be brief"}]}],
    [{"role": "user", "content": [{"type": "text", "text": "hi"}], "id": "own"}],
    *([{"role": "user", "content": [part]}] for part in OURS_IN_PARTS),
    [{"role": "user", "content": OURS}],
    [{"role": "user", "content": Words(OURS)}],
    [{"role": "user", "content": []}],
    [{"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "r"}]}],
    [{"role": "tool", "tool_call_id": "a", "content": "[turnkeep:error]\nno"}],
    [{"role": "tool", "tool_call_id": "a", "content": "[turnkeep:interim]\nhalf"}],
    [{"role": "tool", "tool_call_id": "a", "content": "r", "name": "f", "id": "got"}],
    [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}],
    [{"role": "function", "name": "f", "content": "r"}],
    [call("a"), placeholder("a")],
    [call("a", "b"), result("a"), placeholder("b"), say(), result("b")],
    [call("a", "a"), result("a"), result("a"), result("a")],
    [call(*MANY), *map(result, MANY)],
    [call(*MANY), *map(result, MANY[:30]), user(), *map(result, MANY[30:])],
]
"""Neighbours that are spelled or paired in another way than most."""


WELL_FORMED = [odd for odd in ODD if odd not in (ODD[0], ODD[2])]
"""Those that decoding takes, wherever they stand."""


def decoded(entries: list[Any]) -> Grouping:
    """Grouped the ordinary way."""
    openai = get_format("openai")
    return Grouping(entry_of(m) for e in entries for m in openai.decode(e))


def agrees(entries: list[Any]) -> bool:
    """Whether the columns, where there are any, say the same."""
    sketch = sketch_chat(entries, OpenAI.dialect)
    if sketch is None:
        return False
    rows, columns = decoded(entries), group_columns(sketch.columns)
    assert answers_of(columns) == answers_of(rows)
    assert state_of(columns) == state_of(rows)
    found = dict(zip(sketch.id_at, sketch.ids, strict=True))
    assert found == {n: e["id"] for n, e in enumerate(entries) if "id" in e}
    return True


@given(
    st.lists(chats(broken=True), min_size=1, max_size=3), st.data(), st.integers(1, 9)
)
def test_columns_always_say_what_decoding_says(
    parts: list[list[Entry]], data: st.DataObject, block: int
) -> None:
    """With odd spellings strewn in, and wherever the blocks are parted."""
    entries = [
        {k: v for k, v in entry.items() if k not in ("id", "size")}
        for part in parts
        for entry in part
    ]
    for odd in data.draw(st.lists(st.sampled_from(ODD), max_size=3)):
        at = data.draw(st.integers(0, len(entries)))
        entries[at:at] = odd

    with in_blocks_of(block), contextlib.suppress(FormatError):
        agrees(entries)


def outcome(chat: list[Entry], tokens: int, options: dict[str, Any]) -> object:
    """Everything that a plan says, and the window; or the error's words."""
    try:
        plan = turnkeep.plan(
            chat, tokens, format="openai", token_counter=size, **options
        )
    except turnkeep.TurnkeepError as error:
        return type(error), str(error)
    window = turnkeep.fit(chat, tokens, format="openai", token_counter=size, **options)
    assert window == plan.apply(chat)
    shown = str(plan), plan.runs, plan.order, plan.moved, plan.warnings
    return shown, plan.tokens, plan.tokens_before, window


@given(
    st.lists(chats(broken=True), min_size=1, max_size=3),
    st.data(),
    st.integers(20, 600),
    st.integers(1, 9),
)
def test_plans_never_tell_how_a_chat_was_read(
    parts: list[list[Entry]], data: st.DataObject, tokens: int, block: int
) -> None:
    """The same decisions, windows, warnings and errors either way."""
    chat = [
        {k: v for k, v in entry.items() if k != "id"}
        for part in parts
        for entry in part
    ]
    for odd in data.draw(st.lists(st.sampled_from(WELL_FORMED), max_size=2)):
        at = data.draw(st.integers(0, len(chat)))
        chat[at:at] = odd
    named = data.draw(st.sets(st.integers(0, len(chat) - 1), max_size=4))
    for nth in named:
        chat[nth] = {**chat[nth], "id": f"m{nth % 7}"}
    options = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "pinned": st.lists(st.integers(0, len(chat) - 1), max_size=2),
                "pin_scope": st.sampled_from(["turn", "step"]),
                "pending": st.sampled_from([None, (), "a"]),
                "drop_system": st.booleans(),
                "on_invalid": st.sampled_from(["repair", "raise", "keep"]),
                "open_calls": st.sampled_from(["stand-in", "keep", "raise"]),
                "strategy": st.sampled_from([OldestTurns(), LargestFirst()]),
            },
        )
    )

    with in_blocks_of(block):
        quick = outcome(chat, tokens, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChatFormat, "sketch", lambda _self, _entries: None)
        ordinary = outcome(chat, tokens, options)

    assert quick == ordinary


@pytest.mark.parametrize("odd", ODD)
def test_odd_chats_are_read_as_decoding_reads_them(odd: list[Entry]) -> None:
    """Each of them amid what is usual, so that it decides alone."""
    usual = [user(), call("a", "b"), result("a"), result("b"), say()]

    with contextlib.suppress(FormatError):
        agrees([*usual, *odd, *usual])


def test_parallel_and_repeated_calls_are_read_as_columns() -> None:
    """Open, late and many calls are no reason to decode."""
    for odd in ODD[-5:]:
        assert agrees([user(), *odd, say()])


@pytest.mark.parametrize(
    "calls",
    [
        [{"id": "a"}],
        [{"id": "a", "function": "f"}],
        [{"id": "a", "type": "function", "function": {"name": 7}}],
        [{"id": "a", "type": "custom", "custom": None}],
    ],
)
def test_a_malformed_call_is_named_when_it_is_open(calls: Any) -> None:
    """Its name is asked for while columns are grouped: too early for an error."""
    chat = [user(), {"role": "assistant", "content": "", "tool_calls": calls}, user()]

    with pytest.raises(FormatError, match=r"@ \$\[1\]\.tool_calls\[0\]"):
        turnkeep.fit(chat, 1_000, format="openai", token_counter=lambda _: 1)


@pytest.mark.parametrize("part", OURS_IN_PARTS)
def test_messages_of_ours_in_the_users_name_are_never_read_as_columns(
    part: Any,
) -> None:
    """Only decoding tells them from what the user says, however they are spelled."""
    ours = {"role": "user", "content": [part, {"type": "text", "text": "more"}]}

    assert sketch_chat([user(), ours, say()], OpenAI.dialect) is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "hi"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ],
)
def test_parts_of_users_are_read_as_columns(part: Any) -> None:
    """Pictures are no reason to decode."""
    assert agrees([user(), {"role": "user", "content": [part]}, say()])


@pytest.mark.parametrize("fmt", [DeepSeek(), Mistral()])
def test_roles_of_other_dialects_are_refused_even_if_dropped(fmt: ChatFormat) -> None:
    """As decoding does."""
    chat = [user(), {"role": "developer", "content": "x"}, *[user(), say()] * 3]

    with pytest.raises(
        FormatError, match=r"unknown role 'developer'.* @ \$\[1\]\.role"
    ):
        turnkeep.fit(
            chat, 2, format=fmt.name, token_counter=lambda _: 1, drop_system=True
        )
    assert fmt.sketch([user(), system(), say()]) is not None


def test_plain_chats_are_read_as_columns() -> None:
    """The quick way is taken at all."""
    chat = [user(), call("a", "b"), result("a"), result("b"), say()] * 300

    assert agrees(chat)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "assistant", "content": 7},
        {"role": "system", "content": None},
        {"role": "tool", "tool_call_id": "a", "content": None},
        {"role": "tool", "tool_call_id": "a"},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": 7}] * 40},
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
    assert sketch_chat([user(), wrong, say()], OpenAI.dialect) is None


@pytest.mark.corpus
def test_recorded_chats() -> None:
    """Every one of them, and most are read as columns."""
    read = 0
    for row in read_corpus("openai"):
        read += agrees(list(get_format("openai").open(row["body"]).entries))
    assert read > 400
