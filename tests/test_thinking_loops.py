"""Tool loops of Claude's, generated: thinking, text and system lines behind results."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import turnkeep
from turnkeep import Budget, BudgetExceededError, Conversation

SEEDS = range(16)
TOOLS = [
    {"name": "look", "description": "d", "input_schema": {"type": "object"}},
]
MODELS = (
    "claude-3-7-sonnet-20250219",
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "claude-opus-4-8",
    "claude-sonnet-5-5",
    "claude-opus-7",
)
NEW = ("claude-opus-4-8", "claude-sonnet-5-5", "claude-opus-7")
"""Those that take system text behind results."""
THINKING: tuple[dict[str, Any] | None, ...] = (
    None,
    {"type": "enabled", "budget_tokens": 2048},
    {"type": "adaptive"},
)

Entry = dict[str, Any]


def user(*blocks: Entry) -> Entry:
    """An entry of the user's."""
    return {"role": "user", "content": list(blocks)}


def text(said: str) -> Entry:
    """A block of text."""
    return {"type": "text", "text": said}


def thought(rng: Random, name: str) -> Entry:
    """A block of signed thinking."""
    said = "ponder " * rng.randint(5, 80)
    return {"type": "thinking", "thinking": said, "signature": name}


def a_round(rng: Random, name: str, *, thinks: bool) -> list[Entry]:
    """Assistant messages that the API merges, and all their results."""
    calls = [
        {"type": "tool_use", "id": f"{name}_{nth}", "name": "look", "input": {}}
        for nth in range(rng.randint(1, 3))
    ]
    start = [thought(rng, name)] if thinks else []
    entries: list[Entry] = [{"role": "assistant", "content": [*start, calls[0]]}]
    for call in calls[1:]:
        if rng.random() < 0.5:
            entries[-1]["content"].append(call)
        else:
            entries.append({"role": "assistant", "content": [call]})
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": "wind " * rng.randint(1, 60),
        }
        for call in calls
    ]
    return [*entries, user(*results)]


def history(rng: Random, *, lines: bool, interleaved: bool = True) -> list[Entry]:
    """Turns of rounds; the last may be in progress, with something behind it."""
    entries: list[Entry] = []
    turns = rng.randint(1, 3)
    for turn in range(turns):
        entries.append(user(text(f"question {turn} " * rng.randint(1, 40))))
        rounds = rng.randint(1, 6)
        for nth in range(rounds):
            thinks = interleaved or not nth
            entries += a_round(rng, f"t{turn}_{nth}", thinks=thinks)
            if lines and rng.random() < 0.6:
                entries.append({"role": "system", "content": f"left: {nth}"})
        if turn + 1 < turns:
            answer = [thought(rng, f"a{turn}")] if rng.random() < 0.5 else []
            entries.append(
                {"role": "assistant", "content": [*answer, text("done " * 9)]}
            )
    behind = rng.choice(("nothing", "text", "line", "mixed", "open"))
    if behind == "line" and lines and entries[-1]["role"] == "user":
        entries.append({"role": "system", "content": "be brief"})
    elif behind == "mixed" and entries[-1]["role"] == "user":
        entries[-1]["content"].append(text("hurry"))
    elif behind == "text" and entries[-1]["role"] == "user":
        entries.append(user(text("hurry")))
    elif behind == "open":
        while entries[-1]["role"] != "assistant":
            entries.pop()
    return entries


def body(rng: Random, model: str, thinking: Any, *, interleaved: bool) -> Entry:
    """A request; its list is what a client would send."""
    entries = history(rng, lines=model in NEW, interleaved=interleaved)
    made: Entry = {"model": model, "max_tokens": 4_096, "tools": TOOLS}
    if thinking is not None:
        made["thinking"] = thinking
    return {**made, "messages": entries}


def rules(found: list[Any]) -> set[str]:
    """The rules of violations."""
    return {one.rule for one in found}


def rules_on(thinking: dict[str, Any] | None) -> bool:
    """Whether a request says that thinking is enabled."""
    return thinking is not None and thinking["type"] == "enabled"


def blocks_of(entries: list[Entry]) -> list[Entry]:
    """The blocks of neighbours, which the API merges."""
    return [block for entry in entries for block in entry["content"]]


def newest_thoughts(entries: list[Entry]) -> list[Entry]:
    """The thinking of the last assistant messages that the API merges, with calls."""
    at = len(entries) - 1
    while at >= 0 and entries[at]["role"] != "assistant":
        at -= 1
    found: list[Entry] = []
    while at >= 0 and entries[at]["role"] == "assistant":
        found += entries[at]["content"]
        at -= 1
    if not any(block["type"] == "tool_use" for block in found):
        return []
    return [block for block in found if block["type"] == "thinking"]


