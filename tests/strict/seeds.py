"""For each rule of the strict provider a request that breaks it, and whole ones.

Each seed is a whole request with one thing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from tests.strict import anthropic, gemini

Body = dict[str, Any]


@dataclass(frozen=True)
class Seed:
    """A change that makes a whole request break a rule."""

    api: str
    rule: str
    change: Callable[[Body], object]
    model: str | None = None

    def body(self) -> Body:
        """The request."""
        made = deepcopy(WHOLE[self.api])
        self.change(made)
        return made


def _chat_call(own: str) -> Body:
    function = {"name": "lookup", "arguments": "{}"}
    return {"id": own, "type": "function", "function": function}


def _chat_result(own: str) -> Body:
    return {"role": "tool", "tool_call_id": own, "content": "found"}


_SCHEMA: Final = {"type": "object", "properties": {}}

CHAT: Final[Body] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look it up."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_chat_call("call_a"), _chat_call("call_b")],
        },
        _chat_result("call_b"),
        _chat_result("call_a"),
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"type": "function", "function": {"name": "lookup", "parameters": _SCHEMA}}
    ],
}


def _responses_call(own: str) -> Body:
    call = {"type": "function_call", "id": f"fc_{own}", "call_id": f"call_{own}"}
    return {**call, "name": "lookup", "arguments": "{}"}


def _responses_output(own: str) -> Body:
    output = {"type": "function_call_output", "call_id": f"call_{own}"}
    return {**output, "output": "found"}


RESPONSES: Final[Body] = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Look it up."}]},
        {"type": "reasoning", "id": "rs_r1", "summary": []},
        {**_responses_call("x"), "id": "fc_r1_1"},
        _responses_call("b"),
        _responses_output("x"),
        _responses_output("b"),
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "There.", "annotations": []}],
        },
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [{"type": "function", "name": "lookup", "parameters": _SCHEMA}],
}


def _thought(text: str) -> Body:
    signed = anthropic.signature(text, None)
    return {"type": "thinking", "thinking": text, "signature": signed}


def _use(own: str) -> Body:
    return {"type": "tool_use", "id": own, "name": "lookup", "input": {}}


def _used(own: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": own, "content": "found", **more}


_MARK: Final = {"cache_control": {"type": "ephemeral"}}

ANTHROPIC: Final[Body] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1_000,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Look it up."},
        {
            "role": "assistant",
            "content": [_thought("Two of them."), _use("toolu_a"), _use("toolu_b")],
        },
        {"role": "user", "content": [_used("toolu_b")]},
        {
            "role": "user",
            "content": [_used("toolu_a"), {"type": "text", "text": "Both."}],
        },
    ],
    "tools": [{"name": "lookup", "input_schema": _SCHEMA}],
}


def _call(name: str = "lookup") -> Body:
    call = {"name": name, "args": {}}
    return {"functionCall": call, "thoughtSignature": gemini.signature(call)}


def _response(name: str = "lookup") -> Body:
    return {"functionResponse": {"name": name, "response": {"result": "found"}}}


GEMINI: Final[Body] = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Look it up."}]},
        {"role": "model", "parts": [_call(), {"functionCall": {"name": "lookup"}}]},
        {"role": "user", "parts": [_response(), _response()]},
        {"role": "model", "parts": [_call()]},
        {"role": "user", "parts": [_response()]},
    ],
    "tools": [{"functionDeclarations": [{"name": "lookup"}]}],
}

WHOLE: Final = {
    "chat": CHAT,
    "responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}
MODELS: Final = {
    "chat": "gpt-4o",
    "responses": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-3-pro",
}


def _at(key: str, *path: Any, to: Any) -> Callable[[Body], None]:
    """Set the value at a path."""

    def change(body: Body) -> None:
        place: Any = body[key]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


def _gone(key: str, *path: Any) -> Callable[[Body], None]:
    """Take the value at a path away."""

    def change(body: Body) -> None:
        place: Any = body[key]
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def _more(key: str, at: int, *entries: Any) -> Callable[[Body], None]:
    """Put entries into a list."""

    def change(body: Body) -> None:
        body[key][at:at] = entries

    return change


def _image(kind: str) -> Body:
    return {"type": kind, "image_url": {"url": "https://example.org/a.png"}}


def _chat_seeds() -> list[tuple[str, Callable[[Body], object]]]:
    image = [_image("image_url")]
    return [
        ("OC-01", _at("messages", slice(None), to=[])),
        ("OC-02", _at("messages", 0, "role", to="narrator")),
        ("OC-03", _at("messages", 1, "content", to=None)),
        ("OC-04", _at("messages", 5, "content", to=None)),
        ("OC-05", _at("messages", 2, "content", to=[])),
        ("OC-06", _at("messages", 3, "content", to=image)),
        ("OC-07", _at("messages", 1, "content", 0, to={"type": "text"})),
        ("OC-08", _at("messages", 5, "tool_calls", to=[])),
        ("OC-09", _at("messages", 2, "tool_calls", 0, "function", "arguments", to={})),
        ("OC-10", _more("messages", 1, _chat_result("call_a"))),
        ("OC-11", _at("messages", 4, "tool_call_id", to="call_c")),
        ("OC-12", _gone("messages", 4)),
        ("OC-13", _more("messages", 4, _chat_result("call_a"))),
        ("OC-16", _at("messages", 1, "name", to="the user")),
        ("OC-17", _at("tools", 0, "function", "name", to="look up")),
        ("OC-18", _at("messages", 6, to={"role": "function", "content": "x"})),
    ]


def _responses_seeds() -> list[tuple[str, Callable[[Body], object]]]:
    part = {"type": "input_text", "text": "x"}
    return [
        ("OR-01", _at("input", slice(None), to=[])),
        ("OR-02", _more("input", 1, {"type": "note", "text": "x"})),
        ("OR-03", _at("input", 0, "role", to="tool")),
        ("OR-04", _at("input", 6, "content", 0, to=part)),
        ("OR-05", _gone("input", 5)),
        ("OR-06", _gone("input", 3)),
        ("OR-07", _at("input", 3, "id", to="fc_r1_1")),
        ("OR-08", lambda body: body["input"].insert(2, body["input"].pop(7))),
        ("OR-09", _gone("input", 1, "summary")),
        ("OR-10", _at("input", 3, "id", to="msg_9")),
        ("OR-11", _more("input", 8, *_long_pair())),
        ("OR-12", _at("input", 3, "name", to="")),
        ("OR-13", _at("input", 4, "output", to={"found": 1})),
        ("OX-01", _gone("input", 1)),
    ]


def _long_pair() -> tuple[Body, Body]:
    return _responses_call("c" * 70), _responses_output("c" * 70)


def _anthropic_seeds() -> list[tuple[str, Callable[[Body], object]]]:
    marked = [{"type": "text", "text": "x", **_MARK} for _ in range(5)]
    user = {"role": "user", "content": "Thanks."}
    late = [{**marked[0], "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    served = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_9"}
    image = {"type": "image", "source": {"type": "url", "url": "https://a.b/c"}}
    reference = [{"type": "tool_reference", "tool_name": "absent"}]
    text = [{"type": "text", "text": "Note."}]
    return [
        ("AN-01", _at("messages", slice(None), to=[])),
        ("AN-02", _at("messages", 0, "role", to="tool")),
        ("AN-03", _more("messages", 4, {"role": "system", "content": "Now."})),
        ("AN-05", _at("messages", 0, "content", to="")),
        ("AN-06", _at("system", 0, "text", to="")),
        ("AN-07", _at("messages", 0, "content", to=" ")),
        ("AN-08", _more("messages", 4, {"role": "assistant", "content": "So "})),
        ("AN-10", _gone("messages", 2)),
        (
            "AN-11",
            _more("messages", 0, {"role": "user", "content": [_used("toolu_q")]}),
        ),
        ("AN-12", _more("messages", 2, {"role": "user", "content": text})),
        ("AN-13", _at("messages", 1, "content", 2, "id", to="toolu_a")),
        (
            "AN-14",
            _more("messages", 3, {"role": "user", "content": [_used("toolu_b")]}),
        ),
        ("AN-15", _at("messages", 1, "content", 1, "id", to="a b")),
        ("AN-16", _at("messages", 1, "content", 2, "input", to="{}")),
        ("AN-17", _gone("messages", 1, "content", 0, "signature")),
        ("AN-18", _enabled_without_thinking),
        ("AN-19", _more("messages", 4, _said([_thought("Hm.")]))),
        ("AN-20", _more("messages", 4, {"role": "user", "content": marked})),
        ("AN-21", _at("messages", 1, "content", 0, "cache_control", to=_MARK)),
        ("AN-22", _more("messages", 4, {"role": "user", "content": [image] * 601})),
        ("AN-23", lambda body: body.pop("tools")),
        ("AN-24", _at("tools", 0, "name", to="look up")),
        ("AN-25", _at("messages", 2, "content", 0, to=_used("toolu_b", content=[{}]))),
        ("AN-26", _at("system", slice(None), to=[{"type": "image"}])),
        ("AN-27", _at("messages", 2, "content", 0, to=_failed("toolu_b"))),
        ("AN-28", _more("messages", 4, _said([served]), user)),
        ("AN-30", _four_and_one),
        ("AN-31", _more("messages", 4, _five_minutes(), {**user, "content": late})),
        ("AN-33", _at("messages", 2, "content", 0, "content", to=reference)),
        ("AE-01", _at("messages", 1, "content", 0, "thinking", to="Three.")),
    ]


def _said(content: list[Body]) -> Body:
    return {"role": "assistant", "content": content}


def _failed(own: str) -> Body:
    return _used(own, is_error=True, content="")


def _five_minutes() -> Body:
    return {"role": "user", "content": [{"type": "text", "text": "x", **_MARK}]}


def _enabled_without_thinking(body: Body) -> None:
    body["thinking"] = {"type": "enabled", "budget_tokens": 1_024}
    del body["messages"][1]["content"][0]


def _four_and_one(body: Body) -> None:
    body["cache_control"] = {"type": "ephemeral"}
    body["messages"] += [_five_minutes() for _ in range(4)]


def _gemini_seeds() -> list[tuple[str, Callable[[Body], object]]]:
    model = {"role": "model", "parts": [{"text": "There."}]}
    moved = {"functionCall": {"name": "other", "args": {}}}
    bare = {"functionResponse": {"name": "", "response": {}}}
    return [
        ("GE-01", _at("contents", slice(None), to=[])),
        ("GE-02", _at("contents", 0, "role", to="system")),
        ("GE-03", _at("contents", 0, "parts", to=[])),
        ("GE-04", _at("contents", 0, "parts", 0, "text", to="")),
        ("GE-05", _gone("contents", 0)),
        ("GE-06", _more("contents", 1, {"role": "user", "parts": [_response()]})),
        ("GE-07", _gone("contents", 2, "parts", 1)),
        ("GE-08", _at("contents", 4, "parts", 0, to=bare)),
        ("GE-09", _at("contents", 1, "parts", 1, "functionCall", "name", to="")),
        ("GE-11", _gone("contents", 3, "parts", 0, "thoughtSignature")),
        ("GE-12", _at("contents", slice(None), to=[model])),
        ("GX-01", _at("contents", 3, "parts", 0, "functionCall", to=moved)),
    ]


def _of(api: str, made: list[tuple[str, Callable[[Body], object]]]) -> list[Seed]:
    return [Seed(api, rule, change) for rule, change in made]


SEEDS: Final = [
    *_of("chat", _chat_seeds()),
    *_of("responses", _responses_seeds()),
    *_of("anthropic", _anthropic_seeds()),
    *_of("gemini", _gemini_seeds()),
    Seed(
        "anthropic",
        "AN-09",
        _more("messages", 4, _said([{"type": "text", "text": "So"}])),
        model="claude-opus-4-8",
    ),
    Seed(
        "anthropic",
        "AE-03",
        _at("messages", 0, "content", to="Look that up."),
        model="claude-opus-5-5",
    ),
]
