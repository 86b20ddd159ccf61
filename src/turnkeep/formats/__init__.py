"""JSON shapes for message lists: one file per format, found by name.

`get_format("anthropic")` gives a `Format`, whose `decode` and `encode` take the
provider's own entries apart and put them together again, key for key. A format's module
loads on first use.
"""

from turnkeep.model import paused_gc

from ._base import Envelope, Format, Match
from ._registry import FORMATS, get_format

__all__ = ["FORMATS", "Envelope", "Format", "Match", "get_format", "paused_gc"]
