"""Examples for the rules of Responses, Gemini and Bedrock."""

from __future__ import annotations

from typing import Any

from tests.profiles.case import (
    Case,
    bare,
    changed,
    head,
    lacking,
    moved,
    stripped,
    tail,
    without,
)

Json = dict[str, Any]


def said(words: Any = "Go on.", role: str = "user", **more: Any) -> Json:
    return {"role": role, "content": words, **more}


def call(call_id: str = "c1", **more: Any) -> Json:
    made = {"type": "function_call", "call_id": call_id, "name": "look"}
    return {**made, "arguments": "{}", **more}


def output(call_id: str = "c1", value: Any = "found", **more: Any) -> Json:
    return {
        "type": "function_call_output",
        "call_id": call_id,
        "output": value,
        **more,
    }


def reasoning(item_id: str = "rs_1", **more: Any) -> Json:
    return {"type": "reasoning", "id": item_id, "summary": [], **more}


def sent(*entries: Json, **more: Any) -> Json:
    return {"model": "gpt-5", "input": list(entries), **more}


ROUND = [said(), call("c1"), call("c2"), output("c2"), output("c1"), said()]
REASONED = [
    said(),
    reasoning(),
    call(id="fc_1"),
    output(),
    said("Yes.", "assistant", id="msg_1"),
    said(),
]
STEPS = [
    said(),
    {"type": "shell_call", "call_id": "s1"},
    {"type": "shell_call_output", "call_id": "s1", "output": []},
]

RESPONSES = [
    Case(rule="OR-01", good=[said()], bad=[], naive=head(1)),
    Case(rule="OR-02", good=ROUND, bad=[said(), {"type": "tool_result"}]),
    Case(rule="OR-03", good=[said()], bad=[said(role="tool")]),
    Case(
        rule="OR-04",
        good=[
            said([{"type": "input_text", "text": "x"}]),
            said([{"type": "output_text", "text": "x"}], "assistant"),
        ],
        bad=[said([{"type": "output_text", "text": "x"}])],
        naive=changed(0, content=None),
    ),
    Case(rule="OR-05", good=ROUND, bad=[said(), call()], naive=without(3)),
    Case(rule="OR-06", good=ROUND, bad=[output(), said()], naive=head(2)),
    Case(
        rule="OR-07",
        good=REASONED,
        bad=[said(id="msg_1"), said(id="msg_1")],
    ),
    Case(
        rule="OR-08",
        good=REASONED,
        bad=[said(), reasoning(), said()],
        naive=without(2, 3, 4),
    ),
    Case(
        rule="OR-09",
        good=REASONED,
        bad=[said(), {"type": "reasoning", "id": "rs_1"}, call(), output()],
        naive=stripped(1, "summary"),
    ),
    Case(rule="OR-10", good=REASONED, bad=[said(), call(id="msg_1"), output()]),
    Case(
        rule="OR-11",
        good=[said(), call("c" * 64), output("c" * 64)],
        bad=[said(), call("c" * 65), output("c" * 65)],
    ),
    Case(
        rule="OR-12",
        good=ROUND,
        bad=[said(), call(name=""), output()],
        naive=changed(1, arguments={}),
    ),
    Case(
        rule="OR-13",
        good=[said(), call(), output("c1", [{"type": "input_text", "text": "x"}])],
        bad=[said(), call(), output("c1", {"found": 1})],
        naive=changed(2, output=None),
    ),
    Case(
        rule="OX-01",
        original=sent(*REASONED),
        good=sent(said(), call(), output(), said()),
        bad=sent(said(), call(id="fc_1"), output(), said()),
        naive=without(1),
    ),
    Case(
        rule="OR-s1",
        good=ROUND,
        bad=[said(), call(), call(), output()],
    ),
    Case(rule="OR-s2", good=ROUND, bad=[said(), call(), output(), output()]),
    Case(rule="OR-s3", good=STEPS, bad=STEPS[:2], naive=tail(1)),
    Case(
        rule="OR-s4",
        good=ROUND,
        bad=[said(), output(), call()],
        naive=moved(3, 1),
    ),
    Case(
        rule="OR-s5",
        good=[said(), reasoning(encrypted_content="x"), call(), output()],
        bad=[said(), reasoning(encrypted_content="x"), said()],
        naive=without(2, 3),
    ),
    Case(
        rule="OR-s6",
        good={"model": "gpt-5", "input": "Hi"},
        bad={"model": "gpt-5", "input": ""},
    ),
    Case(
        rule="OX-s1",
        original=sent(*REASONED, store=False),
        good=sent(said(), call(), output(), said(), store=False),
        bad=sent(said(), call(id="fc_1"), output(), said(), store=False),
        naive=without(1),
    ),
]


def g(*parts: Json, role: str = "user") -> Json:
    return {"role": role, "parts": list(parts) or [{"text": "Go on."}]}


def g_call(name: Any = "look", sign: str | None = "s1", **more: Any) -> Json:
    part: Json = {"functionCall": {"name": name, "args": {}, **more}}
    return part if sign is None else {**part, "thoughtSignature": sign}


