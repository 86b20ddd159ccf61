"""What holds of every window of a request in which the provider does something."""

from __future__ import annotations

import copy
import json
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.hosted_histories import (
    MODELS,
    Json,
    entries_of,
    halves,
    hosted_requests,
)
from turnkeep import Budget, BudgetExceededError, Conversation
from turnkeep.stores import SqliteStore
from turnkeep.strategies import Strategy

STRATEGIES: list[Strategy | None] = [
    None,
    None,
    turnkeep.OldestSteps(),
    turnkeep.LargestFirst(),
    turnkeep.ClearToolResults(1) | turnkeep.OldestTurns() | turnkeep.OldestSteps(),
    turnkeep.Digest(0.3) | turnkeep.OldestTurns() | turnkeep.OldestSteps(),
    turnkeep.KeepRecent(0.3),
]


def rules(body: Json, original: Json | None = None) -> set[str]:
    """The hard rules that a request breaks."""
    return {found.rule for found in turnkeep.check(body, original=original)}


def keeps_halves_together(body: Json, window: Json) -> None:
    """No half is there without the other, save those that had none."""
    whole, whole_answers, _ = halves(body)
    calls, answers, names = halves(window)
    for call_id, times in whole.items():
        if call_id in whole_answers and call_id in calls:
            assert answers.get(call_id) == whole_answers[call_id]
        assert times == 1
    for call_id in (*answers, *names):
        assert call_id in calls


def name_of(entry: Json) -> tuple[Any, Any]:
    """What an item is told by, whether its text was shortened or not."""
    return entry.get("type"), entry.get("call_id", entry.get("id"))


