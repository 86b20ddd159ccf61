from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause the garbage collector while many values are made, then restore its state.

    Decoding makes many small objects that all stay, and nothing in cycles: each pass of
    the collector over them is wasted, and there are many (measured: a factor of two on
    100,000 messages). Nested uses are fine; a collector that was off stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
