"""Tests for the format `codex`: what its program writes, and known damage.

The numbers behind a repository's name are its issues, where that damage is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import open_messages

WHEN = "2026-01-02T03:04:05Z"


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": WHEN, "type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"timestamp": WHEN, "type": "event_msg", "payload": payload}


def asks(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return item(type="message", role="user", content=content, **more)


def says(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return item(type="message", role="assistant", content=content, **more)


def calls(call_id: str, **more: Any) -> dict[str, Any]:
    return item(type="function_call", call_id=call_id, name="f", arguments="{}", **more)


def returns(call_id: str, output: Any = "done") -> dict[str, Any]:
    return item(type="function_call_output", call_id=call_id, output=output)


def test_codex_without_a_header_is_read() -> None:
    """openai/codex#38341."""
    assert spoken([asks("hi"), says("yo")]) == ["user: hi", "assistant: yo"]


def test_codex_gives_a_line_that_was_written_twice_once() -> None:
    """openai/codex#45150: ordinals that are repeated, and some that are missing."""
    first, last = {"ordinal": 1, **asks("hi")}, {"ordinal": 4, **says("yo")}
    lines = [first, first, last]

    assert spoken(lines) == ["user: hi", "assistant: yo"]
    assert "1 line (written twice)" in notes_of(lines)
    assert "lines missing from the file, by its ordinals: 2" in notes_of(lines)


def test_codex_keeps_two_lines_of_one_ordinal() -> None:
    lines = [{"ordinal": 1, **asks("a")}, {"ordinal": 1, **asks("b")}]

    assert spoken(lines) == ["user: a", "user: b"]
    assert "two lines have the ordinal 1" in notes_of(lines)


def test_codex_gives_an_item_that_was_written_twice_once() -> None:
    """The API refuses two items under one id."""
    same = says("yo", id="msg_1")
    lines = [asks("hi"), same, same, says("other", id="msg_1")]

    assert spoken(lines) == ["user: hi", "assistant: yo", "assistant: other"]
    assert [entry.get("id") for entry in open_messages(lines)[1].entries] == [
        None,
        "msg_1",
        None,
    ]


def test_codex_answers_calls_that_were_given_up_as_it_does_itself() -> None:
    shell = item(type="local_shell_call", call_id="c3", action={"type": "exec"})
    custom = item(type="custom_tool_call", call_id="c2", name="patch", input="x")
    lines = [asks("go"), calls("c1"), custom, shell, asks("stop")]

    entries = open_messages(lines)[1].entries

    answers = [(e["type"], e["call_id"]) for e in entries if "output" in e]
    assert answers == [
        ("function_call_output", "c1"),
        ("custom_tool_call_output", "c2"),
        ("function_call_output", "c3"),
    ]
    assert {e["output"] for e in entries if "output" in e} == {"aborted"}


def test_codex_leaves_the_newest_calls_open() -> None:
    """They may still be running: what comes back is an answer, not a guess."""
    lines = [asks("go"), calls("c1"), calls("c2"), returns("c2")]

    assert spoken(lines)[-1] == "c2 = done"
    assert "calls without a result: 1 ('c1'); resumed, Codex" in notes_of(lines)


def test_codex_replaces_everything_by_the_newest_compaction() -> None:
    history = [asks("kept")["payload"], asks("the summary")["payload"]]
    compacted = {
        "timestamp": WHEN,
        "type": "compacted",
        "payload": {"message": "", "replacement_history": history},
    }
    lines = [asks("one"), compacted, says("two"), compacted, asks("three")]

    assert spoken(lines) == ["user: kept", "user: the summary", "user: three"]
    assert "4 items (replaced by a compaction)" in notes_of(lines)


def test_codex_rebuilds_an_old_compaction_and_says_so() -> None:
    old = {"timestamp": WHEN, "type": "compacted", "payload": {"message": "so far"}}

    assert spoken([asks("one"), says("x"), old, asks("two")]) == [
        "user: one",
        "user: so far",
        "user: two",
    ]
    assert "an old compaction" in notes_of([asks("one"), old])


def test_codex_refuses_a_compaction_that_is_elsewhere() -> None:
    payload = {"message": "", "replacement_history_entries": [{"type": "reference"}]}
    line = {"timestamp": WHEN, "type": "compacted", "payload": payload}

    with pytest.raises(FormatError, match="elsewhere") as caught:
        open_messages([asks("one"), line])

    assert caught.value.path == "$[1].payload.replacement_history_entries"


@pytest.mark.parametrize(
    ("turns", "left"),
    [(0, ["a", "b", "c"]), (1, ["a", "b"]), (2, ["a"]), (9, [])],
)
def test_codex_rolls_back_what_a_person_said(turns: int, left: list[str]) -> None:
    """What Codex itself says in a user's name is no turn."""
    environment = asks("<environment_context>x</environment_context>")
    lines = [
        asks("a"),
        asks("b"),
        environment,
        asks("c"),
        event(type="thread_rolled_back", num_turns=turns),
    ]

    found = [line for line in spoken(lines) if "environment" not in line]

    assert found == [f"user: {text}" for text in left]


def test_codex_knows_typed_items_by_their_kind() -> None:
    kinds = "internal_chat_message_metadata_passthrough"
    lines = [
        asks("a", **{kinds: {"content_item_kinds": ["user.text"]}}),
        asks("b", **{kinds: {"content_item_kinds": ["skills.list"]}}),
        event(type="thread_rolled_back", num_turns=1),
    ]

    assert spoken(lines) == []
    assert kinds not in str(open_messages(lines[:2])[1].entries)


