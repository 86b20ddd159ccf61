"""Examples for the rules of OpenAI's chat API and of DeepSeek."""

from __future__ import annotations

from typing import Any

from tests.profiles.case import (
    Case,
    changed,
    head,
    stripped,
    tail,
    without,
)

Json = dict[str, Any]


def s(text: str = "Be brief.") -> Json:
    return {"role": "system", "content": text}


def u(text: Any = "Go on.", **more: Any) -> Json:
    return {"role": "user", "content": text, **more}


def a(text: Any = "Done.", **more: Any) -> Json:
    return {"role": "assistant", "content": text, **more}


def call(call_id: Any, name: Any = "look", arguments: Any = "{}") -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calls(*ids: Any, **more: Any) -> Json:
    made = [call(each) for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def t(call_id: Any, content: Any = "found") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


PAIR = [u(), calls("c1", "c2"), t("c1"), t("c2"), a(), u()]
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def shared(prefix: str) -> list[Case]:
    """The rules that both have, under *prefix*."""
    thought = {"reasoning_content": "Let me look."}
    pair = [u(), calls("c1", "c2", **thought), t("c1"), t("c2"), a(**thought), u()]
    return [
        Case(rule=f"{prefix}-01", good=[u()], bad=[], naive=head(1)),
        Case(
            rule=f"{prefix}-03",
            good=[u(), calls("c1"), t("c1", "")],
            bad=[u(None)],
            naive=changed(2, content=None),
        ),
        Case(
            rule=f"{prefix}-04",
            good=[u(), a("", tool_calls=None), u()],
            bad=[u(), a(None), u()],
            whole=[u(), calls("c1"), t("c1"), u()],
            naive=lambda request: stripped(1, "tool_calls")(without(2)(request)),
        ),
        Case(
            rule=f"{prefix}-08",
            good=[u(), a(), u()],
            bad=[u(), a("Hi", tool_calls=[]), u()],
            whole=[u(), calls("c1", content="I look."), t("c1"), u()],
            naive=lambda request: changed(1, tool_calls=[])(without(2)(request)),
        ),
        Case(
            rule=f"{prefix}-09",
            good=pair,
            bad=[u(), a(None, tool_calls=[call("c1", arguments={})]), t("c1")],
        ),
        Case(rule=f"{prefix}-10", good=pair, bad=[t("c1"), u()], naive=head(2)),
        Case(
            rule=f"{prefix}-11",
            good=pair,
            bad=[u(), calls("c1"), t("c1"), t("c9")],
            whole=[u(), calls("c1"), t("c1"), calls("c2"), t("c2"), u()],
            naive=without(3),
        ),
        Case(
            rule=f"{prefix}-12",
            good=pair,
            bad=[u(), calls("c1", "c2"), t("c1"), u(), t("c2")],
            naive=without(3),
        ),
        Case(
            rule=f"{prefix}-13",
            good=pair,
            bad=[u(), calls("c1"), t("c1"), t("c1")],
            whole=[u(), calls("c1"), t("c1"), calls("c1"), t("c1"), u()],
            naive=without(3),
        ),
        Case(rule=f"{prefix}-s1", good=pair, bad=[u(), calls("c1", "c1"), t("c1")]),
        Case(
            rule=f"{prefix}-s2",
            good=[u(), calls("c" * 40), t("c" * 40)],
            bad=[u(), calls("c" * 41), t("c" * 41)],
        ),
        Case(
            rule=f"{prefix}-s3",
            good=pair,
            bad=[u(), a(None, tool_calls=[call("c1", "a.b")]), t("c1")],
        ),
    ]


OPENAI = [
    *shared("OC"),
    Case(rule="OC-02", good=[u()], bad=[{"role": "model", "content": "x"}]),
    Case(
        rule="OC-05",
        good=[u([{"type": "text", "text": "x"}])],
        bad=[u([])],
        naive=changed(0, content=[]),
    ),
    Case(
        rule="OC-06",
        good=[u([IMAGE]), a([{"type": "refusal", "refusal": "no"}]), u()],
        bad=[{"role": "system", "content": [IMAGE]}, u()],
    ),
    Case(
        rule="OC-07",
        good=[
            u(
                [
                    {"type": "file", "file": {"file_data": "x", "filename": "a.pdf"}},
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {
                        "type": "input_audio",
                        "input_audio": {"data": "", "format": "wav"},
                    },
                ]
            )
        ],
        bad=[u([{"type": "file", "file": {"file_data": "x"}}])],
        naive=changed(0, content=[{"type": "image_url", "image_url": {}}]),
    ),
    Case(rule="OC-16", good=[u(name="Ann_1")], bad=[u(name="Ann Lee")]),
    Case(
        rule="OC-17",
        good={"messages": [u()], "tools": [{"function": {"name": "look"}}]},
        bad={"messages": [u()], "tools": [{"function": {"name": "look up"}}]},
    ),
    Case(
        rule="OC-18",
        good=[u(), {"role": "function", "name": "look", "content": None}],
        bad=[u(), {"role": "function", "content": "found"}],
        naive=stripped(1, "name"),
    ),
    Case(rule="OC-s4", good=[u(name="Ann")], bad=[u(name="Änne")]),
    Case(rule="OC-s5", good=[u([IMAGE] * 500)], bad=[u([IMAGE] * 501)]),
]


def thinking(*entries: Json, model: str = "deepseek-v4-pro", **more: Any) -> Json:
    return {"model": model, "messages": list(entries), **more}


REASONED = [
    u(),
    calls("c1", reasoning_content="Let me look."),
    t("c1"),
    a(reasoning_content="Found."),
    u(),
]

DEEPSEEK = [
    *shared("DS"),
    Case(rule="DS-02", good=[s(), u()], bad=[{"role": "developer", "content": "x"}]),
    Case(rule="DS-06", good=[u([IMAGE])], bad=[u(), a([IMAGE]), u()]),
    Case(
        rule="DS-20",
        good=thinking(*REASONED),
        bad=thinking(u(), calls("c1"), t("c1"), a(), u()),
        naive=stripped(1, "reasoning_content"),
    ),
    Case(
        rule="DX-01",
        original=thinking(*REASONED),
        good=thinking(*REASONED[1:]),
        bad=thinking(u(), calls("c1", reasoning_content="Look."), t("c1"), u()),
        naive=changed(1, reasoning_content="Let me [...]"),
    ),
    Case(
        rule="DS-s4",
        good=[u(), a("It is", prefix=True)],
        bad=[u(), a("It is", prefix=True), u()],
    ),
    Case(
        rule="DS-s5",
        good=thinking(u(), a(), u(), model="deepseek-reasoner"),
        bad=thinking(u(), u(), model="deepseek-reasoner"),
        naive=without(1),
    ),
    Case(
        rule="DS-s6",
        good=REASONED,
        bad=[u(), calls("c1"), t("c1"), u()],
        naive=stripped(1, "reasoning_content"),
    ),
    Case(
        rule="DS-s7",
        good=thinking(*REASONED),
        bad=thinking(*REASONED[:3], a(), u()),
        naive=stripped(3, "reasoning_content"),
    ),
]


K1, K2 = "abcdef123", "abcdef456"
ROUND = [u(), calls(K1, K2), t(K1), t(K2), a(), u()]

MISTRAL = [
    Case(rule="MI-01", good=[u()], bad=[], naive=head(1)),
    Case(rule="MI-02", good=[s(), u()], bad=[{"role": "developer", "content": "x"}]),
    Case(
        rule="MI-03",
        good=ROUND,
        bad=[u(), t(K1)],
        naive=without(1),
    ),
    Case(
        rule="MI-04",
        good=ROUND,
        bad=[u(), calls(K1, K2), t(K1), a(), u()],
        naive=without(3),
    ),
    Case(rule="MI-05", good=ROUND, bad=[u(), calls("null"), t("null")]),
    Case(
        rule="MI-06",
        good=ROUND,
        bad=[u(), calls(K1), t(K1), t(K1)],
        whole=[u(), calls(K1), t(K1), calls(K1), t(K1)],
        naive=without(3),
    ),
    Case(rule="MI-07", good=ROUND, bad=[u(), a()], naive=tail(1)),
    Case(
        rule="MI-08",
        good=[u(), a("It is", prefix=True)],
        bad=[u(), a("It is", prefix=True), u()],
    ),
    Case(rule="MI-09", good=ROUND, bad=[u(), a("x", tool_calls={"id": K1}), u()]),
    Case(
        rule="MI-10",
        good=ROUND,
        bad=[u(), a(None, tool_calls=[call(K1, "a b")]), t(K1)],
    ),
    Case(rule="MI-11", good=[u()], bad=[t(K1)], whole=ROUND, naive=lambda r: r[3:4]),
    Case(
        rule="MI-12",
        good=[s(), u()],
        bad=[{"role": "system", "content": [IMAGE]}, u()],
        naive=changed(0, content=None),
    ),
    Case(
        rule="MI-13",
        good=[u(), a(None, tool_calls=[call(K1, arguments={})]), t(K1)],
        bad=[u(), a(None, tool_calls=[call(K1, arguments=None)]), t(K1)],
        naive=changed(1, tool_calls=[call(K1, arguments=None)]),
    ),
    Case(
        rule="MI-14",
        good=[u(), a(), u()],
        bad=[u(), a(""), u()],
        naive=changed(1, content=""),
    ),
    Case(
        rule="MI-15",
        good=[u([{"type": "text", "text": "x"}])],
        bad=[u(5)],
        naive=changed(0, content=[{"text": "x"}]),
    ),
    Case(rule="MI-s1", good=ROUND, bad=[u(), calls(K1), t(K1), u()], naive=without(4)),
    Case(rule="MI-s2", good=ROUND, bad=[u(), calls("call_1"), t("call_1")]),
    Case(rule="MI-s4", good=[u(), s(), u()], bad=[u(), s()], naive=tail(1)),
]


def asked(name: Any = "look", arguments: Any = None) -> Json:
    function = {"name": name, "arguments": {} if arguments is None else arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}


SAID = {"role": "tool", "tool_name": "look", "content": "found"}
FOUND = [u(), asked(), SAID, a(), u()]

OLLAMA = [
    Case(rule="OL-01", good=FOUND, bad=[{"role": "developer", "content": "x"}]),
    Case(
        rule="OL-02",
        good=[u(), {"role": "assistant", "thinking": "hm"}],
        bad=[u([{"type": "text", "text": "x"}])],
    ),
    Case(rule="OL-03", good=FOUND, bad=[u(), asked(arguments="{}"), SAID]),
    Case(
        rule="OL-04",
        good=[u(images=["aGk="])],
        bad=[u(images=["data:image/png;base64,aGk="])],
        naive=changed(0, images=["[image removed]"]),
    ),
    Case(rule="OL-s1", good=[u()], bad=[], naive=head(1)),
    Case(rule="OL-s2", good=FOUND, bad=[SAID, u()], naive=head(2)),
    Case(
        rule="OL-s3",
        good=FOUND,
        bad=[u(), asked(), {"role": "tool", "content": "x"}],
        naive=stripped(2, "tool_name"),
    ),
    Case(rule="OL-s4", good=[s(), u()], bad=[u(), s(), u()]),
]

LLAMA = "alternating/llama3"
GEMMA = "alternating/gemma2"
QWEN = "alternating/qwen"

ALTERNATING = [
    Case(rule="AL-01", good=[u()], bad=[], naive=head(1)),
    Case(rule="AL-02", good=[u()], bad=[s(), u()], profile=GEMMA),
    Case(rule="AL-03", good=[s(), u()], bad=[u(), a(), s(), u()]),
    Case(rule="AL-04", good=[u()], bad=[{"role": "developer", "content": "x"}, u()]),
    Case(
        rule="AL-05",
        good=[s(), u(), calls("c1"), t("c1"), a(), u()],
        bad=[u(), calls("c1"), t("c1"), u()],
        naive=without(4),
    ),
    Case(
        rule="AL-06",
        good=[u(), calls("c1"), t("c1"), a(), u()],
        bad=[u(), t("c1"), a(), u()],
        naive=without(1),
    ),
    Case(
        rule="AL-07",
        good=[u(), a(), u()],
        bad=[u(), a(""), u()],
        naive=changed(1, content=""),
    ),
    Case(
        rule="AL-08",
        good=[u(), calls("c1"), t("c1"), u()],
        bad=[u(), calls("c1", "c2"), t("c1"), t("c2"), u()],
        profile=LLAMA,
    ),
    Case(
        rule="AL-09",
        good=[u(), calls("c1"), t("c1")],
        bad=[s(), calls("c1"), t("c1")],
        naive=head(1),
        profile=QWEN,
    ),
    Case(
        rule="AL-10",
        good=[u(), calls("c1"), t("c1")],
        bad=[u(), calls("c1")],
        naive=tail(1),
    ),
    Case(rule="AL-s1", good=[u(), a(), u()], bad=[u(), a()], naive=tail(1)),
    Case(
        rule="AL-s2",
        good=[u(), calls("c1", "c2"), t("c1"), t("c2"), a(), u()],
        bad=[u(), calls("c1"), a(), u()],
        naive=without(3),
    ),
    Case(
        rule="AL-s3",
        good=[u(), calls("c1"), t("c1")],
        bad=[calls("c1"), t("c1"), u()],
        naive=head(1),
    ),
]
