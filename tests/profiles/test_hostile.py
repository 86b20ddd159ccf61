"""Whatever comes in, checking gives violations or one clear error."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from tests.profiles.histories import SHAPES, requests
from turnkeep.errors import FormatError
from turnkeep.profiles import PROFILES, check_request, get_profile

KEYS = [
    "role",
    "content",
    "type",
    "text",
    "id",
    "name",
    "tool_calls",
    "function",
    "arguments",
    "tool_call_id",
    "parts",
    "functionCall",
    "functionResponse",
    "response",
    "args",
    "toolUse",
    "toolResult",
    "toolUseId",
    "input",
    "output",
    "call_id",
    "tool_use_id",
    "thinking",
    "signature",
    "source",
    "data",
    "system",
    "tools",
    "messages",
    "contents",
    "cache_control",
    "summary",
    "encrypted_content",
    "image_url",
    "url",
    "file",
    "images",
    "status",
    "thoughtSignature",
    "reasoningContent",
    "document",
    "is_error",
    "prefix",
    "model",
    "body",
    "custom",
]
VALUES = [
    "user",
    "assistant",
    "system",
    "tool",
    "model",
    "function",
    "developer",
    "text",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "function_call",
    "function_call_output",
    "reasoning",
    "message",
    "image",
    "document",
    "web_search_tool_result",
    "server_tool_use",
    "image_url",
    "file",
    "input_audio",
    "enabled",
    "error",
    "c1",
    "srvtoolu_1",
]

scalars: SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(VALUES)
    | st.text(max_size=3)
)
values: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=25,
)


@pytest.mark.parametrize("name", PROFILES)
@settings(max_examples=max(settings().max_examples, 100))
@given(value=values, original=values)
def test_anything_is_checked(name: str, value: Any, original: Any) -> None:
    """No JSON value makes checking crash."""
    with contextlib.suppress(FormatError):
        check_request(
            value, format="openai", strict=True, original=original, profile=name
        )
    check_request([value], format="openai", strict=True, profile=name)


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_damaged_requests_are_checked(name: str, data: DataObject) -> None:
    """A value replaced anywhere in a valid request makes no crash either."""
    entries = data.draw(requests(name))
    place = data.draw(st.integers(0, len(entries) - 1))
    broken = _damage(data, entries[place])
    damaged = [*entries[:place], broken, *entries[place + 1 :]]

    for model in (None, "claude-opus-5-5", "gemini-3-pro", "deepseek-v4"):
        check_request(
            damaged,
            format=name,
            strict=True,
            model=model,
            original=entries,
            profile=name,
        )


def _damage(data: DataObject, value: Any) -> Any:
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: _damage(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        return [_damage(data, value[0]), *value[1:]]
    return data.draw(values)


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_valid_requests_are_accepted(name: str, data: DataObject) -> None:
    """Generated requests that keep all rules are not reported."""
    entries = data.draw(requests(name))

    assert check_request(entries, format=name, original=entries) == []


@pytest.mark.parametrize(
    ("value", "path"),
    [("text", r"\$$"), (3, r"\$$"), ({}, "messages"), ({"messages": "x"}, "messages")],
)
def test_what_is_no_request_is_refused(value: Any, path: str) -> None:
    """One error says what was expected and where."""
    with pytest.raises(FormatError, match=path):
        check_request(value, format="openai")


@pytest.mark.parametrize("name", PROFILES)
def test_checking_is_linear(name: str) -> None:
    """Sixteen times the request costs about sixteen times the steps, not 256."""
    shape = SHAPES.get(name.partition("/")[0], SHAPES["openai"])
    small, large = (_steps(name, shape, count) for count in (20, 320))

    assert large < 25 * small


def _steps(name: str, shape: Any, turns: int) -> int:
    """Python calls that one check makes: a measure that no machine changes."""
    import sys

    from tests.profiles.histories import Round, Talk

    talk = Talk((Round(2, says=True, thinks=True),), thinks=True)
    entries = shape([talk] * turns, reuse=False)
    original = [*entries, *shape([talk], reuse=True)]
    get_profile(name=name)
    steps = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal steps
        steps += event == "call"

    sys.setprofile(count)
    try:
        check_request(
            entries, format="openai", strict=True, original=original, profile=name
        )
    finally:
        sys.setprofile(None)
    return steps
