"""JSON shapes for message lists: one file per format, found by name.

`get_format("anthropic")` gives a `Format`, whose `decode` and `encode` take the
provider's own entries apart and put them together again, key for key. A format's module
loads on first use. `detect` finds the format of a value, `read` the value of a file.
"""

from turnkeep.model import paused_gc

from ._base import (
    Detection,
    Envelope,
    Format,
    Match,
    decode_entries,
    is_own,
    layout_of,
    origin_of,
)
from ._convert import Conversion, Loss, convert_value
from ._detect import detect, format_of_model
from ._json_text import parse_json
from ._open import open_value
from ._read import Line, Reading, read, read_entries
from ._registry import FORMATS, get_format

__all__ = [
    "FORMATS",
    "Conversion",
    "Detection",
    "Envelope",
    "Format",
    "Line",
    "Loss",
    "Match",
    "Reading",
    "convert_value",
    "decode_entries",
    "detect",
    "format_of_model",
    "get_format",
    "is_own",
    "layout_of",
    "open_value",
    "origin_of",
    "parse_json",
    "paused_gc",
    "read",
    "read_entries",
]
