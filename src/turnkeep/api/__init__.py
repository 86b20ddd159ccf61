"""The one-shot functions: any format in, the same format out."""

from ._functions import (
    TokenCount,
    check,
    convert,
    count,
    fit,
    plan,
    repair,
    trim_messages,
)

__all__ = [
    "TokenCount",
    "check",
    "convert",
    "count",
    "fit",
    "plan",
    "repair",
    "trim_messages",
]
