"""Tests for summaries that are written before they are needed: `Summarize(ahead=)`."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from turnkeep import Budget, Conversation, Digest, Message, Summarize, ToolCall, Window
from turnkeep.strategies import OldestTurns, Passage

BUDGET = Budget(1_000, target=0.5)


class Writer:
    """A summariser that notes what it was given."""

    def __init__(self) -> None:
        self.given: list[list[Message]] = []

    def __call__(self, messages: Passage) -> str:
        """Note and answer."""
        self.given.append(list(messages))
        return f"They spoke ({len(self.given)})."


def begun(writer: Summarize) -> Any:
    """The newest summary that was begun early, once it is there."""
    (early, *_) = writer._begun.newest_first()
    early._done.wait()
    return early


def conversation(strategy: Any, **options: Any) -> Conversation:
    """A chat with a small budget."""
    return Conversation(budget=BUDGET, model="gpt-4o", strategy=strategy, **options)


def say(chat: Conversation, nth: int) -> None:
    """One turn."""
    chat.user(f"question {nth} about order_{nth} " * 4, id=f"q{nth}")
    chat.assistant(f"answer {nth} " * 10, id=f"a{nth}")


def until(
    chat: Conversation, stop: Callable[[Window], bool], start: int = 0
) -> tuple[Window, int]:
    """Turns, with a fit behind each, until a window is as it should be."""
    for nth in range(start, start + 200):
        say(chat, nth)
        window = chat.fit()
        if stop(window):
            return window, nth + 1
    pytest.fail("it never was")


def has_begun(strategy: Summarize) -> Callable[[Window], bool]:
    """Whether a summary has been begun."""
    return lambda _window: bool(strategy._begun.newest_first())


def is_pruned(window: Window) -> bool:
    """Whether something went."""
    return window.pruned


def kinds(window: Window) -> list[str | None]:
    """The kinds of the messages of a window."""
    return [message.kind for message in window.messages]


def test_it_begins_at_its_share_and_is_swapped_in_at_the_prune() -> None:
    """One call, before it is due; no window changes until the prune."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.7)
    chat = conversation(strategy)

    window, nth = until(chat, has_begun(strategy))
    begun(strategy)
    assert 700 <= window.tokens < 800
    assert len(writer.given) == 1
    assert not window.pruned
    assert len(chat.fit()) == len(chat)

    window, _ = until(chat, is_pruned, nth)
    assert len(writer.given) == 1
    assert kinds(window)[0] == "summary"
    assert window.messages[0].text.endswith("They spoke (1).")
    sources = window.messages[0].metadata["sources"]
    assert list(sources) == [m.id for m in writer.given[0]]
    assert window.tokens <= 1_000 * 0.5 + 125


def test_every_prune_is_prepared_for() -> None:
    """Over a long chat no prune asks: each goes on from the one before."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.7)
    chat = conversation(strategy)
    prunes = 0

    for nth in range(120):
        say(chat, nth)
        before = len(writer.given)
        window = chat.fit()
        if strategy._begun.newest_first():
            begun(strategy)
        if window.pruned:
            prunes += 1
            assert len(writer.given) == before
            assert kinds(window).count("summary") == 1
    assert prunes > 4
    assert prunes <= len(writer.given) <= prunes + 1
    assert all(given[0].kind == "summary" for given in writer.given[1:])


CHANGES: dict[str, Callable[[Conversation], object]] = {
    "edited": lambda chat: chat.edit("q1", content="something else " * 8),
    "removed": lambda chat: chat.remove("a1"),
    "pinned": lambda chat: chat.pin("q1", scope="step"),
    "rewound": lambda chat: chat.rewind("q0"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_thrown_away_where_the_history_went_another_way(change: str) -> None:
    """What it says of a message that was changed, went or is held is never sent."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.7)
    chat = conversation(strategy)
    _, nth = until(chat, has_begun(strategy))
    begun(strategy)
    assert "q1" in [m.id for m in writer.given[0]]

    CHANGES[change](chat)
    window, _ = until(chat, is_pruned, nth)

    text = window.messages[kinds(window).index("summary")].text
    assert "(1)" not in text
    covered = [m.id for m in writer.given[-1]]
    assert all(m.kind != "summary" for m in writer.given[-1])
    assert ("q1" in covered) == (change in {"edited", "removed"})


