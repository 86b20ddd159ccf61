"""Tests for `turnkeep.Offload`: what stands in the window, and what is read back."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import call, result, system, user
from turnkeep import (
    Budget,
    Conversation,
    Conversations,
    Offload,
    ToolCall,
    convert,
    fit,
    plan,
)
from turnkeep.formats import get_format
from turnkeep.model import OFFLOADED, Message, marker_of
from turnkeep.providers import PROVIDERS
from turnkeep.providers._tool_definitions import read_tools
from turnkeep.stores import JsonlStore, SqliteStore
from turnkeep.strategies import OldestTurns, by_name
from turnkeep.strategies._offload import reference_in
from turnkeep.tokens import request_counter

LOG = "".join(
    f"{n:04} request {n * 7919 % 10_007} took {n % 97} ms\n" for n in range(900)
)
OPENAI = get_format("openai")


@attrs.frozen
class Shelf:
    """Texts in memory, and how often each was put."""

    texts: dict[tuple[str, str], str] = attrs.field(factory=dict)
    puts: list[str] = attrs.field(factory=list)

    def put_text(self, conversation_id: str, name: str, text: str) -> None:
        """Keep it."""
        self.puts.append(name)
        self.texts.setdefault((conversation_id, name), text)

    def read_text(self, conversation_id: str, name: str) -> str | None:
        """Find it."""
        return self.texts.get((conversation_id, name))


def session(*texts: str) -> list[dict[str, Any]]:
    """A chat in which a tool answered with each text, and a last question."""
    made = [system("Be brief."), user("look into it")]
    for nth, text in enumerate(texts):
        made += [call(f"c{nth}"), result(f"c{nth}", text)]
    return [*made, user("and now?")]


def fitted(chat: list[dict[str, Any]], offload: Offload, size: int = 3_000) -> Any:
    """The window of a list."""
    return fit(chat, size, model="gpt-4o", strategy=offload)


def reference_of(chat: list[Any], nth: int = 3) -> str:
    """The reference that an entry has in its result's place."""
    (message,) = OPENAI.decode(chat[nth])
    found = reference_in(message.tool_results[0])
    assert found is not None
    return found


def test_a_large_result_leaves_its_beginning_its_end_and_a_reference() -> None:
    """Everything else is sent as it is."""
    offload, chat = Offload(Shelf(), 300, 120), session(LOG)

    sent = fitted(chat, offload)

    text = sent[3]["content"]
    assert marker_of(text) == OFFLOADED
    assert re.search(
        r"^\[Offloaded as [0-9a-f]{16}: 900 lines, 2\d,\d+ char", text, re.MULTILINE
    )
    assert LOG.splitlines()[0] in text
    assert text.endswith(LOG.splitlines()[-1])
    assert sent[:3] == chat[:3]
    assert sent[4:] == chat[4:]


def test_planning_writes_nothing(tmp_path: Path) -> None:
    """The text is written when the plan is applied, once, before it is referred to."""
    offload, chat = Offload(tmp_path / "texts", 300, 120), session(LOG)

    made = plan(chat, 3_000, model="gpt-4o", strategy=offload)
    assert not (tmp_path / "texts").exists()
    assert [d.cause for d in made.edited] == ["offloaded"]
    assert "a reference stands for it" in made.explain(3)

    sent = made.apply(chat)
    (file,) = (tmp_path / "texts").rglob("*.txt")
    assert file.stem == reference_of(sent)
    assert file.read_text() == LOG
    assert file.stat().st_mode & 0o077 == 0


def test_a_pickled_plan_has_written_what_it_refers_to() -> None:
    """Whoever loads it may apply it."""
    shelf = Shelf()
    made = plan(
        [m for e in session(LOG) for m in OPENAI.decode(e)],
        3_000,
        model="gpt-4o",
        strategy=Offload(shelf, 300, 120),
    )

    pickle.dumps(made)

    assert list(shelf.texts.values()) == [LOG]


def test_conversations_write_when_a_window_is_read() -> None:
    """Neither `fit` writes, nor appending behind a window; reading does, once."""
    shelf = Shelf()
    chat = Conversation(budget=3_000, model="gpt-4o", strategy=Offload(shelf, 300, 120))
    chat.extend(session(LOG))

    window = chat.fit()
    assert window.pruned
    chat.assistant("It is fine.")
    chat.user("Thanks. Again?")
    assert not shelf.puts

    later = chat.fit()
    assert reference_of(later.encode()["messages"]) in shelf.puts
    window.encode()
    chat.fit().encode()
    assert len(shelf.puts) == 1


