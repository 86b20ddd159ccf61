"""Going back costs what goes: the index is afterwards what one built anew would be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chats import call, chats, placeholder, result, say, user
from turnkeep import Budget, Conversation, TurnkeepError
from turnkeep.index._ledger import Ledger
from turnkeep.turns import Grouping

OWN = {"opened", "answered", "_names"}
"""What only the newest message's own is, or is made when somebody asks."""


def told(grouping: Grouping) -> dict[str, Any]:
    """Everything that a grouping knows."""
    known = {
        name: getattr(grouping, name)
        for name in Grouping.__slots__
        if name not in {*OWN, "_open", "renewed"}
    }
    known["open"] = {
        name: [(c.message, c.position, c.answer, c.open) for c in stack]
        for name, stack in grouping._open.items()
    }
    known["renewed"] = list(grouping.renewed)
    return known


def facts(ledger: Ledger) -> dict[str, Any]:
    """Everything that an index knows beside it."""
    names = (
        "messages",
        "index",
        "counts",
        "pins",
        "asked",
        "forgotten",
        "last_uncounted",
        "gone",
        "mended",
        "misfits",
        "shown_only",
        "thoughts",
        "pictures",
    )
    return {name: getattr(ledger, name) for name in names} | told(ledger.grouping)


def anew(chat: Conversation) -> Ledger:
    """An index of the same messages, fed one by one."""
    other = Ledger(chat._ledger.counter)
    other.join_lines(chat._ledger.lines_join)
    for index, message in enumerate(chat._ledger.messages):
        other.append(message, chat._ledger.counts[index])
    return other


def unnamed(entries: list[Any]) -> list[Any]:
    """Entries whose ids and counts are still to be made."""
    return [
        {key: value for key, value in entry.items() if key not in {"id", "size"}}
        for entry in entries
    ]


def window(chat: Conversation) -> Any:
    """What would be sent, or why nothing can be."""
    try:
        return chat.fit(60).encode()
    except TurnkeepError as error:
        return str(error)


@given(
    chats(broken=True, max_length=24),
    st.lists(
        st.tuples(st.integers(0, 30), chats(broken=True, max_length=6)), max_size=4
    ),
)
def test_the_same_as_built_anew(
    first: list[Any], then: list[tuple[int, list[Any]]]
) -> None:
    """After any rewinds with anything appended behind them, windows included."""
    chat = Conversation(model="gpt-4o", budget=Budget(60, target=0.6))
    chat.extend(unnamed(first))
    for at, more in then:
        window(chat)
        if chat.messages:
            chat.rewind(chat.messages[at % len(chat)].id or "")
        assert facts(chat._ledger) == facts(anew(chat))
        chat.extend(unnamed(more))
        assert facts(chat._ledger) == facts(anew(chat))
    other = Conversation(model="gpt-4o", budget=Budget(60, target=0.6))
    other.extend(chat.messages)
    chat._fitter.forget()
    assert window(chat) == window(other)


def test_a_result_before_its_call_drops_nothing_that_fits() -> None:
    """It moves behind its call in every window, not in the first alone."""
    chat = Conversation(model="gpt-4o", budget=Budget(60, target=0.6))
    chat.extend([result("a"), user("go on"), call("a")])
    assert len(chat.fit().messages) == 3
    chat.user("go on")
    window = chat.fit()
    assert not window.plan.pruned
    assert len(window.messages) == 4


def test_ids_that_are_used_again() -> None:
    """The earlier call of an id is answered as before, the later one gone."""
    chat = Conversation(model="gpt-4o", budget=Budget(60, target=0.6))
    for nth in range(4):
        chat.extend([user(f"q{nth}"), call("c"), result("c", f"r{nth}"), say("so")])
    chat.rewind(chat.messages[6].id or "")
    assert facts(chat._ledger) == facts(anew(chat))
    chat.append(placeholder("c"))
    assert facts(chat._ledger) == facts(anew(chat))


@pytest.mark.parametrize("length", [200, 2_000])
def test_costs_what_goes(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A regenerated answer is not grouped with everything before it once more."""
    chat = Conversation(model="gpt-4o", budget=Budget(60, target=0.6))
    entries = [user("q"), call("c"), result("c"), say("so")] * (length // 4)
    chat.sync(entries)
    added: list[Any] = []
    add = Grouping.add

    def counting(self: Grouping, *args: Any) -> int:
        added.append(args)
        return add(self, *args)

    monkeypatch.setattr(Grouping, "add", counting)
    chat.sync([*entries[:-2], result("c", "other"), say("again"), user("on")])
    chat.sync([*entries[:-4], user("another way")])
    assert 0 < len(added) < 30
    assert facts(chat._ledger) == facts(anew(chat))
