"""Requests that are put together from the last ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generators import EVERYTHING, PLAIN, Menu, decoded, histories
from tests.paths import read_corpus
from turnkeep.formats import _copies as copies
from turnkeep.formats import _pieces as pieces_of_it
from turnkeep.formats import get_format
from turnkeep.formats._pieces import Pieces
from turnkeep.formats._sending import request_of
from turnkeep.model import Message, Role, Text, ToolCall, ToolResult
from turnkeep.policy import NO_DEMANDS, Policy
from turnkeep.profiles import get_profile

RECORDS = [
    "langchain",
    "pydantic-ai",
    "lellm",
    "mermaid",
    "molo",
    "multi-llm",
    "orion",
    "turnkeep",
]
FORMATS = [
    "anthropic",
    "bedrock",
    "deepseek",
    "gemini",
    "mistral",
    "ollama",
    "openai",
    "openai-responses",
    *RECORDS,
]
WHOLE = ["orion"]
"""Messages without ids get the next free ones, so their requests are written whole."""

WIRE = ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
TOOLS = [{"name": "f", "parameters": {"type": "object", "required": ["a"]}}]
MENUS = [EVERYTHING, PLAIN]


def demands_of(name: str) -> Policy:
    """What the format's own provider demands."""
    if name in RECORDS:
        return NO_DEMANDS
    return get_profile(name, None).policy


def spoil(value: Any) -> None:
    """Change every container in *value*, however deep it lies."""
    items = list(value.values()) if isinstance(value, dict) else list(value)
    for item in items:
        if isinstance(item, (dict, list)):
            spoil(item)
    value.clear()


def windows(
    messages: Sequence[Message], seed: int, least: int = 1
) -> Iterator[Sequence[Message]]:
    """Every longer beginning, cut in front and in the middle now and then."""
    rng = random.Random(seed)
    cut, gap = 0, range(0)
    length = 0
    while length < len(messages):
        length = min(length + rng.randint(least, least + 2), len(messages))
        if rng.random() < 0.2:
            cut = rng.randint(cut, length)
        if rng.random() < 0.1:
            start = rng.randint(0, length)
            gap = range(start, rng.randint(start, min(start + 3, length)))
        kept = [nth for nth in range(cut, length) if nth not in gap]
        yield [messages[nth] for nth in kept]
        if rng.random() < 0.1:
            # An older window, read once more.
            yield [messages[nth] for nth in kept[: rng.randint(0, len(kept))]]


def check(
    name: str, messages: Sequence[Message], seed: int, least: int = 1
) -> tuple[int, int]:
    """How many windows there were, and how many were written piece by piece."""
    pieces, demands = Pieces(), demands_of(name)
    total = written = 0
    for window in windows(messages, seed, least):
        made = pieces.request(name, window, TOOLS, demands)
        total += 1
        if made is not None:
            written += 1
            assert made == request_of(name, window, TOOLS, demands)
            spoil(made)
    assert TOOLS[0]["parameters"] == {"type": "object", "required": ["a"]}
    return total, written


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("menu", MENUS, ids=["everything", "plain"])
@given(data=st.data(), seed=st.integers(0, 999))
def test_pieces_always_say_what_the_whole_says(
    name: str, menu: Menu, data: st.DataObject, seed: int
) -> None:
    """However a window grew and was cut, and whatever became of earlier requests."""
    messages = data.draw(histories(menu, most=8))

    total, written = check(name, messages, seed)

    if menu is PLAIN and name not in WHOLE:
        assert written >= total - len(messages)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("source", WIRE)
