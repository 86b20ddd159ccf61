"""Tests for `turnkeep.engine._order`: where kept messages stand in a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import turnkeep
from turnkeep import Budget, Conversation
from turnkeep.engine._order import Order, Placement, place
from turnkeep.formats import get_format
from turnkeep.index import History, Rules
from turnkeep.model import Message, Text, Thinking, ToolCall, ToolResult
from turnkeep.plans import Inserted
from turnkeep.turns import ASSISTANT, RESULT, Grouping, entry_of

PLACEMENTS = get_args(Placement)
IDS = ("a", "b", "c")
WORDS = Text("and now?")


@attrs.frozen
class Shown:
    """Messages as a history asks for them; each costs a token."""

    messages: Sequence[Message]

    def message(self, index: int) -> Message:
        """See `Source`."""
        return self.messages[index]

    def cost(self, message: Message) -> int:
        """See `Source`."""
        return len(message.content[:1])


def history_of(
    messages: Sequence[Message], placement: str = "after-call", **rules: Any
) -> History:
    """A history of *messages*."""
    per_message = placement == "after-call"
    return History(
        Grouping(map(entry_of, messages)),
        Shown(messages),  # type: ignore[arg-type]
        Rules(per_message=per_message, **rules),
    )


def window_of(
    history: History, placement: Placement, dropped: bytearray | None = None
) -> tuple[Order, tuple[int, ...]]:
    """The window that is left without the *dropped* steps."""
    added = [
        item
        for step in history.with_additions()
        if dropped is None or not dropped[step]
        for item in history.additions(step)
    ]
    return place(history, dropped, added, placement)


def calls(*ids: str) -> Message:
    """Calls of the model."""
    return Message.assistant("", tool_calls=[ToolCall(key, "look") for key in ids])


def answers(*ids: str, more: Sequence[Text] = ()) -> Message:
    """Results in one message of the user, and what is said with them."""
    return Message.user((*(ToolResult(key, "found") for key in ids), *more))


ids = st.lists(st.sampled_from(IDS), min_size=1, max_size=3)
messages = st.one_of(
    st.builds(Message.user, st.just("go")),
    st.builds(Message.assistant, st.just("so")),
    st.builds(Message.assistant, st.just((Thinking("hm"),))),
    ids.map(lambda made: calls(*made)),
    ids.map(lambda made: calls(*made)),
    ids.map(lambda made: answers(*made)),
    ids.map(lambda made: answers(*made, more=[WORDS])),
    st.sampled_from(IDS).map(answers),
    st.sampled_from(IDS).map(
        lambda key: Message.tool_result(key, "started", pending=True)
    ),
    st.builds(Message.system, st.just("be brief")),
    st.just(Message.assistant("shown", kind="run_summary")),
    st.just(Message.user("seen", kind="bridge")),
)


@st.composite
def drops(draw: DrawFn, grouping: Grouping) -> bytearray | None:
    """Steps that go; tied ones go together."""
    if draw(st.booleans()):
        return None
    dropped = bytearray(grouping.steps)
    some = st.integers(0, max(grouping.steps - 1, 0))
    for step in draw(st.sets(some)) if dropped else ():
        for tied in grouping.ties.get(step, {step}):
            dropped[tied] = 1
    return dropped


@pytest.mark.parametrize("placement", PLACEMENTS)
@given(st.lists(messages, max_size=14), st.booleans(), st.data())
def test_every_kept_message_always_stands_once(
    placement: Placement, chat: list[Message], strips: bool, data: st.DataObject
) -> None:
    """Whatever answers what, and wherever; and so does every message of ours."""
    history = history_of(chat, placement)
    grouping = history.grouping
    if strips:
        alone = [i for i, m in enumerate(chat) if type(m.content[0]) is Thinking]
        history.strip(alone)
    dropped = data.draw(drops(grouping))

    order, moved = window_of(history, placement, dropped)

    kept = [
        index
        for index in range(len(chat))
        if not (dropped and dropped[grouping.step_at(index)])
        and history.is_visible(index)
    ]
    own = [item for item in order if isinstance(item, int)]
    assert sorted(own) == kept
    assert [index for index in own if index not in moved] == [
        index for index in kept if index not in moved
    ]
    added = [item for item in order if isinstance(item, Inserted)]
    assert len({id(item) for item in added}) == len(added)
    assert len(added) == sum(
        len(list(history.additions(step)))
        for step in range(grouping.steps)
        if not (dropped and dropped[step])
    )
    sent = [
        item.message
        if isinstance(item, Inserted)
        else history.mended.get(item, chat[item])
        for item in order
    ]
    assert not Grouping(map(entry_of, sent)).problems
    for at, item in enumerate(order):
        if isinstance(item, Inserted):
            assert_follows_call(history, order[:at], item, placement)


def assert_follows_call(
    history: History, before: Order, item: Inserted, placement: Placement
) -> None:
    """Nothing but results stands between a stand-in and its call.

    Where they follow the whole run of the model's messages, the rest of that as well.
    """
    kinds = history.grouping.kinds
    for other in reversed(before):
        if other == item.after:
            return
        if isinstance(other, int):
            run = placement != "after-call" and kinds[other] == ASSISTANT
            assert kinds[other] == RESULT or run, f"{other} before {item}"
    pytest.fail(f"no call before {item}")


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_words_with_a_result_stay_where_they_follow_their_call(
    placement: Placement,
) -> None:
    """Such a message moves as little as a result alone would."""
    chat = [Message.user("q"), calls("a"), answers("a", more=[WORDS])]
    history = history_of(chat, placement)

    assert window_of(history, placement) == (range(3), ())
    assert not history.grouping.displaced
    assert not history.grouping.displaced_run


@pytest.mark.parametrize("placement", ["after-call", "after-run"])
def test_words_go_behind_the_results_that_move(placement: Placement) -> None:
    """A late result and a stand-in go in front of what the user said."""
    chat = [calls("a", "b", "c"), answers("a", more=[WORDS]), answers("b")]

    order, moved = window_of(history_of(chat, placement), placement)

    assert moved == (2,)
    assert [i if isinstance(i, int) else i.call_id for i in order] == [0, 2, "c", 1]


@pytest.mark.parametrize("placement", ["after-call", "after-run"])
def test_words_that_move_go_last_and_in_their_order(placement: Placement) -> None:
    """Their results can only stand right if they stand alone; words stay in order."""
    said = [answers(key, more=[WORDS]) for key in IDS]
    late = [calls("a", "b", "c", "d"), *said, Message.user("so?")]

    order, moved = window_of(history_of([*late, answers("d")], placement), placement)

    assert order == [0, 5, 1, 2, 3, 4]
    assert moved == (2, 3, 5)


@pytest.mark.parametrize("placement", ["after-call", "after-run"])
def test_nothing_goes_behind_reasoning_that_is_not_sent(placement: Placement) -> None:
    """A late result and a stand-in find the end of what is sent of the run."""
    hums = Message.assistant((Thinking("hm"),))
    chat = [calls("a", "b"), hums, Message.user("q"), answers("a")]
    history = history_of(chat, placement)
    history.strip([1])

    order, moved = window_of(history, placement)

    assert moved == (3,)
    assert [i if isinstance(i, int) else i.call_id for i in order] == [0, 3, "b", 2]


@pytest.mark.parametrize("placement", ["after-call", "after-run"])
def test_results_of_two_messages_go_behind_the_later_one(placement: Placement) -> None:
    """No result stands before its call."""
    chat = [
        calls("a"),
        Message.user("q"),
        calls("b"),
        Message.user("r"),
        answers("a", "b"),
    ]

    order, moved = window_of(history_of(chat, placement), placement)

    assert order == [0, 1, 2, 4, 3]
    assert moved == (4,)


MODELS = {
    "anthropic": "claude-3-5-sonnet-20241022",
    "bedrock": "anthropic.claude-sonnet-4-5",
    "deepseek": "deepseek-chat",
    "gemini": "gemini-2.0-flash",
    "mistral": "mistral-large-latest",
    "ollama": "llama3.1",
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.2",
}


@st.composite
def agents(draw: DrawFn) -> tuple[list[Message], list[Message]]:
    """The same turns twice: with all calls answered, and with some still open.

    The last results of a message's calls may stand together with the user's next words.
    """
    every: list[Message] = []
    some: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        asks = Message.user("go")
        every.append(asks)
        some.append(asks)
        made = [f"call{number + nth:05d}" for nth in range(draw(st.integers(1, 3)))]
        number += len(made)
        alone = draw(st.integers(0, len(made)))
        missing = draw(st.sets(st.sampled_from(made)))
        for chat, left in (
            (every, made),
            (some, [k for k in made if k not in missing]),
        ):
            chat.append(calls(*made))
            chat += [answers(key) for key in made[:alone] if key in left]
            last = [key for key in made[alone:] if key in left]
            chat.append(answers(*last, more=[WORDS]))
        if draw(st.booleans()):
            says = Message.assistant("so")
            every.append(says)
            some.append(says)
            late = draw(st.sets(st.sampled_from(sorted(missing)))) if missing else ()
            some += map(answers, sorted(late))
    last_words = Message.user("last question")
    return [*every, last_words], [*some, last_words]


@pytest.mark.parametrize("name", MODELS)
@given(told=agents())
def test_windows_are_always_accepted_where_the_answered_history_is(
    name: str, told: tuple[list[Message], list[Message]]
) -> None:
    """Whatever is still open, and wherever the user spoke with a result."""
    every, some = told
    request = get_format(name).encode_request(every)
    assert not turnkeep.check(request, format=name)

    for chat in (every, some):
        talk = Conversation(budget=Budget(100_000), model=MODELS[name], format=name)
        for message in chat:
            talk.append(message)
        window = talk.fit()
        assert not turnkeep.check(window.encode(format=name), format=name)
        sent = [block for m in window for block in m.content]
        assert sent.count(WORDS) == sum(m.content.count(WORDS) for m in chat)
