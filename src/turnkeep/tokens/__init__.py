"""Counting tokens: texts exactly or honestly, requests by each provider's rule.

Importing this loads neither a tokenizer nor a vocabulary: the first count does.

- Texts: `text_counter` chooses among `TiktokenCounter`, `FastCounter` (exact),
  `ApproximateCounter` (an estimate), `HuggingFaceCounter`, `MistralCounter` and
  `CallableCounter`.
- Requests: `request_counter` adds what a provider adds: overhead, tool definitions,
  images, documents.
- What providers report: `Usage` reads it, `Calibration` learns from it;
  `read_exceeded` reads that a request was too long.
- Many at once: `count_till`, `count_many`, `Memo`.
"""

from ._adapters import CallableCounter, HuggingFaceCounter, MistralCounter
from ._base import Parts, RequestCounter, TextCounter
from ._calibration import Calibration
from ._estimate import ApproximateCounter
from ._exceeded import ContextExceeded, read_exceeded
from ._factory import request_counter, text_counter
from ._fast import FastCounter
from ._many import Memo, count_many, count_till
from ._media import image_size
from ._tiktoken import TiktokenCounter
from ._usage import Usage, request_tokens

__all__ = [
    "ApproximateCounter",
    "Calibration",
    "CallableCounter",
    "ContextExceeded",
    "FastCounter",
    "HuggingFaceCounter",
    "Memo",
    "MistralCounter",
    "Parts",
    "RequestCounter",
    "TextCounter",
    "TiktokenCounter",
    "Usage",
    "count_many",
    "count_till",
    "image_size",
    "read_exceeded",
    "request_counter",
    "request_tokens",
    "text_counter",
]
