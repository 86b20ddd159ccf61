"""Tests for `turnkeep.engine`, through `turnkeep.plan` and `turnkeep.fit`."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import (
    Entry,
    call,
    chats,
    numbered,
    placeholder,
    result,
    say,
    size,
    system,
    user,
)
from tests.invariants import (
    assert_valid,
    must_stay,
    pair,
    question_of,
    superseded,
)
from turnkeep import (
    Budget,
    BudgetExceededError,
    InvalidHistoryError,
    Message,
    OldestSteps,
    OldestTurns,
    OpenCallError,
    StrategyError,
    UnknownCallError,
    UnknownMessageError,
    fit,
    plan,
)
from turnkeep.formats import get_format
from turnkeep.index import History, Rules
from turnkeep.model import PENDING, marker_of
from turnkeep.plans import Drop
from turnkeep.turns import Grouping, entry_of

STRATEGIES = [
    None,
    OldestTurns() | OldestSteps(),
    OldestSteps(),
    OldestSteps() & OldestTurns(),
]
"""`None` takes the path that counts from the newest end."""

strategies = st.sampled_from(STRATEGIES)


def run(chat: list[Entry], tokens: int, **options: Any) -> list[Entry]:
    """The window, with the tests' own counts."""
    fitted = fit(chat, tokens, format="openai", token_counter=size, **options)
    assert isinstance(fitted, list)
    return fitted


def total(window: list[Entry]) -> int:
    """Tokens of a window."""
    return sum(map(size, window))


def ids(window: list[Entry]) -> list[str]:
    """Ids of the history's messages in a window, in order."""
    return [entry["id"] for entry in window if "id" in entry]


pinned_chats = chats().flatmap(
    lambda chat: st.tuples(
        st.just(chat), st.sets(st.integers(0, len(chat) - 1), max_size=2)
    )
)


@given(pinned_chats, st.integers(1, 400), strategies)
def test_always_keeps_its_promises_or_says_why_not(
    case: tuple[list[Entry], set[int]], tokens: int, strategy: Any
) -> None:
    """P1 to P7 at any budget."""
    chat, pins = case
    before = [dict(entry) for entry in chat]
    held = {chat[i]["id"] for i in must_stay(chat, pins)}

    try:
        window = run(chat, tokens, pinned=pins, strategy=strategy)
    except BudgetExceededError as error:
        assert error.smallest > tokens
        window = run(chat, error.smallest, pinned=pins, strategy=strategy)
        assert total(window) <= error.smallest
        if error.smallest > 1:
            with pytest.raises(BudgetExceededError):
                run(chat, error.smallest - 1, pinned=pins, strategy=strategy)
        tokens = error.smallest

    assert_valid(window)
    assert total(window) <= tokens
    assert held <= set(ids(window))
    assert chat == before
    own = {id(entry) for entry in chat}
    assert all(id(entry) in own for entry in window if "id" in entry)
    _assert_order(chat, window)
    _, still_open = pair(chat)
    _, open_in_window = pair(window)
    assert len(still_open) == len(open_in_window)


def _assert_order(chat: list[Entry], window: list[Entry]) -> None:
    """P5: original order, save results that moved up to their call."""
    at = {entry["id"]: nth for nth, entry in enumerate(chat)}
    others = [at[e["id"]] for e in window if "id" in e and e["role"] != "tool"]
    assert others == sorted(others)
    answers, _ = pair(chat)
    home: int | None = None
    for entry in window:
        if entry["role"] == "assistant":
            home = at[entry["id"]]
        elif entry["role"] == "tool" and "id" in entry:
            assert answers[at[entry["id"]]][0] == home


@given(chats(), st.integers(1, 400), strategies)
def test_a_window_is_always_stable(
    chat: list[Entry], tokens: int, strategy: Any
) -> None:
    """P9: fitting it again under the same budget changes nothing."""
    try:
        window = run(chat, tokens, strategy=strategy)
    except BudgetExceededError:
        return

    assert run(window, tokens, strategy=strategy) == window


