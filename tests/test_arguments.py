"""Arguments that make no sense are refused with the value and what would do."""

import copy
from inspect import signature
from typing import Any

import pytest

import turnkeep
from tests.chats import call, numbered, result, say, user
from turnkeep import (
    Budget,
    BudgetExceededError,
    Conversation,
    Digest,
    InvalidHistoryError,
    OldestSteps,
    OldestTurns,
    StrategyError,
    UnknownCallError,
)
from turnkeep.api._arguments import _ELSEWHERE, answer_room
from turnkeep.strategies import by_name

CHAT = [user("hello")]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"pin_scope": "word"}, ValueError, "pin_scope must be one of turn, step"),
        ({"on_invalid": "x"}, ValueError, "one of repair, raise, keep, got 'x'"),
        ({"open_calls": "x"}, ValueError, "open_calls must be one of"),
        ({"on_overflow": "x"}, ValueError, "on_overflow must be one of"),
        ({"budget": turnkeep.Budget(9)}, ValueError, "not both"),
        ({"budget": True, "max_tokens": None}, TypeError, "a whole number of tokens"),
        ({"strategy": 7}, TypeError, "must have a propose"),
        ({"strategy": "oldest"}, StrategyError, "there are agent, chat, "),
        ({"strategy": "last"}, ValueError, "newest turns stay unless told otherwise"),
        ({"strategy": "first"}, ValueError, "strategy='keep-ends:first=2,last=1'"),
        ({"stand_in_text": 7}, TypeError, "stand_in_text must be a text, got 7"),
        ({"stand_in_text": " "}, ValueError, "stand_in_text must say something"),
        ({"pending": ["c9"]}, UnknownCallError, "c9"),
        ({"interim": "c9"}, UnknownCallError, "c9"),
        ({"token_counter": len}, ValueError, "max_messages="),
        ({"token_counter": 7}, TypeError, "a counter, a name or a callable, got 7"),
        ({"token_counter": lambda _: 1.5}, TypeError, "whole number >= 0, got 1.5"),
        ({"token_counter": lambda _: -1}, TypeError, "whole number >= 0, got -1"),
        ({"profile": "nobody"}, ValueError, "no profile 'nobody'; there are "),
    ],
)
def test_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """Of `fit` and `plan`."""
    asked = {"max_tokens": 100, "format": "openai", **options}
    for function in (turnkeep.fit, turnkeep.plan):
        with pytest.raises(error, match=words):
            function(CHAT, **asked)


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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("include_system", "drop_system=True"),
        ("start_on", "turns go whole"),
        ("end_on", "turns go whole"),
        ("allow_partial", "truncate-tool-results"),
        ("text_splitter", "truncate-tool-results"),
        ("reserve", r"budget=Budget\(8_000, reserve=...\)"),
        ("target", r"budget=Budget\(8_000, target=...\)"),
        ("max_messages", r"budget=Budget\(8_000, max_messages=...\)"),
        ("messages_to_keep", "pinned="),
    ],
)
def test_arguments_of_other_libraries_are_answered_with_ours(
    name: str, words: str
) -> None:
    """People bring what `trim_messages` of LangChain and others take."""
    options: Any = {name: True}
    with pytest.raises(TypeError, match=rf"^fit\(\) .*'{name}': .*{words}"):
        turnkeep.trim_messages(CHAT, 100, **options)


def test_the_hints_name_what_there_is() -> None:
    """Each says an option of ours, or of the budget's."""
    budget = {"reserve", "target", "trigger", "prices", "max_turns"} | {
        "max_messages",
        "max_images",
    }
    assert budget <= set(signature(turnkeep.Budget).parameters)
    assert budget <= set(_ELSEWHERE)
    assert not set(_ELSEWHERE) & set(signature(turnkeep.fit).parameters)


def test_a_number_is_a_budget_and_a_text_a_strategy() -> None:
    """In the functions and in the manager alike."""
    chat = [user("one " * 30), say(), user("two " * 30), say(), user("three")]
    options: Any = {"strategy": "digest | chat", "model": "gpt-4o"}
    whole = Budget(60)
    mixed = Digest() | OldestTurns() | OldestSteps()

    window = turnkeep.fit(chat, budget=60, **options)

    assert window == turnkeep.fit(chat, 60, strategy=mixed, model="gpt-4o")
    made = Conversation.from_messages(chat, budget=60, **options)
    assert made.budget == whole
    assert made.strategy == by_name("digest | chat")
    sent = made.fit(60).encode()
    other = Conversation.from_messages(chat, budget=whole, **options)
    assert sent == other.fit().encode()
    made.budget, made.strategy = 70, None
    assert (made.budget, made.strategy) == (Budget(70), None)