def test_afit_writes_off_the_loop() -> None:
    """What it returns can be encoded without waiting."""
    shelf = Shelf()
    chat = Conversation(budget=3_000, model="gpt-4o", strategy=Offload(shelf, 300, 120))
    chat.extend(session(LOG))

    asyncio.run(chat.afit())

    assert len(shelf.puts) == 1


def test_a_failed_write_hands_out_nothing() -> None:
    """The window is an error until the store works again."""

    class Full(Shelf):
        full = True

        def put_text(self, conversation_id: str, name: str, text: str) -> None:
            if self.full:
                msg = "disk full"
                raise OSError(msg)
            super().put_text(conversation_id, name, text)

    shelf = Full()
    chat = Conversation(budget=3_000, model="gpt-4o", strategy=Offload(shelf, 300, 120))
    chat.extend(session(LOG))
    window = chat.fit()

    with pytest.raises(OSError, match="disk full"):
        window.encode()
    Full.full = False
    window.encode()
    assert len(shelf.texts) == 1


def test_a_larger_budget_brings_it_back() -> None:
    """P7: the history keeps the text, whatever the store does."""
    chat = Conversation(
        budget=3_000, model="gpt-4o", strategy=Offload(Shelf(), 300, 120)
    )
    chat.extend(session(LOG))
    assert chat.fit().pruned

    whole = chat.fit(100_000)

    assert [m.text for m in whole.messages if m.tool_results] == [LOG]


def test_what_the_model_has_not_read_stays_whole_as_long_as_it_fits() -> None:
    """It asked for it; older results are moved."""
    offload = Offload(Shelf(), 300, 120)
    new = LOG[:12_000]
    chat = [*session(LOG)[:-1], call("new"), result("new", new)]
    budget = Budget(10_000, target=0.1)

    made = plan(chat, budget=budget, model="gpt-4o", strategy=offload)
    sent = made.apply(chat)
    tight = fitted(chat, offload, 3_000)

    assert [marker_of(m["content"]) for m in sent if m["role"] == "tool"] == [
        OFFLOADED,
        None,
    ]
    assert marker_of(tight[-1]["content"]) == OFFLOADED


def test_windows_and_references_are_the_same_everywhere() -> None:
    """P9: in another process, and where a window is fitted again."""
    chat = session(LOG, LOG[:-30])

    first = fitted(chat, Offload(Shelf(), 300, 120))
    again = fitted(chat, Offload(Shelf(), 300, 120))

    assert first == again
    assert fitted(first, Offload(Shelf(), 300, 120)) == first


def test_a_growing_log_keeps_its_prefix() -> None:
    """Stable: below a target of 1, older results are offloaded to the same bytes."""
    offload = Offload(Shelf(), 300, 120)
    budget = Budget(20_000, target=0.6)
    chat: list[dict[str, Any]] = [user("look into it")]
    windows: list[list[Any]] = []
    for nth in range(24):
        chat += [call(f"c{nth}"), result(f"c{nth}", f"{nth}\n{LOG[: 3_000 + nth]}")]
        windows.append(fit(chat, budget=budget, model="gpt-4o", strategy=offload))

    kept = sum(b[: len(a) - 1] == a[:-1] for a, b in pairwise(windows))

    assert offload.stable
    assert any("turnkeep:offloaded" in str(w) for w in windows)
    assert kept >= len(windows) - 4


@pytest.mark.parametrize("name", PROVIDERS)
def test_it_is_recognised_in_every_format(name: str) -> None:
    """Never a question, a turn, or offloaded again, wherever the window is read."""
    source = [
        Message.user("look into it"),
        Message.assistant("", tool_calls=[ToolCall("call_00001", "read", {"n": 1})]),
        Message.tool_result("call_00001", LOG, tool_name="read"),
        Message.assistant("so"),
        Message.user("and now?"),
    ]
    chat = convert(source, to=name).value
    offload = Offload(Shelf(), 300, 120)

    sent = fit(chat, 3_000, format=name, strategy=offload)
    made = plan(sent, 3_000, format=name, strategy=offload)

    assert "turnkeep:offloaded" in json.dumps(sent)
    assert made.apply(sent) == sent
    assert not made.edited
    texts = convert(sent, to="messages", format=name).value
    assert [m.role for m in texts].count("user") == 2


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_tool_is_ready_in_every_wire_shape(name: str) -> None:
    """It says the same everywhere, and stands in the list of a request's tools."""
    tool = Offload(Shelf()).tool(name)

    tools: Any = {"tools": [tool]} if name == "bedrock" else [tool]
    (read,), others = read_tools(tools)
    assert not others
    assert read.name == "read_offloaded"
    assert read.schema["required"] == ["reference"]
    assert {"first_line", "last_line", "words", "after"} < set(
        read.schema["properties"]
    )