@given(chats(), st.integers(1, 400))
def test_the_two_ways_of_the_default_always_agree(
    chat: list[Entry], tokens: int
) -> None:
    """Keeping the newest while they fit is dropping the oldest until the rest fits."""

    class Same:
        def propose(self, history: Any, /) -> Any:
            return (OldestTurns() | OldestSteps()).propose(history)

    outcomes = []
    for strategy in (None, Same()):
        try:
            outcomes.append(run(chat, tokens, strategy=strategy))
        except BudgetExceededError as error:
            outcomes.append([{"needed": error.needed, "held": error.held}])

    assert outcomes[0] == outcomes[1]


@given(chats(), st.integers(1, 400), st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_the_last_edit_was_always_needed(
    chat: list[Entry], tokens: int, target: float
) -> None:
    """P10: with the newest dropped turn (or step) back, the target is exceeded."""
    try:
        decided = plan(
            chat,
            budget=Budget(tokens, target=target),
            format="openai",
            token_counter=size,
            strategy=OldestSteps(),
        )
    except BudgetExceededError:
        return
    gone = [d for d in decided.dropped if d.cause == "age"]
    if not gone or decided.warnings:
        return

    last = max(gone, key=lambda d: (chat[d.index]["role"] != "user", d.index))
    del last
    limit = int(tokens * Fraction(str(target)))
    smallest = min(d.tokens for d in gone)
    assert decided.tokens <= tokens
    assert decided.tokens + sum(d.tokens for d in gone) > limit or smallest == 0


@given(chats(), st.integers(1, 300), st.integers(1, 300))
def test_a_larger_budget_always_brings_content_back(
    chat: list[Entry], small: int, more: int
) -> None:
    """P7: with the default strategy windows only grow with the budget."""
    try:
        window = run(chat, small)
    except BudgetExceededError:
        return

    assert set(ids(window)) <= set(ids(run(chat, small + more)))


@given(chats())
def test_enough_room_always_leaves_a_valid_chat_alone(chat: list[Entry]) -> None:
    """P8: the same JSON, and the caller's own objects."""
    try:
        assert_valid(chat)
    except AssertionError:
        return
    if superseded(chat) or not chat:
        return

    window = run(chat, 10_000)

    assert window == chat
    assert all(left is right for left, right in zip(window, chat, strict=True))


@given(chats(broken=True), st.integers(1, 300))
def test_a_broken_chat_is_always_mended_in_its_window(
    chat: list[Entry], tokens: int
) -> None:
    """Orphans, duplicates and misplaced results, and the plan says so."""
    answers, _ = pair(chat)
    broken = [a for a, e in enumerate(chat) if e["role"] == "tool" and a not in answers]
    try:
        decided = plan(chat, tokens, format="openai", token_counter=size)
    except BudgetExceededError:
        return

    window = decided.apply(chat)

    assert_valid(window)
    repaired = {d.index for d in decided.dropped if d.cause == "repair"}
    assert repaired == set(broken)
    moved = {item.call_id for item in decided.inserted if item.cause == "repair"}
    missing = [a for a in broken if chat[a]["tool_call_id"] not in moved]
    assert not missing or any("left out" in w for w in decided.warnings)


@given(chats(broken=True), st.integers(1, 300))
def test_no_window_is_ever_system_messages_alone(
    chat: list[Entry], tokens: int
) -> None:
    """P6: unless the history is, once misfits are left out."""
    answers, _ = pair(chat)
    gone = {a for a, e in enumerate(chat) if e["role"] == "tool" and a not in answers}
    if all(e["role"] == "system" for at, e in enumerate(chat) if at not in gone):
        return
    try:
        window = run(chat, tokens)
    except BudgetExceededError:
        return

    assert any(entry["role"] != "system" for entry in window)


@given(chats(), st.integers(1, 300))
def test_dropping_systems_always_keeps_the_leading_run(
    chat: list[Entry], tokens: int
) -> None:
    """P6 with `drop_system=True`."""
    leading = 0
    while leading < len(chat) and chat[leading]["role"] == "system":
        leading += 1
    try:
        window = run(chat, tokens, drop_system=True)
    except BudgetExceededError:
        return

    assert ids(window)[:leading] == [f"m{n}" for n in range(leading)]


@given(chats(), st.integers(1, 8))
def test_limits_on_turns_and_messages_always_hold(
    chat: list[Entry], limit: int
) -> None:
    """`max_turns` and `max_messages`, or an error that says which and how many."""
    for name in ("max_turns", "max_messages"):
        budget = Budget(10_000, **{name: limit})  # type: ignore[arg-type]
        try:
            window = run(chat, None, budget=budget)  # type: ignore[arg-type]
        except BudgetExceededError as error:
            assert error.limit == name.removeprefix("max_")
            assert error.smallest > limit
            bigger = Budget(10_000, **{name: error.smallest})  # type: ignore[arg-type]
            window = run(chat, None, budget=bigger)  # type: ignore[arg-type]
            limit_here = error.smallest
        else:
            limit_here = limit
        assert_valid(window)
        if name == "max_messages":
            assert len(window) <= limit_here


def test_old_turns_go_whole_then_steps_of_the_current_one() -> None:
    """The default, in that order, the question kept."""
    chat = numbered(
        [
            user(size=10),
            say(size=10),
            user(size=10),
            call("a", size=10),
            result("a", size=10),
            call("b", size=10),
            result("b", size=10),
        ]
    )

    assert ids(run(chat, 60)) == ["m2", "m3", "m4", "m5", "m6"]
    assert ids(run(chat, 40)) == ["m2", "m5", "m6"]


def test_an_error_says_who_holds_what() -> None:
    """With its numbers, ids and the way out."""
    chat = numbered(
        [system(size=900), user(size=200), say(size=10), user("Hi.", size=5)]
    )

    with pytest.raises(BudgetExceededError, match="at least 1115") as caught:
        run(chat, 800, pinned=["m1"])

    error = caught.value
    assert (error.needed, error.available, error.smallest) == (1115, 800, 1115)
    assert [(h.id, h.cause, h.tokens) for h in error.held] == [
        ("m0", "system", 900),
        ("m1", "pinned", 200),
        ("m2", "pinned", 10),
        ("m3", "question", 5),
    ]


def test_the_rest_of_a_pinned_turn_goes_last_and_with_a_warning() -> None:
    """The pinned step, the question and the last step are held absolutely."""
    chat = numbered(
        [
            user(size=10),
            call("a", size=10),
            result("a", size=10),
            say(size=10),
            user(size=10),
            say(size=10),
            user(size=10),
        ]
    )

    assert ids(run(chat, 50, pinned=["m0"])) == ["m0", "m1", "m2", "m3", "m6"]
    decided = plan(chat, 30, format="openai", token_counter=size, pinned=["m0"])
    assert decided.kept.ids == ("m0", "m3", "m6")
    assert "had to go" in decided.warnings[0]
    assert ids(run(chat, 30, pinned=["m1"], pin_scope="step")) == ["m1", "m2", "m6"]


def test_an_unanswered_call_stays_as_an_island_through_fourteen_turns() -> None:
    """Everything around it goes; its stand-in is counted and gives way."""
    chat = [system(size=5), user(size=10), call("slow", size=10)]
    for nth in range(14):
        chat += [user(f"q{nth}", size=30), say(f"a{nth}", size=30)]
    chat = numbered(chat)
    third = total(chat) // 3

    window = run(chat, third)

    assert_valid(window)
    assert ids(window)[:3] == ["m0", "m1", "m2"]
    assert ids(window)[-2:] == ["m29", "m30"]
    assert marker_of(window[3]["content"]) == PENDING
    assert total(window) <= third
    decided = plan(chat, third, format="openai", token_counter=size)
    assert [(i.call_id, i.cause) for i in decided.inserted] == [("slow", "open_call")]

    # The window comes back as history: nothing is added twice.
    assert run(window, third) == window
    answered = [*window, {"id": "late", **result("slow", "at last", size=3)}]
    settled = run(answered, third + 3)
    assert_valid(settled)
    assert [e["content"] for e in settled if e["role"] == "tool"] == ["at last"]
    assert settled[3]["id"] == "late"

    assert "m2" not in ids(run(chat, third, pending=()))
    assert ids(run(chat, third, pending=["slow"]))[:3] == ["m0", "m1", "m2"]


def test_abandoned_calls_are_ordinary_but_closed_where_kept() -> None:
    """With `pending=()` a kept open call still gets a stand-in."""
    chat = numbered([user(), call("a"), user(), say()])

    window = run(chat, 100, pending=())

    assert [e["role"] for e in window] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_the_newest_calls_stay_bare() -> None:
    """Their results are about to come."""
    chat = numbered([user(), call("a", "b"), result("a")])

    assert run(chat, 100) == chat


@pytest.mark.parametrize("how", ["keep", "raise"])
def test_open_calls_may_be_sent_bare_or_refused(how: str) -> None:
    """`open_calls` decides."""
    chat = numbered([user(), call("a"), user()])

    if how == "raise":
        with pytest.raises(OpenCallError, match="open calls: a"):
            run(chat, 100, open_calls="raise")
    else:
        assert run(chat, 100, open_calls="keep") == chat
    assert len(run(numbered([user(), call("a")]), 100, open_calls=how)) == 2


def test_a_placeholder_in_the_history_needs_no_stand_in() -> None:
    """It is one."""
    chat = numbered([user(), call("a"), placeholder("a"), user()])

    assert run(chat, 100) == chat


def test_invalid_histories_raise_when_asked() -> None:
    """Each with its place."""
    chat = [user(), result("z"), call("a"), user(), result("a"), result("a")]

    with pytest.raises(InvalidHistoryError) as caught:
        fit(chat, 100, format="openai", on_invalid="raise")

    assert [(v.rule, v.where) for v in caught.value.violations] == [
        ("orphan_result", "$[1]"),
        ("misplaced_result", "$[4]"),
        ("duplicate_result", "$[5]"),
    ]
    assert "$[1]" in str(caught.value)


def test_two_results_for_one_call_in_one_message() -> None:
    """The second is left out, or named; the first one answers."""
    tool_use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    first, second = (
        {"type": "tool_result", "tool_use_id": "a", "content": text}
        for text in ("one", "two")
    )
    chat = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [tool_use]},
        {"role": "user", "content": [first, second]},
        {"role": "assistant", "content": "ok"},
    ]

    window = fit(chat, 1_000, format="anthropic")

    assert window == [*chat[:2], {"role": "user", "content": [first]}, chat[3]]
    with pytest.raises(InvalidHistoryError) as caught:
        fit(chat, 1_000, format="anthropic", on_invalid="raise")
    assert [v.rule for v in caught.value.violations] == ["duplicate_result"]