@pytest.mark.corpus
def test_recorded_histories_are_written_the_same_in_pieces(
    name: str, source: str
) -> None:
    """Of every recorded history, in every format, at every length."""
    fmt = get_format(source)
    total = written = 0
    for nth, row in enumerate(read_corpus(source)):
        messages = decoded(fmt.decode, list(fmt.open(row["body"]).entries))
        if source == "openai" and nth % 8:
            continue
        least = 1 + len(messages) // 40
        counts = check(name, messages, nth, least)
        total, written = total + counts[0], written + counts[1]
    assert total > 20
    assert written > (0 if name in WHOLE else total // 2)


def agent(steps: int) -> list[Message]:
    """Steps of a call and its result, as a conversation keeps them."""
    messages = [Message.system("Be brief."), Message.user("go on")]
    for nth in range(steps):
        call = ToolCall(f"call_{nth}", "f", {"path": {"at": [nth]}})
        messages += [
            Message.assistant("so", tool_calls=[call]),
            Message(Role.TOOL_RESULT, (ToolResult(call.id, (Text("done"),)),)),
        ]
    return [message.evolve(id=f"m{nth}") for nth, message in enumerate(messages)]


@pytest.mark.parametrize("name", FORMATS)
def test_only_what_is_new_is_encoded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages that are encoded for a longer window do not grow with it."""
    fmt: Any = get_format(name)
    messages, pieces, demands = agent(200), Pieces(), demands_of(name)
    pieces.request(name, messages[:300], TOOLS, demands)
    encoded: list[int] = []
    encode_piece = type(fmt).encode_piece

    def counting(self: Any, piece: Any, earlier: Any) -> Any:
        encoded.append(len(piece))
        return encode_piece(self, piece, earlier)

    monkeypatch.setattr(type(fmt), "encode_piece", counting)
    grown = [
        pieces.request(name, messages[:end], TOOLS, demands)
        for end in range(302, 402, 2)
    ]
    cut = [
        pieces.request(name, [*messages[:2], *messages[start:]], TOOLS, demands)
        for start in range(320, 380, 2)
    ]

    assert None not in grown
    assert None not in cut
    assert max(encoded) <= 6


@pytest.mark.parametrize("name", FORMATS)
def test_system_text_that_comes_late_is_where_it_belongs(name: str) -> None:
    """Windows behind it are written piece by piece again."""
    pieces, demands = Pieces(), demands_of(name)
    messages = agent(10)
    messages[10:10] = [
        Message.user("and", id="a"),
        Message.system("Now in French.", id="b"),
    ]
    messages.insert(4, Message.system("Hurry.", id="c"))

    for end in range(1, len(messages)):
        window = messages[:end]
        made = pieces.request(name, window, TOOLS, demands)
        assert made is None or made == request_of(name, window, TOOLS, demands)

    assert made is not None


class _Signal(BaseException):
    """What the handler of a signal raises: anywhere."""


def _struck(work: Callable[[], object], nth: int) -> bool:
    """Do *work* with an exception at its *nth* line here; whether it came."""
    before, seen = sys.gettrace(), 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal seen
        del arg
        if frame.f_code.co_filename not in (pieces_of_it.__file__, copies.__file__):
            return None
        if event == "line":
            seen += 1
            if seen == nth:
                raise _Signal
        return trace

    sys.settrace(trace)
    try:
        work()
    except _Signal:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_signal_in_the_middle_leaves_nothing_half_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At any line: the next window and its request are whole."""
    history, demands = agent(6), demands_of("openai")

    def ask(pieces: Pieces, total: int) -> tuple[list[Message], Any]:
        window = pieces.messages(history, total, "key", lambda: range(total))
        return window, pieces.request("openai", window, TOOLS, demands, "key")

    nth = 1
    while True:
        pieces = Pieces()
        # Python itself lets no signal in between a lock and its block; tracing does.
        monkeypatch.setattr(pieces, "_lock", nullcontext())
        ask(pieces, 6)
        struck = _struck(partial(ask, pieces, 10), nth)
        window, made = ask(pieces, 12)
        assert window == history[:12]
        assert made == request_of("openai", window, TOOLS, demands)
        if not struck:
            break
        nth += 1
    assert nth > 20
