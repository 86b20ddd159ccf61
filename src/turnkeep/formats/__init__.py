"""JSON shapes for message lists: one file per format, found by name.

`get_format("anthropic")` gives a `Format`, whose `decode` and `encode` take the
provider's own entries apart and put them together again, key for key. A format's module
loads on first use. `detect` finds the format of a value, `read` the value of a file.
"""

from turnkeep.model import paused_gc as paused_gc
from turnkeep.providers import format_of_model

from ._answers import Answer as Answer
from ._answers import answer_of as answer_of
from ._answers import is_whole as is_whole
from ._answers import join_chunks as join_chunks
from ._base import (
    Detection,
    Envelope,
    Format,
    decode_entries,
    is_own,
    layout_of,
    origin_of,
)
from ._convert import Conversion, Loss
from ._convert import convert_value as convert_value
from ._detect import Match, detect, match_format
from ._json_text import parse_json
from ._marks import Judgement, Marks
from ._objects import read_entry as read_entry
from ._objects import read_objects
from ._opening import open_messages, reopen
from ._read import Line, Reading, read, read_entries
from ._registry import FORMATS, get_format

__all__ = [
    "FORMATS",
    "Conversion",
    "Detection",
    "Envelope",
    "Format",
    "Judgement",
    "Line",
    "Loss",
    "Marks",
    "Match",
    "Reading",
    "decode_entries",
    "detect",
    "format_of_model",
    "get_format",
    "is_own",
    "layout_of",
    "match_format",
    "open_messages",
    "origin_of",
    "parse_json",
    "read",
    "read_entries",
    "read_objects",
    "reopen",
]