def test_invalid_histories_may_be_kept_as_they_are() -> None:
    """Nothing is moved, dropped or added."""
    chat = [user(), result("z"), call("a"), user(), result("a"), result("a")]

    assert fit(chat, 1_000, format="openai", on_invalid="keep") == chat


def test_a_pin_that_names_nothing_is_an_error() -> None:
    """So is one on a result whose call is absent, and an unknown pending call."""
    chat = [user(), result("z"), say()]

    with pytest.raises(UnknownMessageError, match="no message 'nope'"):
        fit(chat, 100, format="openai", pinned=["nope"])
    with pytest.raises(UnknownMessageError, match="no message 7"):
        fit(chat, 100, format="openai", pinned=[7])
    with pytest.raises(InvalidHistoryError, match="restore the call"):
        fit(chat, 100, format="openai", pinned=[1])
    with pytest.raises(UnknownCallError, match="no tool call 'nope'"):
        fit(chat, 100, format="openai", pending=["nope"])


def test_pins_by_index_and_by_predicate() -> None:
    """Negative indexes count from the end."""
    chat = [
        user("one", size=9),
        say(size=9),
        user("two", size=9),
        say(size=9),
        user(size=9),
    ]

    for pins in ([0], [-5], lambda entry: entry["content"] == "one"):
        window = run(chat, 30, pinned=pins)
        assert [e["content"] for e in window] == ["one", "fine", "go on"]


