"""Examples for the rules of Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from tests.profiles.case import Case, bare, changed, head, lacking, tail, without

Json = dict[str, Any]

NEW, OLD, BOUND = "claude-sonnet-4-6", "claude-sonnet-4-5-20250929", "claude-opus-5-5"
TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
SERVED = [*TOOLS, {"type": "web_search_20250305", "name": "web_search"}]
REFERENCE = {"type": "tool_reference", "tool_name": "look"}
BARE_PAGE = {"type": "web_search_result", "url": "https://a.example", "title": "A"}
PAGE = {**BARE_PAGE, "encrypted_content": "x"}


def u(*blocks: Any) -> Json:
    return {"role": "user", "content": list(blocks) or "Go on."}


def a(*blocks: Any) -> Json:
    return {"role": "assistant", "content": list(blocks) or "Done."}


def system(content: Any = "Use types.") -> Json:
    return {"role": "system", "content": content}


def text(words: str = "Look.", **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def use(call_id: Any = "c1", **more: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **more}


def result(call_id: Any = "c1", content: Any = "found", **more: Any) -> Json:
    said = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**said, **more}


def think(words: str = "hm", **more: Any) -> Json:
    return {"type": "thinking", "thinking": words, "signature": f"s-{words}", **more}


REDACTED = {"type": "redacted_thinking", "data": "x"}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
ENABLED = {"type": "enabled", "budget_tokens": 1024}
ADAPTIVE = {"type": "adaptive"}


def body(*messages: Json, model: str = OLD, tools: Any = TOOLS, **more: Any) -> Json:
    return {"model": model, "messages": list(messages), "tools": tools, **more}


def server(call_id: str = "srvtoolu_1") -> Json:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def searched(call_id: str = "srvtoolu_1", found: Any = ()) -> Json:
    kind = "web_search_tool_result"
    return {"type": kind, "tool_use_id": call_id, "content": list(found)}


PAIR = body(u(), a(use("c1"), use("c2")), u(result("c1"), result("c2")), a(), u())
THOUGHT = body(
    u(),
    a(think("one"), use("c1")),
    u(result("c1")),
    a(think("two"), use("c2")),
    u(result("c2")),
    thinking=ENABLED,
)
TALK = [
    u(),
    a(think("one"), text("1")),
    u(text("2")),
    a(think("two"), text("3")),
    u(text("4")),
    a(think("three"), text("5")),
    u(text("6")),
]


def stripped(*places: int) -> Any:
    """Remove the thinking of the messages at *places*."""

    def naive(request: Json) -> Json:
        messages = [
            {**each, "content": [b for b in each["content"] if b["type"] != "thinking"]}
            if nth in places
            else each
            for nth, each in enumerate(request["messages"])
        ]
        return {**request, "messages": messages}

    return naive


MIXED = body(u(), a(server(), use()), u(result()), tools=SERVED)
"""A server's tool waits beside a client's call that has been answered."""

ANTHROPIC = [
    Case(rule="AN-01", good=[u()], bad=[], naive=head(1)),
    Case(rule="AN-02", good=[u()], bad=[u(), {"role": "tool", "content": "x"}]),
    Case(
        rule="AN-03",
        good=body(u(), a(), u(), system(), a(), u(), model="claude-opus-4-8"),
        bad=body(u(), a(), system(), u(), model="claude-opus-4-8"),
        naive=without(2),
    ),
    Case(
        rule="AN-05",
        good=[u(), a(), u()],
        bad=[{"role": "user", "content": ""}],
        naive=changed(0, content=[]),
    ),
    Case(
        rule="AN-06",
        good=[u(text()), a(), u()],
        bad=[u(text("")), a(), u()],
        naive=changed(0, content=[text("")]),
    ),
    Case(
        rule="AN-07",
        good=[u(text(" "), text("real"))],
        bad=[u(text(" "), text("\n"))],
        naive=changed(0, content="  "),
    ),
    Case(
        rule="AN-08",
        good=[u(), a(text("It is"))],
        bad=[u(), a(text("It is "))],
        naive=changed(1, content="It "),
    ),
    Case(
        rule="AN-09",
        good=body(u(), a(), u(), model=NEW),
        bad=body(u(), a(), model=NEW),
        naive=tail(1),
    ),
    Case(
        rule="AN-10",
        good=PAIR,
        bad=body(u(), a(use("c1"), use("c2")), u(result("c1")), u(text())),
        naive=without(2),
    ),
    Case(rule="AN-11", good=PAIR, bad=body(u(result("c1")), a(), u()), naive=head(2)),
    Case(
        rule="AN-12",
        good=body(u(), a(use()), u(result(), text())),
        bad=body(u(), a(use()), u(text(), result())),
        whole=body(u(), a(use()), u(result()), a(), u(text())),
        naive=lambda r: {
            **r,
            "messages": [*r["messages"][:2], u(text("[cut]")), r["messages"][2]],
        },
    ),
    Case(
        rule="AN-13",
        good=PAIR,
        bad=body(u(), a(use("c1"), use("c1")), u(result("c1"))),
        whole=body(u(), a(use("c1")), u(result("c1")), a(use("c1")), u(result("c1"))),
        naive=without(2),
    ),
    Case(
        rule="AN-14",
        good=PAIR,
        bad=body(u(), a(use("c1")), u(result("c1"), result("c1"))),
        whole=body(u(), a(use("c1")), u(result("c1")), a(use("c1")), u(result("c1"))),
        naive=without(3),
    ),
    Case(
        rule="AN-15",
        good=PAIR,
        bad=body(u(), a(use("c.1")), u(result("c.1"))),
    ),
    Case(
        rule="AN-16",
        good=PAIR,
        bad=body(u(use()), a(), u(result("c1"))),
        naive=changed(1, content=[use("c1", input="[cut]"), use("c2")]),
    ),
    Case(
        rule="AN-17",
        good=body(u(), a(think(""), REDACTED, text()), u()),
        bad=body(u(), a({"type": "thinking", "thinking": "x"}, text()), u()),
        naive=changed(1, content=[{"type": "redacted_thinking"}, text()]),
    ),
    Case(
        rule="AN-18",
        good=THOUGHT,
        bad=body(u(), a(use()), u(result()), thinking=ENABLED),
        naive=stripped(1),
    ),
    Case(
        rule="AN-19",
        good=body(u(), a(think(), text()), u()),
        bad=body(u(), a(text(), think())),
        naive=lambda r: {**r, "messages": [r["messages"][0], a(think())]},
    ),
    Case(
        rule="AN-20",
        good=[u(*[text(cache_control=MARK)] * 4)],
        bad=body(
            u(*[text(cache_control=MARK)] * 3),
            a(use()),
            u(result("c1", [text(cache_control=MARK)], cache_control=MARK)),
        ),
    ),
    Case(
        rule="AN-21",
        good=[u(), a(think(), text(cache_control=MARK)), u()],
        bad=[u(), a(think(cache_control=MARK), text()), u()],
    ),
    Case(rule="AN-22", good=[u(*[IMAGE] * 600)], bad=[u(*[IMAGE] * 601)]),
    Case(
        rule="AN-23",
        good=PAIR,
        bad=body(u(), a(use()), u(result()), tools=[]),
        naive=lacking("tools"),
    ),
    Case(
        rule="AN-24",
        good=body(u(), tools=[{"name": "n" * 128}]),
        bad=body(u(), tools=[{"name": "n" * 129}]),
    ),
    Case(
        rule="AN-25",
        good=body(u(), a(use()), u(result("c1", [text(), IMAGE]))),
        bad=body(u(), a(use()), u(result("c1", [think()]))),
    ),
    Case(
        rule="AN-26",
        good=body(u(), system=[text()]),
        bad=body(u(), system=[IMAGE]),
    ),
    Case(
        rule="AN-27",
        good=body(u(), a(use()), u(result("c1", "failed", is_error=True))),
        bad=body(u(), a(use()), u(result("c1", "", is_error=True))),
        naive=changed(2, content=[result("c1", [], is_error=True)]),
    ),
    Case(
        rule="AN-28",
        good=body(u(), a(server(), searched(), text()), u()),
        bad=body(u(), a(searched(), text()), u()),
        naive=changed(1, content=[searched(), text()]),
    ),
    Case(
        rule="AN-30",
        good=body(u(*[text(cache_control=MARK)] * 3), cache_control=MARK),
        bad=body(u(*[text(cache_control=MARK)] * 4), cache_control=MARK),
    ),
    Case(
        rule="AN-31",
        good=body(u(text(cache_control=HOUR), text(cache_control=MARK))),
        bad=body(u(text(cache_control=MARK), text(cache_control=HOUR))),
    ),
    Case(
        rule="AN-32",
        good=MIXED,
        bad=body(u(), a(server(), use()), u(result(), text()), tools=SERVED),
        naive=lambda r: {**r, "tools": TOOLS},
    ),
    Case(
        rule="AN-33",
        good=body(u(), a(use()), u(result("c1", [REFERENCE]))),
        bad=body(u(), tools=[{**TOOLS[0], "defer_loading": True}]),
        naive=lambda r: {**r, "tools": [{**TOOLS[0], "name": "other"}]},
    ),
    Case(
        rule="AN-34",
        good=body(u(), a(server(), searched(found=[PAGE]), text()), u()),
        bad=body(u(), a(server(), searched(found=[{**PAGE, "encrypted_content": ""}]))),
        naive=changed(1, content=[server(), searched(found=[BARE_PAGE]), text()]),
    ),
    Case(
        rule="AN-35",
        good=[u(text())],
        bad=[u({"text": "x"})],
        naive=changed(0, content=[{"type": "text"}]),
    ),
    Case(
        rule="AE-01",
        original=body(*TALK),
        good=stripped(1)(body(*TALK)),
        bad=body(u(), a(think("one more", signature="s-one"), text("1")), u()),
        naive=changed(1, content=[think("o[...]", signature="s-one"), text("1")]),
    ),
    Case(
        rule="AE-02",
        original={**THOUGHT, "thinking": ADAPTIVE},
        good={**THOUGHT, "thinking": ADAPTIVE},
        bad=stripped(3)({**THOUGHT, "thinking": ADAPTIVE}),
        naive=stripped(3),
    ),
    Case(
        rule="AE-03",
        original=body(*TALK, model=BOUND),
        good=stripped(1, 3)(body(*TALK, model=BOUND)),
        bad=stripped(3)(body(*TALK, model=BOUND)),
        naive=head(2),
    ),
    Case(rule="AN-s1", good=[u(), a(), u()], bad=[a(), u()], naive=head(1)),
    Case(
        rule="AN-s2",
        good=[u(), a(), u()],
        bad=[u(), {"role": "assistant", "content": []}, u()],
        naive=changed(1, content=""),
    ),
    Case(
        rule="AN-s3",
        good=[u(text(), IMAGE)],
        bad=[u(text(" "), IMAGE)],
        naive=changed(0, content=[text("\n"), IMAGE]),
    ),
    Case(
        rule="AN-s4",
        good=PAIR,
        bad=body(u(), a(use()), u(result("c1", [text("")]))),
        naive=changed(2, content=[result("c1", ""), result("c2")]),
    ),
    Case(
        rule="AN-s5",
        good=body(u(), system(), a(), u(), model="claude-opus-4-8"),
        bad=body(u(), system(), system(), a(), u(), model="claude-opus-4-8"),
        whole=body(u(), system(), a(), u(), system(), model="claude-opus-4-8"),
        naive=without(2, 3),
    ),
    Case(rule="AN-s6", good=[u(*[IMAGE] * 100)], bad=[u(*[IMAGE] * 101)]),
    Case(rule="AN-s7", good=PAIR, bad=bare(PAIR), naive=bare),
    Case(
        rule="AN-s8",
        good=PAIR,
        bad=body(u(), a(use()), u(result()), a(use()), u(result())),
    ),
    Case(rule="AN-s10", good=[u(), a(), u()], bad=[u(), a()], naive=tail(1)),
    Case(
        rule="AN-s12",
        good=body(u(), a(server(), searched()), u()),
        bad=body(u(), a(server("s1"), searched("s1")), u()),
    ),
    Case(
        rule="AN-s11",
        good=THOUGHT,
        bad=stripped(3)(THOUGHT),
        naive=stripped(3),
    ),
    Case(
        rule="AE-s1",
        original={**THOUGHT, "thinking": ADAPTIVE},
        good={**THOUGHT, "thinking": ADAPTIVE},
        bad=stripped(1, 3)({**THOUGHT, "thinking": ADAPTIVE}),
        naive=stripped(1, 3),
    ),
    Case(
        rule="AE-s2",
        original=body(*TALK),
        good=stripped(1)(body(*TALK)),
        bad=stripped(3)(body(*TALK)),
        naive=head(2),
    ),
]
