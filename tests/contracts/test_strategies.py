"""What every strategy, and every composition of two, promises."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.chats import chats
from tests.invariants import assert_valid, must_stay, pair
from turnkeep import Budget, BudgetExceededError, Message, plan
from turnkeep.formats import get_format
from turnkeep.model import Image, Text, Thinking, ToolCall, ToolResult
from turnkeep.plans import Edit, Plan
from turnkeep.strategies import (
    DEFAULT,
    Alternating,
    ClearToolResults,
    Digest,
    KeepEnds,
    KeepRecent,
    LargestFirst,
    LeastRecentlyReferenced,
    LowestPriority,
    Offload,
    OlderThan,
    OldestSteps,
    OldestTurns,
    Relevance,
    Strategy,
    StripImages,
    StripThinking,
    Summarize,
    Superseded,
    Then,
    TruncateToolResults,
)

OPENAI = get_format("openai")
START = datetime(2026, 5, 1, 9, 0, tzinfo=UTC)


def summary(messages: Sequence[Message]) -> str:
    """A summariser that says as much as it reads, so that some are refused."""
    return " ".join(m.text[:12] or "-" for m in messages)


def compacted(messages: Sequence[Message]) -> dict[str, Any]:
    """A provider's compactor: an item that is as long as what it read is old."""
    return {"type": "compaction", "encrypted_content": "x" * len(messages)}


@attrs.frozen
class Forgetful:
    """Keeps no text: these tests look at windows."""

    def put_text(self, conversation_id: str, name: str, text: str) -> None:
        """Take it."""

    def read_text(self, conversation_id: str, name: str) -> str | None:
        """There is none."""


MAKERS: dict[str, Callable[[], Strategy]] = {
    "default": lambda: DEFAULT,
    "oldest turns": OldestTurns,
    "oldest steps": OldestSteps,
    "ends": lambda: KeepEnds(1, 2),
    "priority": LowestPriority,
    "largest": LargestFirst,
    "older": lambda: OlderThan(timedelta(minutes=5)),
    "referenced": LeastRecentlyReferenced,
    "relevance": Relevance,
    "recent": lambda: KeepRecent(0.3, rest=Relevance() & LeastRecentlyReferenced()),
    "recent, oldest": lambda: KeepRecent(0.5),
    "clear": lambda: ClearToolResults(keep=1, placeholder="gone"),
    "clear inputs": lambda: ClearToolResults(
        keep=0, placeholder="gone", clear_tool_inputs=True
    ),
    "clear in batches": lambda: ClearToolResults(keep=0, clear_at_least=20),
    "offload": lambda: Offload(Forgetful(), 200, 60),
    "truncate": lambda: TruncateToolResults(20, head=0.7),
    "superseded": Superseded,
    "thinking": StripThinking,
    "images": lambda: StripImages(keep=0),
    "summarise": lambda: Summarize(summary, max_tokens=20, max_input_tokens=100),
    "compact": lambda: Summarize(compacted, max_tokens=20, max_input_tokens=100),
    "digest": lambda: Digest(0.1),
}

TEXTS = st.sampled_from(
    [
        "",
        "ok",
        "go on with src/app.py please",
        "order 4711 for mia_li is late, what now?",
        "line one of the log\n" * 12,
        '{"order_id": 4711, "user": "mia_li", "items": [1, 2, 3], "note": "late"}',
        "one long line without any break at all but with words in it " * 5,
        "x" * 300,
        "".join(f"line {n} of a long log\n" for n in range(60)),
    ]
)


@st.composite
def histories(draw: DrawFn) -> list[Message]:
    """Chats with texts, pictures, reasoning, time stamps and priorities."""
    chat = draw(chats(max_length=12))
    made: list[Message] = []
    for nth, entry in enumerate(chat):
        (message,) = OPENAI.decode({k: v for k, v in entry.items() if k != "size"})
        blocks = [_filled(draw, block) for block in message.content]
        if message.role == "user" and draw(st.booleans()):
            blocks.append(Image(url="https://example.org/a.png"))
        if message.role == "assistant" and not draw(st.integers(0, 3)):
            blocks.insert(0, Thinking("let me see", signature="s"))
        stamp = START + timedelta(minutes=draw(st.integers(0, 20)))
        made.append(
            Message(
                message.role,
                blocks,
                id=f"m{nth}",
                timestamp=stamp if draw(st.integers(0, 3)) else None,
                priority=draw(st.sampled_from([None, 0, 50, 90])),
                kind=draw(st.sampled_from([None, None, None, "summary"]))
                if message.role == "user"
                else None,
            )
        )
    return made


def _filled(draw: DrawFn, block: Any) -> Any:
    match block:
        case Text():
            return Text(draw(TEXTS))
        case ToolResult(pending=False, interim=False):
            return attrs.evolve(block, content=draw(TEXTS))
        case ToolCall():
            arguments = draw(st.sampled_from(["{}", '{"path":"src/app.py","n":4711}']))
            return ToolCall(block.id, block.name, arguments)
        case _:
            return block


def tokens_of(message: Message) -> int:
    """A token for four characters, pictures ten, reasoning its text."""
    total = 2
    for block in message.content:
        match block:
            case Image():
                total += 10
            case Thinking():
                total += 4
            case ToolCall():
                total += len(block.text) // 4 + 1
            case _:
                total += len(Message.user([block]).text) // 4
    return total


