"""Tools that a provider runs itself: pairs like any other, in one message or more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation

Item = dict[str, Any]


def user(said: Any) -> Item:
    """What a person says to Claude."""
    return {"role": "user", "content": said}


def claude(*blocks: Item) -> Item:
    """What Claude says."""
    return {"role": "assistant", "content": list(blocks)}


def text(said: str) -> Item:
    """A block of text."""
    return {"type": "text", "text": said}


def use(call_id: str, **more: Any) -> Item:
    """A call that the caller answers."""
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **more}


def result(call_id: str, said: str = "r") -> Item:
    """Its answer."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def server(call_id: str, kind: str = "server_tool_use") -> Item:
    """A call that the provider answers."""
    return {"type": kind, "id": call_id, "name": "web_search", "input": {}}


def found(call_id: str, kind: str = "web_search_tool_result") -> Item:
    """Its answer."""
    return {"type": kind, "tool_use_id": call_id, "content": []}


def bedrock(role: str, *blocks: Item) -> Item:
    """A message of Bedrock's."""
    return {"role": role, "content": list(blocks)}


def gemini(role: str, *parts: Item) -> Item:
    """A content of Gemini's."""
    return {"role": role, "parts": list(parts)}


def said(role: str, words: str) -> Item:
    """An item of Responses."""
    return {"role": role, "content": words}


def function(call_id: str, **more: Any) -> Item:
    """A call of a function."""
    kind = "function_call"
    return {"type": kind, "call_id": call_id, "name": "f", "arguments": "{}", **more}


def output(call_id: str, words: str = "r", kind: str = "function") -> Item:
    """Its answer."""
    return {"type": f"{kind}_call_output", "call_id": call_id, "output": words}


def request(name: str = "mcpr_1", tool: str = "pay") -> Item:
    """A request for approval."""
    kind = "mcp_approval_request"
    return {
        "type": kind,
        "id": name,
        "name": tool,
        "arguments": "{}",
        "server_label": "s",
    }


def consent(name: str = "mcpr_1", *, approve: bool = True) -> Item:
    """What somebody said to it."""
    kind = "mcp_approval_response"
    return {"type": kind, "approval_request_id": name, "approve": approve}


def remote(name: str = "mcpr_1") -> Item:
    """The call that was approved, with its result inside."""
    return {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "pay",
        "arguments": "{}",
        "server_label": "s",
        "approval_request_id": name,
        "output": "paid",
    }


def program(call_id: str = "prog_1") -> Item:
    """Code of the model's that calls functions."""
    return {
        "type": "program",
        "id": "p1",
        "call_id": call_id,
        "code": "f()",
        "fingerprint": "x",
    }


def ended(call_id: str = "prog_1") -> Item:
    """What the code came to."""
    return {
        "type": "program_output",
        "id": "po1",
        "call_id": call_id,
        "result": "ok",
        "status": "completed",
    }


LONG = "word " * 60
PROGRAM = {"type": "program", "caller_id": "prog_1"}
CODE = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
USED = {"toolUseId": "s1", "name": "search", "input": {}, "type": "server_tool_use"}