def memory_of(body: Json) -> Any:
    """The newest memory, as text; none where there is none."""
    found = None
    for entry in entries_of(body):
        content = entry.get("content")
        for block in content if isinstance(content, list) else [entry]:
            if block.get("type") != "compaction":
                continue
            if block.get("content", "") is not None:
                found = json.dumps(block)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_any_window_always_keeps_the_promises(name: str, data: st.DataObject) -> None:
    """Pairs stay pairs, memories and what is kept elsewhere stay, and it costs that.

    At any budget, under any strategy, with any pin; a list stays as it was.
    """
    body = data.draw(hosted_requests(name))
    before = copy.deepcopy(body)
    entries = entries_of(body)
    total = turnkeep.count(body).total
    target = data.draw(st.sampled_from([None, 0.6]))
    most = total * data.draw(st.integers(10, 150)) // 100 + 1
    pins = data.draw(st.lists(st.integers(0, len(entries) - 1), max_size=1))
    options: dict[str, Any] = {
        "budget": Budget(most, target=target),
        "strategy": data.draw(st.sampled_from(STRATEGIES)),
        "pinned": pins,
        "pin_scope": data.draw(st.sampled_from(["turn", "step"])),
    }

    try:
        plan = turnkeep.plan(body, **options)
    except BudgetExceededError:
        return
    window = plan.apply(body)

    assert body == before
    assert plan.tokens <= most
    counted = turnkeep.count(window).total
    # Neighbours that are joined cost one message less.
    assert counted <= plan.tokens if plan.joined else counted == plan.tokens
    keeps_halves_together(body, window)
    assert rules(window, body) <= rules(body)
    memory = memory_of(body)
    assert memory is None or memory in json.dumps(window)
    sent = {name_of(entry) for entry in entries_of(window)}
    for entry in entries:
        if entry.get("call_id") == "kept_1" or entry.get("type") == "item_reference":
            assert name_of(entry) in sent
    if not pins:
        assert turnkeep.fit(window, **options) == window
    for pin in pins:
        content = entries[pin].get("content", entries[pin].get("parts", entries[pin]))
        shown = json.dumps(window)
        for block in content if isinstance(content, list) else [content]:
            assert json.dumps(block) in shown or "turnkeep:pinned" in shown


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_a_request_that_fits_always_comes_back_equal(
    name: str, data: st.DataObject
) -> None:
    """Key for key, from both; nothing in it is pending that only a provider answers."""
    body = data.draw(hosted_requests(name))
    if "signature" in json.dumps(body):
        return  # nothing may stand before such a memory

    chat = Conversation.from_messages(body, budget=Budget(10**6))
    listed = turnkeep.plan(body, 10**6)

    if not listed.inserted:
        assert listed.apply(body) == body
        assert entries_of(chat.fit().encode()) == entries_of(body)
    kinds = {call.id[0] for call in chat.pending}
    assert kinds <= {"c"}
    assert not turnkeep.repair(body).changed


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_a_conversation_that_grows_always_says_what_a_new_one_says(
    name: str, data: st.DataObject
) -> None:
    """Entry by entry, with windows and saves in between."""
    body = data.draw(hosted_requests(name))
    entries = entries_of(body)
    key = next(key for key in ("messages", "contents", "input") if key in body)
    most = data.draw(st.integers(40, 900))
    budget = Budget(most, target=data.draw(st.sampled_from([0.6, 1.0])))
    chat = Conversation.from_messages({**body, key: []}, budget=budget)
    for nth, entry in enumerate(entries):
        chat.append(entry)
        if not data.draw(st.booleans()):
            continue
        anew = Conversation.from_messages(
            {**body, key: entries[: nth + 1]}, budget=budget
        )
        saved = Conversation.from_json(json.loads(json.dumps(chat.to_json())))
        outcomes: list[Any] = []
        for each in (chat, saved, anew):
            try:
                window = each.refit()
            except BudgetExceededError as error:
                outcomes.append(error.needed)
            else:
                assert window.tokens <= most
                outcomes.append((window.tokens, window.encode()))
        assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_a_conversations_windows_always_keep_the_promises(
    name: str, data: st.DataObject
) -> None:
    """Each window, whatever the last one cut, as a list's does."""
    body = data.draw(hosted_requests(name))
    entries = entries_of(body)
    key = next(key for key in ("messages", "contents", "input") if key in body)
    budget = Budget(data.draw(st.integers(60, 900)), target=0.6)
    chat = Conversation.from_messages({**body, key: []}, budget=budget)
    for nth, entry in enumerate(entries):
        chat.append(entry)
        sent = {**body, key: entries[: nth + 1]}
        try:
            window = chat.fit()
        except BudgetExceededError:
            continue
        made = {**body, **window.encode()}
        keeps_halves_together(sent, made)
        counted = turnkeep.count(made).total
        exact = not (window.plan.joined or window.plan.inserted)
        assert counted == window.tokens if exact else counted <= window.tokens
        memory = memory_of(sent)
        assert memory is None or memory in json.dumps(made)


def read_of(made: dict[str, Any]) -> list[Any]:
    """What the model reads of a request: the provider ignores what its memory replaced.

    A tail does not know of that, and has no need to.
    """
    entries = entries_of(made)
    memories = [
        nth
        for nth, entry in enumerate(entries)
        if entry.get("type") == "compaction"
        or any(
            isinstance(block, dict) and block.get("type") == "compaction"
            for block in entry.get("content") or ()
        )
    ]
    return entries[memories[-1] :] if memories else entries


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_a_tail_always_says_what_the_whole_says(name: str, data: st.DataObject) -> None:
    """Opened from its newest part, a stored conversation makes the same window."""
    body = data.draw(hosted_requests(name))
    entries = entries_of(body)
    if "previous_response_id" in body or "tool_addition" in json.dumps(body):
        return  # said of the body alone; and a tail has no neighbours of system text
    most = data.draw(st.integers(60, 500))
    budget = Budget(most, target=1.0)
    with TemporaryDirectory() as folder:
        store = SqliteStore(f"{folder}/chats.db")
        model, form = MODELS[name], name
        chat = Conversation.open(store, "c", model=model, format=form, budget=budget)
        for entry in entries:
            chat.append(entry)
        tail = Conversation.open(store, "c", tail=most)
        outcomes: list[Any] = []
        for each in (chat, tail):
            try:
                window = each.refit()
            except BudgetExceededError as error:
                outcomes.append(error.needed)
            else:
                made = {**body, **window.encode()}
                outcomes.append((window.tokens, read_of(made)))
        store.close()
    assert outcomes[0] == outcomes[1]