def test_an_error_names_the_limit_that_no_larger_budget_helps() -> None:
    """Tokens and messages both: more tokens alone would not do."""
    chat = numbered([system(size=1), system(size=1), user(size=1)])

    with pytest.raises(BudgetExceededError) as caught:
        fit(
            chat,
            budget=Budget(2, max_messages=2),
            format="openai",
            token_counter=size,
        )

    assert (caught.value.limit, caught.value.smallest) == ("messages", 3)


def test_many_pins_in_one_turn_cost_what_they_are() -> None:
    """Not the turn for each of them: counted in steps looked at."""
    work = {}
    for steps in (100, 1_000):
        chat = [user(size=1)]
        for nth in range(steps):
            chat += [call(f"c{nth}", size=1), result(f"c{nth}", size=1)]
        looks = 0

        class Watched(Grouping):
            """Counts how often the steps of a turn are asked for."""

            def steps_of(self, turn: int) -> range:
                nonlocal looks
                looks += 1
                return super().steps_of(turn)

        grouping = Watched()
        openai = get_format("openai")
        for entry in chat:
            for message in openai.decode(entry):
                grouping.add(entry_of(message))
        pins = dict.fromkeys(range(0, len(chat), 10), "turn")
        history = History(grouping, None, Rules(pins=pins))  # type: ignore[arg-type]
        assert len(history.held) >= steps // 5
        work[steps] = looks

    assert work[1_000] == work[100]


