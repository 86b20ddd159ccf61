from __future__ import annotations

from typing import Final

from turnkeep.errors import TokenizerUnavailableError
from turnkeep.providers import (
    OPEN_COUNTING,
    PROVIDERS,
    Provider,
    by_format,
    load,
    parse_model,
    provider_of,
)

from ._adapters import AssumedCounter
from ._base import RequestCounter, TextCounter
from ._estimate import FAMILIES, ApproximateCounter
from ._fast import FastCounter
from ._media_rules import media_rule
from ._models import assumed_encoding_of, encoding_of, family_of
from ._old_thinking import leaves_out_old_thinking
from ._rules import Rules
from ._tiktoken import TiktokenCounter

ASSUMED_MARGIN: Final = 0.1
"""Share by which a tokenizer that is not known yet may count more than the newest one
that is: o200k_base and cl100k_base differ by less on English text and code."""


def text_counter(model: str | None = None, name: str | None = None) -> TextCounter:
    """The best counter of texts for *model*, or the one called *name*.

    Exact where the model's tokenizer is public (with `bpe-openai`, where the extra
    `fast` installed it), else the estimate of its family. Neither reads a vocabulary
    before the first count.

    >>> text_counter("claude-sonnet-4-5")
    ApproximateCounter('claude')
    >>> text_counter(name="approximate").exact
    False

    Args:
        model: Name of a model, with or without its provider; none means gpt-4o.
        name: Name of an encoding (`"o200k_base"`, ...), `"approximate"`, or
            `"approximate-"` and a family.

    Raises:
        TokenizerUnavailableError: *name* is nobody's name.
    """
    if name is not None:
        kind, _, family = name.partition("-")
        if kind != "approximate":
            return _exact(name)
        if family and family not in FAMILIES:
            known = ", ".join(f'"approximate-{one}"' for one in FAMILIES)
            raise TokenizerUnavailableError(name, (f"known estimates: {known}",))
        return ApproximateCounter(family or "generic")
    if model is None:
        return _exact("o200k_base")
    # Families are told apart without importing tiktoken.
    family = family_of(model)
    if family in ("openai", "generic"):
        if (found := encoding_of(model)) is not None:
            return _exact(found)
        if (found := assumed_encoding_of(model)) is not None:
            return AssumedCounter(_exact(found), ASSUMED_MARGIN)
    return ApproximateCounter(family)


def _exact(encoding: str) -> TextCounter:
    if FastCounter.supports(encoding):
        return FastCounter(encoding)
    return TiktokenCounter(encoding)


def request_counter(
    *,
    format: str = "openai",  # noqa: A002 - the word of the whole library
    model: str | None = None,
    text: TextCounter | None = None,
) -> RequestCounter:
    """The counter of whole requests in *format* for *model*.

    The format decides what a message costs beyond its text, the model what pictures
    and documents cost and which tokenizer counts. A format that no provider takes (our
    own, those of other systems) is counted as what the model's provider would get.

    >>> request_counter(format="openai", model="gpt-4o").name
    'o200k_base/openai'

    Args:
        format: Name of a format; unknown ones are counted by the model alone.
        model: Name of a model, with or without its provider.
        text: Counts the texts instead of the model's own counter.
    """
    family = family_of(model) if model is not None else None
    row = by_format(format)
    if row is not None:
        default = row.estimate
    elif family is None:
        row = PROVIDERS["openai"]
        default = row.estimate
    else:
        row, default = provider_of(model), family
    rules = _rules(row, model).for_family(family or default)
    if text is None:
        text = text_counter(model) if model is not None else _default(default)
    # A model nobody knows has no rule for pictures: that of the format's own provider.
    known = default if family in (None, "generic") else family
    counter = rules(
        text, media_rule(known or default, model), media_rule(default, None)
    )
    counter.leaves_out_thinking = leaves_out_old_thinking(model)
    return counter


def _rules(row: Provider | None, model: str | None) -> type[Rules]:
    """The counting rule of *row*; without one, of a model that anyone may serve."""
    if row is not None:
        reference = row.counting
    elif model is not None and parse_model(model).family is not None:
        reference = OPEN_COUNTING
    else:
        return Rules
    rules: type[Rules] = load(reference)
    return rules


def _default(family: str) -> TextCounter:
    """The counter of a format without a model."""
    return text_counter() if family == "openai" else ApproximateCounter(family)
