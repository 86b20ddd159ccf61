"""Mistral's own validator judges as we do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from turnkeep.profiles import check_request

pytest.importorskip("mistral_common")

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import (
    MistralRequestValidatorV13,
    ValidationMode,
)

Json = dict[str, Any]
VALIDATOR: Any = MistralRequestValidatorV13(ValidationMode.serving)
IDS = st.sampled_from(["aaaaaaaa1", "aaaaaaaa2", "aaaaaaaa3"])


@st.composite
def messages(draw: DrawFn) -> Json:
    role = draw(st.sampled_from(["system", "user", "assistant", "assistant", "tool"]))
    text = draw(st.sampled_from(["Hi", "Hi", "Hi", ""]))
    if role == "tool":
        name = draw(st.sampled_from([None, "look", "look up"]))
        call_id = draw(IDS | st.just("null"))
        return {"role": role, "tool_call_id": call_id, "content": text, "name": name}
    if role != "assistant":
        return {"role": role, "content": text}
    names = st.sampled_from(["look", "look", "look", "a b"])
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": draw(names), "arguments": "{}"},
        }
        for call_id in draw(st.lists(IDS, max_size=2))
    ]
    prefix = draw(st.sampled_from([False, False, True]))
    made = {"role": role, "content": text or None, "prefix": prefix}
    return {**made, "tool_calls": calls} if calls else made


def _refused(entries: list[Json]) -> str | None:
    try:
        request: Any = ChatCompletionRequest(messages=entries, model="m")
        VALIDATOR.validate_request(request)
    except MistralCommonException as error:
        return str(error)
    return None


@settings(max_examples=max(settings().max_examples * 4, 200))
@given(entries=st.lists(messages(), max_size=6))
def test_the_validator_agrees(entries: list[Json]) -> None:
    """A list breaks a hard rule exactly when mistral-common refuses it."""
    # The validator takes no calls from a list's first message, nor an assistant message
    # without content (the hosted API refuses that: MI-14).
    if entries and entries[0]["role"] in ("assistant", "tool"):
        entries = [{"role": "user", "content": "Hi"}, *entries]
    found = {v.rule for v in check_request(entries, format="mistral")} - {"MI-14"}

    reason = _refused(entries)

    assert bool(found) is (reason is not None), (found, reason)
