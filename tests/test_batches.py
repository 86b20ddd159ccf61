"""Tests for `turnkeep.api._batches`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chats import numbered, say, user
from turnkeep import BudgetExceededError, FormatError
from turnkeep.api._batches import Fitted, fit_many, spread


def chats(count: int) -> list[list[dict[str, Any]]]:
    """Conversations that differ."""
    return [
        numbered([user(f"first {n} " * 20), say("fine " * 20), user(f"last {n}")])
        for n in range(count)
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_many_come_in_order_and_as_one_would(workers: int) -> None:
    """Whatever the number of processes."""
    batch = chats(40)

    done = list(fit_many(batch, 40, model="gpt-4o", workers=workers))

    assert [f.index for f in done] == list(range(40))
    assert [f.value[-1]["content"] for f in done] == [f"last {n}" for n in range(40)]
    assert all(len(f.value) < 3 for f in done)


def test_a_bad_one_stops_or_is_handed_over() -> None:
    """As asked, and the others are not touched."""
    batch: list[Any] = [*chats(1), [{"role": "nobody"}], [user("x " * 99)], *chats(1)]

    with pytest.raises(FormatError):
        list(fit_many(batch, 40, model="gpt-4o", format="openai", workers=1))
    done = list(
        fit_many(batch, 40, model="gpt-4o", format="openai", workers=1, on_error="skip")
    )
    assert [type(f.error) for f in done] == [
        type(None),
        FormatError,
        BudgetExceededError,
        type(None),
    ]
    assert done[1].value is None


def test_errors_cross_processes_whole() -> None:
    """With their fields."""
    done = list(
        fit_many(
            [[user("x " * 99)]] * 2, 40, model="gpt-4o", workers=2, on_error="skip"
        )
    )

    error = done[1].error
    assert isinstance(error, BudgetExceededError)
    assert error.held[-1].cause == "question"


def test_an_endless_stream_is_read_by_a_bounded_number() -> None:
    """So that memory stays constant."""
    read = 0

    def endless() -> Iterator[Any]:
        nonlocal read
        while True:
            read += 1
            yield [user("hi")]

    stream = fit_many(endless(), 40, model="gpt-4o", format="openai", workers=2)
    for _ in range(3):
        next(stream)
    stream.close()  # type: ignore[attr-defined] # it is a generator

    assert read <= 16 * 4 * 2 + 16


def test_wrong_options_are_refused() -> None:
    """Before anything is read."""
    with pytest.raises(ValueError, match="on_error"):
        next(fit_many([], 40, on_error="ignore"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="workers"):
        next(fit_many([], 40, workers=-1))


def test_spreading_takes_any_job() -> None:
    """The order is that of the items."""
    assert [f.value for f in spread(Fitted, "abc", 1)] == ["a", "b", "c"]
    assert list(spread(Fitted, "", 2)) == []