TIED: dict[str, tuple[str, list[Item], list[str]]] = {
    "a server's result in the next message": (
        "anthropic",
        [
            claude(server("srvtoolu_1"), use("t1")),
            user([result("t1", LONG)]),
            claude(found("srvtoolu_1"), text("Found."), use("t2")),
            user([result("t2", LONG)]),
            claude(text(LONG)),
        ],
        ["srvtoolu_1", "t1"],
    ),
    "a remote tool's": (
        "anthropic",
        [
            claude(server("mcptoolu_1", "mcp_tool_use"), use("t1")),
            user([result("t1", LONG)]),
            claude(found("mcptoolu_1", "mcp_tool_result"), text(LONG)),
        ],
        ["mcptoolu_1", "t1"],
    ),
    "a call that code made": (
        "anthropic",
        [
            claude(server("srvtoolu_1"), use("t1", caller=CODE)),
            user([result("t1", LONG)]),
            claude(use("t2", caller=CODE)),
            user([result("t2", LONG)]),
            claude(found("srvtoolu_1", "code_execution_tool_result"), text(LONG)),
        ],
        ["srvtoolu_1", "t1", "t2"],
    ),
    "Bedrock's own": (
        "bedrock",
        [
            bedrock(
                "assistant",
                {"toolUse": USED},
                {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}},
            ),
            bedrock(
                "user",
                {"toolResult": {"toolUseId": "t1", "content": [{"text": LONG}]}},
            ),
            bedrock(
                "assistant",
                {"toolResult": {"toolUseId": "s1", "content": [{"text": "r"}]}},
                {"text": LONG},
            ),
        ],
        ["s1", "t1"],
    ),
    "Gemini's own": (
        "gemini",
        [
            gemini(
                "model",
                {"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH", "args": {}}},
                {"functionCall": {"id": "t1", "name": "f", "args": {}}},
            ),
            gemini(
                "user",
                {
                    "functionResponse": {
                        "id": "t1",
                        "name": "f",
                        "response": {"a": LONG},
                    }
                },
            ),
            gemini(
                "model",
                {"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH"}},
                {"text": LONG},
            ),
        ],
        ["s1", "t1"],
    ),
    "Gemini's code, by order": (
        "gemini",
        [
            gemini(
                "model",
                {"executableCode": {"code": "mark_code", "language": "PYTHON"}},
                {"functionCall": {"id": "t1", "name": "f", "args": {}}},
            ),
            gemini(
                "user",
                {
                    "functionResponse": {
                        "id": "t1",
                        "name": "f",
                        "response": {"a": LONG},
                    }
                },
            ),
            gemini(
                "model",
                {
                    "codeExecutionResult": {
                        "outcome": "OUTCOME_OK",
                        "output": "mark_out",
                    }
                },
                {"text": LONG},
            ),
        ],
        ["mark_code", "mark_out", "t1"],
    ),
    "a call of a program": (
        "openai-responses",
        [
            program(),
            function("c1", caller=PROGRAM),
            output("c1", LONG),
            function("c2", caller=PROGRAM),
            output("c2", LONG),
            ended(),
            said("assistant", LONG),
        ],
        ["prog_1", "c1", "c2"],
    ),
    "consent and what it led to": (
        "openai-responses",
        [request(), consent(), remote(), said("assistant", LONG)],
        ["mcp_approval_request", "mcp_approval_response", "mcp_call"],
    ),
}
"""By what it is: the format, the messages of a turn, and the marks of what is tied."""


def ask(name: str, words: str) -> Item:
    """A person's message."""
    if name == "gemini":
        return gemini("user", {"text": words})
    return user([{"text": words}]) if name == "bedrock" else user(words)


