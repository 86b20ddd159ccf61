"""What a provider put in place of earlier messages, held as each form demands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation

Item = dict[str, Any]
MODEL = {"anthropic": "claude-opus-4-6", "openai-responses": "gpt-5"}

THRESHOLD = {"type": "compaction", "content": "S: they asked about knots."}
SIGNED = {**THRESHOLD, "signature": "QUJD"}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "E" * 80}


def user(said: Any) -> Item:
    """What a person says."""
    return {"role": "user", "content": said}


def model(said: Any) -> Item:
    """What the model says."""
    return {"role": "assistant", "content": said}


def talk(turns: int, name: str = "w") -> list[Item]:
    """Turns of about 120 tokens."""
    return [
        message
        for nth in range(turns)
        for message in (user(f"{name}q{nth} " * 12), model(f"{name}a{nth} " * 12))
    ]


def text(said: str) -> Item:
    """A block of text."""
    return {"type": "text", "text": said}


def format_of(history: list[Item]) -> str:
    """Whose list it is."""
    return "openai-responses" if ITEM in history else "anthropic"


def fits(history: list[Item], most: int, **options: Any) -> tuple[list[Item], Any]:
    """The window of a list, and its plan."""
    name = format_of(history)
    made = turnkeep.plan(history, most, format=name, model=MODEL[name], **options)
    return made.apply(history), made


def chat_of(history: list[Item], most: int | None = None, name: str = "") -> Any:
    """The same in a conversation."""
    name = name or format_of(history)
    budget = None if most is None else Budget(most, target=1.0)
    return Conversation.from_messages(
        history, format=name, model=MODEL[name], budget=budget
    )


def listed(window: Any) -> list[Item]:
    """The messages of a conversation's window."""
    body = window.encode()
    entries: list[Item] = body.get("input", body.get("messages"))
    return entries


