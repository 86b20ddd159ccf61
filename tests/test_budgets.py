"""Tests for `turnkeep.Budget` and `turnkeep.Prices`."""

from datetime import timedelta
from typing import Any

import pytest

from turnkeep import Budget, Prices
from turnkeep.providers import cache_minimum, cache_ttl, takes_breakpoints


@pytest.mark.parametrize(
    ("model", "read", "write", "ttl"),
    [
        ("claude-opus-4-8", 0.1, 1.25, timedelta(minutes=5)),
        ("claude-fable-5-1", 0.025, 1.25, timedelta(minutes=5)),
        ("claude-opus-5-5", 0.05, 1.25, timedelta(minutes=5)),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            0.1,
            1.25,
            timedelta(minutes=5),
        ),
        ("gpt-5.6", 0.1, 1.25, timedelta(minutes=30)),
        ("gpt-4o", 0.5, 1.0, timedelta(days=1)),
        ("gpt-4.1", 0.25, 1.0, timedelta(days=1)),
        ("grok-4", 0.25, 1.0, None),
    ],
)
def test_each_model_has_prices_of_its_own(
    model: str, read: float, write: float, ttl: timedelta | None
) -> None:
    """Reads from 0.025 to 0.5 of a plain token; writes that cost nothing more are 1."""
    prices = Budget.for_model(model).prices

    assert prices is not None
    assert prices.read == pytest.approx(read)
    assert prices.write == pytest.approx(write)
    assert prices.ttl == ttl


def test_an_hour_of_cache_costs_more_to_write() -> None:
    prices = Budget.for_model("claude-opus-5", ttl=timedelta(hours=1)).prices

    assert prices == Prices(0.1, 2.0, timedelta(hours=1))


def test_a_model_without_a_cache_has_no_prices() -> None:
    assert Budget.for_model("gpt-4-turbo").prices is None


@pytest.mark.parametrize(
    ("ttl", "error"),
    [(300, TypeError), (timedelta(0), ValueError), (timedelta(-1), ValueError)],
)
def test_a_life_is_a_length_of_time(ttl: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="ttl must be"):
        Prices(ttl=ttl)


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        ("claude-fable-5-1", 512),
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-sonnet-4-5-20250929", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-3-5-haiku-20241022", 2_048),
        ("claude-opus-4-6", 4_096),
        ("claude-haiku-4-5", 4_096),
        ("amazon.nova-pro-v1:0", 1_000),
        ("gpt-5.6", 1_024),
        ("claude-haiku-5-5", 1_024),
        (None, 1_024),
    ],
)
def test_a_model_caches_from_a_length_on(model: str | None, minimum: int) -> None:
    """Unknown ones as most do."""
    assert cache_minimum(model) == minimum


def test_bedrock_has_a_figure_of_its_own() -> None:
    model = "us.anthropic.claude-opus-4-7-v1:0"

    assert cache_minimum(model, on_bedrock=True) == 4_096
    assert cache_ttl(model) == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gpt-5.6", True),
        ("openai/gpt-6-mini", True),
        ("gpt-5.5", False),
        ("gpt-4o", False),
        ("o3", False),
        ("claude-opus-5", False),
        (None, False),
    ],
)
def test_breakpoints_came_with_a_version(model: str | None, *, takes: bool) -> None:
    assert takes_breakpoints(model) is takes
