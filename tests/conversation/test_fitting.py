"""Tests of when a conversation prunes, what it remembers, and what it learns."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.chats import numbered, say, user
from tests.invariants import assert_valid
from turnkeep import (
    Budget,
    BudgetExceededError,
    Conversation,
    FormatError,
    LargestFirst,
    Message,
    OpenCallError,
    Plan,
    Prices,
    StalePlanError,
    Summarize,
    ToolCall,
    UnknownMessageError,
)
from turnkeep.formats import format_of_model
from turnkeep.model import GenerationStats
from turnkeep.strategies._when import SMALL
from turnkeep.tokens import Usage, request_counter


def talk(budget: Budget | None = None, turns: int = 0, **options: Any) -> Conversation:
    """A conversation of turns of 20 tokens (OpenAI's overhead of 3 beside them)."""
    chat = Conversation(budget=budget, model="gpt-4o", **options)
    for nth in range(turns):
        turn(chat, nth)
    return chat


def turn(chat: Conversation, nth: int = 0, size: int = 10) -> None:
    """One turn: a question and an answer of *size* tokens each."""
    chat.append(Message.user(f"q{nth}", token_count=size))
    chat.append(Message.assistant(f"a{nth}", token_count=size))


def ids(messages: Any) -> list[str]:
    """Ids in order."""
    return [m.id for m in messages]


def test_the_cut_is_remembered_so_that_the_prefix_stays() -> None:
    """Over 60 turns the window's first message moves only at prunes."""
    chat = talk(Budget(203, target=0.6))
    firsts: list[str] = []
    for nth in range(60):
        turn(chat, nth)
        window = chat.fit()
        assert window.tokens <= 203
        firsts.append(ids(window)[0])

    moves = sum(a != b for a, b in pairwise(firsts))
    # 60 turns of 20 tokens, 80 of 200 freed at a time: one prune in four turns.
    assert 10 <= moves <= 15


def test_a_larger_budget_brings_content_back() -> None:
    """The cut of a smaller one is forgotten."""
    chat = talk(Budget(103), 20)
    small = chat.fit()

    large = chat.fit(Budget(303))

    assert len(small) < len(large)
    chat.budget = Budget(10_000)
    assert len(chat.fit()) == 40


@pytest.mark.parametrize("how", ["refit", "rewind", "edit", "model", "unpin"])
def test_what_forgets_the_cut(how: str) -> None:
    """Then the window holds what there is room for again."""
    chat = talk(Budget(103, target=0.3), 5)
    turn(chat, 5)
    if how == "unpin":
        chat.pin("msg-12", scope="step")
    cut = len(chat.fit())
    match how:
        case "refit":
            window = chat.refit(Budget(103, target=1.0))
        case "rewind":
            chat.rewind("msg-10")
            window = chat.fit()
        case "edit":
            chat.edit("msg-12", metadata={"seen": True})
            window = chat.fit(Budget(103, target=1.0))
        case "model":
            chat.model = "gpt-4.1"
            window = chat.fit(Budget(103, target=1.0))
        case _:
            chat.unpin("msg-12")
            window = chat.fit(Budget(103, target=1.0))

    assert len(window) > cut


def test_an_error_leaves_the_cut_alone() -> None:
    """The next window starts as the last good one did."""
    chat = talk(Budget(103, target=0.5), 8)
    before = ids(chat.fit())

    with pytest.raises(BudgetExceededError):
        chat.fit(Budget(5))

    assert ids(chat.fit()) == before


def test_windows_stay_as_they_were() -> None:
    """Whatever happens to the conversation later, looked at before or not."""
    chat = talk(Budget(1_000), 3)
    window = chat.fit()
    chat.user("later")
    chat.edit("msg-1", content="changed")
    chat.rewind("msg-2")

    assert ids(window) == [f"msg-{n}" for n in range(1, 7)]
    assert window.messages[0].text == "q0"
    assert len(window.plan.kept) == 6
    with pytest.raises(StalePlanError, match="changed since"):
        window.plan.apply(chat)


def test_a_fresh_plan_applies_to_its_conversation() -> None:
    """And gives the window's messages."""
    chat = talk(Budget(63), 6)
    window = chat.fit()

    assert window.plan.apply(chat) == list(window)


def test_recall_brings_a_dropped_step_back_and_pins_it() -> None:
    """`archive` says what the last window left out."""
    chat = talk(Budget(83, target=0.5), 6)
    assert chat.archive == ()
    chat.fit()
    gone = ids(chat.archive)
    assert "msg-1" in gone

    chat.recall("msg-1")

    assert "msg-1" in ids(chat.fit())
    assert chat["msg-1"].pinned
    with pytest.raises(UnknownMessageError):
        chat.recall("msg-99")


def test_on_prune_is_told_of_prunes_only() -> None:
    """With the plan."""
    told: list[Plan] = []
    chat = talk(Budget(83, target=0.5), 2, on_prune=told.append)
    chat.fit()
    assert not told
    for nth in range(3):
        turn(chat, nth)

    window = chat.fit()

    assert told == [window.plan]


def test_encoding_refuses_another_format() -> None:
    """Its tokens and validity would not hold."""
    chat = talk(Budget(100), 1)
    window = chat.fit()

    assert window.encode("openai") == {
        "messages": [
            {"role": "user", "content": "q0"},
            {"role": "assistant", "content": "a0"},
        ]
    }
    with pytest.raises(ValueError, match=r"fit\(format='anthropic'\)"):
        window.encode("anthropic")
    other = chat.fit(format="anthropic").encode()
    assert other["messages"][0]["content"] == "q0"


def test_the_format_follows_the_model() -> None:
    """Unless it is given."""
    assert format_of_model("gpt-4o") == "openai"
    assert format_of_model("claude-sonnet-5") == "anthropic"
    assert format_of_model("models/gemini-3-pro") == "gemini"
    assert format_of_model("us.anthropic.claude-sonnet-4-5-v1:0") == "bedrock"
    assert format_of_model(None) == "openai"
    assert Conversation(model="claude-sonnet-5", format="openai").format == "openai"


def test_tools_are_counted_and_sent() -> None:
    """As the provider has them."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": "f",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    chat = talk(Budget(1_000), 1, tools=tools)

    window = chat.fit()

    assert window.encode()["tools"] == tools
    assert window.tokens == 23 + request_counter(model="gpt-4o").tools(tools)
    assert chat.fit(tools=[]).tokens == 23
    assert repr(window) == f"Window({window.tokens} tokens, format='openai')"


def test_a_missed_target_waits_until_the_window_has_grown() -> None:
    """P12: not every call rewrites the prefix when the target cannot be reached."""
    chat = talk(Budget(203, trigger=0.6, target=0.3))
    for nth in range(5):
        chat.append(Message.user(f"p{nth}", token_count=20, pinned=True))
    pruned = []
    for nth in range(8):
        turn(chat, nth, size=4)
        pruned.append(chat.fit().plan.pruned)

    # 100 tokens are pinned, 60 is the target: it waits for 60 more to try again.
    assert sum(pruned) <= 2


def test_prices_prune_when_it_has_paid_off() -> None:
    """R * sum(x - L) >= (w - r) * L since the last prune, L being the target."""
    prices = Prices(read=0.1, write=1.25)
    chat = talk(Budget(50_003, target=0.2, prices=prices))
    sizes = []
    for nth in range(60):
        turn(chat, nth, size=500)
        window = chat.fit()
        sizes.append(window.tokens - 3)
        if window.plan.pruned:
            break

    over = [size - 10_000 for size in sizes[:-1] if size > 10_000]
    assert sizes[-1] <= 10_000
    assert 0.1 * sum(over) >= 1.15 * 10_000
    assert 0.1 * sum(over[:-1]) < 1.15 * 10_000


def test_a_cold_cache_prunes_at_once_and_small_windows_never() -> None:
    """The rewrite is free then; below 4,000 tokens it costs more than it saves."""
    prices = Prices()
    chat = talk(Budget(100_003, target=0.1, prices=prices))
    warm = {
        "prompt_tokens": 30_000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 29_000},
    }
    cold = {
        "prompt_tokens": 30_000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    for nth in range(15):
        turn(chat, nth, size=1_000)
    assert not chat.fit().plan.pruned
    assert not chat.observe(warm).cold
    turn(chat, 99, size=10)
    assert not chat.fit().plan.pruned

    assert chat.observe(cold).cold
    turn(chat, 100, size=10)
    assert chat.fit().plan.pruned

    small = talk(Budget(100_003, target=0.001, prices=prices), 50)
    small.fit()
    small.observe(warm)
    small.observe(cold)
    assert small.fit().tokens < SMALL
    assert not small.fit().plan.pruned


def test_observing_corrects_an_estimate() -> None:
    """After ten answers the next is within 3 %, and the room is used."""
    chat = Conversation(budget=Budget(100_000), model="claude-sonnet-5")
    rng = __import__("random").Random(7)
    seen = None
    for nth in range(14):
        chat.user(" ".join(rng.choices(["river", "stone", "{}", "值", "x=1"], k=300)))
        chat.assistant(f"answer {nth}")
        window = chat.fit()
        true = int(window.tokens * 1.18) + 350
        assert window.expected == chat._fitter.learner.predict(
            window.tokens, exact=False
        )
        seen = chat.observe(
            {
                "input_tokens": true // 10,
                "cache_read_input_tokens": true - true // 10,
                "cache_creation_input_tokens": 0,
                "output_tokens": 7,
            }
        )
        if nth >= 10:
            assert abs(seen.error) < 0.03

    assert seen is not None
    assert chat.usage.output_tokens == 14 * 7
    assert chat.generations.generations == 14
    # What was seen (18 %), and more for a request unlike all those before.
    assert 0.18 < chat.fit().plan.margin < 0.45


def test_generation_statistics_are_summed_exactly() -> None:
    """One record an answer, as a host that runs its own models has them."""
    chat = talk(Budget(100), 1)
    chat.fit()
    for _ in range(10):
        chat.observe(GenerationStats.timed(10, 23, seconds=0.1))

    assert chat.generations.duration.total_seconds() == 1.0
    assert chat.generations.tokens_per_second == 100.0
    assert chat.usage == Usage(
        input_tokens=230,
        output_tokens=100,
        generation_seconds=chat.usage.generation_seconds,
    )


def test_what_was_learned_is_saved_and_forked() -> None:
    """So that a restart does not begin from the estimator's own margin."""
    chat = Conversation(budget=Budget(50_000), model="claude-sonnet-5")
    chat.user("hello " * 200)
    for _ in range(4):
        window = chat.fit()
        chat.observe({"input_tokens": window.tokens + 100, "output_tokens": 3})

    again = Conversation.from_json(chat.to_json())

    assert again.to_json() == chat.to_json()
    assert again.usage == chat.usage
    assert again.generations == chat.generations
    assert again.fit().expected == chat.fit().expected == chat.fork().fit().expected
    with pytest.raises(FormatError, match="usage"):
        chat.observe({"nothing": 1})


def test_another_strategy_is_planned_by_the_engine() -> None:
    """With the same memory of its cut."""
    chat = talk(Budget(103, target=0.6), 4, strategy=LargestFirst())
    turn(chat, 4, size=15)
    first = chat.fit()
    assert first.plan.pruned

    turn(chat, 5, size=2)

    second = chat.fit()
    assert not second.plan.pruned
    assert ids(second)[: len(first)] == ids(first)


def test_open_calls_may_be_refused() -> None:
    """As in the one-shot functions."""
    chat = talk(Budget(1_000))
    chat.user("go")
    chat.assistant("", tool_calls=[ToolCall("a", "f")])
    chat.user("and?")

    with pytest.raises(OpenCallError):
        chat.fit(open_calls="raise")
    assert len(chat.fit(open_calls="keep")) == 3
    assert_valid(chat.fit().encode()["messages"])


def test_fitting_without_blocking() -> None:
    """`afit` is `fit` in a thread."""
    chat = talk(Budget(83, target=0.5), 6)

    window = asyncio.run(chat.afit())

    assert ids(window) == ids(chat.fit())


def test_a_conversation_goes_on_while_its_summary_is_written() -> None:
    """Nothing is locked meanwhile, on the same loop; the answer is used."""
    seen: list[int] = []

    async def write(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0)
        # On the loop that waits: a lock held by the plan would stop both.
        chat.set_pinned("msg-11", False)
        seen.append(len(messages))
        return "Before: small talk."

    chat = talk(Budget(103, target=0.6), 5, strategy=Summarize(write, max_tokens=20))
    turn(chat, 5)

    window = asyncio.run(chat.afit())

    assert seen == [8]
    assert "Before: small talk." in window.messages[0].text
    assert window.plan.pruned


@pytest.mark.parametrize("fault", ["raises", "slow", "empty", "changed", "sync", "odd"])
def test_what_comes_of_a_summariser_that_fails(fault: str) -> None:
    """Older turns are dropped instead, and the plan says why."""
    told: list[Plan] = []

    async def write(messages: Sequence[Message]) -> str:
        del messages
        match fault:
            case "raises":
                raise KeyError
            case "slow":
                await asyncio.sleep(30)
            case "changed":
                chat.rewind("msg-2")
                for nth in range(5):
                    turn(chat, nth)
            case "odd":
                return 7  # type: ignore[return-value]
            case _:
                pass
        return "" if fault == "empty" else "fine"

    def plain(messages: Sequence[Message]) -> str:
        return f"{len(messages)} read"

    chat = talk(
        Budget(103, target=0.6),
        6,
        strategy=Summarize(
            plain if fault == "sync" else write, max_tokens=20, timeout=0.2
        ),
        on_prune=told.append,
    )

    window = asyncio.run(chat.afit())

    assert told == [window.plan]
    if fault == "sync":
        assert window.messages[0].kind == "summary"
    else:
        why = {
            "raises": "failed with KeyError",
            "slow": "longer than 0.2",
            "empty": "returned nothing",
            "changed": "history changed",
            "odd": "returned a int",
        }
        assert why[fault] in window.plan.warnings[0]
        assert window.tokens <= 103


def test_an_error_of_afit_is_that_of_fit() -> None:
    """With or without a summariser in between."""
    plain = talk(Budget(103), 1)
    plain.append(Message.user("x", token_count=500))
    with pytest.raises(BudgetExceededError):
        asyncio.run(plain.afit())
    asking = talk(Budget(103, target=0.6), 6, strategy=Summarize(str, max_tokens=20))
    asking.append(Message.user("x", token_count=500))
    with pytest.raises(BudgetExceededError):
        asyncio.run(asking.afit())


def test_a_conversation_without_a_budget_says_so() -> None:
    """Unless its model's window is known."""
    with pytest.raises(ValueError, match="no budget"):
        Conversation().fit()
    assert Conversation(model="gpt-4o").fit().plan.available > 100_000


def test_from_messages_takes_system_tools_and_model_over() -> None:
    """From a request body."""
    body = {
        "model": "claude-sonnet-5",
        "system": "Be brief.",
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "hi"}],
    }

    chat = Conversation.from_messages(body, budget=Budget(10_000))

    assert (chat.format, chat.model) == ("anthropic", "claude-sonnet-5")
    assert [m.role for m in chat] == ["system", "user"]
    request = chat.fit().encode()
    assert request["system"] == "Be brief."
    assert request["tools"] == body["tools"]


