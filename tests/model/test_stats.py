"""Tests for `turnkeep.model._stats`."""

from datetime import timedelta
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import GenerationStats, GenerationTotals

records = st.builds(
    GenerationStats,
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.none(),
    st.none(),
    st.none() | st.timedeltas(timedelta(), timedelta(days=1)),
)


def test_one_record_per_generation() -> None:
    """Tokens, speed, time to the first token and duration."""
    stats = GenerationStats.timed(10, 100, first_token_seconds=0.25, seconds=2.0)

    assert stats == GenerationStats(
        tokens_generated=10,
        prompt_tokens=100,
        tokens_per_second=5.0,
        time_to_first_token=timedelta(milliseconds=250),
        duration=timedelta(seconds=2),
    )


def test_times_that_nobody_measured_stay_unset() -> None:
    """And no speed is made up; a generation that took no time has none."""
    assert GenerationStats.timed(1, 2) == GenerationStats(1, 2)
    assert GenerationStats.timed(1, 2, seconds=0.0).tokens_per_second is None


@given(st.lists(records), st.randoms())
def test_sums_are_always_exact_and_independent_of_order(
    stats: list[GenerationStats], random: object
) -> None:
    """However many, in whatever order."""
    shuffled = list(stats)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    total = GenerationTotals.of(stats)

    assert total == GenerationTotals.of(shuffled)
    assert total.generations == len(stats)
    assert total.tokens_generated == sum(s.tokens_generated for s in stats)
    assert total.prompt_tokens == sum(s.prompt_tokens for s in stats)
    exact = sum(
        (
            Fraction(s.duration // timedelta(microseconds=1))
            for s in stats
            if s.duration
        ),
        Fraction(0),
    )
    assert total.duration == timedelta(microseconds=int(exact))


def test_tenths_of_a_second_add_up() -> None:
    """Floats would not."""
    total = GenerationTotals.of([GenerationStats.timed(1, 0, seconds=0.1)] * 10)

    assert total.duration == timedelta(seconds=1)
    assert total.tokens_per_second == 10.0


def test_speed_counts_only_what_was_timed() -> None:
    """A generation without duration does not make the others faster."""
    timed = GenerationStats.timed(10, 0, seconds=2.0)
    total = GenerationTotals.of([timed, GenerationStats(90, 0)])

    assert total.tokens_per_second == 5.0
    assert GenerationTotals().tokens_per_second is None