def test_overflow_may_be_sent_all_the_same() -> None:
    """The caller's explicit choice, with a warning in the plan."""
    chat = numbered([user(size=10), say(size=10), user(size=50)])

    window = run(chat, 20, on_overflow="send")

    assert ids(window) == ["m2"]
    decided = plan(chat, 20, format="openai", token_counter=size, on_overflow="send")
    assert "over budget by 30 tokens" in decided.warnings[0]
    chatty = plan(
        chat,
        budget=Budget(1_000, max_turns=1),
        format="openai",
        token_counter=size,
        on_overflow="send",
        pinned=["m0"],
    )
    assert chatty.warnings == ("2 turns sent, though max is 1",)


def test_a_strategy_that_offers_too_little_is_named() -> None:
    """`not_offered`: its own choice, not a pin, stands in the way."""

    class Nothing:
        def propose(self, history: Any, /) -> Any:
            del history
            return iter(())

    chat = numbered([user(size=10), say(size=10), user(size=10)])

    with pytest.raises(BudgetExceededError) as caught:
        run(chat, 20, strategy=Nothing())

    assert [h.cause for h in caught.value.held] == [
        "not_offered",
        "not_offered",
        "question",
    ]


def test_a_third_party_strategy_cannot_break_a_history() -> None:
    """It may propose anything: what is held stays, and what was refused is named."""

    class Wild:
        def propose(self, history: Any, /) -> Any:
            for step in reversed(history.steps):
                yield Drop(step, "whim")

    chat = numbered(
        [
            user(size=10),
            call("a", size=10),
            result("a", size=10),
            say(size=10),
            user(size=10),
        ]
    )

    decided = plan(chat, 15, format="openai", token_counter=size, strategy=Wild())

    assert decided.kept.ids == ("m4",)
    assert decided.refused[0].reason == "held: question"
    assert {d.cause for d in decided.dropped} == {"whim"}


def test_a_strategy_that_proposes_nonsense_is_named() -> None:
    """Not an edit."""

    class Odd:
        def propose(self, history: Any, /) -> Any:
            del history
            yield "everything"

    with pytest.raises(StrategyError, match="Odd: proposed 'everything'"):
        run(numbered([user(size=10), user(size=10)]), 15, strategy=Odd())
    with pytest.raises(TypeError, match="propose"):
        run(numbered([user()]), 15, strategy=object())


def test_a_missed_target_is_a_warning() -> None:
    """Not an error, while the budget holds."""
    chat = numbered([user(size=50), say(size=60)])

    decided = plan(
        chat,
        budget=Budget(120, trigger=0.5, target=0.2),
        format="openai",
        token_counter=size,
    )

    assert decided.tokens == 110
    assert "target of 24 tokens was missed" in decided.warnings[0]


def test_an_empty_history_comes_back_empty() -> None:
    """And costs nothing."""
    assert fit([], 10, format="openai") == []
    assert plan([], 10, format="openai").tokens == 0


@given(chats(max_length=30), st.integers(1, 300))
def test_the_cut_of_a_list_is_always_a_pure_function_of_the_log(
    chat: list[Entry], tokens: int
) -> None:
    """With a target below 1 the dropped prefix only grows at its grid points.

    Two processes that see the log at different lengths send the same prefix: what the
    shorter log's window begins with, the longer one's begins with too, or it has moved
    on by at least trigger - target tokens.
    """
    budget = Budget(tokens, target=0.5)
    starts: list[int] = []
    for length in range(1, len(chat) + 1):
        try:
            decided = plan(
                chat[:length], budget=budget, format="openai", token_counter=size
            )
        except BudgetExceededError:
            return
        dropped = [d for d in decided.dropped if d.cause == "age"]
        starts.append(sum(d.tokens for d in dropped))

    depth = tokens - int(tokens * 0.5)
    moves = [b for a, b in pairwise(starts) if b != a]
    total_tokens = sum(map(size, chat))
    assert len(moves) <= total_tokens // depth + len(chat)


