"""Malformed chat entries and items: each gives one error, at the offending value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.generators import PNG
from turnkeep.errors import FormatError
from turnkeep.formats import get_format

_CUT = f"data:image/png;base64,{PNG[:-3]}"


def call(**changes: Any) -> dict[str, Any]:
    """An assistant message with one call, changed."""
    made = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made | changes]}


def user(*parts: Any) -> dict[str, Any]:
    """A user message with content parts."""
    return {"role": "user", "content": list(parts)}


CHAT: list[tuple[str, Any, str]] = [
    ("no object", "hello", ""),
    ("a null", None, ""),
    ("no role", {"content": "hi"}, ""),
    ("role is a number", {"role": 7, "content": "hi"}, ".role"),
    ("unknown role", {"role": "wizard", "content": "hi"}, ".role"),
    ("content is a number", {"role": "user", "content": 3}, ".content"),
    ("content is an object", {"role": "user", "content": {"text": "hi"}}, ".content"),
    ("a part is text", user("hi"), ".content[0]"),
    ("a part without text", user({"type": "text"}), ".content[0].text"),
    ("a part's type is a number", user({"type": 1}), ".content[0].type"),
    (
        "an image without address",
        user({"type": "image_url", "image_url": {}}),
        ".content[0].image_url.url",
    ),
    (
        "truncated base64",
        user({"type": "image_url", "image_url": {"url": _CUT}}),
        ".content[0].image_url.url",
    ),
    (
        "detail is a number",
        user({"type": "image_url", "image_url": {"url": "https://e.org", "detail": 2}}),
        ".content[0].image_url.detail",
    ),
    ("calls are an object", {"role": "assistant", "tool_calls": {}}, ".tool_calls"),
    ("calls are text", {"role": "assistant", "tool_calls": "f"}, ".tool_calls"),
    ("a call is text", {"role": "assistant", "tool_calls": ["f"]}, ".tool_calls[0]"),
    ("a call's id is a number", call(id=1), ".tool_calls[0].id"),
    ("a call's type is a number", call(type=1), ".tool_calls[0].type"),
    ("a call's function is text", call(function="f"), ".tool_calls[0].function"),
    ("a function without name", call(function={}), ".tool_calls[0].function"),
    (
        "a function's name is null",
        call(function={"name": None, "arguments": "{}"}),
        ".tool_calls[0].function.name",
    ),
    (
        "arguments are an array",
        call(function={"name": "f", "arguments": [1]}),
        ".tool_calls[0].function.arguments",
    ),
    (
        "a call without function",
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function"}]},
        ".tool_calls[0]",
    ),
    (
        "a custom call without input",
        call(type="custom", custom={"name": "f"}),
        ".tool_calls[0].custom.input",
    ),
    (
        "a result's id is a number",
        {"role": "tool", "tool_call_id": 1, "content": "x"},
        ".tool_call_id",
    ),
    (
        "a result's name is a list",
        {"role": "tool", "tool_call_id": "c", "content": "x", "name": []},
        ".name",
    ),
    ("refusal is a number", {"role": "assistant", "refusal": 1}, ".refusal"),
    ("not a number", {"role": "user", "content": "x", "n": float("nan")}, ".n"),
    ("infinity", user({"type": "x", "n": [float("inf")]}), ".content[0].n[0]"),
    ("a key that is no text", {"role": "user", "content": "x", "m": {1: 2}}, ".m"),
    ("a Python object", {"role": "user", "content": "x", "m": {"k": set()}}, ".m.k"),
]

OPENAI: list[tuple[str, Any, str]] = [
    *CHAT,
    ("a file that is text", user({"type": "file", "file": "x"}), ".content[0].file"),
    (
        "a file's data is a number",
        user({"type": "file", "file": {"file_data": 1}}),
        ".content[0].file.file_data",
    ),
    (
        "function_call is text",
        {"role": "assistant", "content": "", "function_call": "f"},
        ".function_call",
    ),
]

DEEPSEEK: list[tuple[str, Any, str]] = [
    *CHAT,
    ("no developer role", {"role": "developer", "content": "x"}, ".role"),
    (
        "reasoning is a list",
        {"role": "assistant", "content": "x", "reasoning_content": ["x"]},
        ".reasoning_content",
    ),
]

MISTRAL: list[tuple[str, Any, str]] = [
    *CHAT,
    ("no function role", {"role": "function", "name": "f", "content": "x"}, ".role"),
    (
        "a document without address",
        user({"type": "document_url"}),
        ".content[0].document_url",
    ),
    (
        "a document's name is a number",
        user({"type": "document_url", "document_url": "u", "document_name": 1}),
        ".content[0].document_name",
    ),
]

OLLAMA: list[tuple[str, Any, str]] = [
    ("no object", ["user", "hi"], ""),
    ("no role", {"content": "hi"}, ""),
    ("role is null", {"role": None, "content": "hi"}, ".role"),
    ("unknown role", {"role": "developer", "content": "hi"}, ".role"),
    ("content parts", user({"type": "text", "text": "hi"}), ".content"),
    ("content is a number", {"role": "user", "content": 1}, ".content"),
    ("images are text", {"role": "user", "content": "", "images": PNG}, ".images"),
    ("images are a zero", {"role": "user", "content": "", "images": 0}, ".images"),
    (
        "an image is null",
        {"role": "user", "content": "", "images": [None]},
        ".images[0]",
    ),
    (
        "truncated base64",
        {"role": "user", "content": "", "images": [PNG, PNG[:-3]]},
        ".images[1]",
    ),
    ("thinking is a list", {"role": "assistant", "thinking": ["x"]}, ".thinking"),
    ("calls are an object", {"role": "assistant", "tool_calls": {}}, ".tool_calls"),
    ("a call is text", {"role": "assistant", "tool_calls": ["f"]}, ".tool_calls[0]"),
    ("arguments are text", call(), ".tool_calls[0].function.arguments"),
    (
        "a call without function",
        {"role": "assistant", "tool_calls": [{}]},
        ".tool_calls[0].function",
    ),
    (
        "a function without name",
        call(function={"arguments": {}}),
        ".tool_calls[0].function.name",
    ),
    ("tool_name is a number", {"role": "tool", "tool_name": 1}, ".tool_name"),
    ("tool_call_id is a list", {"role": "tool", "tool_call_id": [1]}, ".tool_call_id"),
    ("not a number", {"role": "user", "content": "", "n": float("nan")}, ".n"),
]

RESPONSES: list[tuple[str, Any, str]] = [
    ("no object", 3, ""),
    ("neither type nor role", {"content": "hi"}, ""),
    ("type is null", {"type": None, "role": "user", "content": "hi"}, ""),
    ("type is a number", {"type": 3}, ".type"),
    ("a message without role", {"type": "message", "content": "hi"}, ""),
    ("unknown role", {"role": "tool", "content": "hi"}, ".role"),
    ("role is a number", {"role": 1, "content": "hi"}, ".role"),
    ("content is null", {"role": "user", "content": None}, ".content"),
    ("a part is text", user("hi"), ".content[0]"),
    ("a part's type is a number", user({"type": 5}), ".content[0].type"),
    ("a text part without text", user({"type": "input_text"}), ".content[0].text"),
    (
        "an image's address is a number",
        user({"type": "input_image", "image_url": 1}),
        ".content[0].image_url",
    ),
    (
        "truncated base64",
        user({"type": "input_image", "image_url": _CUT}),
        ".content[0].image_url",
    ),
    (
        "a file's name is a number",
        user({"type": "input_file", "file_url": "u", "filename": 1}),
        ".content[0].filename",
    ),
    (
        "a call without id",
        {"type": "function_call", "name": "f", "arguments": "{}"},
        "",
    ),
    (
        "arguments are an object",
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": {}},
        ".arguments",
    ),
    (
        "a custom call's input is null",
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": None},
        ".input",
    ),
    (
        "an output is a number",
        {"type": "function_call_output", "call_id": "c", "output": 1},
        ".output",
    ),
    ("an output's id", {"type": "function_call_output", "call_id": 4}, ".call_id"),
    ("summary is text", {"type": "reasoning", "summary": "x"}, ".summary"),
    (
        "a summary's part has no text",
        {"type": "reasoning", "summary": [{"type": "summary_text"}]},
        ".summary[0].text",
    ),
    (
        "ciphertext is an object",
        {"type": "reasoning", "summary": [], "encrypted_content": {}},
        ".encrypted_content",
    ),
    ("not a number", {"type": "new_item", "n": [float("nan")]}, ".n[0]"),
]

TABLES = {
    "openai": OPENAI,
    "deepseek": DEEPSEEK,
    "mistral": MISTRAL,
    "ollama": OLLAMA,
    "openai-responses": RESPONSES,
}
CASES = [
    pytest.param(name, entry, where, id=f"{name}: {title}")
    for name, table in TABLES.items()
    for title, entry, where in table
]


@pytest.mark.parametrize(("name", "entry", "where"), CASES)
def test_is_refused_at_its_place(name: str, entry: Any, where: str) -> None:
    """One error, with the path of the value that is wrong."""
    with pytest.raises(FormatError) as caught:
        get_format(name).decode(entry, "$.messages[3]")

    assert caught.value.path == f"$.messages[3]{where}"
    assert caught.value.reason


BODIES = [
    pytest.param("openai", {"messages": "hi"}, "$.messages", id="list is text"),
    pytest.param("openai", {"messages": None}, "$.messages", id="list is null"),
    pytest.param("openai", {"model": "gpt-4o"}, "$", id="no list"),
    pytest.param("openai", {"messages": [], "tools": {}}, "$.tools", id="tools"),
    pytest.param("openai-responses", {"input": 3}, "$.input", id="input"),
    pytest.param("ollama", "hello", "$", id="text"),
    pytest.param("mistral", {}, "$", id="empty object"),
]


@pytest.mark.parametrize(("name", "body", "where"), BODIES)
def test_a_bad_body_is_refused(name: str, body: Any, where: str) -> None:
    """Before any message is looked at."""
    with pytest.raises(FormatError) as caught:
        get_format(name).open(body)

    assert caught.value.path == where


def test_says_what_was_expected_and_what_came() -> None:
    """Enough to mend the file without reading our source."""
    with pytest.raises(FormatError, match=r"unknown role 'wizard'; openai has system,"):
        get_format("openai").decode({"role": "wizard"})
    with pytest.raises(FormatError, match=r"content must be a string, .* got a number"):
        get_format("openai").decode({"role": "user", "content": 3})
    with pytest.raises(FormatError, match=r"base64 of \d+ characters is damaged"):
        get_format("ollama").decode({"role": "user", "content": "", "images": ["a"]})


def test_objects_of_a_client_are_refused_with_the_way_out() -> None:
    """They end up in lists of people who append what the client returned."""

    class ChatCompletionMessage:
        def model_dump(self) -> dict[str, Any]:
            """What the official clients offer."""
            return {}

    entry = ChatCompletionMessage()
    with pytest.raises(
        FormatError, match=r"ChatCompletionMessage; call its model_dump"
    ):
        get_format("openai").decode(entry)
    with pytest.raises(FormatError, match=r"got a Python set @ \$"):
        get_format("openai").decode(set())
