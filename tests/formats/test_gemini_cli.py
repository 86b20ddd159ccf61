"""Tests for the format `gemini-cli`: what its program writes, and known damage.

The numbers behind a repository's name are its issues, where that damage is reported.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.formats import open_messages

WHEN = "2026-01-02T03:04:05Z"
HEAD = {"sessionId": "s", "projectHash": "h"}


def entry(entry_id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": entry_id, "type": kind, "timestamp": WHEN, "content": content, **more}


def answered(*ids: str) -> list[dict[str, Any]]:
    return [
        {"functionResponse": {"id": i, "name": "f", "response": {"output": i}}}
        for i in ids
    ]


def tool(call_id: str, *results: str, **more: Any) -> dict[str, Any]:
    found = {"result": answered(*results)} if results else {}
    return {"id": call_id, "name": "f", "args": {}, **found, **more}


def test_gemini_cli_takes_the_newest_writing_of_an_entry_in_its_first_place() -> None:
    lines = [
        HEAD,
        entry("a", "user", "hi"),
        entry("b", "gemini", "He"),
        entry("c", "user", "more"),
        entry("b", "gemini", "Hello"),
    ]

    assert spoken(lines) == ["user: hi", "assistant: Hello", "user: more"]


@pytest.mark.parametrize(
    ("target", "left"), [("b", ["user: a"]), ("nobody", []), (7, [])]
)
def test_gemini_cli_rewinds(target: Any, left: list[str]) -> None:
    """An unknown id takes everything back, as the program does."""
    lines = [HEAD, entry("a", "user", "a"), entry("b", "user", "b")]

    assert spoken([*lines, {"$rewindTo": target}]) == left


def test_gemini_cli_sets_messages_anew() -> None:
    change = {"$set": {"messages": [entry("z", "user", "z")], "summary": "x"}}
    lines = [HEAD, entry("a", "user", "a"), change, {"$set": {"summary": "y"}}]

    assert spoken(lines) == ["user: z"]


def test_gemini_cli_gives_each_result_once() -> None:
    """google-gemini/gemini-cli#29365: each resume writes them once more.

    The calls of a parallel round each hold the answers of all of them, too.
    """
    both = [tool("c1", "c1", "c2"), tool("c2", "c1", "c2")]
    lines = [
        HEAD,
        entry("a", "user", "go"),
        entry("b", "gemini", "", toolCalls=both),
        entry("b_response", "user", answered("c1", "c2", "c1", "c2")),
        entry("c", "user", answered("c1", "c2")),
        entry("d", "gemini", "", toolCalls=both),
    ]

    assert spoken(lines) == [
        "user: go",
        "assistant: f(c1) f(c2)",
        "c1 = c1",
        "c2 = c2",
        "assistant: f(c1) f(c2)",
        "c1 = c1",
        "c2 = c2",
    ]


def test_gemini_cli_adds_no_calls_to_parts_that_have_them() -> None:
    part = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    lines = [HEAD, entry("b", "gemini", [part], toolCalls=[tool("c1", "c1")])]

    assert spoken(lines) == ["assistant: f(c1)", "c1 = c1"]


def test_gemini_cli_leaves_a_cancelled_call_open() -> None:
    lines = [HEAD, entry("b", "gemini", "Hm.", toolCalls=[tool("c1")])]

    assert spoken(lines) == ["assistant: Hm. f(c1)"]
    assert "calls without a result: 1" in notes_of(lines)


@pytest.mark.parametrize(
    "text", ["/clear", "?", "<session_context>x", "<hook_context>"]
)
def test_gemini_cli_leaves_out_what_it_makes_anew(text: str) -> None:
    lines = [HEAD, entry("a", "user", [{"text": text}]), entry("b", "user", "hi")]

    assert spoken(lines) == ["user: hi"]


def test_gemini_cli_takes_results_that_are_text() -> None:
    call = {"id": "c1", "name": "f", "args": {}, "result": "fine"}
    lines = [HEAD, entry("b", "gemini", "", toolCalls=[call])]

    assert spoken(lines)[-1] == "c1 = fine"


def test_gemini_cli_content_in_every_shape() -> None:
    """A text, a part, a list of either, nothing; entries of no type that we know."""
    lines = [
        HEAD,
        entry("a", "user", {"text": "part"}),
        entry("b", "gemini", ["text", {"text": "part"}]),
        entry("c", "user", None),
        entry("d", "unheard", "x"),
        {"type": "user", "content": "no id"},
    ]

    assert spoken(lines) == ["user: part", "assistant: text part", "user: no id"]
    assert "1 entry of an unknown type" in notes_of(lines)


def test_gemini_cli_is_known_by_a_rewind_without_its_header() -> None:
    assert spoken([{"$rewindTo": "x"}, entry("a", "user", "a")]) == ["user: a"]


def test_gemini_cli_keeps_what_a_user_adds_to_results() -> None:
    """One of two results in the entry, the other one at its call only."""
    lines = [
        HEAD,
        entry("b", "gemini", "", toolCalls=[tool("c1", "c1"), tool("c2", "c2")]),
        entry("c", "user", [*answered("c1"), {"text": "and?"}]),
    ]

    assert spoken(lines)[1:] == ["c1 = c1", "c2 = c2", "user: and?"]


def test_gemini_cli_skips_parts_of_a_result_that_are_none() -> None:
    call = tool("c1")
    call["result"] = [7, *answered("c1"), {"text": "more"}, *answered("c2")]

    (_, content) = open_messages([HEAD, entry("b", "gemini", "x", toolCalls=[call])])[
        1
    ].entries

    assert content["parts"] == [*answered("c1"), {"text": "more"}]


def test_gemini_cli_gives_a_result_once_that_comes_after_the_next_turn() -> None:
    """google-gemini/gemini-cli#29365; an id that a later turn uses again is no copy."""
    first = entry("b", "gemini", "one", toolCalls=[tool("c1", "c1")])
    again = entry("f", "gemini", "two", toolCalls=[tool("c1", "c1")])
    late = entry("e", "user", answered("c1"))
    lines = [
        HEAD,
        first,
        entry("c", "user", answered("c1")),
        entry("d", "gemini", "so"),
        late,
        again,
        entry("g", "user", answered("c1")),
    ]

    assert spoken(lines) == [
        "assistant: one f(c1)",
        "c1 = c1",
        "assistant: so",
        "assistant: two f(c1)",
        "c1 = c1",
    ]
    assert "1 result (written twice)" in notes_of(lines)


def test_gemini_cli_gives_results_of_calls_without_an_id() -> None:
    """They stand at their calls, and may come once more in the next entry."""
    nameless = [{"functionResponse": {"name": "f", "response": {"output": "z"}}}]
    tools = [{"name": "f", "args": {}, "result": nameless}] * 2
    lines = [HEAD, entry("a", "gemini", "x", toolCalls=tools)]
    done = entry("c", "gemini", "ok")

    for given in ([], nameless, nameless * 2):
        entries = [*lines, *([entry("b", "user", given)] if given else []), done]
        contents = open_messages(entries)[1].entries
        assert [len(content["parts"]) for content in contents] == [3, 2, 1]


@pytest.mark.parametrize(
    "mark", [{"$set": {"lastUpdated": WHEN}}, entry("b", "gemini", "yo")]
)
def test_gemini_cli_is_known_where_its_header_is_torn_off(mark: dict[str, Any]) -> None:
    assert spoken([entry("a", "user", "hi"), mark])[0] == "user: hi"
