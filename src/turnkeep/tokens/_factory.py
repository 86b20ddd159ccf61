"""Choosing a counter by model or name."""

from __future__ import annotations

from ._base import RequestCounter, TextCounter
from ._estimate import ApproximateCounter
from ._models import encoding_of, family_of
from ._tiktoken import TiktokenCounter


def text_counter(model: str | None = None, name: str | None = None) -> TextCounter:
    """The best counter for *model*, or the one called *name*."""
    if name is not None:
        if name.startswith("approximate"):
            return ApproximateCounter(name.partition("-")[2] or "generic")
        return TiktokenCounter(name)
    if model is None:
        return TiktokenCounter()
    found = encoding_of(model)
    return ApproximateCounter(family_of(model)) if found is None else TiktokenCounter(found)


def request_counter(
    *, format: str = "openai", model: str | None = None, text: TextCounter | None = None  # noqa: A002
) -> RequestCounter:
    """The counter of whole requests."""
    from ._openai import OpenAIRequestCounter  # noqa: PLC0415

    return OpenAIRequestCounter(text or text_counter(model), model)
