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
    """The ids that stay when as few of the oldest turns as possible go, if any do."""
    stays = must_stay(chat)
    starts = [at for at, entry in enumerate(chat) if entry["role"] == "user"]
    if not starts or starts[0] != 0:
        starts = [0, *starts]  # the preamble is the oldest turn
    for start in starts:
        kept = [at for at in range(len(chat)) if at >= start or at in stays]
        if sum(size(chat[at]) for at in kept) <= tokens:
            return [chat[at]["id"] for at in kept]
    return None


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
