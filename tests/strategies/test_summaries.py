"""Tests for summaries and digests, and for the callables that write them."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.strategies.views import decide, gone, sized, tokens_of, tool, turns, window
from turnkeep import (
    Budget,
    BudgetExceededError,
    Conversation,
    Image,
    Message,
    Text,
)
from turnkeep.model import DIGEST, SUMMARY, mark, marker_of, unmark
from turnkeep.plans import Batch, Insert, Note, Reserve
from turnkeep.strategies import Digest, KeepRecent, LargestFirst, Passage, Summarize
from turnkeep.strategies._bounding import level
from turnkeep.strategies._calling import Rehearsal, SummarizerError, call


class Writer:
    """A summariser that notes what it was given."""

    def __init__(self, text: str = "They spoke.") -> None:
        self.text = text
        self.given: list[list[Message]] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        """Note and answer."""
        self.given.append(list(messages))
        return f"{self.text} ({len(self.given)})"


def first_words(messages: Sequence[Message]) -> str:
    """A summariser that a pickle can name."""
    return messages[0].text[:9]


def passage(*messages: Message) -> Passage:
    """What a summariser is given."""
    return Passage(messages, "Summarise.", 75)


def missing(_messages: Sequence[Message]) -> str:
    """A summariser with a fault."""
    answers: dict[str, str] = {}
    return answers["x"]


def test_the_oldest_turns_go_together_and_a_summary_stands_for_them() -> None:
    writer = Writer()
    history = [Message.system("s", id="s"), *turns(20, 20, 20, 20)]

    made = decide(history, 61, Summarize(writer, max_tokens=20))
    sent = made.apply(history)

    assert [m.id for m in writer.given[0]] == ["u0", "u1"]
    assert [m.kind for m in sent] == [None, "summary", None, None]
    assert sent[1].text == mark(SUMMARY, "They spoke. (1)")
    assert sent[1].metadata["sources"] == ("u0", "u1")
    assert {d.cause for d in made.dropped} == {"summary"}
    assert history[1].text == sized(20)


def test_the_same_messages_are_summarised_once() -> None:
    writer = Writer()
    strategy = Summarize(writer, max_tokens=20)
    history = turns(20, 20, 20, 20)

    first = window(history, 60, strategy)

    assert window(history, 60, strategy) == first
    assert len(writer.given) == 1
    plain = Summarize(first_words)
    assert pickle.loads(pickle.dumps(plain)) == plain  # noqa: S301 - our own


def test_an_earlier_summary_is_merged_and_replaced() -> None:
    """The log grows, and so does what is covered: only the new part is read."""
    writer = Writer()
    strategy = Summarize(writer, max_tokens=20)

    window(turns(20, 20, 20, 20), 60, strategy)
    sent = window(turns(20, 20, 20, 20, 20, 20), 60, strategy)

    assert [m.id for m in writer.given[1]] == [None, "u2", "u3"]
    assert writer.given[1][0].kind == "summary"
    assert [m.kind for m in sent] == ["summary", None, None]
    assert sent[0].metadata["sources"] == ("u0", "u1", "u2", "u3")


def test_a_summary_in_the_list_is_merged_and_replaced() -> None:
    """The window was fed back, and the chat went on."""
    writer = Writer()
    sent = window(turns(20, 20, 20, 20), 60, Summarize(writer, max_tokens=20))
    fed = [*sent, *(m.evolve(id=f"v{n}") for n, m in enumerate(turns(20, 20)))]

    again = window(fed, 72, Summarize(writer, max_tokens=20))

    assert [m.kind for m in again] == ["summary", None, None]
    assert writer.given[1][0].kind == "summary"
    assert again[0].metadata["sources"][:2] == ("u0", "u1")


def test_a_long_tool_loop_is_summarised_from_its_beginning() -> None:
    writer = Writer()
    history = [*turns(5), *(m for n in range(5) for m in tool(f"c{n}", sized(20)))]

    sent = window(history, 70, Summarize(writer, max_tokens=20))

    assert [m.id for m in writer.given[0]] == [
        "a-c0",
        "r-c0",
        "a-c1",
        "r-c1",
        "a-c2",
        "r-c2",
    ]
    assert [m.id for m in sent][:3] == ["u0", None, "a-c3"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (lambda _: "", "returned nothing"),
        (lambda _: None, "returned a NoneType"),
    ],
)
def test_a_failing_summariser_falls_back_to_dropping(answer: Any, why: str) -> None:
    made = decide(turns(20, 20, 20, 20), 60, Summarize(answer, max_tokens=20))

    assert list(made.dropped.ids) == ["u0"]
    assert {d.cause for d in made.dropped} == {"age"}
    assert any(why in warning for warning in made.warnings)


def test_a_slow_summariser_is_left_behind() -> None:
    waiting = threading.Event()

    def slow(_messages: Sequence[Message]) -> str:
        waiting.wait(10)
        return "too late"

    made = decide(turns(20, 20, 20), 45, Summarize(slow, max_tokens=20, timeout=0.01))
    waiting.set()

    assert list(made.dropped.ids) == ["u0"]
    assert any("longer than 0.01 seconds" in warning for warning in made.warnings)


def test_a_summary_that_is_not_smaller_is_refused_and_the_turns_dropped() -> None:
    made = decide(turns(6, 6, 6, 6), 20, Summarize(Writer("x" * 90), max_tokens=40))

    assert not made.inserted
    assert any("summary refused" in warning for warning in made.warnings)
    assert made.refused
    assert list(made.dropped.ids) == ["u0"]


def test_a_long_summary_is_cut_at_its_end() -> None:
    made = decide(
        turns(90, 90, 20), 120, Summarize(Writer("so it goes " * 50), max_tokens=30)
    )

    (summary,) = made.inserted
    assert summary.tokens <= 30
    assert unmark(summary.message.text).startswith("so it goes")


def test_what_a_summariser_reads_is_bounded() -> None:
    writer = Writer()
    history = [
        Message.user(
            [Text("y " * 2000), Image(url="https://example.org/a.png")], id="long"
        ),
        *tool("c", "z " * 2000),
        Message.assistant("", id="seen"),
        *turns(20, 20, 20),
    ]

    window(history, 60, Summarize(writer, max_tokens=20, max_input_tokens=200))

    (given,) = writer.given
    assert sum(map(tokens_of, given)) <= 200
    assert given[0].id == "long"
    assert any(isinstance(b, Image) for b in given[0].content)


def test_the_oldest_are_left_out_of_a_very_long_input_but_not_the_summary() -> None:
    writer = Writer()
    strategy = Summarize(writer, max_tokens=20, max_input_tokens=100)
    window(turns(*[8] * 20), 40, strategy)
    window(turns(*[8] * 60), 40, strategy)

    assert sum(map(tokens_of, writer.given[1])) <= 100
    assert writer.given[1][0].kind == "summary"
    assert len(writer.given[0]) < 18


def test_the_level_to_cut_to_shares_the_room() -> None:
    assert level([10, 50, 90], 100) == 45
    assert level([10, 20], 100) == 100
    assert level([50, 50], 1) == 1


def test_one_call_a_fit_at_most() -> None:
    writer, other = Writer(), Writer()

    window(
        turns(*[20] * 10),
        100,
        Summarize(writer, max_tokens=20) & Summarize(other, max_tokens=20),
    )

    assert len(writer.given) + len(other.given) == 1


def test_nothing_to_cover_is_no_call() -> None:
    writer = Writer()

    with pytest.raises(BudgetExceededError):
        decide(turns(50), 20, Summarize(writer))

    assert not writer.given


def test_an_async_summariser_runs_on_a_private_loop() -> None:
    async def write(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} read"

    sent = window(turns(20, 20, 20, 20), 60, Summarize(write, max_tokens=20))

    assert sent[0].text.endswith("2 read")


def test_an_async_summariser_runs_on_the_loop_of_the_caller() -> None:
    loops: list[object] = []

    async def write(_messages: Sequence[Message]) -> str:
        loops.append(asyncio.get_running_loop())
        return "done"

    async def main() -> object:
        rehearsal = Rehearsal()
        with pytest.raises(SummarizerError, match="not been asked"):
            rehearsal.answer(write, passage(), 5.0)
        assert rehearsal.is_open
        await rehearsal.ask()
        assert rehearsal.answer(write, passage(), 5.0) == "done"
        with pytest.raises(SummarizerError, match="history changed"):
            rehearsal.answer(write, passage(Message.user("more")), 5.0)
        return asyncio.get_running_loop()

    assert [asyncio.run(main())] == loops


def test_what_a_summariser_raises_is_said() -> None:
    with pytest.raises(SummarizerError, match="KeyError"):
        call(missing, passage(), 5.0)


@pytest.mark.parametrize(
    "bad",
    [
        {"summarizer": "text"},
        {"max_tokens": 1},
        {"max_input_tokens": 1},
        {"timeout": 0},
        {"fallbacks": [str, "text"]},
        {"prompt": ""},
        {"prompt": 5},
    ],
)
def test_arguments_of_a_summary(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(bad))):
        Summarize(**{"summarizer": str, **bad})


# -- who is asked ----------------------------------------------------------------------


class Failing(Writer):
    """A summariser that only counts how often it was asked."""

    def __call__(self, messages: Sequence[Message]) -> str:
        """Count, and fail."""
        super().__call__(messages)
        msg = "down"
        raise ConnectionError(msg)


def prunes(strategy: Summarize, count: int) -> list[tuple[str, ...]]:
    """The warnings of *count* prunes of a history that grows."""
    chats = (turns(*[20] * (4 + nth)) for nth in range(count))
    return [decide(chat, 60, strategy).warnings for chat in chats]


def failures(told: list[tuple[str, ...]]) -> list[int]:
    """At which of the prunes a summariser failed."""
    return [n for n, warnings in enumerate(told) if "ConnectionError" in str(warnings)]


def test_one_that_failed_rests_for_longer_and_longer() -> None:
    """For 1, 2, 4, ... prunes, up to 64: 60 prunes ask it 6 times, not 60."""
    failing = Failing()

    told = prunes(Summarize(failing, max_tokens=20), 60)

    assert len(failing.given) == 6
    assert failures(told) == [0, 2, 5, 10, 19, 36]
    assert "and rests for 1 prune; older turns are dropped instead" in str(told[0])
    assert "no summary: it rests after failing; older turns" in str(told[1])


def test_an_answer_ends_the_failures() -> None:
    """After it, the next failure rests for one prune again."""
    asked: list[int] = []

    def now_and_then(messages: Sequence[Message]) -> str:
        asked.append(len(messages))
        if len(asked) in (3, 5):
            return "They spoke."
        msg = "down"
        raise ConnectionError(msg)

    told = prunes(Summarize(now_and_then, max_tokens=20), 9)

    assert failures(told) == [0, 2, 6]


def test_fallbacks_are_asked_while_it_rests() -> None:
    """In their order, one a prune; what was dropped meanwhile is covered then."""
    failing, worse, writer = Failing(), Failing(), Writer()
    strategy = Summarize(failing, max_tokens=20, fallbacks=[worse, writer])

    told = prunes(strategy, 3)

    assert [len(w.given) for w in (failing, worse, writer)] == [1, 1, 1]
    assert failures(told) == [0, 1]
    assert [m.id for m in writer.given[0]] == ["u0", "u1", "u2", "u3"]


def test_answers_of_no_use_are_failures() -> None:
    """A summary that is larger than what it covers is not asked for each time."""
    writer = Writer("x" * 90)

    strategy = Summarize(writer, max_tokens=200)

    for count in range(12):
        decide(turns(*[12] * (3 + count)), 30, strategy)

    assert len(writer.given) == 4


def test_planning_twice_for_an_async_caller_counts_once() -> None:
    """A rehearsal that only finds out what to ask is no prune."""
    asked: list[int] = []

    async def down(messages: Sequence[Message]) -> str:
        asked.append(len(messages))
        msg = "down"
        raise ConnectionError(msg)

    async def main() -> list[bool]:
        chat = Conversation(
            budget=Budget(300, target=0.6),
            model="gpt-4o",
            strategy=Summarize(down, max_tokens=60),
        )
        failed: list[bool] = []
        for nth in range(90):
            chat.user(f"question {nth} about order_{nth} " * 4)
            window = await chat.afit()
            if window.pruned:
                failed.append("ConnectionError" in str(window.plan.warnings))
        return failed

    failed = asyncio.run(main())

    assert [n for n, one in enumerate(failed) if one][:4] == [0, 2, 5, 10]
    assert len(asked) == sum(failed)


def test_a_prompt_is_all_that_a_model_needs() -> None:
    """Our words, a length, and the record with the earlier summary in front."""
    prompts: list[str] = []

    def call_my_model(asked: Passage) -> str:
        prompts.append(asked.prompt)
        return "They spoke."

    strategy = Summarize(call_my_model, max_tokens=20)
    prunes(strategy, 2)
    window(turns(20, 20, 20), 45, Summarize(call_my_model, 20, prompt="In French."))

    assert prompts[0].startswith("Below is the record of a conversation")
    assert "Take at most 15 words.\n\n<record>\n[user, u0]\n" in prompts[0]
    assert prompts[0].endswith("\n</record>")
    assert "<record>\n[summary of what came before]\nThey spoke.\n\n" in prompts[1]
    assert prompts[2].startswith("In French. Take at most 15 words.")


# -- Digest -------------------------------------------------------------------------


def shop(count: int = 6) -> list[Message]:
    """A loop over orders; the first is used again at the end."""
    history = [Message.system("s", id="s"), *turns(3)]
    for n in range(count):
        history += tool(
            f"c{n}", f"order_{n} belongs to user_{n} " + "-" * 80, name="find"
        )
    return [*history, *tool("again", "ok", {"order": "order_0"}, name="ship")]


def test_a_digest_lists_what_went_last_used_first() -> None:
    made = decide(shop(), 150, Digest(0.3) | LargestFirst())
    sent = made.apply(shop())

    (digest,) = [m for m in sent if m.kind == "digest"]
    lines = digest.text.split("\n")
    assert marker_of("\n".join(lines)) == DIGEST
    assert "left out" in lines[1].lower()
    assert lines[2].startswith("find: ")
    assert "order_0" not in digest.text  # the later call still names it
    assert made.tokens <= 150
    assert sent[0].role == "system"
    assert [i.cause for i in made.inserted] == ["digest"]


def test_no_digest_where_nothing_is_lost_or_there_is_no_room() -> None:
    history = [*turns(30, 30, 5)]

    assert not decide(history, 50, Digest(0.2) | LargestFirst()).inserted
    assert not decide(shop(), 150, Digest(0.01) | LargestFirst()).inserted


def test_an_earlier_digest_is_merged() -> None:
    strategy = Digest(0.3) | KeepRecent(0.3)
    fed = window(shop(), 150, strategy)
    fed += tool("x", sized(40), name="find")

    again = window(fed, 150, strategy)

    assert sum(m.kind == "digest" for m in again) == 1
    assert "user_0" in "".join(m.text for m in again if m.kind == "digest")


def test_only_one_reserve_is_kept() -> None:
    made = decide(shop(), 150, Digest(0.1) | Digest(0.1) | LargestFirst())

    assert [r.edit for r in made.refused] == ["reserve 15"]


# -- what any strategy may propose ---------------------------------------------------


class Says:
    """A strategy that proposes fixed edits, then the largest."""

    def __init__(self, *edits: Any) -> None:
        self.edits = edits

    def propose(self, history: Any, /) -> Any:
        """Yield them."""
        yield from self.edits
        yield from LargestFirst().propose(history)


def test_notes_become_warnings_and_insertions_stand_behind_leading_systems() -> None:
    history = [Message.system("s", id="s"), *turns(20, 20, 5)]
    hello = Message.user("hello")

    made = decide(
        history, 40, Says(Note("mind"), Insert(hello, 0, "mine"), Batch((), 5))
    )

    assert "mind" in made.warnings
    assert made.apply(history)[1] == hello
    assert made.refused[0].edit == "a batch of 0 edits"


def test_a_reserve_that_writes_too_much_is_left_out() -> None:
    huge = Reserve(5, lambda _gone, _room: Message.user(sized(90)), "mine")

    assert not decide(turns(20, 20, 5), 40, Says(huge)).inserted


def test_a_strategy_that_never_ends_is_stopped() -> None:
    class Endless:
        def propose(self, _history: Any, /) -> Any:
            while True:
                yield Note("again")

    made = decide(turns(20, 20, 5), 40, Endless(), on_overflow="send")

    assert any("stopped after" in warning for warning in made.warnings)


def test_summaries_go_when_the_hard_budget_demands_it() -> None:
    history = [Message.user(sized(30), id="s", kind="summary"), *turns(20, 20)]

    assert gone(history, 55, LargestFirst()) == ["u0"]
    assert gone(history, 40, LargestFirst()) == ["s", "u0"]


def test_the_earlier_marker_is_not_doubled() -> None:
    sent = window(
        turns(20, 20, 20, 20), 60, Summarize(Writer(f"{SUMMARY}\nso"), max_tokens=20)
    )

    assert marker_of(sent[0].text) == SUMMARY
    assert marker_of(unmark(sent[0].text)) is None


def test_a_summary_that_there_is_no_room_for_is_left_out() -> None:
    """What must stay fills the budget: no error because of what is ours."""
    history = [*turns(20, 20), Message.user(sized(50), id="now")]

    made = decide(history, 50, Summarize(Writer(), max_tokens=20))

    assert list(made.dropped.ids) == ["u0", "u1"]
    assert not made.inserted
    assert any("left out" in warning for warning in made.warnings)


# -- in a conversation ---------------------------------------------------------------


def talk(conversation: Conversation, turns_: range) -> list[Message]:
    """A question and an answer each turn; returns the last window."""
    sent: list[Message] = []
    for nth in turns_:
        conversation.user(f"question {nth} about order_{nth} " * 4)
        sent = list(conversation.fit().messages)
        conversation.assistant(f"answer {nth} " * 10)
    return sent


def test_a_conversation_has_one_summary_that_grows() -> None:
    writer = Writer()
    chat = Conversation(
        budget=Budget(600, target=0.6),
        model="gpt-4o",
        strategy=Summarize(writer, max_tokens=60),
    )

    sent = talk(chat, range(60))

    assert [m.kind for m in sent].count("summary") == 1
    assert sent[0].kind == "summary"
    assert len(writer.given) > 1
    assert all(given[0].kind == "summary" for given in writer.given[1:])
    ids = [m.id for m in chat.messages]
    sources = sent[0].metadata["sources"]
    assert list(sources) == ids[: len(sources)]


def test_a_saved_conversation_goes_on_from_its_summary() -> None:
    writer, later = Writer(), Writer("Later")
    chat = Conversation(
        budget=Budget(600, target=0.6),
        model="gpt-4o",
        strategy=Summarize(writer, max_tokens=60),
    )
    talk(chat, range(30))

    again = Conversation.from_json(
        chat.to_json(), strategy=Summarize(later, max_tokens=60)
    )
    talk(again, range(30, 60))

    assert later.given[0][0].kind == "summary"
    assert "They spoke." in later.given[0][0].text


def test_a_conversation_has_one_digest() -> None:
    chat = Conversation(
        budget=Budget(800, target=0.6),
        model="gpt-4o",
        strategy=Digest(0.2) | LargestFirst(),
    )

    sent = talk(chat, range(60))

    assert [m.kind for m in sent].count("digest") == 1


def test_an_async_summariser_of_a_conversation_runs_on_its_loop() -> None:
    loops: list[object] = []

    async def write(_messages: Sequence[Message]) -> str:
        loops.append(asyncio.get_running_loop())
        return "They spoke."

    async def main() -> object:
        chat = Conversation(
            budget=Budget(300, target=0.6),
            model="gpt-4o",
            strategy=Summarize(write, max_tokens=60),
        )
        for nth in range(10):
            chat.user(f"question {nth} about order_{nth} " * 4)
            chat.assistant(f"answer {nth} " * 10)
        chat.user("and now?")
        await chat.afit()
        return asyncio.get_running_loop()

    assert [asyncio.run(main())] == loops