def test_it_is_thrown_away_where_a_call_is_awaited_again() -> None:
    """The step of a call that waits for its answer stands for itself."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.7)
    chat = conversation(strategy)
    chat.user("go on " * 20, id="q")
    chat.assistant("", tool_calls=[ToolCall("c1", "build")], id="call")
    chat.resolve("c1", "0 errors " * 10)
    answer = chat.messages[-1].id
    chat.assistant("Done.", id="said")
    _, nth = until(chat, has_begun(strategy))
    begun(strategy)

    rest = [m for m in chat.messages if m.id != answer]
    chat.replace_messages(rest)
    assert [call.id for call in chat.pending] == ["c1"]
    window, _ = until(chat, is_pruned, nth)

    assert "call" in [m.id for m in window.messages]
    assert not any("(1)" in m.text for m in window.messages if m.kind == "summary")


def test_a_slow_one_is_waited_for_so_that_time_decides_nothing() -> None:
    """P9: the same window whether it was ready or not; and nobody is asked twice."""
    go, asked = threading.Event(), threading.Event()
    calls: list[int] = []

    def slow(messages: Sequence[Message]) -> str:
        calls.append(len(messages))
        asked.set()
        go.wait()
        return "They spoke."

    ready = conversation(Summarize(lambda _messages: "They spoke.", 60, ahead=0.7))
    strategy = Summarize(slow, 60, ahead=0.7)
    late = conversation(strategy)
    nth = 0
    while True:
        for chat in (ready, late):
            say(chat, nth)
        expected = ready.fit()
        if expected.pruned:
            break
        late.fit()
        nth += 1
    assert asked.wait(60)

    found: list[Window] = []
    fitting = threading.Thread(target=lambda: found.append(late.fit()))
    fitting.start()
    assert not found
    go.set()
    fitting.join()

    assert found[0].encode() == expected.encode()
    assert len(calls) == 1


def test_one_that_failed_early_rests() -> None:
    """The prune drops, says so, and asks nobody else in the same fit."""
    calls: list[int] = []

    def down(messages: Sequence[Message]) -> str:
        calls.append(len(messages))
        msg = "down"
        raise ConnectionError(msg)

    strategy = Summarize(down, 60, ahead=0.7)
    chat = conversation(strategy)
    _, nth = until(chat, has_begun(strategy))
    begun(strategy)

    window, nth = until(chat, is_pruned, nth)

    assert len(calls) == 1
    assert "ConnectionError: down, and rests for 1 prune" in str(window.plan.warnings)
    assert not any(kinds(window))
    until(chat, is_pruned, nth)
    assert len(calls) == 1


def test_what_frees_too_little_by_now_is_gone_on_from() -> None:
    """A huge message came in between: the prune asks once, with what was written."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.6)
    chat = conversation(strategy)
    _, nth = until(chat, has_begun(strategy))
    begun(strategy)

    for more in range(nth, nth + 8):
        say(chat, more)
    window = chat.fit()

    assert window.pruned
    assert len(writer.given) == 2
    assert writer.given[1][0].kind == "summary"
    assert "They spoke (1)." in writer.given[1][0].text
    assert window.messages[0].text.endswith("They spoke (2).")


def test_it_works_within_a_composition_and_in_copies() -> None:
    """Wherever the strategy stands; a copy begins for itself."""
    writer = Writer()
    strategy = Summarize(writer, 60, ahead=0.7)
    chat = conversation(Digest(0.05) | (strategy | OldestTurns()))
    until(chat, has_begun(strategy))
    begun(strategy)

    assert not copy.deepcopy(strategy)._begun.newest_first()
    assert len(writer.given) == 1


def test_without_it_nothing_begins() -> None:
    """Neither with another strategy, nor below its share."""
    writer = Writer()
    chat = conversation(Summarize(writer, 60))
    for nth in range(9):
        say(chat, nth)
        assert not chat.fit().pruned

    assert not writer.given


# -- on an event loop ------------------------------------------------------------------


def test_an_async_one_is_written_on_the_loop_of_the_caller() -> None:
    """In the background, and waited for by the `afit` that prunes."""
    loops: list[object] = []

    async def main() -> tuple[Window, int]:
        go = asyncio.Event()

        async def write(messages: Passage) -> str:
            loops.append(asyncio.get_running_loop())
            await go.wait()
            return f"{len(messages)} read"

        strategy = Summarize(write, 60, ahead=0.7)
        chat = conversation(strategy)
        nth = 0
        while not strategy._begun.newest_first():
            say(chat, nth)
            nth += 1
            await chat.afit()
        await asyncio.sleep(0)
        assert loops == [asyncio.get_running_loop()]

        async def fit() -> Window:
            nonlocal nth
            while True:
                say(chat, nth)
                nth += 1
                window = await chat.afit()
                if window.pruned:
                    return window

        fitting = asyncio.create_task(fit())
        while not fitting.done():
            await asyncio.sleep(0)
            go.set()
        return await fitting, len(loops)

    window, calls = asyncio.run(main())

    assert calls == 1
    assert window.messages[0].text.endswith(" read")


def test_a_loop_that_ends_takes_its_summary_along() -> None:
    """Nothing is left behind, and the next prune is none of its failures."""
    calls: list[int] = []

    async def never(messages: Passage) -> str:
        calls.append(len(messages))
        await asyncio.Event().wait()
        return ""

    strategy = Summarize(never, 60, ahead=0.7, fallbacks=[Writer()])
    chat = conversation(strategy)

    async def main() -> int:
        nth = 0
        while not calls:
            say(chat, nth)
            nth += 1
            await chat.afit()
            await asyncio.sleep(0)
        return nth

    nth = asyncio.run(main())
    window, _ = until(chat, is_pruned, nth)

    assert "no summary: its event loop ended" in str(window.plan.warnings)
    assert strategy._rota.next(2) == 0


def test_a_plain_fit_on_the_same_loop_does_not_wait_for_itself() -> None:
    """It would wait for ever: it drops, and says why."""

    async def main() -> Window:
        async def write(_messages: Passage) -> str:
            await asyncio.Event().wait()
            return "They spoke."

        strategy = Summarize(write, 60, ahead=0.7)
        chat = conversation(strategy)
        nth = 0
        while not strategy._begun.newest_first():
            say(chat, nth)
            nth += 1
            await chat.afit()
        return until(chat, is_pruned, nth)[0]

    window = asyncio.run(main())

    assert "no summary: it is still being written" in str(window.plan.warnings)


@pytest.mark.parametrize("ahead", [0, 1, 1.5, "0.5", True])
def test_it_is_a_share(ahead: Any) -> None:
    """Between 0 and 1, both excluded: at the trigger it is no more than on time."""
    with pytest.raises((TypeError, ValueError), match="ahead must be"):
        Summarize(str, ahead=ahead)
