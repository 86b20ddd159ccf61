"""Tests for reading what windows left out: the tool, and answers to its calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep import Budget, Conversation, ToolCall
from turnkeep.model import Message
from turnkeep.providers import PROVIDERS
from turnkeep.providers._tool_definitions import read_tools
from turnkeep.stores import SqliteStore
from turnkeep.strategies import ClearToolResults

GRAZ = 7


def orders(chat: Conversation, count: int = 60) -> Conversation:
    """A shop's chat; one order goes to Graz."""
    chat.system("Be brief.")
    for n in range(count):
        chat.user(f"Where is order {4700 + n} of customer mia_{n}?")
        call = ToolCall(f"c{n}", "find", {"id": 4700 + n})
        chat.assistant("", tool_calls=[call])
        city = "Graz" if n == GRAZ else "Bonn"
        chat.resolve(f"c{n}", f"order {4700 + n}\nto {city}\n" + "sent on 2 May\n" * 5)
        chat.assistant("It is on its way.")
    chat.user("Which order went to Graz?")
    return chat


@pytest.fixture
def chat() -> Conversation:
    """The same, with a window that holds a part of it."""
    made = orders(Conversation(budget=1_500, model="gpt-4o"))
    assert made.fit().pruned
    return made


def test_words_find_what_was_left_out(chat: Conversation) -> None:
    """Each line with the message that it stands in."""
    told = chat.read_archive({"words": "graz"})

    heading, line = told.splitlines()
    assert heading == "[the archive: lines that hold 'graz']"
    assert re.fullmatch(r"\d+ \[tool, msg-32\]: to Graz", line)


def test_a_message_is_read_by_its_id(chat: Conversation) -> None:
    """Whole, with the tool that answered."""
    told = chat.read_archive('{"reference": "msg-32", "last_line": 2}')

    assert told.splitlines()[1:3] == ["find: order 4707", "to Graz"]


def test_what_stands_in_the_window_is_not_in_the_archive(chat: Conversation) -> None:
    """Nor what came after that window: the model will see it."""
    last = chat.messages[-1]
    later = chat.user("And order 4709?")

    for message in (last, later, chat.messages[0]):
        told = chat.read_archive({"reference": message.id})
        assert told == (
            f"There is no message '{message.id}' in the archive of this conversation."
        )
    assert "No line of" in chat.read_archive({"words": "which went"})


def test_what_was_changed_is_read_as_it_was() -> None:
    """A cleared result is in the history still."""
    chat = orders(Conversation(model="gpt-4o"), 10)
    chat.budget = Budget(chat.fit(100_000).tokens - 1, target=0.8)
    chat.strategy = ClearToolResults(keep=1, placeholder="gone")
    plan = chat.fit().plan
    assert plan.edited
    assert not plan.dropped

    assert "to Graz" in chat.read_archive({"words": "graz"})


def test_nothing_left_out_is_said() -> None:
    """Before the first window, and where all fits."""
    fresh = orders(Conversation(budget=100_000, model="gpt-4o"))
    nothing = "Nothing has been left out of this conversation."

    assert fresh.read_archive({}) == nothing
    fresh.fit()
    assert fresh.read_archive({"words": "graz"}) == nothing


def test_what_people_alone_see_is_not_read() -> None:
    """A line on the screen is none of what was said to the model."""
    made = Conversation(budget=1_500, model="gpt-4o")
    made.append(Message.assistant("Saved 3 files to zebra.", kind="run_summary"))
    orders(made)
    made.fit()

    assert "No line of" in made.read_archive({"words": "zebra"})


def test_the_part_that_was_not_opened_is_read(tmp_path: Path) -> None:
    """A conversation of which only the newest part was read has an archive, too."""
    with SqliteStore(tmp_path / "chats.db") as store:
        orders(Conversation.open(store, "shop", model="gpt-4o"))
        chat = Conversation.open(store, "shop", tail=1_500, budget=1_500)
        chat.fit()
        assert not chat.is_whole

        told = chat.read_archive({"words": "graz"})

    assert "[tool, msg-32]: to Graz" in told


def test_all_parts_together_are_all_that_was_left_out(chat: Conversation) -> None:
    """Going on part after part shows every line once."""
    request: dict[str, Any] = {}
    told: list[str] = []
    while True:
        part = chat.read_archive(request, max_tokens=300)
        told.append(re.sub(r"\n\[more of it: after=\d+\]\Z", "", part))
        goes_on = re.search(r"after=(\d+)\]\Z", part)
        if goes_on is None:
            break
        request["after"] = int(goes_on[1])

    text = "".join(part.partition("]\n")[2] for part in told)
    assert re.findall(r"^\[\w+, (msg-\d+)\]$", text, re.MULTILINE) == [
        message.id for message in chat.archive
    ]


@given(
    arguments=st.dictionaries(
        st.sampled_from(["reference", "first_line", "last_line", "words", "after"]),
        st.one_of(
            st.integers(-1, 900),
            st.sampled_from(["msg-32", "on", "order 47", "to", "../msg-32", "(a+)+$"]),
            st.text(max_size=9),
        ),
    ),
    limit=st.integers(100, 1_000),
)
def test_answers_never_take_more_than_they_may(
    arguments: dict[str, Any], limit: int
) -> None:
    """As the conversation counts, whatever a model asks for."""
    chat = shared()
    told = chat.read_archive(arguments, max_tokens=limit)

    message = Message.tool_result("call", told, tool_name="tool")
    assert chat._ledger.counter.message(message) <= limit


_SHARED: list[Conversation] = []


def shared() -> Conversation:
    """One for all examples: nothing changes it."""
    if not _SHARED:
        _SHARED.append(orders(Conversation(budget=1_500, model="claude-sonnet-4-5")))
        _SHARED[0].fit()
    return _SHARED[0]


def test_ids_may_be_anything() -> None:
    """Line breaks in an id of a host's do not tear a line from its message."""
    made = Conversation(budget=1_500, model="gpt-4o")
    for nth in range(60):
        made.append(Message.user(f"zebra {nth}\n" + "x " * 40, id=f"a\n{nth}\r[b]"))
    made.fit()

    told = made.read_archive({"words": "zebra 3"})

    assert r" [user, a\n3\r[b]]: zebra 3" in told
    assert "zebra 3" in made.read_archive({"reference": "a\n3\r[b]"})


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_tool_is_ready_in_every_wire_shape(name: str) -> None:
    """In the conversation's format unless another is asked for; nothing is required."""
    tool = Conversation(format=name).archive_tool()

    assert tool == Conversation().archive_tool(name)
    tools: Any = {"tools": [tool]} if name == "bedrock" else [tool]
    (read,), _ = read_tools(tools)
    assert read.name == "read_archive"
    assert "required" not in read.schema
    assert json.dumps(tool)


def test_too_small_an_answer_is_refused(chat: Conversation) -> None:
    """Headings and sentences need some room."""
    with pytest.raises(ValueError, match="max_tokens must be at least 100, not 99"):
        chat.read_archive({}, max_tokens=99)