def g_said(name: Any = "look", response: Any = None, **more: Any) -> Json:
    value = {"found": 1} if response is None else response
    return {"functionResponse": {"name": name, "response": value, **more}}


def g_model(*parts: Json) -> Json:
    return g(*parts or ({"text": "Done."},), role="model")


G_ROUND = [
    g(),
    g_model(g_call(), g_call(sign=None)),
    g(g_said(), g_said()),
    g_model(),
    g(),
]
G_OPEN = G_ROUND[:3]


def g_body(*contents: Json, model: str = "gemini-3-pro", **more: Any) -> Json:
    return {"model": model, "contents": list(contents), **more}


UNSIGNED = [g(), g_model(g_call(sign=None)), g(g_said())]

GEMINI = [
    Case(rule="GE-01", good=[g()], bad=[], naive=head(1)),
    Case(rule="GE-02", good=[{"parts": [{"text": "x"}]}], bad=[g(role="system"), g()]),
    Case(
        rule="GE-03",
        good=[g()],
        bad=[{"role": "user", "parts": []}],
        naive=changed(0, parts=[]),
    ),
    Case(
        rule="GE-04",
        good=[g(), g_model({"text": "", "thoughtSignature": "s"}), g()],
        bad=[g({"text": "x", "inlineData": {"data": ""}})],
        naive=changed(1, parts=[{"text": ""}]),
    ),
    Case(
        rule="GE-05", good=G_ROUND, bad=[g_model(g_call()), g(g_said())], naive=head(1)
    ),
    Case(rule="GE-06", good=G_ROUND, bad=[g(g_said()), g()], naive=head(2)),
    Case(
        rule="GE-07",
        good=G_ROUND,
        bad=[g(), g_model(g_call(), g_call(sign=None)), g(g_said())],
        naive=without(2),
    ),
    Case(
        rule="GE-08",
        good=G_ROUND,
        bad=[g(), g_model(g_call()), g(g_said(""))],
        naive=changed(2, parts=[g_said(response="[cut]"), g_said()]),
    ),
    Case(
        rule="GE-09",
        good=G_ROUND,
        bad=[g(), g_model(g_call(None)), g(g_said())],
        naive=changed(1, parts=[g_call(args="[cut]"), g_call(sign=None)]),
    ),
    Case(
        rule="GE-11",
        good=g_body(*G_OPEN),
        bad=g_body(*UNSIGNED),
        naive=changed(1, parts=[g_call(sign=None), g_call(sign=None)]),
    ),
    Case(
        rule="GE-12",
        good=g_body(*G_ROUND, model="gemini-3.6-flash"),
        bad=g_body(g(), g_model(), model="gemini-3.6-flash"),
        naive=tail(1),
    ),
    Case(
        rule="GE-13",
        good=g_body(g(), cachedContent="cachedContents/a"),
        bad=g_body(g(), cachedContent="cachedContents/a", tools=[{}]),
    ),
    Case(
        rule="GX-01",
        original=G_ROUND,
        good=G_OPEN,
        bad=[g(), g_model(g_call(sign="other"), g_call(sign=None)), g(g_said())],
        naive=changed(1, parts=[g_call(sign=None), g_call(sign=None)]),
    ),
    Case(rule="GE-s1", good=G_ROUND, bad=[g(), g_model(g_call())], naive=tail(3)),
    Case(
        rule="GE-s2",
        good=G_ROUND,
        bad=[g(), g_model(g_call()), g(g_said("other"))],
        whole=[
            g(),
            g_model(g_call()),
            g(g_said()),
            g_model(g_call("b")),
            g(g_said("b")),
        ],
        naive=without(2, 3),
    ),
    Case(
        rule="GE-s3",
        good=G_ROUND,
        bad=[g(), g_model(g_call()), g(g_said(), {"text": "x"})],
    ),
    Case(
        rule="GE-s4",
        good={"contents": [g()], "systemInstruction": g()},
        bad={"contents": [g()], "systemInstruction": g({"inlineData": {"data": ""}})},
    ),
    Case(rule="GE-s5", good=G_ROUND, bad=[g(), g_model()], naive=tail(1)),
    Case(
        rule="GE-s6",
        good=G_OPEN,
        bad=UNSIGNED,
        naive=changed(1, parts=[g_call(sign=None), g_call(sign=None)]),
    ),
]


def b(*blocks: Json, role: str = "user") -> Json:
    return {"role": role, "content": list(blocks) or [{"text": "Go on."}]}


def b_model(*blocks: Json) -> Json:
    return b(*blocks or ({"text": "Done."},), role="assistant")


