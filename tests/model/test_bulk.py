"""Tests for pausing the garbage collector in bulk work."""

import gc

import pytest

from turnkeep.model import paused_gc


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_as_before(was_on: bool) -> None:
    """On or off, nested or not, whether or not the work failed."""
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()

        with paused_gc():
            assert not gc.isenabled()
            with paused_gc():
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled() is was_on

        with pytest.raises(KeyError), paused_gc():
            raise KeyError
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()