@pytest.mark.parametrize("thinking", THINKING, ids=["unknown", "enabled", "adaptive"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("interleaved", [True, False], ids=["each", "first"])
def test_every_window_of_a_loop_is_accepted(
    model: str, thinking: Any, interleaved: bool
) -> None:
    """At any budget: rounds whole, nothing new that the API would refuse, stable."""
    shortened = 0
    for seed in SEEDS:
        rng = Random(seed)
        request = body(rng, model, thinking, interleaved=interleaved)
        entries = request["messages"]
        before = rules(turnkeep.check(request))
        total = turnkeep.count(request).total
        for share in (0.97, 0.75, 0.5, 0.3):
            limit = int(total * share)
            try:
                window = turnkeep.fit(request, limit)
            except BudgetExceededError:
                continue
            shortened += len(window["messages"]) < len(entries)
            found = rules(turnkeep.check(window, original=request)) - before
            assert not found, (seed, share, found)
            assert turnkeep.count(window).total <= limit, (seed, share)
            assert turnkeep.fit(window, limit) == window, (seed, share)
        assert turnkeep.fit(request, 2 * total) == request, seed
    bound = model == "claude-sonnet-5-5" and rules_on(thinking)
    assert bound or shortened > len(SEEDS) // 4


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-8"])
def test_the_oldest_rounds_of_one_loop_go_and_the_newest_keeps_its_thinking(
    model: str,
) -> None:
    """Asked for as a list, a body and a conversation; thinking on or unknown."""
    for seed in SEEDS:
        rng = Random(seed)
        entries = [user(text("plan it"))]
        for nth in range(8):
            entries += a_round(rng, f"t{nth}", thinks=True)
            if model in NEW:
                entries.append({"role": "system", "content": f"left: {nth}"})
        on = {"type": "enabled", "budget_tokens": 2048}
        request = {"model": model, "max_tokens": 9, "messages": entries, "tools": TOOLS}
        limit = int(turnkeep.count(request).total * 0.75)
        as_list = turnkeep.fit(
            entries, limit, model=model, format="anthropic", tools=TOOLS
        )
        for thinking in (None, on):
            asked = request if thinking is None else {**request, "thinking": thinking}
            window = turnkeep.fit(asked, limit)
            assert window["messages"] == as_list
            assert not turnkeep.check(window, original=asked)
        assert len(as_list) < len(entries)
        assert as_list == [entries[0], *entries[len(entries) - len(as_list) + 1 :]]
        assert newest_thoughts(as_list) == newest_thoughts(entries)
        chat = Conversation.from_messages(entries, model=model, format="anthropic")
        chat.budget, chat.tools = Budget(limit, target=1.0), TOOLS
        assert chat.fit().encode()["messages"] == as_list


@pytest.mark.parametrize("model", MODELS)
def test_what_a_plan_counts_is_what_its_window_counts(model: str) -> None:
    """For lists at every budget, whatever of old thinking the model leaves out."""
    for seed in SEEDS:
        rng = Random(seed)
        entries = history(rng, lines=model in NEW)
        total = turnkeep.count(entries, model=model, format="anthropic").total
        for share in (1.1, 0.9, 0.6, 0.4):
            limit = int(total * share)
            try:
                plan = turnkeep.plan(entries, limit, model=model, format="anthropic")
            except BudgetExceededError:
                continue
            window = plan.apply(entries)
            counted = turnkeep.count(window, model=model, format="anthropic").total
            assert plan.tokens == counted, (seed, share)


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_counts_as_its_window_does_while_it_grows(model: str) -> None:
    """Message by message: by sums, by the engine, and counted from nothing."""
    for seed in SEEDS[::2]:
        rng = Random(seed)
        entries = history(rng, lines=model in NEW)
        total = turnkeep.count(entries, model=model, format="anthropic").total
        chat = Conversation(
            model=model, format="anthropic", budget=Budget(int(total * 0.8) + 200)
        )
        for entry in entries:
            chat.append(entry)
            try:
                window = chat.fit()
            except BudgetExceededError:
                continue
            said = window.encode()
            counted = turnkeep.count(
                {**said, "model": model}, model=model, format="anthropic"
            )
            assert window.tokens == counted.total, seed


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("claude-3-7-sonnet-20250219", False),
        ("claude-opus-4-1", False),
        ("claude-sonnet-4-5", False),
        ("claude-haiku-4-5", False),
        ("claude-opus-4-5", True),
        ("claude-sonnet-4-6", True),
        ("claude-fable-5-1", True),
        ("claude-haiku-5-5", True),
        ("claude-unknown", True),
    ],
)
def test_old_thinking_counts_where_the_model_keeps_it(model: str, counts: bool) -> None:
    """Behind a question that is no result; the current turn's counts everywhere."""

    def size(words: int, *behind: Entry) -> int:
        block = {"type": "thinking", "thinking": "word " * words, "signature": "s"}
        call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
        entries = [
            user(text("q")),
            {"role": "assistant", "content": [block, call]},
            user(result),
            *behind,
        ]
        return turnkeep.count(entries, model=model, format="anthropic").total

    assert size(900) - size(1) > 500
    done = {"role": "assistant", "content": "done"}
    more = size(900, done, user(text("next"))) - size(1, done, user(text("next")))
    assert more > 500 if counts else more == 0


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_sends_what_a_list_of_the_same_history_does(model: str) -> None:
    """A first window, at every budget: cut where a list is, rounds with their lines."""
    for seed in SEEDS:
        rng = Random(seed)
        entries = history(rng, lines=model in NEW)
        total = turnkeep.count(entries, model=model, format="anthropic").total
        for share in (1.3, 0.9, 0.7, 0.5):
            budget = Budget(int(total * share), target=1.0)
            chat = Conversation.from_messages(entries, model=model, format="anthropic")
            chat.budget = budget
            try:
                window = turnkeep.fit(
                    entries, budget=budget, model=model, format="anthropic"
                )
            except BudgetExceededError:
                with pytest.raises(BudgetExceededError):
                    chat.fit()
                continue
            made = chat.fit().encode()["messages"]
            assert made == window, (seed, share)


