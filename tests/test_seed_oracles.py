"""What the five systems' own tests check, asked of turnkeep with their messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation, Message
from turnkeep.formats import get_format
from turnkeep.model import Thinking, ToolCall
from turnkeep.strategies import OldestTurns, Summarize


def length(entry: dict[str, Any]) -> int:
    """An additive counter: a token for each character of text."""
    return len(entry["content"])


def orion(nth: int, role: str, text: str, *, pinned: bool = False) -> dict[str, Any]:
    """A message of Orion's."""
    entry = {"id": f"msg-{nth}", "role": role, "content": text, "timestamp": nth + 1}
    return {**entry, "pinned": True} if pinned else entry


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns of one to three messages, some pinned; perhaps a preamble."""
    roles: list[str] = []
    if draw(st.booleans()):
        roles.append("assistant")
    for _ in range(draw(st.integers(1, 6))):
        roles += ["user", *["assistant"] * draw(st.integers(0, 2))]
    return [
        orion(
            n,
            role,
            "x" * draw(st.integers(1, 20)),
            pinned=draw(st.integers(0, 5)) == 0,
        )
        for n, role in enumerate(roles)
    ]


def turns(history: list[dict[str, Any]]) -> list[list[str]]:
    """Ids by turn: a user message and all up to the next; the preamble is one."""
    groups: list[list[str]] = []
    for entry in history:
        if entry["role"] == "user" or not groups:
            groups.append([])
        groups[-1].append(entry["id"])
    return groups


@given(histories(), st.integers(1, 120))
def test_orions_window_never_breaks_its_invariants(
    history: list[dict[str, Any]], tokens: int
) -> None:
    """Whole turns in their order; the last and the pinned kept; within budget."""
    try:
        kept = turnkeep.fit(
            history, tokens, token_counter=length, strategy=OldestTurns()
        )
    except BudgetExceededError:
        return

    ids = [entry["id"] for entry in kept]
    groups = turns(history)
    assert [entry for entry in history if entry["id"] in ids] == kept
    assert set(groups[-1]) <= set(ids)
    assert all(e["id"] in ids for e in history if e.get("pinned"))
    assert sum(map(length, kept)) <= tokens
    for group in groups:
        here = set(group) & set(ids)
        pins = {e["id"] for e in history if e.get("pinned")} & set(group)
        assert here in (set(), set(group)) or pins


@given(histories(), st.integers(1, 120))
def test_the_smallest_budget_named_by_an_error_always_works(
    history: list[dict[str, Any]], tokens: int
) -> None:
    """With a strategy that offers everything."""
    smallest = tokens
    try:
        turnkeep.fit(history, tokens, token_counter=length)
    except BudgetExceededError as error:
        smallest = error.smallest

    kept = turnkeep.fit(history, smallest, token_counter=length)

    assert kept
    assert smallest >= tokens


def test_a_pin_in_an_old_turn_keeps_question_and_answer() -> None:
    """An island, with the window behind it."""
    history = [
        orion(0, "user", "x" * 10),
        orion(1, "assistant", "x" * 10, pinned=True),
        orion(2, "user", "x" * 10),
        orion(3, "assistant", "x" * 10),
        orion(4, "user", "x" * 10),
    ]

    kept = turnkeep.fit(history, 30, token_counter=length)

    assert [e["id"] for e in kept] == ["msg-0", "msg-1", "msg-4"]


@pytest.mark.parametrize(
    ("history", "holder"),
    [
        ([orion(0, "user", "x" * 99, pinned=True), orion(1, "user", "x")], "pinned"),
        ([orion(0, "user", "x"), orion(1, "user", "x" * 99)], "question"),
        ([orion(0, "system", "x" * 99), orion(1, "user", "x")], "system"),
    ],
)
def test_giants_that_must_stay_are_errors(
    history: list[dict[str, Any]], holder: str
) -> None:
    """A pinned one, the last one, a long system text: each is named."""
    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(history, 50, token_counter=length)

    worst = max(caught.value.held, key=lambda held: held.tokens)
    assert (worst.cause, worst.tokens) == (holder, 99)


def _words(count: int) -> str:
    return "word " * count


def test_raising_the_budget_restores_the_history() -> None:
    """A window is a projection: storage is untouched."""
    chat = Conversation(budget=Budget(300, target=1.0), model="gpt-4o")
    for nth in range(10):
        chat.user(f"{nth} " + _words(50))
    small = chat.fit()

    chat.budget = Budget(10_000, target=1.0)

    assert 0 < len(small.messages) < 10
    assert list(chat.fit().messages) == list(chat.messages)


def test_reasoning_alone_can_trigger_trimming() -> None:
    """It is sent, so it is counted."""
    molo = get_format("molo")
    plain = [Message.user("q"), Message.assistant("a"), Message.user("r")]
    reasoned = [plain[0], Message.assistant([Thinking(_words(200))]), plain[2]]

    assert len(turnkeep.fit(molo.encode(plain), 100, model="deepseek-chat")) == 3
    assert len(turnkeep.fit(molo.encode(reasoned), 100, model="deepseek-chat")) < 3


def test_another_model_counts_again() -> None:
    """A count is only used for the counter that took it."""
    chat = Conversation(budget=Budget(10_000), model="gpt-4o")
    chat.user("数据库的设计需要考虑很多因素。" * 20)
    before = chat.fit().tokens

    chat.model = "gpt-4"

    assert chat.fit().tokens > before


def test_a_history_without_users_comes_back_whole() -> None:
    """It is one turn."""
    history = [Message.assistant(_words(5)) for _ in range(5)]

    assert turnkeep.fit(history, 1_000, model="gpt-4o") == history


def test_a_summariser_that_fails_falls_back_and_is_tried_again() -> None:
    """The window is made by dropping; the next one asks again."""
    asked: list[int] = []

    def summarize(messages: Any, **_: Any) -> str:
        asked.append(len(messages))
        reason = "no model"
        raise RuntimeError(reason)

    history = [Message.user(f"{n} " + _words(50)) for n in range(10)]
    for _ in range(2):
        strategy = Summarize(summarize, max_tokens=50)
        kept = turnkeep.fit(history, 300, model="gpt-4o", strategy=strategy)
        assert 0 < len(kept) < 10
        assert all(m.kind is None for m in kept)

    assert len(asked) == 2


def test_a_call_and_its_results_are_one_block() -> None:
    """At no budget is one without the other."""
    calls = [ToolCall("c1", "f"), ToolCall("c2", "g")]
    history = [
        Message.user(_words(10)),
        Message.assistant("", tool_calls=calls),
        Message.tool_result("c1", _words(20)),
        Message.tool_result("c2", _words(30)),
        Message.assistant(_words(5)),
        Message.user("next"),
    ]

    for tokens in range(20, 200, 10):
        kept = turnkeep.fit(history, tokens, model="gpt-4o")
        made = [c.id for m in kept for c in m.tool_calls]
        told = [r.tool_call_id for m in kept for r in m.tool_results]
        assert made == told
        assert made in ([], ["c1", "c2"])
