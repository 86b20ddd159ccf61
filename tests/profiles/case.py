"""What the tables of examples are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

Naive = Callable[[Any], Any]
"""A trim that knows nothing of rules: it gives a request with less in it."""


@attrs.frozen(kw_only=True)
class Case:
    """One rule: a request that keeps it, one that breaks it, a trim that breaks it."""

    rule: str
    good: Any
    """Keeps the rule, and every hard one."""
    bad: Any
    """Breaks the rule."""
    naive: Naive | None = None
    """A trim of *whole* that breaks the rule."""
    whole: Any = None
    """What *naive* trims, where it is not *good*."""
    original: Any = None
    """For edit rules: the request that *good* and *bad* were cut from."""
    model: str | None = None
    profile: str | None = None

    @property
    def id(self) -> str:
        """Its name in reports."""
        return self.rule


def listed(request: Any) -> tuple[str | None, list[Any]]:
    """The key of a request's list, if it is a body, and the list."""
    if isinstance(request, list):
        return None, request
    key = next(key for key in ("messages", "contents", "input") if key in request)
    return key, request[key]


def relist(request: Any, entries: list[Any]) -> Any:
    """The request with other entries."""
    key, _ = listed(request)
    return entries if key is None else {**request, key: entries}


def head(count: int) -> Naive:
    """Cut the oldest *count* entries."""
    return lambda request: relist(request, listed(request)[1][count:])


def tail(count: int) -> Naive:
    """Cut the newest *count* entries."""
    return lambda request: relist(request, listed(request)[1][:-count])


def without(*places: int) -> Naive:
    """Drop the entries at *places*."""

    def naive(request: Any) -> Any:
        entries = listed(request)[1]
        return relist(request, [e for n, e in enumerate(entries) if n not in places])

    return naive


def changed(place: int, **fields: Any) -> Naive:
    """Set *fields* of the entry at *place*: clear its content, say."""

    def naive(request: Any) -> Any:
        entries = list(listed(request)[1])
        entries[place] = {**entries[place], **fields}
        return relist(request, entries)

    return naive


def stripped(place: int, key: str) -> Naive:
    """Remove *key* from the entry at *place*."""

    def naive(request: Any) -> Any:
        entries = list(listed(request)[1])
        entries[place] = {k: v for k, v in entries[place].items() if k != key}
        return relist(request, entries)

    return naive


def moved(place: int, to: int) -> Naive:
    """Put the entry at *place* elsewhere, as sorting by time or size does."""

    def naive(request: Any) -> Any:
        entries = list(listed(request)[1])
        entries.insert(to, entries.pop(place))
        return relist(request, entries)

    return naive


def bare(request: Any) -> Any:
    """Only the list: what stood around it is lost."""
    return listed(request)[1]


def lacking(key: str) -> Naive:
    """The body without one of its settings."""
    return lambda request: {k: v for k, v in request.items() if k != key}