def test_codex_reads_events_where_no_items_were_written() -> None:
    """Some releases wrote one layer only."""
    lines = [
        event(type="user_message", message="hi"),
        event(type="agent_message", message="yo"),
    ]

    assert spoken(lines) == ["user: hi", "assistant: yo"]
    assert "events only" in notes_of(lines)
    assert spoken([*lines, asks("hi")]) == ["user: hi"]


def test_codex_keeps_the_memory_of_its_server_and_unknown_items() -> None:
    memory = item(type="compaction", encrypted_content="gA")
    lines = [
        memory,
        item(type="unheard_of", x=1),
        item(type="ghost_snapshot"),
        asks("a"),
    ]

    kinds = [entry["type"] for entry in open_messages(lines)[1].entries]

    assert kinds == ["compaction", "unheard_of", "message"]


@pytest.mark.parametrize("turns", [None, True, -1, "1"])
def test_codex_refuses_a_number_of_turns_that_is_none(turns: object) -> None:
    back = event(type="thread_rolled_back", num_turns=turns)

    with pytest.raises(FormatError, match="must be a number of turns") as caught:
        open_messages([asks("a"), back])

    assert caught.value.path == "$[1].payload.num_turns"


def test_codex_skips_lines_that_it_does_not_know() -> None:
    lines = [asks("a"), {"timestamp": WHEN, "type": "session_meta", "payload": None}]

    assert spoken(lines) == ["user: a"]
    assert "1 line of bookkeeping" in notes_of(lines)


def test_codex_names_a_few_of_many_calls() -> None:
    lines = [asks("a"), *(calls(f"c{nth}") for nth in range(5)), asks("b")]

    assert "given up: 5 ('c0', 'c1', 'c2', ...)" in notes_of(lines)


def event_of(who: str, text: str) -> dict[str, Any]:
    return event(type=f"{who.lower()}_message", message=text)


def completed(who: str, text: str) -> dict[str, Any]:
    content = [{"type": "Text", "text": text}, {"type": "image"}]
    shown = {"type": f"{who}Message", "content": content}
    return event(type="item_completed", item=shown)


@pytest.mark.parametrize("said", [event_of, completed])
def test_codex_rolls_back_what_events_show(said: Callable[..., Any]) -> None:
    """Up to 0.146 an event for each text, from 0.147 on an item that is completed."""
    shell = event(type="item_completed", item={"type": "CommandExecution", "id": "c"})
    lines = [said("User", "a"), shell, said("Agent", "b"), said("User", "c")]

    assert spoken(lines) == ["user: a", "assistant: b", "user: c"]
    assert "events only" in notes_of(lines)
    back = event(type="thread_rolled_back", num_turns=1)
    assert spoken([*lines, back]) == ["user: a", "assistant: b"]


def test_codex_takes_a_user_from_events_where_no_item_has_one() -> None:
    """What Codex injects in a user's name is no text of the user's."""
    environment = asks("<environment_context>x</environment_context>")
    shown = event(type="user_message", message="hi")
    lines = [environment, shown, says("yo"), event(type="user_message", message="bye")]

    assert spoken(lines) == [
        *spoken([environment]),
        "user: hi",
        "assistant: yo",
        "user: bye",
    ]
    assert "events only, and is read from them" in notes_of(lines)
    back = event(type="thread_rolled_back", num_turns=2)
    assert spoken([*lines, back]) == spoken([environment])


def test_codex_leaves_out_results_whose_call_is_not_there() -> None:
    """As it does itself, a search that OpenAI answered excepted."""
    found = {"type": "tool_search_output", "call_id": "s", "tools": []}
    lines = [
        returns("gone"),
        item(**found, execution="client"),
        item(**{**found, "execution": "server"}),
        asks("a"),
        calls("c1"),
        item(type="custom_tool_call_output", call_id="c1", output="of another kind"),
        returns("c1"),
        says("b"),
    ]

    entries = open_messages(lines)[1].entries

    assert [entry["type"] for entry in entries] == [
        "tool_search_output",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
    assert "results without a call: 3 ('gone', 's', 'c1')" in notes_of(lines)


def test_codex_gives_halves_of_a_pair_that_were_written_twice_once() -> None:
    """An id that is used again for a new pair is no copy."""
    twice = [asks("a"), calls("c"), calls("c"), returns("c"), returns("c"), says("b")]

    assert len(spoken([*twice, calls("c"), returns("c")])) == 6
    assert "2 items (written twice)" in notes_of(twice)


def test_codex_answers_a_search_for_tools_that_was_given_up() -> None:
    search = {"type": "tool_search_call", "call_id": "s", "arguments": {"query": "x"}}
    lines = [item(**search, execution="client"), item(**search, execution="server")]

    entries = open_messages([*lines, asks("go on")])[1].entries

    assert [entry["type"] for entry in entries] == [
        "tool_search_call",
        "tool_search_output",
        "tool_search_call",
        "message",
    ]
    assert entries[1]["tools"] == []


def test_codex_spells_the_memory_of_its_server_as_the_api_does() -> None:
    lines = [item(type="compaction_summary", encrypted_content="gA"), asks("a")]

    assert open_messages(lines)[1].entries[0] == {
        "type": "compaction",
        "encrypted_content": "gA",
    }
