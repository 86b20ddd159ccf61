"""The nine ordinary histories that most trimmers break, at every budget.

Whenever a correct answer exists (system, question, newest step and pending islands
fit, stand-ins included), the window is valid, holds all of those, and fits.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tests.chats import Entry, call, numbered, result, say, system, user
from tests.invariants import assert_valid, must_stay, pair
from turnkeep import Budget, BudgetExceededError, Conversation, TiktokenCounter, fit

LOREM = "The quick brown fox jumps over the lazy dog while seven wizards watch. "


def parallel() -> list[Entry]:
    """Three parallel calls."""
    return [
        system(),
        user("Compare the three offers." + LOREM),
        call("a", "b", "c", text="Looking at all of them."),
        result("a", LOREM * 3),
        result("b", LOREM * 2),
        result("c", LOREM),
        say("B is best."),
        user("Why?"),
    ]


def one_user_loop() -> list[Entry]:
    """One user message and eight tool steps."""
    chat = [system(), user("Fix the failing test.")]
    for nth in range(8):
        chat += [call(f"c{nth}", name="run"), result(f"c{nth}", LOREM * (nth + 1))]
    return chat


def many_turns() -> list[Entry]:
    """Twenty turns of small talk."""
    chat = [system()]
    for nth in range(20):
        chat += [user(f"Question {nth}? {LOREM}"), say(f"Answer {nth}. {LOREM}")]
    return [*chat, user("And the last one?")]


def second_system() -> list[Entry]:
    """A system message in the middle."""
    chat = [system(), user(LOREM), say(LOREM), system("From now on answer in French.")]
    for nth in range(6):
        chat += [user(f"{nth} {LOREM}"), say(f"{nth} {LOREM}")]
    return [*chat, user("Merci?")]


def huge_current_turn() -> list[Entry]:
    """The newest turn alone is most of the history."""
    chat = [system(), user("hello"), say("hello"), user("Read all of it.")]
    for nth in range(6):
        chat += [call(f"r{nth}", name="read"), result(f"r{nth}", LOREM * 12)]
    return [*chat, say("Read.")]


def half_answered() -> list[Entry]:
    """One of two parallel calls has its answer, and the chat goes on."""
    chat = [
        system(),
        user("Book both."),
        call("x", "y", name="book"),
        result("x", "ok"),
    ]
    for nth in range(5):
        chat += [user(f"{nth}? {LOREM}"), say(LOREM)]
    return [*chat, user("Still waiting?")]


def big_result() -> list[Entry]:
    """A result of 20 kB."""
    return [
        system(),
        user("Dump the log."),
        call("log", name="dump"),
        result("log", LOREM * 280),
        say("Dumped."),
        user("Anything odd?"),
        say("No."),
        user("Thanks."),
    ]


def reused_id() -> list[Entry]:
    """One call id in two rounds."""
    return [
        system(),
        user("First."),
        call("call_0", name="search"),
        result("call_0", LOREM * 4),
        say(LOREM),
        user("Second."),
        call("call_0", name="search"),
        result("call_0", LOREM * 2),
        say("Done."),
        user("Third."),
    ]


def late_result() -> list[Entry]:
    """A result that comes eight messages after its call."""
    chat = [system(), user("Start the build."), call("build", name="build")]
    for nth in range(4):
        chat += [user(f"{nth} {LOREM}"), say(LOREM)]
    return [*chat, result("build", LOREM * 2), user("How did it go?")]


HISTORIES = [
    parallel,
    one_user_loop,
    many_turns,
    second_system,
    huge_current_turn,
    half_answered,
    big_result,
    reused_id,
    late_result,
]

Overflow = Literal["shorten", "raise"]

COUNTER = TiktokenCounter("o200k_base")


def tokens_of(window: list[Entry]) -> int:
    """Exact tokens of a request, counted here by the published formula."""
    total = 3
    for entry in window:
        texts = [
            entry["role"],
            entry.get("content") or "",
            entry.get("tool_call_id", ""),
        ]
        if isinstance(entry.get("name"), str):
            texts.append(entry["name"])
            total += 1
        for made in entry.get("tool_calls") or []:
            texts += [
                made["id"],
                made["function"]["name"],
                made["function"]["arguments"],
            ]
        total += 3 + sum(map(COUNTER.count, texts))
    return total


def solve(chat: list[Entry], tokens: int, on_overflow: Overflow) -> list[Entry]:
    """By the one-shot function."""
    fitted: list[Entry] = fit(
        chat, tokens, model="gpt-4o", format="openai", on_overflow=on_overflow
    )
    return fitted


@pytest.mark.parametrize("on_overflow", ["shorten", "raise"])
@pytest.mark.parametrize("history", HISTORIES, ids=lambda h: h.__name__)
@pytest.mark.parametrize("percent", range(10, 101, 5))
def test_solves_all_that_can_be_solved(
    history: Any, percent: int, on_overflow: Overflow
) -> None:
    """And names the smallest budget for the rest, which is exact."""
    chat = numbered(history())
    tokens = tokens_of(chat) * percent // 100
    held = {chat[i]["id"] for i in must_stay(chat)}
    try:
        window = solve(chat, tokens, on_overflow)
    except BudgetExceededError as error:
        smallest = solve(chat, error.smallest, on_overflow)
        with pytest.raises(BudgetExceededError):
            solve(chat, error.smallest - 1, on_overflow)
        # Nothing smaller could have been sent: only what must stay is left.
        assert {e["id"] for e in smallest if "id" in e} == held
        window, tokens = smallest, error.smallest
    assert_valid(window)
    assert held <= {entry.get("id") for entry in window}
    assert tokens_of(window) <= tokens
    assert len(pair(window)[1]) == len(pair(chat)[1])


@pytest.mark.parametrize("history", HISTORIES, ids=lambda h: h.__name__)
def test_a_conversation_solves_them_too(history: Any) -> None:
    """With its remembered cut, message by message."""
    chat = numbered(history())
    talk = Conversation(
        budget=Budget(max(tokens_of(chat) * 6 // 10, 60)), model="gpt-4o"
    )
    grown = Conversation.from_messages(chat, format="openai")
    for at, message in enumerate(grown, start=1):
        talk.append(message.evolve(id=None))
        try:
            window = talk.fit()
        except BudgetExceededError:
            continue
        sent = window.encode()["messages"]
        assert_valid(sent)
        assert window.tokens <= talk.budget.max_tokens  # type: ignore[union-attr]
        kept = {f"msg-{i + 1}" for i in must_stay(chat[:at])}
        assert kept <= {m.id for m in window}