def decide(
    history: list[Message], budget: Budget, strategy: Strategy, **options: Any
) -> Plan:
    """The plan, with the tests' own counts."""
    return plan(
        history, budget=budget, strategy=strategy, token_counter=tokens_of, **options
    )


def window_of(made: Plan, history: list[Message]) -> list[Message]:
    """The messages that a plan leaves."""
    window = made.apply(history)
    assert isinstance(window, list)
    return window


def assert_kept(
    history: list[Message], window: list[Message], made: Plan, pins: set[int]
) -> None:
    """P1, P2, P3, P5, P6 and P7."""
    entries = [dict(OPENAI.encode([m])[0]) for m in history]
    assert_valid(OPENAI.encode(window))
    present = {m.id: m for m in window if m.id is not None}
    ours = {n for n, m in enumerate(history) if m.kind in ("summary", "digest")}
    for index in must_stay(entries, pins, ours):
        assert f"m{index}" in present
    for index in pins:
        if f"m{index}" in present:
            assert present[f"m{index}"] == history[index]
    order = [
        int(m.id[1:]) for m in window if m.id is not None and m.role != "tool_result"
    ]
    assert order == sorted(order)
    assert len(pair(entries)[1]) == len(pair(OPENAI.encode(window))[1])
    decided = [decision.index for decision in made.decisions]
    assert decided == list(range(len(history)))
    assert all(d.cause for d in made.decisions if d.action != "keep")


cases = histories().flatmap(
    lambda history: st.tuples(
        st.just(history), st.sets(st.integers(0, len(history) - 1), max_size=2)
    )
)
sizes = st.integers(20, 500)
targets = st.sampled_from([0.4, 0.8, 1.0])


def check(
    case: tuple[list[Message], set[int]],
    size: int,
    target: float,
    make: Callable[[], Strategy],
) -> None:
    """P1 to P7 and P9, and that a second run decides the same."""
    history, pins = case
    before = list(history)
    budget = Budget(size, target=target)
    try:
        made = decide(history, budget, make(), pinned=pins)
    except BudgetExceededError as error:
        assert error.smallest > size
        budget = Budget(error.smallest)
        made = decide(history, budget, make(), pinned=pins)
    window = window_of(made, history)

    assert history == before
    assert sum(map(tokens_of, window)) == made.tokens
    assert made.tokens <= budget.max_tokens
    assert_kept(history, window, made, pins)
    again = decide(history, budget, make(), pinned=pins)
    assert window_of(again, history) == window
    assert again.refused == made.refused
    kept_pins = [n for n, m in enumerate(window) if m.id in {f"m{i}" for i in pins}]
    second = decide(window, budget, make(), pinned=kept_pins)
    assert window_of(second, window) == window


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=25)
@given(case=cases, size=sizes, target=targets)
def test_every_strategy_keeps_the_promises(
    name: str, case: tuple[list[Message], set[int]], size: int, target: float
) -> None:
    """P1 to P7 and P9, whatever the budget."""
    check(case, size, target, MAKERS[name])


pairs = st.tuples(
    st.sampled_from(sorted(MAKERS)), st.sampled_from(sorted(MAKERS)), st.booleans()
)


@settings(max_examples=300)
@given(pair_of=pairs, case=cases, size=sizes, target=targets)
def test_every_composition_of_two_keeps_the_promises(
    pair_of: tuple[str, str, bool],
    case: tuple[list[Message], set[int]],
    size: int,
    target: float,
) -> None:
    """P1 to P7 and P9 for `A | B` and `A & B`."""
    first, second, by_turns = pair_of
    both = Alternating if by_turns else Then

    check(case, size, target, lambda: both(MAKERS[first](), MAKERS[second]()))


@attrs.define
class Watched:
    """A strategy whose edits are noted, with the window's tokens before each."""

    strategy: Strategy
    tokens: list[int] = attrs.field(factory=list)

    def propose(self, history: Any, /) -> Iterator[Edit]:
        """Pass the edits on."""
        for edit in self.strategy.propose(history):
            self.tokens.append(history.tokens)
            yield edit


@pytest.mark.parametrize("name", [n for n in MAKERS if n != "digest"])
@settings(max_examples=15)
@given(history=histories(), size=sizes, target=targets)
def test_no_edit_is_taken_once_the_target_is_met(
    name: str, history: list[Message], size: int, target: float
) -> None:
    """P10: before the last edit the window was over the target."""
    watched = Watched(MAKERS[name]())
    budget = Budget(size, target=target)

    decide(history, budget, watched, on_overflow="send")

    assert all(tokens > size * target - 1 for tokens in watched.tokens)


@pytest.mark.parametrize("name", MAKERS)
def test_strategies_are_values(name: str) -> None:
    """Equal when made alike, hashable; copies and pickles are equal too."""
    strategy = MAKERS[name]()

    assert strategy == MAKERS[name]()
    assert hash(strategy) == hash(MAKERS[name]())
    assert isinstance(strategy, Strategy)
    assert copy.deepcopy(strategy) == strategy
    assert pickle.loads(pickle.dumps(strategy)) == strategy  # noqa: S301 - our own
