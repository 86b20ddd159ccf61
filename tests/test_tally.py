"""Tests for `turnkeep.index._prefix_sums`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnkeep.index._prefix_sums import SparseTally, Tally

numbers = st.lists(st.integers(0, 30), max_size=40)


@given(numbers, st.lists(st.tuples(st.integers(0, 39), st.integers(0, 30))), numbers)
def test_sums_are_always_those_of_a_plain_list(
    start: list[int], changes: list[tuple[int, int]], more: list[int]
) -> None:
    """After any changes and appends."""
    plain, sums = list(start), Tally(start)
    for index, value in changes:
        if index < len(plain):
            plain[index] = value
            sums.set(index, value)
    for value in more:
        plain.append(value)
        sums.append(value)

    assert list(sums.values) == plain
    assert len(sums) == len(plain)
    assert sums.total == sum(plain)
    assert [sums.before(n) for n in range(len(plain) + 2)] == [
        sum(plain[:n]) for n in range(len(plain) + 2)
    ]
    for wanted in range(sum(plain) + 2):
        expected = next(
            (n for n in range(len(plain) + 1) if sum(plain[:n]) >= wanted),
            len(plain) + 1,
        )
        assert sums.reach(wanted) == expected


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=40))
def test_sparse_sums_are_those_of_a_list_that_goes_on_in_zeros(
    changes: list[tuple[int, int]],
) -> None:
    """After any changes, in any order."""
    plain = [0] * 70
    sums = SparseTally()
    for index, value in changes:
        plain[index] = value
        sums.set(index, value)

        assert sums.total == sum(plain)
        assert sums.values == {n: v for n, v in enumerate(plain) if v}
    assert [sums.before(n) for n in range(200)] == [sum(plain[:n]) for n in range(200)]


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=70))
def test_reaching_with_sums_taken_off(rows: list[tuple[int, bool]]) -> None:
    """As if the smaller numbers were not there."""
    every = [size for size, _ in rows]
    held = SparseTally()
    for nth, (size, keep) in enumerate(rows):
        held.set(nth, size if keep else 0)
    free = Tally([0 if keep else size for size, keep in rows])

    for wanted in range(free.total + 2):
        assert Tally(every).reach(wanted, held) == free.reach(wanted)


def test_a_change_costs_logarithmic_work() -> None:
    """Counted in nodes of the tree that change, at a million numbers."""
    sums = Tally([1] * 1_000_000)
    before = sums._tree.tobytes()

    sums.add(3, 1)

    after = sums._tree.tobytes()
    changed = sum(
        before[at : at + 8] != after[at : at + 8] for at in range(0, len(before), 8)
    )
    assert changed <= 20
