"""What type checkers know of the functions: what goes in comes out."""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict, assert_type

import turnkeep
from turnkeep import Budget, Fitted, Message, Plan, Repair, TokenCount, Violation
from turnkeep.formats import Conversion


class Chat(TypedDict):
    """A body as an SDK types it."""

    model: str
    messages: list[dict[str, Any]]


class Turn:
    """A message of somebody's SDK."""


def fits(
    dicts: list[dict[str, Any]],
    entries: Sequence[dict[str, object]],
    objects: tuple[Turn, ...],
    messages: list[Message],
    body: dict[str, Any],
    typed: Chat,
) -> None:
    """A list for any sequence, a body for a body, of the same type."""
    assert_type(turnkeep.fit(dicts, 8_000, model="gpt-4o"), list[dict[str, Any]])
    assert_type(turnkeep.fit(entries, 8_000), list[dict[str, object]])
    assert_type(turnkeep.fit(objects, 8_000), list[Turn])
    assert_type(turnkeep.fit(messages, 8_000), list[Message])
    assert_type(turnkeep.fit(body, 8_000), dict[str, Any])
    assert_type(turnkeep.fit(typed, 8_000), Chat)
    assert_type(turnkeep.trim_messages(dicts, 8_000), list[dict[str, Any]])


def options(dicts: list[dict[str, Any]]) -> Plan:
    """Every keyword, in every shape that it takes."""
    turnkeep.fit(dicts, budget=8_000)
    turnkeep.fit(dicts, budget=Budget(8_000, reserve=500, target=0.6))
    turnkeep.fit(dicts, 900, strategy="agent", token_counter="o200k_base")
    turnkeep.fit(dicts, 900, strategy=turnkeep.Digest() | turnkeep.OldestTurns())
    turnkeep.fit(dicts, 900, pinned=[0, "msg-7", -1], pin_scope="step")
    turnkeep.fit(dicts, 900, pinned=lambda message: bool(message.get("keep")))
    turnkeep.fit(dicts, 900, pending=["call_1"], interim=("call_2",))
    turnkeep.fit(dicts, 900, interim=lambda message: message["content"] == "soon")
    turnkeep.fit(dicts, 900, token_counter=lambda message: len(message["content"]))
    return turnkeep.plan(
        dicts,
        900,
        model="gpt-4o",
        format="openai",
        profile="alternating/gemma2",
        tools=[],
        system="Be brief.",
        drop_system=True,
        stand_in_text="Still running.",
        on_invalid="keep",
        open_calls="raise",
        on_overflow="send",
    )


def mistakes(dicts: list[dict[str, Any]], body: dict[str, Any]) -> None:
    """Names and words that there are not, and a body taken for a list."""
    turnkeep.fit(dicts, max_tokns=8_000)  # type: ignore[call-overload]
    turnkeep.fit(dicts, 900, include_system=True)  # type: ignore[call-overload]
    turnkeep.fit(dicts, 900, on_overflow="ignore")  # type: ignore[call-overload]
    turnkeep.plan(dicts, 900, open_calls="answer")  # type: ignore[arg-type]
    turnkeep.plan(dicts, 900, 7)  # type: ignore[call-arg]
    window: list[Any] = turnkeep.fit(body, 900)  # type: ignore[assignment]
    del window


def others(
    dicts: list[dict[str, Any]], body: dict[str, Any], many: Iterator[Any]
) -> None:
    """The other functions."""
    assert_type(turnkeep.count(dicts, model="gpt-4o"), TokenCount)
    assert_type(turnkeep.check(body, tools=[], strict=True), list[Violation])
    assert_type(turnkeep.repair(dicts, close="all"), Repair[list[dict[str, Any]]])
    assert_type(turnkeep.repair(body, close=["c1"]).value, dict[str, Any])
    assert_type(turnkeep.convert(dicts, to="anthropic"), Conversion)
    for fitted in turnkeep.fit_many(many, 900, workers=1, strategy="chat"):
        assert_type(fitted, Fitted)
    turnkeep.fit_many(many, 900, ranking="chat")  # type: ignore[call-arg]


def reads(plan: Plan) -> None:
    """What a plan says; nothing of it can be written."""
    assert_type(plan.tokens, int)
    assert_type(plan.explain("msg-1"), str)
    for index, edit in plan.edits.items():
        assert_type(index, int)
        assert_type(edit.message, Message)
        assert_type(edit.tokens, int)
    for decision in plan.dropped:
        assert_type(decision.id, str)
    plan.tokens = 0  # type: ignore[misc]
    plan.edits[0] = plan.edits[1]  # type: ignore[index]
