"""The likely mistakes of a caller: each is one sentence that says the way out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import turnkeep as tk
from turnkeep import Budget, Conversation, TurnkeepError

CHAT: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
# Typed as anything, as in a program that nobody checks.
FIT: Any = tk.fit
CHECK: Any = tk.check
COUNT: Any = tk.count
CONVERT: Any = tk.convert
REPAIR: Any = tk.repair
MAKE: Any = Conversation
BUDGET: Any = Budget


def entries() -> Iterator[dict[str, Any]]:
    """A generator where a list belongs."""
    yield from CHAT


def chat() -> Any:
    """A conversation with one message."""
    made = Conversation(model="gpt-4o", budget=Budget(1_000))
    made.user("a")
    return made


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a class as strategy": (
        lambda: FIT(CHAT, 99, strategy=tk.OldestTurns),
        r"OldestTurns\(\) makes one",
    ),
    "a class as a conversation's": (
        lambda: MAKE(strategy=tk.OldestTurns),
        r"OldestTurns\(\) makes one",
    ),
    "a generator as strategy": (
        lambda: FIT(CHAT, 99, strategy=iter(())),
        r"propose\(\)",
    ),
    "a strategy's near miss": (
        lambda: FIT(CHAT, 99, strategy="oldest-turn"),
        "did you mean 'oldest-turns'",
    ),
    "a generator of messages": (lambda: FIT(entries(), 99), r"list\(\) makes one"),
    "a conversation as messages": (lambda: FIT(chat(), 99), r"its own fit\(\)"),
    "text as messages": (lambda: FIT("hi", 99), r"json.loads\(\)"),
    "none as messages": (lambda: FIT(None, 99), "got NoneType"),
    "a positional list": (
        lambda: FIT(CHAT, ["a"]),
        "max_tokens must be a whole number",
    ),
    "a budget as text": (lambda: FIT(CHAT, "99"), "max_tokens must be a whole number"),
    "a budget as a dict": (lambda: MAKE(budget={"max_tokens": 9}), "must be a Budget"),
    "a model that is none": (lambda: FIT(CHAT, 99, model=3), "model must be"),
    "a counted model": (lambda: COUNT(CHAT, model=3), "model must be"),
    "a checked model": (lambda: CHECK(CHAT, model=3), "model must be"),
    "a conversation's model": (lambda: MAKE(model=3), "model must be"),
    "a dict as tools": (
        lambda: FIT(CHAT, 999, model="gpt-4o", tools={"name": "f"}),
        "put this one into a list",
    ),
    "text as tools": (lambda: FIT(CHAT, 999, model="gpt-4o", tools="f"), "a list"),
    "a format's near miss": (
        lambda: FIT(CHAT, 99, format="opnai"),
        "did you mean 'openai'",
    ),
    "a conversation's format": (lambda: MAKE(format="opnai"), "did you mean 'openai'"),
    "a window's format": (
        lambda: chat().fit(format="antropic"),
        "did you mean 'anthropic'",
    ),
    "a target of convert": (
        lambda: CONVERT(CHAT, to="antropic"),
        "did you mean 'anthropic'",
    ),
    "a profile's near miss": (
        lambda: FIT(CHAT, 99, profile="antropic"),
        "did you mean 'anthropic'",
    ),
    "none as pins": (lambda: FIT(CHAT, 99, pinned=None), "pinned takes ids"),
    "a pin that is no message": (lambda: FIT(CHAT, 99, pinned=[7]), "no message 7"),
    "a scope": (lambda: FIT(CHAT, 99, pin_scope="trun"), "one of turn, step"),
    "a call that is a number": (lambda: FIT(CHAT, 99, pending=[5]), "ids of calls"),
    "interim as a number": (lambda: FIT(CHAT, 99, interim=5), "ids of calls"),
    "close as a number": (lambda: REPAIR(CHAT, close=5), "ids of calls"),
    "a counter that is none": (lambda: FIT(CHAT, 99, token_counter=5), "a counter"),
    "a conversation's counter": (lambda: MAKE(token_counter=5), "a counter, a name"),
    "a counter's name": (lambda: FIT(CHAT, 99, token_counter="o200k"), "o200k_base"),
    "an original that is none": (lambda: CHECK(CHAT, original=5), "original must be"),
    "prices as a number": (lambda: BUDGET(9, prices=5), r"Prices\(read="),
    "a share as text": (lambda: BUDGET(9, target="0.6"), "share between 0 and 1"),
    "a store's path": (lambda: MAKE.open("chats.db", "x"), r"SqliteStore\(path\)"),
    "no callable": (lambda: MAKE(on_prune=5), "on_prune must take a plan"),
    "a keyword's near miss": (
        lambda: FIT(CHAT, maxtokens=9),
        "did you mean 'max_tokens'",
    ),
    "a slice for an id": (lambda: chat()[0:1], "an id is text"),
    "a list of ids": (lambda: chat().remove(["msg-1"]), "an id is text"),
    "a name for a call": (
        lambda: chat().assistant("", tool_calls="f"),
        "tool_calls must be a list of ToolCall, not 'f'",
    ),
    "a dict for calls": (
        lambda: chat().assistant("", tool_calls={"name": "f"}),
        "tool_calls must be a list of ToolCall",
    ),
    "one call for a list": (
        lambda: chat().assistant("", tool_calls=tk.ToolCall("c", "f", {})),
        "tool_calls must be a list of ToolCall",
    ),
    "a provider's dict for a call": (
        lambda: chat().assistant("", tool_calls=[{"id": "c", "type": "function"}]),
        r"tool_calls\[0\] must be a ToolCall",
    ),
    "a place for an id": (lambda: chat()[0], "0"),
    "usage that is none": (lambda: chat().observe(None), "a dict or an object"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_likely_mistake_is_one_sentence(name: str) -> None:
    """It names what was given, and what to write instead."""
    make, words = MISTAKES[name]

    with pytest.raises(
        (TypeError, ValueError, KeyError, TurnkeepError), match=words
    ) as e:
        make()

    said = str(e.value)
    assert "\n" not in said
    for inside in (
        "NoneType' object",
        "has no attribute",
        "not iterable",
        "unreachable",
    ):
        assert inside not in said


class Whole:
    """A whole number of another library."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_whole_numbers_of_other_libraries_are_numbers() -> None:
    """Numpy's integers come out of every data frame."""
    number: Any = Whole(500)

    assert Budget(number) == Budget(500)
    assert FIT(CHAT, number, model="gpt-4o") == CHAT
    assert Budget(1_000, reserve=number, max_turns=number).reserve == 500


