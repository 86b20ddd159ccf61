"""Tests for the format `goose`: what its program writes, and known damage.

The numbers behind a repository's name are its issues, where that damage is reported.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.test_sessions import notes_of, spoken
from turnkeep.errors import FormatError
from turnkeep.formats import match_format, open_messages

GOOSE = {"working_dir": "/x"}


def text(what: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": what, **more}


def line(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "created": 1, "content": list(parts), **more}


def request(call_id: str, outcome: Any = None) -> dict[str, Any]:
    value = {"name": "f", "arguments": {}}
    call = outcome or {"status": "success", "value": value}
    return {"type": "toolRequest", "id": call_id, "toolCall": call}


def response(call_id: str, **outcome: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": call_id, "toolResult": outcome}


def test_goose_joins_thinking_that_came_in_pieces() -> None:
    pieces = [{"type": "thinking", "thinking": t, "signature": ""} for t in ("a", "b")]
    signed = {"type": "thinking", "thinking": "c", "signature": "s"}
    lines = [GOOSE, line("assistant", *pieces, signed, text("x"))]

    (block, _) = open_messages(lines)[1].entries[0]["content"]

    assert block == {"type": "thinking", "thinking": "abc", "signature": "s"}


def test_goose_leaves_out_half_calls() -> None:
    """aaif-goose/goose#1624: a call that could not be parsed, and its answer."""
    broken = {"status": "error", "error": "invalid JSON"}
    lines = [
        GOOSE,
        line("assistant", text("x"), request("c1", broken), request("c2")),
        line("user", response("c1", **broken), response("c2", **broken)),
    ]

    assert spoken(lines) == ["assistant: x f(c2)", "c2 ! invalid JSON"]


def test_goose_results() -> None:
    """A list of old releases, an error that succeeded, texts for one reader only."""
    mine = text("mine", annotations={"audience": ["assistant"]})
    yours = text("yours", annotations={"audience": ["user"]})
    value = {"content": [mine, yours], "isError": True}
    lines = [
        GOOSE,
        line("assistant", request("c1"), request("c2")),
        line(
            "user",
            response("c1", status="success", value=[text("old")]),
            response("c2", status="success", value=value),
            text("and?"),
        ),
    ]

    assert spoken(lines)[1:] == ["c1 = old", "c2 ! mine", "user: and?"]


def test_goose_leaves_out_what_the_agent_does_not_see() -> None:
    lines = [
        GOOSE,
        line("user", text("a"), metadata={"agentVisible": False}),
        line("assistant", {"type": "conversationCompacted"}, {"type": "error"}),
        line("user", text("b"), {"type": "unheard"}, metadata={"userVisible": True}),
    ]

    assert spoken(lines) == ["user: b"]
    assert "1 part of type unheard" in notes_of(lines)


def test_goose_exports_and_pictures() -> None:
    picture = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    config = {"model_name": "claude-x"}
    export = {**GOOSE, "model_config": config, "conversation": [line("user", picture)]}

    assert spoken(export) == ["user: <image>"]
    assert open_messages(export)[1].model == "claude-x"


def test_goose_is_known_by_its_parts_where_the_header_is_missing() -> None:
    assert spoken([line("assistant", request("c1"))]) == ["assistant: f(c1)"]
    assert match_format([{"role": "user", "content": "a"}], "goose").score == 0
    assert match_format({"conversation": []}, "goose").score == 0


def test_goose_refuses_an_unknown_role() -> None:
    with pytest.raises(FormatError, match="unknown role 'robot'") as caught:
        open_messages([GOOSE, line("robot")])

    assert caught.value.path == "$[1].role"


def test_goose_says_that_a_call_is_open_and_reads_empty_content() -> None:
    lines = [
        GOOSE,
        line("user", text("")),
        line("assistant", request("c1"), {"type": "redactedThinking", "data": "x"}),
    ]

    assert spoken(lines) == ["assistant: f(c1) <thinking>"]
    assert "calls without a result: 1" in notes_of(lines)


def test_goose_joins_thinking_over_messages_until_it_is_signed() -> None:
    """A piece with another signature is another thought."""

    def thinks(what: str, signature: str = "") -> dict[str, Any]:
        return {"type": "thinking", "thinking": what, "signature": signature}

    lines = [
        GOOSE,
        line("assistant", thinks("a")),
        line("assistant", thinks("b", "s"), thinks("c", "t")),
        line("assistant", text("x")),
        line("assistant", thinks("lost")),
    ]

    blocks = [b for e in open_messages(lines)[1].entries for b in e["content"]]

    assert [(b.get("thinking"), b.get("signature")) for b in blocks[:2]] == [
        ("ab", "s"),
        ("c", "t"),
    ]
    assert "1 thought (without a signature" in notes_of(lines)


def test_goose_reads_the_texts_of_resources() -> None:
    resource = {"type": "resource", "resource": {"uri": "file:///a", "text": "body"}}
    binary = {"type": "resource", "resource": {"uri": "file:///b", "blob": "AA=="}}
    done = response("c", status="success", value={"content": [resource, binary]})
    lines = [GOOSE, line("assistant", request("c")), line("user", done)]

    assert spoken(lines)[-1] == "c = body"
    assert "texts of resources are read" in notes_of(lines)
    assert "1 part of type resource" in notes_of(lines)