def windows(name: str, history: list[Item]) -> Iterator[str]:
    """The windows of all budgets, from all down to what must stay, as text."""
    total = turnkeep.count(history, format=name).total
    for share in range(140, 0, -4):
        budget = Budget(max(total * share // 100, 1))
        try:
            whole = turnkeep.fit(history, budget=budget, format=name)
        except BudgetExceededError:
            return
        yield json.dumps(whole)
        chat = Conversation.from_messages(history, format=name, budget=budget)
        key = {"gemini": "contents", "openai-responses": "input"}
        yield json.dumps(chat.fit().encode()[key.get(name, "messages")])


@pytest.mark.parametrize("what", TIED)
def test_what_belongs_together_leaves_together(what: str) -> None:
    """All of it or nothing, at every budget, in a list and in a conversation."""
    name, told, marks = TIED[what]
    history = [
        ask(name, f"first {LONG}"),
        *told,
        ask(name, f"second {LONG}"),
        *([claude(text(LONG))] if name == "anthropic" else []),
        ask(name, "third"),
    ]
    if name != "anthropic":
        history = [ask(name, f"first {LONG}"), *told, ask(name, "third")]
    quoted = [f'"{mark}"' for mark in marks]

    seen = set()
    for window in windows(name, history):
        there = {mark for mark in quoted if mark in window}
        assert there in (set(), set(quoted)), window
        seen.add(bool(there))

    assert seen == {True, False}


@pytest.mark.parametrize("what", TIED)
def test_nothing_of_it_is_pending(what: str) -> None:
    """The provider answers its own tools; what is whole waits for nobody."""
    name, told, _ = TIED[what]
    history = [ask(name, "first"), *told, ask(name, "third")]

    chat = Conversation.from_messages(history, format=name, budget=Budget(10_000))

    assert not chat.pending
    assert not chat.unanswered
    assert turnkeep.fit(history, 10_000, format=name) == history
    assert not chat.fit().plan.warnings


PAUSED: dict[str, tuple[str, Item]] = {
    "a search": ("anthropic", claude(text("Looking."), server("srvtoolu_9"))),
    "a remote tool": (
        "anthropic",
        claude(text("Looking."), server("mcptoolu_9", "mcp_tool_use")),
    ),
    "Gemini's": (
        "gemini",
        gemini("model", {"toolCall": {"id": "s9", "toolType": "GOOGLE_SEARCH"}}),
    ),
    "a program": ("openai-responses", program()),
}


@pytest.mark.parametrize("what", PAUSED)
def test_a_paused_answer_stays_and_is_nobodys_to_answer(what: str) -> None:
    """It is sent back as it is, with its question; `pending` lists nothing.

    (https://github.com/WordPress/ai-provider-for-anthropic/pull/32)
    """
    name, paused = PAUSED[what]
    old = [ask(name, f"old {LONG}")]
    history = [*old, ask(name, "search"), paused]
    chat = Conversation.from_messages(history, format=name, budget=Budget(80))

    window = turnkeep.fit(history, 80, format=name)

    assert window == history[1:]
    assert not chat.pending
    assert list(chat.fit())[-1] == list(chat)[-1]


@pytest.mark.parametrize("what", PAUSED)
def test_a_call_nobody_answered_stays_bare_and_is_named(what: str) -> None:
    """No text of ours can stand for the provider's answer: held, and said."""
    name, paused = PAUSED[what]
    history = [ask(name, "search"), paused]
    for _ in range(5):
        history += [ask(name, LONG)]
    total = turnkeep.count(history, format=name).total

    made = turnkeep.plan(history, total // 2, format=name)
    window = turnkeep.fit(history, total // 2, format=name)
    chat = Conversation.from_messages(history, format=name, budget=Budget(total // 2))

    for plan in (made, chat.fit().plan):
        assert plan.decisions[1].cause == "pending"
        assert not plan.inserted
        assert any("sent without an answer" in warning for warning in plan.warnings)
    assert window[:2] == history[:2]
    assert len(window) < len(history)


def test_its_answer_frees_a_call() -> None:
    """In a conversation that goes on: held until then, a pair like any other after."""
    chat = Conversation(format="anthropic", budget=Budget(300, target=1.0))
    chat.append(user("search"))
    chat.append(claude(server("srvtoolu_1"), use("t1")))
    chat.fit()
    chat.append(user([result("t1")]))
    for _ in range(4):
        chat.append(user(LONG))
    assert any(m.id == "msg-2" for m in chat.fit())

    chat.append(claude(found("srvtoolu_1"), text("Found.")))
    for _ in range(4):
        chat.append(user(LONG))
        window = json.dumps(chat.fit().encode())

    assert "srvtoolu_1" not in window


# -- consent -------------------------------------------------------------------------


def talk(turns: int) -> list[Item]:
    """Something that may go."""
    return [
        said(role, f"{role} {nth} " * 40)
        for nth in range(turns)
        for role in ("user", "assistant")
    ]


def test_a_request_for_approval_waits_like_a_call() -> None:
    """It is pending, held with its question, and nobody approves in anyone's name."""
    items = [said("user", "go"), request(), *talk(6), said("user", "end")]
    chat = Conversation.from_messages(
        items, format="openai-responses", budget=Budget(400)
    )

    assert [(call.id, call.name) for call in chat.pending] == [("mcpr_1", "pay")]
    for window in (
        turnkeep.fit(items, 400, format="openai-responses"),
        chat.fit().encode()["input"],
    ):
        assert window[:2] == items[:2]
        assert not any(item.get("type") == "mcp_approval_response" for item in window)
    assert any("mcpr_1 (pay)" in line for line in chat.fit().plan.warnings)


YES: list[tuple[Callable[[Conversation], Any], Item]] = [
    (lambda chat: chat.resolve("mcpr_1", True), {"approve": True}),
    (lambda chat: chat.resolve("mcpr_1", False), {"approve": False}),
    (
        lambda chat: chat.resolve("mcpr_1", {"approve": True, "reason": "go on"}),
        {"approve": True, "reason": "go on"},
    ),
    (
        lambda chat: chat.resolve("mcpr_1", "go on"),
        {"approve": True, "reason": "go on"},
    ),
    (
        lambda chat: chat.cancel("mcpr_1", "no"),
        {"approve": False, "reason": "tool error: cancelled: no"},
    ),
]


@pytest.mark.parametrize(("say", "wanted"), YES)
def test_an_answer_to_it_is_consent(
    say: Callable[[Conversation], Any], wanted: Item
) -> None:
    """A truth value, an object or words; what is cancelled is refused."""
    chat = Conversation(format="openai-responses", budget=Budget(10_000))
    for item in (said("user", "go"), request(), said("user", "and?")):
        chat.append(item)

    say(chat)

    assert not chat.pending
    again = Conversation.from_json(json.loads(json.dumps(chat.to_json())))
    for made in (chat, again):
        [answer] = [
            item
            for item in made.fit().encode()["input"]
            if item.get("type") == "mcp_approval_response"
        ]
        assert answer == {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            **wanted,
        }


@pytest.mark.parametrize("strategy", ["clear-tool-results:keep=0", "truncate:20"])
def test_consent_is_never_changed(strategy: str) -> None:
    """What clears and cuts answers leaves consent and the provider's own alone."""
    refused = {**consent(approve=False), "reason": "no " * 200}
    items = [said("user", "go"), request(), refused, program(), ended()]
    items += [*talk(1), said("user", "end")]
    cut = turnkeep.ClearToolResults(keep=0)
    if strategy.startswith("truncate"):
        cut = turnkeep.TruncateToolResults(20)  # type: ignore[assignment]

    for most in (800, 500, 400):
        window = turnkeep.fit(
            items,
            most,
            format="openai-responses",
            strategy=cut,
            on_overflow="send",
        )
        for item in window:
            assert item in items


# -- stand-ins -----------------------------------------------------------------------

KINDS: dict[str, tuple[Item, str]] = {
    "custom_tool_call": ({"name": "f", "input": "x"}, "custom_tool_call_output"),
    "shell_call": ({"action": {"commands": ["ls"]}}, "shell_call_output"),
    "apply_patch_call": (
        {"operation": {"type": "delete_file", "path": "a"}, "status": "completed"},
        "apply_patch_call_output",
    ),
    "local_shell_call": (
        {"id": "c1", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        "local_shell_call_output",
    ),
    "function_call": ({"name": "f", "arguments": "{}"}, "function_call_output"),
}
WITHOUT: dict[str, Item] = {
    "computer_call": {"call_id": "c1", "action": {"type": "screenshot"}},
    "tool_search_call": {"call_id": "c1", "arguments": {}, "execution": "client"},
    "mcp_approval_request": request("c1"),
    "program": program("c1"),
}


def pending_call(kind: str) -> list[Item]:
    """A call of that kind behind which a person speaks."""
    given = KINDS[kind][0] if kind in KINDS else WITHOUT[kind]
    call_id = {} if kind == "mcp_approval_request" else {"call_id": "c1"}
    return [
        said("user", "go"),
        {"type": kind, **call_id, **given},
        said("user", "and?"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stand_in_is_of_the_kind_of_its_call(kind: str) -> None:
    """Each call gets the answer that its kind has, counted as it is sent.

    Fed back as history it is a stand-in again, and gives way to the answer.
    """
    items, wanted = pending_call(kind), KINDS[kind][1]

    made = turnkeep.plan(items, 10_000, format="openai-responses", model="gpt-5")
    window = made.apply(items)
    chat = Conversation.from_messages(items, format="openai-responses", model="gpt-5")
    again = Conversation.from_messages(window, format="openai-responses", model="gpt-5")

    assert [item.get("type") for item in window] == [None, kind, wanted, None]
    assert chat.fit(Budget(10_000)).encode()["input"] == window
    counted = turnkeep.count(window, format="openai-responses", model="gpt-5").total
    assert made.tokens == counted
    assert turnkeep.fit(window, 10_000, format="openai-responses") == window
    assert [call.id for call in again.pending] == ["c1"]
    again.resolve("c1", "done")
    kinds = [item.get("type") for item in again.fit(Budget(10_000)).encode()["input"]]
    assert kinds == [None, kind, None, wanted]


@pytest.mark.parametrize("kind", WITHOUT)
def test_what_no_text_can_answer_gets_none(kind: str) -> None:
    """Consent, the provider's own, a picture, a list of tools: bare, held and named."""
    items = pending_call(kind)

    made = turnkeep.plan(items, 10_000, format="openai-responses")

    assert made.apply(items) == items
    assert made.decisions[1].cause == "pending"
    assert any("sent without an answer" in warning for warning in made.warnings)


def test_a_failed_patch_says_so() -> None:
    """An answer of the caller's has the fields that its kind demands."""
    for is_error, status in ((False, "completed"), (True, "failed")):
        chat = Conversation(format="openai-responses", budget=Budget(10_000))
        for item in pending_call("apply_patch_call"):
            chat.append(item)

        chat.resolve("c1", "hunk 1", is_error=is_error)

        answer = chat.fit().encode()["input"][-1]
        assert answer["type"] == "apply_patch_call_output"
        assert answer["status"] == status


# -- settings ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tool_addition", "tool_removal"])
def test_tools_that_come_or_go_are_settings(kind: str) -> None:
    """They stay as system messages do, also right behind a round that goes."""
    change = {"type": kind, "tool": {"type": "tool_reference", "name": "g"}}
    setting = {"role": "system", "content": [change]}
    history = [user("first"), claude(use("t1")), user([result("t1", LONG)]), setting]
    history += [claude(text("ok")), user(LONG), claude(text("so")), user("third")]

    for window in windows("anthropic", history):
        assert json.dumps(change) in window


@pytest.mark.parametrize("kind", ["toolAddition", "toolRemoval"])
def test_bedrocks_are_settings_as_well(kind: str) -> None:
    """The same under the names that it has for them."""
    setting = {"role": "system", "content": [{kind: {"tool": {"name": "g"}}}]}
    history = [ask("bedrock", "first"), setting, ask("bedrock", LONG)]
    history += [ask("bedrock", LONG), ask("bedrock", "third")]

    for window in windows("bedrock", history):
        assert kind in window


# -- answers that nobody called for --------------------------------------------------


def test_an_answer_to_a_call_that_is_not_there_goes() -> None:
    """As a trim of somebody else's leaves it; its message stays for the rest.

    (https://github.com/anthropics/claude-code/issues/64383)
    """
    lone = found("srvtoolu_7", "advisor_tool_result")
    history = [user("go"), claude(lone, text("So.")), user("a"), claude(lone)]
    history.append(user("z"))
    whole = [user("go"), {"role": "assistant", "content": "So."}, user("a"), user("z")]
    chat = Conversation.from_messages(history, format="anthropic", budget=Budget(999))

    made = turnkeep.plan(history, 999, format="anthropic")
    mended = turnkeep.repair(history, format="anthropic")

    assert turnkeep.check(history, format="anthropic")
    assert made.apply(history) == whole
    assert mended.value == whole
    assert turnkeep.repair(mended.value, format="anthropic").value == whole
    assert any("srvtoolu_7" in warning for warning in made.warnings)
    assert chat.fit().plan.tokens == made.tokens
    assert [len(message.content) for message in chat.fit()] == [1, 1, 1, 1]
    kept = turnkeep.fit(history, 999, format="anthropic", on_invalid="keep")
    assert kept == history
