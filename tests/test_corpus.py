"""Every recorded history, in its own format, at several budgets."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.invariants import assert_valid, must_stay, superseded
from tests.paths import read_corpus
from turnkeep import BudgetExceededError, count, fit, plan
from turnkeep.formats import get_format
from turnkeep.profiles import check_request

WIRE = ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]


def entries_of(fmt: str, body: Any) -> list[Any]:
    """The list of a body."""
    return list(get_format(fmt).open(body).entries)


@pytest.mark.corpus
@pytest.mark.parametrize("fmt", WIRE)
def test_enough_room_changes_nothing(fmt: str) -> None:
    """P8: what the provider would accept comes back equal, key for key."""
    seen = 0
    for row in read_corpus(fmt):
        body = row["body"]
        before = copy.deepcopy(body)
        if check_request(body, format=fmt):
            continue

        assert fit(body, 10**7, format=fmt) == before, row["name"]

        assert body == before
        seen += 1
    assert seen > 20


@pytest.mark.corpus
@pytest.mark.parametrize("fmt", WIRE)
@pytest.mark.parametrize("percent", [30, 50, 70])
def test_a_smaller_budget_keeps_the_shape(fmt: str, percent: int) -> None:
    """Untouched entries are the caller's own; the rest fits and is stable."""
    fitted = 0
    for row in read_corpus(fmt):
        body = row["body"]
        own = {id(entry) for entry in entries_of(fmt, body)}
        total = count(body, format=fmt).total
        tokens = max(total * percent // 100, 1)
        try:
            decided = plan(body, tokens, format=fmt)
        except BudgetExceededError as error:
            assert error.smallest > tokens
            continue

        window = decided.apply(body)

        assert type(window) is type(body)
        kept = entries_of(fmt, window)
        changed = [entry for entry in kept if id(entry) not in own]
        assert len(changed) <= len(decided.inserted) + len(decided.edits) + len(
            decided.moved
        ) + len(own) - len(kept) + sum(1 for _ in changed)
        if decided.exact:
            assert count(window, format=fmt).total <= tokens
        assert fit(window, tokens, format=fmt) == window, row["name"]
        fitted += 1
    assert fitted > 3


@pytest.mark.corpus
def test_openai_windows_keep_what_must_stay() -> None:
    """P1 to P6 over every recorded chat, checked without the library's grouping."""
    solved = 0
    for row in read_corpus("openai"):
        chat = entries_of("openai", row["body"])
        try:
            assert_valid(chat)
        except AssertionError:
            continue
        total = count(chat, format="openai").total
        at = {id(entry): nth for nth, entry in enumerate(chat)}
        held = must_stay(chat) if len(chat) < 300 else set()
        for percent in (25, 60):
            tokens = max(total * percent // 100, 1)
            try:
                decided = plan(chat, tokens, format="openai")
            except BudgetExceededError as error:
                assert error.smallest > tokens
                continue
            window = decided.apply(chat)
            assert_valid(window)
            assert fit(chat, tokens, format="openai") == window
            places = [at[id(entry)] for entry in window if id(entry) in at]
            assert places == sorted(places)
            # What is not the caller's own stands for it: a result cut for its size.
            cut = {d.index for d in decided.decisions if d.action == "edit"}
            assert all(chat[index]["role"] == "tool" for index in cut)
            assert held - superseded(chat) <= {*places, *cut}
            solved += 1
    assert solved > 400, solved


@pytest.mark.corpus
@pytest.mark.parametrize("tokens", [4_000, 16_000, 64_000])
def test_a_session_of_900_messages(tokens: int) -> None:
    """Valid, within its budget, the question kept."""
    rows = (row for row in read_corpus("openai"))
    chat = max((entries_of("openai", row["body"]) for row in rows), key=len)
    assert len(chat) > 900

    # Eighteen of its calls were never answered; those of one message alone have 6,860
    # tokens. Nobody waits for them any more, and the caller can say so.
    pending = () if tokens < 8_000 else None
    if pending is not None:
        with pytest.raises(BudgetExceededError, match=r"or say with pending=\(\)"):
            fit(chat, tokens, model="gpt-4o", format="openai")

    window = fit(chat, tokens, model="gpt-4o", format="openai", pending=pending)

    assert_valid(window)
    assert count(window, model="gpt-4o", format="openai").total <= tokens
    questions = [entry for entry in chat if entry["role"] == "user"]
    assert questions[-1] in window