def test_formats_without_tools_are_named() -> None:
    """A format of records has no requests."""
    with pytest.raises(
        ValueError, match="no tools in format 'orion'; there are openai"
    ):
        Offload(Shelf()).tool("orion")


# -- reading back ----------------------------------------------------------------------


def offloaded(text: str = LOG, **options: Any) -> tuple[Offload, str]:
    """A strategy that has offloaded *text*, and the reference."""
    offload = Offload(Shelf(), 600, 120, **options)
    return offload, reference_of(fitted(session(text), offload))


def test_lines_are_read_as_they_are() -> None:
    """By their numbers, from 1, ends included."""
    offload, reference = offloaded()

    told = offload.call({"reference": reference, "first_line": 5, "last_line": 6})

    heading, _, body = told.partition("\n")
    assert heading.startswith(f"[{reference}: lines 5 to 6 of 900, characters ")
    assert body == "".join(LOG.splitlines(keepends=True)[4:6])


def test_words_find_lines() -> None:
    """All of them, in any case; each with its number."""
    offload, reference = offloaded()

    told = offload.call(f'{{"reference": "{reference}", "words": "REQUEST 0007"}}')

    assert told.splitlines()[1] == "8: 0007 request 5398 took 7 ms"
    assert len(told.splitlines()) == 2
    missing = offload.call({"reference": reference, "words": "kangaroo"})
    assert missing == f"No line of {reference} holds 'kangaroo'."


def parts(offload: Offload, reference: str, **more: Any) -> list[str]:
    """All parts, as a model goes through them."""
    found: list[str] = []
    request = {"reference": reference, **more}
    while True:
        told = offload.call(request)
        found.append(told)
        goes_on = re.search(r"after=(\d+)\]$", told)
        if goes_on is None:
            return found
        request["after"] = int(goes_on[1])


texts = st.one_of(
    st.just(LOG),
    st.just("one line without an end " * 400),
    st.just(json.dumps([{"id": n, "name": f"user {n}"} for n in range(600)])),
    st.just("字" * 5_000),
    st.just("\x0b\x1c\u2028" * 3_000),
    st.text(min_size=1, max_size=40).map(lambda text: text * 200),
)


@given(text=texts)
def test_all_parts_together_are_the_text(text: str) -> None:
    """Going on part after part shows every character once."""
    shelf = Shelf()
    offload = Offload(shelf, 600, 120)
    shelf.put_text("main", "0" * 16, text)

    told = parts(offload, "0" * 16)

    body = [re.sub(r"\n\[more of it: after=\d+\]\Z", "", one) for one in told]
    assert "".join(one.partition("]\n")[2] for one in body) == text


COUNTERS = [request_counter(format=name) for name in PROVIDERS]


@given(
    text=texts, words=st.sampled_from([None, "e", "user name", "字", "line without"])
)
def test_answers_are_always_smaller_than_what_is_offloaded(
    text: str, words: str | None
) -> None:
    """By every counter of ours, whatever the text is."""
    shelf = Shelf()
    offload = Offload(shelf, 200, 60)
    shelf.put_text("main", "0" * 16, text)
    more = {} if words is None else {"words": words}

    told = parts(offload, "0" * 16, **more)[:40]

    for one in told:
        message = Message.tool_result("call_00001", one, tool_name="read_offloaded")
        assert all(c.message(message) < offload.min_tokens for c in COUNTERS)


def test_answers_are_never_offloaded() -> None:
    """Nor would they be if they were large: they are known by their tool."""
    entry = call("c9")
    entry["tool_calls"][0]["function"]["name"] = "read_offloaded"
    chat = [*session(LOG)[:-1], entry, result("c9", LOG[:9_000]), user("so?")]

    sent = fitted(chat, Offload(Shelf(), 300, 120), 6_000)

    assert marker_of(sent[3]["content"]) == OFFLOADED
    assert sent[5]["content"] == LOG[:9_000]


