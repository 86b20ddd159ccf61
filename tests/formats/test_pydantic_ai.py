"""Tests for the format `pydantic-ai`: recorded messages, and the package's own objects.

`tests/data/frameworks/record_pydantic_ai.py` made what is recorded. Tests with objects
need pydantic-ai-slim, and are skipped without it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import turnkeep
from tests.paths import DATA
from turnkeep.errors import FormatError
from turnkeep.formats import detect, get_format, open_messages
from turnkeep.model import Image, Json, Message, Role, Text, Thinking, ToolCall, same

RECORDED = json.loads((DATA / "frameworks/pydantic-ai.json").read_text("utf-8"))
ENTRIES: list[Any] = RECORDED["messages"]
PYDANTIC_AI = get_format("pydantic-ai")


def read(entries: list[Any]) -> list[Message]:
    return [message for entry in entries for message in PYDANTIC_AI.decode(entry)]


def test_is_detected_and_comes_back_key_for_key() -> None:
    """As a list, in a body, and one message after the other."""
    assert detect(ENTRIES).candidates == ("pydantic-ai",)
    assert detect({"messages": ENTRIES}).format == "pydantic-ai"
    assert all(detect([entry]).format == "pydantic-ai" for entry in ENTRIES)
    assert same(PYDANTIC_AI.encode(read(ENTRIES)), ENTRIES)
    kept = turnkeep.fit(ENTRIES, 100_000, model="gpt-4o")
    assert all(a is b for a, b in zip(kept, ENTRIES, strict=True))


def test_each_part_of_a_request_is_a_message() -> None:
    said = read(ENTRIES)

    assert [message.role for message in said] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL_RESULT,
        Role.TOOL_RESULT,
        Role.USER,
        Role.ASSISTANT,
    ]
    pictures = [block for block in said[1].content if isinstance(block, Image)]
    assert pictures[0].url == "https://example.org/a.png"
    assert base64.b64decode(pictures[1].data or "") == b"\xfb\xff\xfe"
    (thought,) = (b for b in said[2].content if isinstance(b, Thinking))
    assert (thought.text, thought.signature) == ("Rain?", "c2ln")
    assert [(c.id, c.name, c.text) for c in said[2].tool_calls] == [
        ("c1", "weather", '{"city":"Bonn"}'),
        ("c2", "map", '{"x":  1}'),
    ]
    results = [result for message in said for result in message.tool_results]
    assert results[0].content == (Json({"mm": 3}),)
    assert [(r.tool_call_id, r.tool_name, r.is_error) for r in results] == [
        ("c1", "weather", False),
        ("c2", "map", True),
    ]


def test_the_last_requests_instructions_are_system_text() -> None:
    """They are sent, so they count."""
    _, envelope = open_messages(ENTRIES)
    longer = [dict(entry) for entry in ENTRIES]
    longer[2]["instructions"] = "Be brief. " * 100

    assert envelope.system == "Be brief."
    tokens = [turnkeep.count(e, model="gpt-4o").total for e in (ENTRIES, longer)]
    assert tokens[1] > tokens[0] + 150


def test_a_prompt_goes_and_the_system_text_beside_it_stays() -> None:
    """Parts of one request stand together again, those that are kept."""
    entries = PYDANTIC_AI.encode(read(ENTRIES))
    entries += PYDANTIC_AI.encode([Message.user("And now? " + "x " * 20)])
    total = turnkeep.count(entries, model="gpt-4o").total

    kept = turnkeep.fit(entries, total // 3, model="gpt-4o")

    kinds = [[part["part_kind"] for part in entry["parts"]] for entry in kept]
    assert kinds[0] == ["system-prompt"]
    assert kinds[-1] == ["user-prompt"]
    assert kept[0]["instructions"] == "Be brief."
    said = read(kept)
    calls = [call.id for message in said for call in message.tool_calls]
    assert calls == [r.tool_call_id for m in said for r in m.tool_results]


def test_a_retry_is_a_failed_result_or_what_a_user_says() -> None:
    part = {"content": "bad", "part_kind": "retry-prompt", "tool_call_id": "c"}
    entry: dict[str, Any] = {"kind": "request", "parts": [{**part, "tool_name": "f"}]}
    without = {"kind": "request", "parts": [{**part, "tool_name": None}]}

    (result,) = PYDANTIC_AI.decode(entry)[0].tool_results
    (said,) = PYDANTIC_AI.decode(without)

    assert (result.tool_call_id, result.is_error, result.text) == ("c", True, "bad")
    assert (said.role, said.text) == (Role.USER, "bad")
    assert PYDANTIC_AI.encode(PYDANTIC_AI.decode(entry)) == [entry]
    assert PYDANTIC_AI.encode([said]) == [without]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "order", "parts": []}, "unknown kind 'order'"),
        ({"kind": "request"}, "'parts' is missing"),
        ({"kind": "request", "parts": [7]}, "a part must be"),
        ({"kind": "response", "parts": [{}]}, "'part_kind' is missing"),
    ],
)
def test_refuses_what_is_no_message(entry: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        PYDANTIC_AI.decode(entry)


# -- the package itself ---------------------------------------------------------------


def test_what_we_write_is_read_by_the_package() -> None:
    """Messages of other origin become messages that say the same."""
    package = pytest.importorskip("pydantic_ai.messages")
    said = [
        Message.system("s"),
        Message.user([Text("q"), Image("AAAA", "image/png")]),
        Message.assistant("a", tool_calls=[ToolCall("c", "f", {"n": 1})]),
        Message.tool_result("c", "r", is_error=True),
    ]

    made = package.ModelMessagesTypeAdapter.validate_python(PYDANTIC_AI.encode(said))

    assert [m.kind for m in made] == ["request", "request", "response", "request"]
    assert made[1].parts[0].content[1].data == b"\0\0\0"
    assert made[2].parts[1].args == {"n": 1}
    assert (made[3].parts[0].tool_name, made[3].parts[0].outcome) == ("f", "failed")


def test_objects_come_back_and_new_ones_are_objects() -> None:
    """The caller's own where unedited; a stand-in is a request of the package's."""
    package = pytest.importorskip("pydantic_ai.messages")
    history: list[Any] = []
    for nth in range(5):
        call = package.ToolCallPart("f", {"n": nth}, f"c{nth}")
        told = package.ToolReturnPart("f", "y " * 40, f"c{nth}")
        history += [
            package.ModelRequest([package.UserPromptPart(f"question {nth}")]),
            package.ModelResponse([call]),
            package.ModelRequest([told]),
            package.ModelResponse([package.TextPart(f"answer {nth}")]),
        ]
    history += [
        package.ModelResponse([package.ToolCallPart("f", {}, "open")]),
        package.ModelRequest([package.UserPromptPart("well?")]),
    ]

    kept = turnkeep.fit(history, 200, model="gpt-4o")

    own = {id(message) for message in history}
    new = [message for message in kept if id(message) not in own]
    assert len(kept) < len(history)
    assert [type(message) for message in new] == [package.ModelRequest]
    assert new[0].parts[0].tool_call_id == "open"
    assert kept[-1] is history[-1]
