from __future__ import annotations

from collections.abc import Callable
from typing import Any


def setter(kind: type, name: str) -> Callable[[object, Any], None]:
    """A slot's own setter: a frozen class lets nobody else write it.

    Going through `object.__setattr__` by name costs three times as much.
    """
    put: Callable[[object, Any], None] = vars(kind)[name].__set__
    return put