@pytest.mark.parametrize(
    ("body", "reserve"),
    [
        ({"max_tokens": 700}, 700),
        ({"max_completion_tokens": 800, "max_tokens": 700}, 800),
        ({"max_output_tokens": 900}, 900),
        ({"generationConfig": {"maxOutputTokens": 950}}, 950),
        ({"inferenceConfig": {"maxTokens": 960}}, 960),
        ({"options": {"num_predict": 970}}, 970),
        ({"options": {"num_predict": -1}}, None),
        ({"max_tokens": True}, None),
        ({}, None),
        ([], None),
    ],
)
def test_the_answer_of_a_body_is_left_room_for(body: Any, reserve: int | None) -> None:
    """As each provider says it."""
    assert answer_room(body) == reserve


def test_a_body_fits_its_model_and_its_own_answer() -> None:
    """With no budget, the window less the answer that the body asks for."""
    pytest.importorskip("genai_prices", reason="extra models")
    body = {"model": "gpt-4o", "messages": CHAT, "max_tokens": 28_000}

    plan = turnkeep.plan(body)

    assert plan.available + plan.fixed == 128_000 - 28_000


def test_pins_are_ids_indexes_or_a_predicate() -> None:
    """One alone, several, from the end, or whatever says yes; all hold the same."""
    chat = numbered([user("rule: trains", keep=True), say(), user("x " * 90), say()])
    chat += [user("y " * 90, id="m4"), say(id="m5"), user("now?", id="m6")]
    found: list[Any] = [
        "m0",
        0,
        ["m0"],
        [-7],
        iter((0,)),
        lambda message: message.get("keep"),
    ]
    for pinned in found:
        window = turnkeep.fit(chat, 60, model="gpt-4o", pinned=pinned)
        assert [entry["id"] for entry in window] == ["m0", "m1", "m6"]


def test_the_stand_in_says_what_the_caller_wants() -> None:
    """Behind its fixed first line; in the manager too."""
    chat = [user(), call("c1"), user("and?")]

    window = turnkeep.fit(chat, 900, model="gpt-4o", stand_in_text="Ask again later.")

    assert window[2]["content"].endswith("\nAsk again later.")
    made = Conversation.from_messages(chat, stand_in_text="Ask again later.")
    assert made.fit(900).encode()["messages"][2]["content"] == window[2]["content"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("on_invalid", "x"),
        ("open_calls", "answer"),
        ("on_overflow", "x"),
        ("stand_in_text", ""),
        ("profile", "nobody"),
        ("strategy", "oldest"),
        ("budget", 0),
    ],
)
def test_a_conversation_refuses_the_same_values(option: str, value: Any) -> None:
    """When it is made, not when it is fitted."""
    with pytest.raises((ValueError, StrategyError)) as refused:
        Conversation(**{option: value})
    with pytest.raises((ValueError, StrategyError)) as as_by_fit:
        turnkeep.fit(CHAT, **{"budget": 9_000, "format": "openai", option: value})

    assert str(refused.value) == str(as_by_fit.value)


@pytest.mark.parametrize("saved", [False, True])
def test_a_conversation_keeps_its_options(saved: bool) -> None:
    """Through saving, forking and copying; `fit` may say otherwise for once."""
    chat = [user(), result("gone"), user("and?")]
    options: Any = {
        "on_invalid": "raise",
        "open_calls": "keep",
        "on_overflow": "send",
        "profile": "alternating/gemma2",
        "model": "gpt-4o",
    }
    made = Conversation.from_messages(chat, budget=9_000, **options)
    if saved:
        made = Conversation.from_json(made.to_json())

    for one in (made, made.fork(), copy.copy(made), copy.deepcopy(made)):
        assert {name: getattr(one, name) for name in options} == options
        with pytest.raises(InvalidHistoryError, match="answers call 'gone'"):
            one.fit()
    made.on_invalid = "keep"
    assert len(made.fit()) == 3
    made.on_invalid = "repair"
    assert len(made.fit()) == 2
    assert made.fit(1).plan.warnings
    with pytest.raises(BudgetExceededError):
        made.fit(1, on_overflow="raise")
    with pytest.raises(ValueError, match="on_overflow must be one of"):
        made.fit(on_overflow="x")  # type: ignore[arg-type]


def test_a_copy_of_a_conversation_is_a_fork() -> None:
    """What is said in one is not said in the other."""
    made = Conversation.from_messages([user()], model="gpt-4o")

    other = copy.copy(made)
    other.user("only here")

    assert (len(made), len(other)) == (1, 2)


def test_a_conversation_names_itself_in_errors() -> None:
    """However many modules it is told in."""
    with pytest.raises(TypeError, match=r"^Conversation\.__init__\(\)"):
        turnkeep.Conversation(budgt=5)  # type: ignore[call-arg]
    chat = turnkeep.Conversation()
    for name in ("fit", "append", "defer", "observe"):
        with pytest.raises(TypeError, match=rf"^Conversation\.{name}\(\)"):
            getattr(chat, name)(nothing=1)
