"""Counting tokens: texts exactly or honestly, requests by each provider's rule."""

from ._base import Parts, RequestCounter, TextCounter
from ._estimate import ApproximateCounter
from ._factory import request_counter, text_counter
from ._tiktoken import TiktokenCounter

__all__ = [
    "ApproximateCounter",
    "Parts",
    "RequestCounter",
    "TextCounter",
    "TiktokenCounter",
    "request_counter",
    "text_counter",
]
