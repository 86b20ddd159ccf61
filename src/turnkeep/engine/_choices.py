"""The words that options take, one vocabulary for functions, manager and commands."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

OpenCalls: TypeAlias = Literal["stand-in", "keep", "raise"]
"""What windows do about open calls that other messages follow: a stand-in answers them
there, they are sent bare, or `OpenCallError`."""

Overflow: TypeAlias = Literal["shorten", "raise", "send"]
"""What happens where what must stay does not fit: tool results are shortened, largest
first, and only then comes `BudgetExceededError`; the error at once; or it is sent all
the same, with a warning."""

OnInvalid: TypeAlias = Literal["repair", "raise", "keep"]
"""What happens to results without their call, second results and the like: windows
leave them out, `InvalidHistoryError`, or nothing."""

CacheMarking: TypeAlias = Literal["keep", "place", "drop"]
"""What becomes of the marks of the provider's prompt cache: they are left alone, set
where they pay, or removed."""

OPEN_CALLS: Final = ("stand-in", "keep", "raise")
OVERFLOW: Final = ("shorten", "raise", "send")
ON_INVALID: Final = ("repair", "raise", "keep")

CACHE_MARKS: Final = ("keep", "place", "drop")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a *value* of option *name* that is none of *choices*.

    Raises:
        ValueError: It is none.
    """
    if value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}, got {value!r}"
        raise ValueError(msg)


def check_text(name: str, value: object) -> None:
    """Refuse a *value* of option *name* that says nothing.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty.
    """
    if not isinstance(value, str):
        msg = f"{name} must be a text, got {value!r}"
        raise TypeError(msg)
    if not value.strip():
        msg = f"{name} must say something, got {value!r}"
        raise ValueError(msg)
