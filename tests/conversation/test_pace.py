"""When a conversation with prices prunes: rent against buying, and after a pause."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from turnkeep import Budget, Conversation, Message, Prices

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TTL = timedelta(minutes=5)


def talk(budget: Budget) -> Conversation:
    """An empty conversation."""
    return Conversation(budget=budget, model="gpt-4o")


def turn(chat: Conversation, at: datetime | None, size: int = 1_000) -> None:
    """A question and, ten seconds later, its answer."""
    late = None if at is None else at + timedelta(seconds=10)
    chat.append(Message.user("q", token_count=size, timestamp=at))
    chat.append(Message.assistant("a", token_count=size, timestamp=late))


def filled(ttl: timedelta | None, turns: int = 15) -> Conversation:
    """30,000 tokens, a turn a minute, each of which was sent."""
    chat = talk(Budget(100_003, target=0.1, prices=Prices(ttl=ttl)))
    for nth in range(turns):
        turn(chat, START + nth * timedelta(minutes=1))
        assert not chat.fit().pruned
    return chat


@pytest.mark.parametrize(
    ("ttl", "pause", "pruned"),
    [
        (TTL, timedelta(minutes=6), True),
        (TTL, timedelta(minutes=4), False),
        (timedelta(hours=1), timedelta(minutes=6), False),
        (None, timedelta(days=3), False),
    ],
)
def test_after_a_pause_longer_than_the_cache_lives_it_prunes(
    ttl: timedelta | None, pause: timedelta, *, pruned: bool
) -> None:
    """The rewrite is free then; time stamps say so, no clock."""
    chat = filled(ttl)

    chat.append(
        Message.user("q", token_count=10, timestamp=START + 14 * TTL / 5 + pause)
    )

    assert chat.fit().pruned is pruned
    assert not chat.fit().pruned  # the same request again


def test_a_pause_is_measured_from_the_answer_whatever_came_in_between() -> None:
    """Three results four minutes apart: what was sent lies twelve minutes back."""
    chat = filled(TTL)
    at = START + timedelta(minutes=14)

    for minutes in (4, 8, 12):
        moment = at + timedelta(minutes=minutes)
        chat.append(Message.user("more", token_count=10, timestamp=moment))

    assert chat.fit().pruned


def test_without_time_stamps_there_is_no_pause() -> None:
    chat = talk(Budget(100_003, target=0.1, prices=Prices(ttl=TTL)))
    chat.extend(Message.user("q", token_count=9_000) for _ in range(3))
    plain = Conversation.from_messages(chat.messages, budget=chat.budget)

    assert not plain.fit().pruned


def test_small_windows_never_prune_for_a_pause() -> None:
    """Below 4,000 tokens a rewrite costs more than it saves."""
    chat = filled(TTL, turns=1)
    chat.append(Message.user("q", token_count=10, timestamp=START + timedelta(hours=9)))

    assert not chat.fit().pruned


def test_waiting_is_measured_against_what_the_last_cut_left() -> None:
    """L is the window behind the last cut, not the target it was meant for."""
    prices = Prices(read=0.5, write=1.0)
    chat = talk(Budget(100_003, target=0.1, prices=prices))
    sizes: list[tuple[int, bool]] = []
    for _ in range(60):
        turn(chat, None, size=2_000)
        window = chat.fit()
        sizes.append((window.tokens - 3, window.pruned))
    cuts = [nth for nth, (_, pruned) in enumerate(sizes) if pruned]

    assert len(cuts) > 2
    for first, second in pairwise(cuts):
        left = sizes[first][0]
        above = [max(size - left, 0) for size, _ in sizes[first:second]]
        assert left < 10_000
        assert prices.read * sum(above) >= (prices.write - prices.read) * left
        assert prices.read * sum(above[:-1]) < (prices.write - prices.read) * left


def test_the_pace_is_saved() -> None:
    """A restored conversation prunes when the one that was saved does."""
    chat = talk(Budget(100_003, target=0.1, prices=Prices(0.5, 1.0, TTL)))
    copies: list[Any] = [chat]
    for nth in range(40):
        windows = []
        for each in copies:
            turn(each, START + nth * timedelta(minutes=1), size=700)
            windows.append((each.fit().tokens, each.fit().pruned))
        assert len(set(windows)) == 1, nth
        if nth == 12:
            text = json.dumps(chat.to_json())
            copies = [chat, chat.fork(), Conversation.from_json(json.loads(text))]
    assert copies[2].budget == chat.budget
