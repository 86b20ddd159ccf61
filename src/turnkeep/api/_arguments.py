"""What the functions take: the types, the defaults, and names that people bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Final, TypeAlias, TypedDict, TypeVar, cast

from turnkeep.budgets import Budget
from turnkeep.engine import CacheMarking, OnInvalid, OpenCalls, Overflow
from turnkeep.model import PinScope
from turnkeep.model._checks import near
from turnkeep.profiles import Profile
from turnkeep.strategies import Strategy
from turnkeep.tokens import RequestCounter, TextCounter

Entry = TypeVar("Entry")
"""A message in the caller's own shape: a dict, a `Message`, an object of an SDK."""

Body = TypeVar("Body", bound=Mapping[str, Any])
"""A request body: what goes in comes out."""

Messages: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""A list of messages in any format, or a request body."""

Pinned: TypeAlias = str | int | Iterable[str | int] | Callable[[Any], object]
"""Ids, indexes (negative ones count from the end), or a predicate on a message."""

Interim: TypeAlias = str | Iterable[str] | Callable[[Any], object]
"""Ids of calls, or a predicate on a message that carries results."""

TokenCounter: TypeAlias = TextCounter | RequestCounter | str | Callable[[Any], int]
"""One of our counters, the name of one, or tokens of one message."""


class Options(TypedDict, total=False):
    """The keywords of `fit`, for functions that hand them on."""

    budget: Budget | int | None
    model: str | None
    format: str | None
    profile: str | Profile | None
    strategy: Strategy | str | None
    tools: Any
    system: Any
    pinned: Pinned
    pin_scope: PinScope
    pending: str | Iterable[str] | None
    interim: Interim
    drop_system: bool
    token_counter: TokenCounter | None
    stand_in_text: str | None
    on_invalid: OnInvalid
    open_calls: OpenCalls
    on_overflow: Overflow
    cache_marks: CacheMarking


_BUDGET: Final = "it belongs to the budget: budget=Budget(8_000, {}=...)"
_WINDOW: Final = (
    "turns go whole, so that a window begins with a system or user message and ends as "
    "the history does; leave it out"
)
_SHORTER: Final = (
    "a long tool result is shortened by strategy='truncate-tool-results | chat'; "
    "messages of people are never cut"
)

_ELSEWHERE: Final[Mapping[str, str]] = {
    "include_system": "system messages stay; drop_system=True lets later ones go",
    "start_on": _WINDOW,
    "end_on": _WINDOW,
    "allow_partial": _SHORTER,
    "text_splitter": _SHORTER,
    "messages_to_keep": "pass pinned= with ids, indexes or a predicate",
    **{
        name: _BUDGET.format(name)
        for name in (
            "max_images",
            "max_messages",
            "max_turns",
            "prices",
            "reserve",
            "target",
            "trigger",
        )
    },
}
"""Arguments that people bring from elsewhere, and what to write instead."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_hints(function: _Function) -> _Function:
    """*function*, whose error about an unknown keyword names the right one."""
    known = frozenset(signature(function).parameters)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not known.issuperset(options):
            unknown = next(name for name in options if name not in known)
            raise TypeError(_no_option(function.__name__, unknown, known))
        return function(*args, **options)

    return cast("_Function", call)


def _no_option(function: str, name: str, known: Iterable[str]) -> str:
    """What is said of a keyword that *function* does not take."""
    said = f"{function}() got an unexpected keyword argument {name!r}"
    if name in _ELSEWHERE:
        return f"{said}: {_ELSEWHERE[name]}"
    return said + near(name, known)


def check_several(name: str, value: object) -> None:
    """Refuse what is neither one id nor several.

    Raises:
        TypeError: It is neither.
    """
    if not isinstance(value, (str, int, Iterable)) or isinstance(value, (bytes, bool)):
        msg = f"{name} takes ids, not {value!r}"
        raise TypeError(msg)


def check_calls(name: str, value: object) -> None:
    """Refuse what names no calls.

    Raises:
        TypeError: It is no id, and no list of ids.
    """
    check_several(name, value)
    ids = [value] if isinstance(value, (str, int)) else value
    for one in ids:  # type: ignore[attr-defined]
        if not isinstance(one, str):
            msg = f"{name} takes the ids of calls as text, not {one!r}"
            raise TypeError(msg)


def budget_of(max_tokens: int | None, budget: Budget | int | None) -> Budget | None:
    """The budget that was asked for; none where the model's window is to be taken.

    Raises:
        ValueError: It is given twice, or out of its range.
        TypeError: It is no budget.
    """
    if max_tokens is not None and budget is not None:
        msg = "pass max_tokens= or budget=, not both"
        raise ValueError(msg)
    if max_tokens is not None:
        return Budget(max_tokens)
    return None if budget is None else Budget.of(budget)


_ANSWERS: Final[Sequence[tuple[str, ...]]] = (
    ("max_completion_tokens",),
    ("max_output_tokens",),
    ("max_tokens",),
    ("generationConfig", "maxOutputTokens"),
    ("inferenceConfig", "maxTokens"),
    ("options", "num_predict"),
)
"""Where a request body says how long its answer may be, in the providers' shapes."""


def answer_room(body: object) -> int | None:
    """Tokens that a request body leaves for its answer; none where it does not say."""
    for path in _ANSWERS:
        value = body
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