def budgets(history: list[Item]) -> Iterator[int]:
    """From more than enough down to next to nothing."""
    total = sum(len(json.dumps(item)) for item in history) // 2
    return iter(range(total, 40, -max(total // 25, 1)))


HISTORIES: dict[str, list[Item]] = {
    "threshold": [
        *talk(3, "old"),
        user("old end"),
        model([THRESHOLD, text("Go on.")]),
        *talk(6),
        user("z"),
    ],
    "threshold, twice": [
        *talk(2, "older"),
        model([{**THRESHOLD, "content": "S0"}, text("Yes.")]),
        *talk(2, "old"),
        model([THRESHOLD, text("Go on.")]),
        *talk(6),
        user("z"),
    ],
    "signed": [model([SIGNED]), *talk(6), user("z")],
    "signed, behind what it stands for": [
        *talk(3, "old"),
        model([SIGNED]),
        *talk(6),
        user("z"),
    ],
    "item": [*talk(3, "old"), ITEM, *talk(6), user("z")],
    "item, first": [ITEM, *talk(6), user("z")],
    "unit": [user("kept one"), user("kept two"), ITEM, *talk(6), user("z")],
}


@pytest.mark.parametrize("what", HISTORIES)
def test_it_survives_every_budget(what: str) -> None:
    """Held unedited, in a list and in a conversation; the plan says as what."""
    history = HISTORIES[what]
    at = max(n for n, m in enumerate(history) if "compaction" in json.dumps(m))
    seen = 0
    for most in budgets(history):
        try:
            window, made = fits(history, most)
        except BudgetExceededError as error:
            assert {held.cause for held in error.held} >= {"memory"}
            break
        seen += len(window) < len(history)
        assert history[at] in window
        assert made.decisions[at].cause == "memory"
        assert listed(chat_of(history, most).fit()) == window
    assert seen


@pytest.mark.parametrize("what", HISTORIES)
def test_a_window_costs_what_it_says(what: str) -> None:
    """Counted as what is sent, at every budget; fitting it again changes nothing."""
    history = HISTORIES[what]
    name = format_of(history)
    for most in budgets(history):
        try:
            window, made = fits(history, most)
        except BudgetExceededError:
            break
        counted = turnkeep.count(window, format=name, model=MODEL[name])
        assert counted.total == made.tokens
        assert fits(window, most)[0] == window
        assert not turnkeep.check(window, format=name, model=MODEL[name])


@pytest.mark.parametrize("what", HISTORIES)
def test_it_holds_as_it_grows(what: str) -> None:
    """Message by message, and saved in between: what a new conversation says."""
    history = HISTORIES[what]
    name = format_of(history)
    chat = Conversation(format=name, model=MODEL[name], budget=Budget(900, target=1.0))
    for nth, item in enumerate(history):
        chat.append(item)
        plan = chat.refit().plan
        anew = chat_of(history[: nth + 1], 900, name).fit().plan
        assert plan.tokens == anew.tokens
        if nth % 5 == 0:
            saved = json.loads(json.dumps(chat.to_json()))
            assert listed(Conversation.from_json(saved).fit()) == listed(chat.fit())


@pytest.mark.parametrize("block", [THRESHOLD, SIGNED])
def test_what_it_replaced_counts_nothing(block: Item) -> None:
    """The model sees nothing of it: neither a count nor a budget does."""
    long = [user("old " * 3_000), model([block]), user("z")]

    assert turnkeep.count(long, format="anthropic", model="claude-opus-4-6").total < 99
    window, made = fits(long, 200)
    assert made.tokens < 99
    assert window[-2:] == long[-2:]
    chat = chat_of(long, 200)
    assert chat.fit().tokens == made.tokens
    assert not chat.fit().pruned


def test_what_it_replaced_may_stay_and_goes_first() -> None:
    """Nothing is dropped that need not be; once something has to, all of it goes."""
    history = HISTORIES["threshold"]

    roomy, _ = fits(history, 100_000)
    for strategy in (None, turnkeep.LargestFirst(), turnkeep.KeepRecent(0.3)):
        tight, made = fits(history, 400, strategy=strategy)
        assert made.pruned
        assert not any("old" in json.dumps(message) for message in tight)

    assert roomy == history


def test_nothing_stands_before_a_signed_one() -> None:
    """It is the first block of all, whatever the list has in front of it."""
    for most in (100_000, 700):
        window, made = fits(HISTORIES["signed, behind what it stands for"], most)

        assert window[0] == model([SIGNED])
        assert {d.cause for d in made.decisions[:6]} == {"memory"}


def test_a_failed_one_is_none() -> None:
    """Without content it says nothing, and replaces nothing."""
    failed = model([{"type": "compaction", "content": None}, text("hm")])
    history = [user("old " * 300), failed, *talk(2), user("z")]

    window, made = fits(history, 300)

    assert failed not in window
    assert made.tokens > 100


def test_only_the_newest_is_held() -> None:
    """An older one is an ordinary message of the model's."""
    older = {**ITEM, "id": "cmp_0", "encrypted_content": "F" * 80}
    history = [*talk(2, "old"), older, *talk(2, "mid"), ITEM, *talk(3), user("z")]

    window, _ = fits(history, 480)

    assert ITEM in window
    assert older not in window


def test_of_what_stands_before_an_item_the_models_own_goes_first() -> None:
    """It is billed, so it counts; kept messages of the user's are ordinary turns."""
    history = HISTORIES["item"]
    total = turnkeep.count(history, format="openai-responses", model="gpt-5").total

    for less in range(1, total, 40):
        _, made = fits(history, total - less)
        gone = [d.index for d in made.dropped]
        if len(gone) <= 3:
            assert gone == [1, 3, 5][: len(gone)]
        else:
            break
    else:
        pytest.fail("nothing more went")


def test_a_unit_stays_whole() -> None:
    """What a compaction by request returned is the next window, unpruned."""
    history = HISTORIES["unit"]

    window, _ = fits(history, 300)

    assert window[:3] == history[:3]
    assert len(window) < len(history)


@pytest.mark.parametrize("what", ["threshold", "signed, behind what it stands for"])
def test_a_pin_there_is_said_once_more(what: str) -> None:
    """Behind the memory, as a text of ours; the pinned message stays as it is."""
    history = [user("Always answer in Welsh."), *HISTORIES[what]]
    chat = chat_of(history)
    chat.pin(next(iter(chat)).id, scope="step")
    chat.budget = Budget(900, target=1.0)

    for most in (100_000, 900):
        window, made = fits(history, most, pinned=[0], pin_scope="step")
        [at] = [n for n, m in enumerate(window) if "turnkeep:pinned" in json.dumps(m)]
        behind = [n for n, m in enumerate(window) if "compaction" in json.dumps(m)]
        assert at == behind[-1] + 1
        assert window[at]["content"].endswith("\nAlways answer in Welsh.")
        assert (history[0] in window) == (what == "threshold")
        assert not turnkeep.check(window, format="anthropic", model="claude-opus-4-6")
        name = format_of(history)
        counted = turnkeep.count(window, format=name, model=MODEL[name])
        assert counted.total == made.tokens
        again, _ = fits(window, most, pinned=[0], pin_scope="step")
        assert again == window
        assert fits(window, most)[0] == window
    assert listed(chat.fit()) == window
    assert chat.fit().plan.tokens == made.tokens


def test_a_paused_memory_is_followed_by_nothing() -> None:
    """A call of its step still waits: nothing may stand behind it yet."""
    paused = model(
        [
            THRESHOLD,
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {}},
        ]
    )
    history = [user("Always answer in Welsh."), *talk(1), paused]

    window, _ = fits(history, 10_000, pinned=[0])

    assert window == history


def test_what_is_added_in_front_stands_behind_it() -> None:
    """A digest or summary before a memory would not be seen, or be refused."""
    strategy = turnkeep.Digest() | turnkeep.OldestTurns() | turnkeep.OldestSteps()
    for what in ("threshold", "signed", "unit"):
        window, _ = fits(HISTORIES[what], 700, strategy=strategy)
        texts = list(map(json.dumps, window))
        [memory] = [n for n, said in enumerate(texts) if "compaction" in said]
        added = [n for n, said in enumerate(texts) if "turnkeep:digest" in said]
        assert all(nth > memory for nth in added)


def test_a_pending_call_before_it_stays_pending() -> None:
    """It costs nothing while nobody can see it, and can still be resolved."""
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    history = [user("go"), model([use]), user("and?"), model([THRESHOLD, text("ok")])]
    history += [*talk(3), user("z")]
    chat = chat_of(history, 10_000)

    window, made = fits(history, 10_000)

    counted = turnkeep.count(window, format="anthropic", model="claude-opus-4-6")
    assert made.tokens == counted.total == chat.fit().plan.tokens
    assert [call.id for call in chat.pending] == ["t1"]
    chat.resolve("t1", "done " * 50)
    later = listed(chat.fit())
    counted = turnkeep.count(later, format="anthropic", model="claude-opus-4-6")
    assert chat.fit().plan.tokens == counted.total
    assert not turnkeep.check(later, format="anthropic")