def test_a_loop_with_a_line_in_each_round_can_be_cut_by_sums_alike() -> None:
    """As it grows, message by message, a conversation drops rounds with their lines."""
    rng = Random(5)
    chat = Conversation(
        model="claude-opus-4-8", format="anthropic", budget=Budget(2_000, target=0.5)
    )
    chat.append(user(text("go")))
    for nth in range(60):
        for entry in a_round(rng, f"t{nth}", thinks=False):
            chat.append(entry)
        chat.append({"role": "system", "content": f"left: {nth}"})
        window = chat.fit()
        request = {**window.encode(), "model": "claude-opus-4-8", "tools": TOOLS}
        assert not turnkeep.check({**request, "max_tokens": 9})
        lines = [m for m in request["messages"] if m["role"] == "system"]
        rounds = [m for m in request["messages"] if m["role"] == "user"][1:]
        assert len(lines) == len(rounds)
        assert lines[-1]["content"] == f"left: {nth}"
    assert len(lines) < 60


def test_a_pinned_line_keeps_its_round_and_a_line_elsewhere_is_held() -> None:
    """A system message behind text is no part of a round."""
    rng = Random(1)
    entries = [user(text("go"))]
    for nth in range(9):
        entries += a_round(rng, f"t{nth}", thinks=False)
        entries.append({"role": "system", "content": f"left: {nth}"})
    pinned = next(n for n, e in enumerate(entries) if e["role"] == "system")
    model = "claude-opus-4-8"
    total = turnkeep.count(entries, model=model, format="anthropic").total
    window = turnkeep.fit(
        entries, int(total * 0.7), model=model, format="anthropic", pinned=[pinned]
    )
    assert {"role": "system", "content": "left: 0"} in window
    assert {"role": "system", "content": "left: 1"} not in window
    assert not turnkeep.check(
        {"model": model, "max_tokens": 9, "tools": TOOLS, "messages": window}
    )
    held = [user(text("old " * 300)), {"role": "system", "content": "be brief"}]
    held += [{"role": "assistant", "content": "ok"}, user(text("q"))]
    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(held, 200, model=model, format="anthropic")
    assert "system" in {one.cause for one in caught.value.held}


@pytest.mark.parametrize("shape", ["list", "body", "conversation"])
@pytest.mark.parametrize("tight", [False, True])
def test_words_before_results_stand_behind_them(shape: str, tight: bool) -> None:
    """As `repair` puts them, whatever else goes; nothing of them is lost."""
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
    entries = [
        user(text("old " * 200)),
        {"role": "assistant", "content": "x"},
        user(text("q")),
        {"role": "assistant", "content": [call]},
        user(text("here it is:"), result, text("and this?")),
    ]
    model, limit = "claude-sonnet-4-5", 900 if tight else 9_000
    request = {"model": model, "max_tokens": 9, "tools": TOOLS, "messages": entries}
    window: Any
    if shape == "list":
        window = turnkeep.fit(
            entries, limit, model=model, tools=TOOLS, format="anthropic"
        )
    elif shape == "body":
        window = turnkeep.fit(request, limit)["messages"]
    else:
        chat = Conversation.from_messages(entries, model=model, format="anthropic")
        chat.budget, chat.tools = Budget(limit), TOOLS
        window = chat.fit().encode()["messages"]
    assert not turnkeep.check({**request, "messages": window})
    said = [
        b["text"]
        for e in window
        for b in e["content"]
        if isinstance(b, dict) and b["type"] == "text"
    ]
    assert said[-2:] == ["here it is:", "and this?"]
    if not tight and shape != "conversation":
        mended = turnkeep.repair(entries, format="anthropic").value
        assert window[:4] == mended[:4]
        assert blocks_of(window[4:]) == blocks_of(mended[4:])
        kept = turnkeep.fit(
            entries, limit, model=model, format="anthropic", on_invalid="keep"
        )
        assert kept == entries