def use(call_id: str = "c1", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": "look", "input": {}, **more}}


def result(call_id: str = "c1", content: Any = None, **more: Any) -> Json:
    value = [{"text": "found"}] if content is None else content
    return {"toolResult": {"toolUseId": call_id, "content": value, **more}}


def thought(words: str) -> Json:
    return {"reasoningContent": {"reasoningText": {"text": words, "signature": words}}}


B_IMAGE = {"image": {"format": "png", "source": {}}}
B_DOCUMENT = {"document": {"name": "a", "format": "pdf", "source": {}}}
POINT = {"cachePoint": {"type": "default"}}


def converse(*messages: Json, **more: Any) -> Json:
    return {"messages": list(messages), "toolConfig": {"tools": [{}]}, **more}


B_ROUND = converse(
    b(), b_model(use("c1"), use("c2")), b(result("c1"), result("c2")), b_model(), b()
)
B_TALK = [
    b(),
    b_model(thought("one"), {"text": "1"}),
    b(),
    b_model(thought("two")),
    b(),
]

BEDROCK = [
    Case(rule="BR-01", good=[b()], bad=[], naive=head(1)),
    Case(rule="BR-02", good=[b(), b_model(), b()], bad=[b_model(), b()], naive=head(1)),
    Case(rule="BR-03", good=[b(), b_model(), b()], bad=[b(), b()], naive=without(1)),
    Case(
        rule="BR-04",
        good=[b()],
        bad=[{"role": "user", "content": "Hi"}],
        naive=changed(0, content=[]),
    ),
    Case(
        rule="BR-05",
        good=[b()],
        bad=[b({"text": " "})],
        naive=changed(0, content=[{"text": ""}]),
    ),
    Case(
        rule="BR-06",
        good=B_ROUND,
        bad=converse(b(), b_model(use()), b()),
        naive=changed(2, content=[result("c1")]),
    ),
    Case(
        rule="BR-07",
        good=B_ROUND,
        bad=converse(b(), b_model(use()), b(result(), result("c9"))),
        naive=head(2),
    ),
    Case(
        rule="BR-08",
        good=B_ROUND,
        bad=converse(b(), b_model(use(), use()), b(result())),
        naive=changed(2, content=[result("c1"), result("c2"), result("c2")]),
    ),
    Case(
        rule="BR-09",
        good=B_ROUND,
        bad=converse(b(), b_model(use("c/1")), b(result("c/1"))),
        naive=changed(
            1, content=[use("c1"), {"toolUse": {"toolUseId": "c2", "name": "look"}}]
        ),
    ),
    Case(
        rule="BR-10",
        good=B_ROUND,
        bad={"messages": B_ROUND["messages"], "system": []},
        whole={**B_ROUND, "system": []},
        naive=lacking("toolConfig"),
    ),
    Case(
        rule="BR-11",
        good=B_ROUND,
        bad=[b(), b_model(B_IMAGE), b()],
    ),
    Case(
        rule="BR-12",
        good=[b({"text": "Read."}, B_DOCUMENT)],
        bad=[b(B_DOCUMENT)],
        naive=changed(0, content=[B_DOCUMENT]),
    ),
    Case(
        rule="BR-13",
        good=B_ROUND,
        bad=converse(b(), b_model(use()), b(result("c1", "found"))),
        naive=changed(2, content=[result("c1", [], status="error"), result("c2")]),
    ),
    Case(
        rule="BR-14",
        good=[b()],
        bad=[b({"text": "x", **POINT})],
        naive=changed(0, content=[{}]),
    ),
    Case(
        rule="BR-19",
        good={"messages": [b()], "system": [{"text": "x"}, POINT]},
        bad={"messages": [b()], "system": [B_IMAGE]},
        naive=lambda r: {**r, "system": [{"text": ""}]},
    ),
    Case(
        rule="BX-01",
        original=B_TALK,
        good=B_TALK,
        bad=[b(), b_model(thought("one "), {"text": "1"}), b()],
        naive=changed(1, content=[thought("o[...]"), {"text": "1"}]),
    ),
    Case(
        rule="AE-03",
        original=B_TALK,
        good=[*B_TALK[:1], b_model({"text": "1"}), *B_TALK[2:]],
        bad=B_TALK[2:],
        naive=head(2),
        model="us.anthropic.claude-opus-5-5-v1:0",
    ),
    Case(
        rule="BR-s1",
        good=[b({"text": "x"}, *[B_IMAGE] * 20, *[B_DOCUMENT] * 5)],
        bad=[b({"text": "x"}, *[B_DOCUMENT] * 6)],
    ),
    Case(
        rule="BR-s2",
        good=B_ROUND,
        bad=converse(b(), b_model(use()), b(result(), {"text": "x"})),
        whole=converse(b(), b_model(use()), b(result()), b_model(), b()),
        naive=lambda r: {
            **r,
            "messages": [*r["messages"][:2], b(result(), {"text": "Go on."})],
        },
    ),
    Case(rule="BR-s3", good=[b(), b_model(), b()], bad=[b(), b_model()], naive=tail(1)),
    Case(rule="BR-s4", good=[b()], bad=[b(role="system"), b()]),
    Case(
        rule="BR-s5",
        good=[b({"text": "x"}, *[POINT] * 4)],
        bad=[b({"text": "x"}, *[POINT] * 5)],
    ),
    Case(rule="BR-s6", good=B_ROUND, bad=bare(B_ROUND), naive=bare),
    Case(
        rule="BR-s7",
        good=B_TALK,
        bad=[b({"text": "x"}, thought("one"))],
    ),
]
