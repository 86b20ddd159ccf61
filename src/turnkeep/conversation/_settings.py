"""The keywords of a conversation, for what makes one and hands them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from turnkeep.budgets import Budget
from turnkeep.engine import CacheMarking, OnInvalid, OpenCalls, Overflow
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._counting import TokenCounter


class Beside(TypedDict, total=False):
    """What says nothing about the messages that a conversation begins with."""

    budget: Budget | int | None
    profile: str | None
    strategy: Strategy | str | None
    token_counter: TokenCounter | None
    stand_in_text: str | None
    on_invalid: OnInvalid
    open_calls: OpenCalls
    on_overflow: Overflow
    cache_marks: CacheMarking
    on_prune: Callable[[Plan], object] | None


class Settings(Beside, total=False):
    """All of them; `Conversation` says what each is."""

    model: str | None
    format: str | None
    tools: Any