BESIDE: tuple[Entry, ...] = (
    {
        "type": "search_result",
        "source": "s",
        "title": "T",
        "content": [{"type": "text", "text": "fact 41"}],
    },
    {"type": "image", "source": {"type": "url", "url": "https://e.org/fact41.png"}},
    {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "fact 41"},
    },
    {"type": "container_upload", "file_id": "fact41"},
)


@pytest.mark.parametrize("block", BESIDE, ids=[str(block["type"]) for block in BESIDE])
@pytest.mark.parametrize("alone", [False, True])
def test_all_blocks_beside_a_result_are_the_question(block: Entry, alone: bool) -> None:
    """They open a turn, alone or with text: read from an outline, or decoded."""
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
    more = [] if alone else [text("And this?")]
    last = user(result, block, *more)
    entries = [
        user(text("q")),
        {"role": "assistant", "content": [call]},
        last,
        {"role": "assistant", "content": "long " * 300},
    ]
    plan = turnkeep.plan(entries, 4_000, format="anthropic")
    assert plan.apply(entries) == entries
    with pytest.raises(BudgetExceededError) as caught:
        turnkeep.fit(entries, 10, format="anthropic")
    causes = [(one.id, one.cause) for one in caught.value.held]
    assert ("2", "question") in causes
    chat = Conversation.from_messages(entries, format="anthropic")
    assert [m.role.value for m in chat.messages][-3:-1] == ["tool_result", "user"]


def _answered_loop(model: str) -> Entry:
    """Rounds, one with words beside its result and a line behind them; an answer."""
    rng = Random(58)
    entries = [user(text("question " * 60)), *a_round(rng, "a", thinks=True)]
    entries[-1]["content"].append(text("hurry"))
    entries.append({"role": "system", "content": [text("be brief")]})
    for name in "bcd":
        entries += a_round(rng, name, thinks=True)
        if name != "d":
            entries[-1]["content"].append(text(f"and {name}"))
    thinking = {"type": "enabled", "budget_tokens": 2048}
    answer = {"role": "assistant", "content": [thought(rng, "e"), text("done")]}
    entries += [answer, user(text("next"))]
    request = {"model": model, "max_tokens": 4096, "tools": TOOLS}
    return {**request, "thinking": thinking, "messages": entries}


@pytest.mark.parametrize("model", ["claude-fable-5-1", "claude-sonnet-5-5"])
def test_no_older_round_passes_for_the_one_in_progress(model: str) -> None:
    """Without its reasoning it would be refused: the answer behind the rounds stays."""
    request = _answered_loop(model)
    assert turnkeep.check(request) == []
    total = turnkeep.count(request).total
    fitted = refused = 0
    for tokens in range(total // 4, total, max(total // 60, 1)):
        try:
            window = turnkeep.fit(request, tokens)
        except BudgetExceededError as error:
            turnkeep.fit(request, error.smallest)
            with pytest.raises(BudgetExceededError):
                turnkeep.fit(request, error.smallest - 1)
            refused += 1
            continue
        assert turnkeep.check(window, original=request) == []
        fitted += 1
    assert fitted > 10
    assert refused


def test_an_answer_to_be_continued_opens_with_its_thinking() -> None:
    """Of a Claude nobody named, too: the rest may lose its own, and leave."""
    rng = Random(5)
    entries = [user(text("question " * 60))]
    for name in "abc":
        entries += a_round(rng, name, thinks=True)
    opened = {"role": "assistant", "content": [thought(rng, "d"), text("It is")]}
    request: Entry = {
        "max_tokens": 4096,
        "tools": TOOLS,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "messages": [*entries, opened],
    }
    assert turnkeep.check(request, format="anthropic") == []
    total = turnkeep.count(request, format="anthropic").total
    cut = 0
    for tokens in range(total // 4, total, max(total // 40, 1)):
        try:
            window = turnkeep.fit(request, tokens, format="anthropic")
        except BudgetExceededError:
            continue
        assert turnkeep.check(window, format="anthropic", original=request) == []
        assert window["messages"][-1] == opened
        cut += 1
    assert cut > 10
