"""Examples leave nothing behind."""

from collections.abc import Iterator

import pytest

from turnkeep.plans.telemetry import logger


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    """What an example says about logging holds for that example alone."""
    handlers, level = logger.handlers[:], logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
