"""Arguments that make no sense are refused with the value and what would do."""

from typing import Any

import pytest

import turnkeep
from tests.chats import user

CHAT = [user("hello")]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"pin_scope": "word"}, ValueError, "pin_scope must be one of turn, step"),
        ({"on_invalid": "x"}, ValueError, "one of repair, raise, keep, got 'x'"),
        ({"open_calls": "x"}, ValueError, "open_calls must be one of"),
        ({"on_overflow": "x"}, ValueError, "on_overflow must be one of"),
        ({"budget": turnkeep.Budget(9)}, ValueError, "not both"),
        ({"strategy": "oldest"}, TypeError, "must have a propose"),
        ({"token_counter": 7}, TypeError, "a counter, a name or a callable, got 7"),
        ({"token_counter": lambda _: 1.5}, TypeError, "whole number >= 0, got 1.5"),
        ({"token_counter": lambda _: -1}, TypeError, "whole number >= 0, got -1"),
        ({"profile": "nobody"}, ValueError, "no profile 'nobody'; there are "),
    ],
)
def test_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """Of `fit` and `plan`."""
    with pytest.raises(error, match=words):
        turnkeep.fit(CHAT, 100, format="openai", **options)


def test_a_window_needs_a_size() -> None:
    """Without one, the error names the three ways to give it."""
    with pytest.raises(ValueError, match="pass max_tokens=, budget= or model="):
        turnkeep.fit(CHAT)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"max_tokens": 0}, ValueError, "max_tokens must be positive, not 0"),
        ({"max_tokens": 1.5}, TypeError, "max_tokens must be a whole number, not 1.5"),
        ({"max_tokens": True}, TypeError, "max_tokens must be a whole number"),
        ({"max_tokens": 9, "reserve": 9}, ValueError, "not 9"),
        ({"max_tokens": 9, "trigger": "all"}, TypeError, "a share between 0 and 1"),
        ({"max_tokens": 9, "trigger": 1.2}, ValueError, "at most 1, not 1.2"),
        ({"max_tokens": 9, "target": 0}, ValueError, "greater than 0"),
        ({"max_tokens": 9, "target": 0.9, "trigger": 0.8}, ValueError, "not exceed"),
        ({"max_tokens": 9, "max_turns": 0}, ValueError, "at least 1, not 0"),
        ({"max_tokens": 9, "max_images": -1}, ValueError, "at least 0, not -1"),
    ],
)
def test_budgets(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """Every number has its range."""
    with pytest.raises(error, match=words):
        turnkeep.Budget(**options)


def test_the_window_of_an_unknown_model() -> None:
    """Nothing is guessed."""
    pytest.importorskip("genai_prices", reason="extra models")
    with pytest.raises(ValueError, match="no context window is known for 'nobody-1'"):
        turnkeep.fit(CHAT, model="nobody-1", format="openai")


def test_a_profile_can_be_set_by_hand() -> None:
    """A local chat template refuses what OpenAI takes, so its windows differ."""
    tool = {"role": "tool", "tool_call_id": "call_1", "content": "42"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "add", "arguments": "{}"},
            }
        ],
    }
    chat = [
        user("one " * 50),
        {"role": "assistant", "content": "fine"},
        user("two"),
        call,
        tool,
        {"role": "assistant", "content": "done"},
        user("three"),
    ]

    for budget in range(15, 120):
        try:
            window = turnkeep.fit(
                chat, budget, format="openai", profile="alternating/gemma2"
            )
        except turnkeep.BudgetExceededError:
            continue
        found = turnkeep.check(window, format="openai", profile="alternating/gemma2")
        before = turnkeep.check(chat, format="openai", profile="alternating/gemma2")
        assert {f.rule for f in found} <= {f.rule for f in before}
        roles = [entry["role"] for entry in window if entry["role"] != "tool"]
        assert roles[0] == "user"
        assert roles[-1] == "user"


def test_a_name_that_is_no_option_is_named_with_the_nearest_one() -> None:
    """By the function that was called."""
    options: Any = {"max_tokns": 8_000}
    for function in (turnkeep.fit, turnkeep.trim_messages):
        with pytest.raises(TypeError, match=r"^fit\(\) .*'max_tokns'; .*'max_tokens'"):
            function(CHAT, **options)
    with pytest.raises(TypeError, match=r"^plan\(\) .*'max_tokns'"):
        turnkeep.plan(CHAT, **options)
    with pytest.raises(TypeError, match=r"^fit\(\) .*'max_tokns'"):
        list(turnkeep.fit_many([CHAT], workers=1, **options))
    with pytest.raises(TypeError, match=r"'lasting'$"):
        turnkeep.plan(CHAT, 90, lasting=True)  # type: ignore[call-arg]


def test_every_option_is_one_of_the_job() -> None:
    """What is checked by name is what is taken."""
    from inspect import signature

    from turnkeep.api._job import Job, Options

    taken = set(signature(Job).parameters) - {"messages", "max_tokens", "lasting"}
    assert taken == set(Options.__annotations__)


def test_a_conversation_names_itself_in_errors() -> None:
    """However many modules it is told in."""
    with pytest.raises(TypeError, match=r"^Conversation\.__init__\(\)"):
        turnkeep.Conversation(budgt=5)  # type: ignore[call-arg]
    chat = turnkeep.Conversation()
    for name in ("fit", "append", "defer", "observe"):
        with pytest.raises(TypeError, match=rf"^Conversation\.{name}\(\)"):
            getattr(chat, name)(nothing=1)
