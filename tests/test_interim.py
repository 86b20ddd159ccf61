"""Results that a host calls placeholders: `fit(interim=...)`."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.chats import Entry, call, result, say, user
from turnkeep.plans import Cause

LONG = "why " * 40


def running() -> list[Entry]:
    """A call whose result is a placeholder, and much that came after it."""
    chat = [user("Build it."), call("c1"), result("c1", "running"), say("It runs.")]
    for nth in range(6):
        chat += [user(f"question {nth} {LONG}"), say(LONG)]
    return [*chat, user("Is it done?")]


@pytest.mark.parametrize(
    "interim",
    [
        "c1",
        ["c1"],
        ("c1",),
        lambda message: message["content"] == "running",
    ],
)
def test_its_step_and_question_stay_until_the_answer_comes(interim: Any) -> None:
    """Like any pending call; without it the oldest turn goes first."""
    chat = running()
    before = copy.deepcopy(chat)

    window = turnkeep.fit(chat, 200, model="gpt-4o", interim=interim)

    assert window[:3] == chat[:3]
    assert all(mine is yours for mine, yours in zip(window[:3], chat[:3], strict=True))
    assert window[-1] is chat[-1]
    assert chat == before
    assert chat[1] not in turnkeep.fit(chat, 200, model="gpt-4o")


def test_the_cause_is_said() -> None:
    """It waits for an answer."""
    plan = turnkeep.plan(running(), 200, model="gpt-4o", interim="c1")

    assert plan.decisions[2].cause == Cause.PENDING
    assert "still waits for its answer" in plan.explain(2)


def test_it_is_counted_as_what_it_is() -> None:
    """No line of ours is added to it, so none is counted."""
    chat = running()

    for size in (200, 100_000):
        named = turnkeep.plan(chat, size, model="gpt-4o", interim="c1")
        sent = named.apply(chat)
        assert named.tokens == turnkeep.count(sent, model="gpt-4o").total
    assert named.tokens_before == turnkeep.plan(chat, 9_000, model="gpt-4o").tokens


def test_nobody_waits_with_pending_empty() -> None:
    """Then the step is an ordinary one."""
    chat = running()

    window = turnkeep.fit(chat, 200, model="gpt-4o", interim="c1", pending=())

    assert chat[1] not in window


def test_a_later_answer_takes_its_place() -> None:
    """Both results answer the call; the newer one is sent."""
    chat = running()
    chat.insert(6, result("c1", "half done"))

    window = turnkeep.fit(chat, 100_000, model="gpt-4o", interim="c1")

    told = [entry["content"] for entry in window if entry["role"] == "tool"]
    assert told == ["half done"]
    assert turnkeep.check(window, model="gpt-4o") == []


def test_one_of_several_results_in_a_message() -> None:
    """An id picks one where a format puts many into one message."""
    uses: list[Entry] = [
        {"type": "tool_use", "id": name, "name": "f", "input": {}}
        for name in ("t1", "t2")
    ]
    results = [
        {"type": "tool_result", "tool_use_id": name, "content": text}
        for name, text in (("t1", "done"), ("t2", "running"))
    ]
    chat: list[Entry] = [
        {"role": "user", "content": "Build both."},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": results},
        {"role": "assistant", "content": "One is done."},
    ]
    for nth in range(6):
        chat += [user(f"question {nth} {LONG}"), say(LONG)]
    chat.append(user("And the other?"))

    window = turnkeep.fit(chat, 300, format="anthropic", interim=["t2"])

    assert window[:3] == chat[:3]
    assert window[2] is chat[2]


def test_what_is_shortened_beside_it_is_written_as_it_came() -> None:
    """An edited message that holds a placeholder gets no line of ours."""
    chat = running()
    chat[2] = result("c1", "running " * 200)

    window = turnkeep.fit(
        chat,
        300,
        model="gpt-4o",
        interim="c1",
        pending=(),
        pinned=[1],
        pin_scope="step",
        on_overflow="send",
        strategy="truncate-tool-results:max_tokens=20",
    )

    assert "turnkeep:interim" not in repr(window)
    assert window[2] == chat[2]


@given(data=st.data(), size=st.integers(60, 2_000))
def test_naming_nothing_changes_nothing(data: st.DataObject, size: int) -> None:
    """A predicate that says no is no option at all."""
    texts = data.draw(st.lists(st.text(max_size=60), min_size=1, max_size=6))
    chat = [user("Build it."), call("c1"), result("c1", "done")]
    for text in texts:
        chat += [say(text or "."), user(text or "?")]
    options: Any = {"model": "gpt-4o", "on_overflow": "send"}

    plain = turnkeep.plan(chat, size, **options)
    named = turnkeep.plan(chat, size, interim=lambda _message: False, **options)

    assert str(named) == str(plain)
    assert named.apply(chat) == plain.apply(chat)