HOSTILE: list[Any] = [
    "../../etc/passwd",
    "/etc/passwd",
    "0" * 17,
    "0" * 15 + "\n",
    "0" * 16 + "/../x",
    "..",
    "",
    "\0" * 16,
    "\ud800",
    "%2e%2e%2f",
    "C:\\secrets",
    "ABCDEF0123456789",
    "x" * 100_000,
]


@pytest.mark.parametrize("reference", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_reference_is_said_in_a_sentence(
    reference: str, tmp_path: Path
) -> None:
    """And never becomes a path."""
    (tmp_path / "secret.txt").write_text("secret")
    offload = Offload(tmp_path / "texts", 300, 120)

    told = offload.call({"reference": reference})

    assert told.startswith("There is no offloaded result ")
    assert told.endswith(" in this conversation.")
    assert len(told) < 200
    assert not (tmp_path / "texts").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"first_line": 10**30}, "has 900 lines; there is no line 1,000,000,000,000."),
        ({"first_line": 901}, "has 900 lines; there is no line 901."),
        ({"first_line": 0}, "first_line must be a whole number from 1 on, not 0."),
        ({"first_line": -3}, "first_line must be a whole number from 1 on, not -3."),
        ({"first_line": 1.5}, "first_line must be a whole number from 1 on, not 1.5."),
        ({"first_line": True}, "must be a whole number from 1 on, not True."),
        (
            {"last_line": "ten"},
            "last_line must be a whole number from 1 on, not 'ten'.",
        ),
        (
            {"first_line": 9, "last_line": 3},
            "last_line is 3, which is before first_line",
        ),
        ({"after": 10**9}, "That was the last part of "),
        ({"after": float("nan")}, "after must be a whole number from 0 on, not nan."),
        ({"words": ["a"]}, "words must be a text, not ['a']."),
        ({"words": "(a+)+$" * 30}, "words takes at most 20 words of at most 100 char"),
        ({"words": "w " * 21}, "words takes at most 20 words of at most 100 char"),
        ({"words": "(a+)+$"}, "holds '(a+)+$'."),
        ({"words": "[" * 50}, "No line of "),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(
    arguments: dict[str, Any], told: str
) -> None:
    """Numbers out of all bounds, patterns, other types; nothing is raised."""
    offload, reference = offloaded()

    said = offload.call({"reference": reference, **arguments})

    assert told in said
    assert said.count("\n") == 0
    assert said.endswith(".")


@pytest.mark.parametrize(
    "arguments", [None, 3, "", "{", "[]", "[" * 100_000, b"\xff", '{"a":' + "9" * 9_999]
)
def test_arguments_that_are_no_object_are_said(arguments: Any) -> None:
    """As models write them when they are cut off."""
    assert Offload(Shelf()).call(arguments) == "The arguments are not a JSON object."


@given(
    arguments=st.dictionaries(
        st.sampled_from(
            ["reference", "first_line", "last_line", "words", "after", "x"]
        ),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(),
            st.lists(st.integers()),
            st.just("0" * 16),
        ),
    )
)
def test_calls_are_always_answered(arguments: dict[str, Any]) -> None:
    """Whatever a model writes."""
    shelf = Shelf()
    shelf.put_text("main", "0" * 16, LOG)
    offload = Offload(shelf, 600, 120)

    told = offload.call({"reference": "0" * 16, **arguments})

    assert told
    assert len(told) < 3_000


def test_a_reference_is_valid_in_its_conversation_only(tmp_path: Path) -> None:
    """Where two share a store, neither reads the other's, by no name of theirs."""
    names = ["anna", "berta", "../anna", "anna/", "ANNA"]
    made = [Offload(tmp_path, 300, 120, conversation=name) for name in names]
    chats = [fitted(session(LOG), offload) for offload in made]
    references = list(map(reference_of, chats))

    for nth, offload in enumerate(made):
        for other, reference in enumerate(references):
            told = offload.call({"reference": reference})
            assert told.startswith("There is no ") == (nth != other)
    assert all(tmp_path in path.parents for path in tmp_path.rglob("*"))


def test_each_of_many_conversations_has_references_of_its_own() -> None:
    """`Conversations` makes the strategy each one's own, wherever in it it stands."""
    shelf = Shelf()
    offload = Offload(shelf, 300, 120)
    chats = Conversations(
        budget=3_000, model="gpt-4o", strategy=offload | OldestTurns()
    )
    names = ["anna", "berta", "", "x" * 1_000]
    references: list[str] = []
    for name in names:
        chats[name].extend(session(LOG))
        references.append(reference_of(chats[name].fit().encode()["messages"]))

    for nth, name in enumerate(names):
        own = offload.for_conversation(name)
        assert chats[name].strategy == own | OldestTurns()
        for other, reference in enumerate(references):
            told = own.call({"reference": reference})
            assert told.startswith("There is no ") == (nth != other)
    assert offload.call({"reference": references[0]}).startswith("There is no ")