def test_threads_may_append_and_fit_at_the_same_time() -> None:
    """No lost message, no doubled id, no window over its budget."""
    chat = talk(Budget(103, target=0.6))

    def work() -> None:
        for _ in range(50):
            chat.append(Message.user("x", token_count=10))
            assert chat.fit().tokens <= 103

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(chat) == 200
    assert len({m.id for m in chat}) == 200


def test_appending_counts_that_message_once() -> None:
    """And fitting counts nothing again."""
    counted: list[str] = []

    class Counting:
        name = "counting"
        exact = True
        margin = 0.0

        def count(self, text: str) -> int:
            counted.append(text)
            return len(text.split())

    chat = Conversation(budget=Budget(60), model="gpt-4o", token_counter=Counting())
    for nth in range(30):
        counted.clear()
        chat.user(f"word {nth} and more")
        assert counted.count(f"word {nth} and more") == 1
        assert len(counted) <= 2
        counted.clear()
        chat.fit()
        assert not counted


def test_a_list_of_dicts_becomes_a_conversation() -> None:
    """Ids are kept where there are some."""
    chat = Conversation.from_messages(numbered([user("hi"), say("ho")]))

    assert ids(chat) == ["m0", "m1"]
    assert chat.user("more").id == "msg-1"


def test_a_plan_says_what_it_said_whatever_happens_later() -> None:
    """Ids, tokens and decisions of the history as it was."""
    for spoil in ("clear", "rewind", "edit", "remove", "replace", "pin"):
        chat = talk(Budget(83, target=0.5), 6)
        plan = chat.fit().plan
        other = talk(Budget(83, target=0.5), 6).fit().plan
        match spoil:
            case "clear":
                chat.clear()
                turn(chat, 9)
            case "rewind":
                chat.rewind("msg-1")
            case "edit":
                chat.edit("msg-12", content="quite another thing to say")
                chat.edit("msg-12", content="and again")
            case "remove":
                chat.remove("msg-3")
            case "replace":
                chat.replace_messages([Message.user("x", id="only")])
            case _:
                chat.pin("msg-12")
        assert str(plan) == str(other)
        assert plan.tokens_before == other.tokens_before
        assert list(plan.decisions) == list(other.decisions)


def test_windows_are_read_while_other_threads_write() -> None:
    """Under the conversation's lock, or the bookkeeping would change underfoot."""
    chat = Conversation(budget=Budget(100_000), model="gpt-4o")
    chat.user("q")
    faults: list[Exception] = []
    done = threading.Event()

    def write() -> None:
        for nth in range(250):
            chat.assistant("", tool_calls=[ToolCall(f"c{nth}", "f", {})])
            chat.defer(f"c{nth}", "w")
            chat.user("u")
            chat.resolve(f"c{nth}", "R")
        done.set()

    def read() -> None:
        try:
            while not done.is_set():
                window = chat.fit()
                assert_valid(window.encode()["messages"])
                _ = window.plan.runs
        except Exception as error:  # noqa: BLE001 - any fault of a thread counts
            faults.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for work in (write, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not faults
