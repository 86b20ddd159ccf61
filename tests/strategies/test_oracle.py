"""`OldestTurns` against brute force, over every history of up to seven steps."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.chats import Entry, call, numbered, result, say, size, system, user
from tests.invariants import must_stay
from turnkeep import BudgetExceededError, fit
from turnkeep.strategies import OldestTurns


def history(kinds: tuple[str, ...]) -> list[Entry]:
    """A chat of these kinds: user, assistant, system, tool (a call and its result)."""
    chat: list[Entry] = []
    for nth, kind in enumerate(kinds):
        match kind:
            case "u":
                chat.append(user())
            case "a":
                chat.append(say())
            case "s":
                chat.append(system())
            case _:
                chat += [call(f"c{nth}"), result(f"c{nth}")]
    return numbered([{**e, "size": 1 + nth * nth % 7} for nth, e in enumerate(chat)])


def oracle(chat: list[Entry], tokens: int) -> list[str] | None:
    """The ids that stay when as few of the oldest turns as possible go, if any do.

    The newest of those is cut inside where it is large and frees too much: its steps
    go oldest first, its question with the last of them, and no more than it takes.
    """
    stays = must_stay(chat)
    starts = [at for at, entry in enumerate(chat) if entry["role"] == "user"]
    if not starts or starts[0] != 0:
        starts = [0, *starts]  # the preamble is the oldest turn
    before = None
    for start in starts:
        kept = [at for at in range(len(chat)) if at >= start or at in stays]
        left = sum(size(chat[at]) for at in kept)
        if left <= tokens:
            if before is not None:
                kept = cut_inside(chat, kept, range(before, start), tokens)
            return [chat[at]["id"] for at in kept]
        before = start
    return None


def cut_inside(
    chat: list[Entry], kept: list[int], turn: range, tokens: int
) -> list[int]:
    """What stays where *kept* would do without a turn."""
    free = [at for at in turn if at not in kept]
    room = tokens - sum(size(chat[at]) for at in kept)
    if not room or sum(size(chat[at]) for at in free) <= tokens // 10:
        return kept
    steps: list[list[int]] = []
    for at in free:
        if chat[at]["role"] == "tool" or (
            steps and chat[at]["role"] == chat[at - 1]["role"] == "assistant"
        ):
            steps[-1].append(at)
        else:
            steps.append([at])
    question = [step for step in steps if chat[step[0]]["role"] == "user"]
    steps = [step for step in steps if step not in question]
    while steps and sum(size(chat[at]) for s in (*steps, *question) for at in s) > room:
        del steps[0]
    if not steps:
        return kept
    return sorted({*kept, *(at for step in (*steps, *question) for at in step)})


@pytest.mark.parametrize("length", range(1, 8))
def test_the_oldest_turns_always_equal_brute_force(length: int) -> None:
    """As few as possible, oldest first; or an error when the last one does not fit."""
    for nth, kinds in enumerate(product("uast", repeat=length)):
        chat = history(kinds)
        whole = sum(map(size, chat))
        shares = (2, 5, 8) if length < 6 else (2 + nth % 8,)
        for share in shares:
            tokens = max(whole * share // 10, 1)
            expected = oracle(chat, tokens)
            options: Any = {"format": "openai", "token_counter": size}
            if expected is None:
                with pytest.raises(BudgetExceededError):
                    fit(chat, tokens, strategy=OldestTurns(), **options)
            else:
                window = fit(chat, tokens, strategy=OldestTurns(), **options)
                assert [e["id"] for e in window if "id" in e] == expected, kinds