def test_the_prefix_moves_rarely_with_a_low_target() -> None:
    """A window that moved at every step would never meet the provider's cache."""
    chat = numbered(
        [system(size=10)]
        + [e for n in range(60) for e in (user(f"q{n}", size=10), say(size=10))]
    )
    moves, first = 0, None

    for length in range(3, len(chat) + 1, 2):
        window = run(chat[:length], None, budget=Budget(200, target=0.6))  # type: ignore[arg-type]
        if window[1]["id"] != first:
            first = window[1]["id"]
            moves += 1

    assert moves <= 60 * 20 // 80 + 1


def test_a_cut_on_the_grid_is_no_missed_target() -> None:
    """The window may be larger than the target by design, and nothing warns."""
    chat = numbered([e for n in range(30) for e in (user(size=10), say(size=10))])

    decided = plan(
        chat, budget=Budget(400, target=0.5), format="openai", token_counter=size
    )

    assert decided.tokens == 400
    assert not decided.warnings


def test_question_of_is_what_it_says() -> None:
    """The oracle itself."""
    assert question_of([user(), say(), user(), say()]) == 2
    assert question_of([say()]) is None


def picture(nth: int, **keys: Any) -> Entry:
    """A user message with a picture."""
    url = {"type": "image_url", "image_url": {"url": f"https://example.org/{nth}.png"}}
    return user([{"type": "text", "text": f"look {nth}"}, url], **keys)  # type: ignore[arg-type]


def test_pictures_over_the_limit_go_first_and_oldest_first() -> None:
    """Their text stays, and so does everything else while there is room."""
    chat = numbered([picture(n, size=10) for n in range(4)])

    decided = plan(
        chat, budget=Budget(1_000, max_images=1), format="openai", model="gpt-4o"
    )
    window = decided.apply(chat)

    assert len(window) == 4
    assert [str(e).count("image_url") > 0 for e in window] == [
        False,
        False,
        False,
        True,
    ]
    assert [d.id for d in decided.edited] == ["m0", "m1", "m2"]
    assert (
        fit(window, budget=Budget(1_000, max_images=1), format="openai", model="gpt-4o")
        == window
    )
    with pytest.raises(BudgetExceededError) as caught:
        fit(
            chat,
            budget=Budget(1_000, max_images=1),
            format="openai",
            model="gpt-4o",
            pinned=[0, 1],
        )
    assert (caught.value.limit, caught.value.needed) == ("images", 2)
    assert [h.id for h in caught.value.held] == ["m0", "m1"]
    sent = plan(
        chat,
        budget=Budget(1_000, max_images=0),
        format="openai",
        model="gpt-4o",
        pinned=[0],
        on_overflow="send",
    )
    assert "1 images sent, though max is 0" in sent.warnings


def test_limits_are_followed_not_counted_again_at_each_drop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten times the history takes about ten times the work, counted in steps."""
    work = {}
    for length in (300, 3_000):
        seen = 0
        visible = History.visible

        def watched(self: History, step: int) -> list[int]:
            nonlocal seen
            seen += 1
            return visible(self, step)  # noqa: B023 - the same in every round

        monkeypatch.setattr(History, "visible", watched)
        chat = numbered([user(size=1) for _ in range(length)])
        decided = plan(
            chat,
            budget=Budget(10**6, max_messages=10, max_turns=10),
            format="openai",
            token_counter=size,
        )
        monkeypatch.undo()
        assert len(decided.kept) == 10
        work[length] = seen

    assert work[3_000] <= 11 * work[300]


def test_an_orphan_without_any_name_is_told_by_its_message() -> None:
    """There is no id to show."""
    chat = [
        Message.tool_result(None, "lost", id="r"),
        Message.user("hi", id="q"),
    ]

    made = plan(chat, 900, model="gpt-4o")

    assert made.warnings == ("left out: orphan result (r)",)
