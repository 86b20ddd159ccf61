"""The one table of providers, and the one reading of model names.

What maps a provider's name to its format, profile, counting rule or models stands here
and nowhere else; the registries of `formats`, `profiles` and `tokens` are made from it.
A new provider is its own files and one row (see CONTRIBUTING.md). Not public.
"""

from __future__ import annotations

from ._caching import cache_minimum, cache_ttl, takes_breakpoints
from ._names import ModelName, format_of_model, parse_model, provider_of
from ._table import (
    CHAT_FORMATS,
    OPEN_COUNTING,
    PROVIDERS,
    CacheMarks,
    Family,
    Provider,
    by_format,
    load,
)

__all__ = [
    "CHAT_FORMATS",
    "OPEN_COUNTING",
    "PROVIDERS",
    "CacheMarks",
    "Family",
    "ModelName",
    "Provider",
    "by_format",
    "cache_minimum",
    "cache_ttl",
    "format_of_model",
    "load",
    "parse_model",
    "provider_of",
    "takes_breakpoints",
]