def test_calls_are_taken_as_they_come() -> None:
    """A `ToolCall`, JSON text or a mapping; awaited too."""
    offload, reference = offloaded()
    request = {"reference": f" {reference} ", "first_line": "3", "last_line": 3.0}

    told = offload.call(request)

    assert told == offload.call(json.dumps(request))
    assert told == offload.call(ToolCall("c", "read_offloaded", json.dumps(request)))
    assert told == asyncio.run(offload.acall(request))


# -- where texts are -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
def test_stores_keep_texts(kind: Any, tmp_path: Path) -> None:
    """In a conversation of their own, beside the one they belong to."""
    with kind(tmp_path / "store") as store:
        chat = Conversation.open(store, "chat-7", budget=3_000, model="gpt-4o")
        chat.strategy = Offload(store, 300, 120, conversation="chat-7")
        chat.extend(session(LOG))
        reference = reference_of(chat.fit().encode()["messages"])

        told = chat.strategy.call({"reference": reference, "words": "0899"})

        assert "900: 0899 request" in told
        names = {info.id for info in store.conversations()}
        assert names == {"chat-7", "offloaded:chat-7"}


def test_texts_come_back_byte_for_byte(tmp_path: Path) -> None:
    """Lone surrogates, NULs in lines and line ends of all kinds."""
    text = "a\r\nb\rc\u2028d\ud800e" + LOG
    offload = Offload(tmp_path, 300, 120)
    shown = reference_of(fitted(session(text), offload))

    assert offload._shelf.read_text("main", shown) == text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"store": 5}, "store must be a folder or a store such as"),
        ({"store": ""}, "store must be a folder or a store such as"),
        ({"store": SqliteStore}, "store must be a folder or a store such as"),
        ({"min_tokens": 199}, "min_tokens must be at least 200"),
        ({"preview": 59}, "preview must be at least 60"),
        ({"preview": 300}, r"preview must be smaller than min_tokens \(300\)"),
        ({"conversation": ""}, "conversation must be a text of 1 to 400 characters"),
        ({"tool_name": ""}, "tool_name must be the name of a tool"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], told: str) -> None:
    """What it is, and what it must be."""
    given = {"store": Shelf(), "min_tokens": 300, "preview": 120, **options}

    with pytest.raises((TypeError, ValueError), match=told):
        Offload(**given)


def test_the_command_line_knows_it(tmp_path: Path) -> None:
    """By the name that it has there, composed with others."""
    made = by_name(f"offload:store={tmp_path},min_tokens=900 | oldest-turns")

    assert made == Offload(str(tmp_path), 900) | OldestTurns()


def test_in_a_composition_texts_are_written(tmp_path: Path) -> None:
    """Wherever in it the strategy stands."""
    offload = f"offload:store={tmp_path},min_tokens=300,preview=90"
    spec = f"keep-recent:share=0.1,rest=({offload})"
    chat = session(*(f"{nth}\n{LOG}" for nth in range(4)))

    sent = fit(chat, 20_000, model="gpt-4o", strategy=by_name(spec))

    shown = [m for m in sent if marker_of(str(m.get("content"))) == OFFLOADED]
    assert shown
    assert len(list(tmp_path.rglob("*.txt"))) == len(shown)


def test_the_limit_shortens_a_preview_and_keeps_its_reference() -> None:
    """Where even previews do not fit, the references are the last to stay."""
    offload = Offload(Shelf(), 600, 500)
    chat = [
        user("go"),
        *[
            entry
            for nth in range(3)
            for entry in (call(f"c{nth}"), result(f"c{nth}", f"{nth}\n{LOG}"))
        ],
    ]
    whole = fit(chat, 2_000, model="gpt-4o", strategy=offload)

    tight = fit(chat[:1] + chat[-2:], 300, model="gpt-4o", strategy=offload)

    markers = [marker_of(m["content"]) for m in whole if m["role"] == "tool"]
    assert markers == [OFFLOADED] * 3
    assert reference_of(tight, 2) == reference_of(whole, len(whole) - 1)