def test_a_callers_counter_counts_a_conversation() -> None:
    """Each message as its provider gets it; tools by the model's counter."""
    seen: list[Any] = []

    def one(entry: dict[str, Any]) -> int:
        seen.append(entry)
        return 1

    made = Conversation(model="gpt-4o", budget=Budget(3, target=1.0), token_counter=one)
    for nth in range(5):
        made.user(f"m{nth}")

    assert len(made.fit().encode()["messages"]) == 3
    assert seen[0] == {"role": "user", "content": "m0"}
    with pytest.raises(TypeError, match="whole number"):
        Conversation(model="gpt-4o", token_counter=lambda _: -1).user("x")


def test_a_counter_given_by_name_is_restored() -> None:
    """And what it had counted with it."""
    made = Conversation(model="gpt-4o", token_counter="approximate")
    made.user("a b c " * 50)
    tokens = made.fit(Budget(10_000)).tokens

    again = Conversation.from_json(made.to_json())

    assert again.fit(Budget(10_000)).tokens == tokens
    assert "approximate" in made.to_json().values()


@pytest.mark.parametrize("change", ["rewind", "remove", "replace", "clear", "model"])
def test_the_archive_and_plans_survive_what_goes(change: str) -> None:
    """What a window left out can be asked for whatever was removed since."""
    made = Conversation(model="gpt-4o", budget=Budget(120))
    for nth in range(12):
        made.user(f"question {nth} " * 5)
        made.assistant("", tool_calls=[tk.ToolCall(f"c{nth}", "f", {})])
        made.tool_result(f"c{nth}", "answer " * 5)
    window = made.fit()
    left_out = made.archive
    again = made.fit()

    if change == "rewind":
        made.rewind("msg-2")
    elif change == "remove":
        made.remove("msg-1")
    elif change == "replace":
        made.replace_messages([{"role": "user", "content": "new"}])
    elif change == "clear":
        made.clear()
    else:
        made.model = "claude-sonnet-4-5"

    assert left_out
    assert made.archive == left_out
    assert len(window.plan.dropped) == len(left_out)
    assert [m.id for m in again.messages] == [m.id for m in window.messages]
