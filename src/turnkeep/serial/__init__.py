"""Our own JSON: versioned, deterministic, and able to keep what it does not know.

A document is `{"turnkeep": 1, "messages": [...], ...}`. Messages and blocks are tagged
by short names that outlive our class names, fields at their default are left out, and
keys of a newer version are kept and written back. `dump_messages` and `load_messages`
turn messages into such a document and back; `dumps` and `loads` turn a document into
bytes and back, with the same bytes on every machine; `dump_parts` gives the bytes of a
large document one part at a time.

Not public as a whole: the functions of the reference ("Our JSON") are, no more.
"""

from ._bytes import MAX_BYTES, dumps, loads
from ._document import (
    MIGRATIONS,
    SCHEMA,
    dump_messages,
    dump_parts,
    load_document,
    load_messages,
    migrate,
)
from ._dump import BLOCK_FIELDS, MESSAGE_FIELDS, UNKNOWN, dump_block, dump_message
from ._files import write_atomic
from ._load import load_block, load_message
from ._records import converter, structure, unstructure

__all__ = [
    "BLOCK_FIELDS",
    "MAX_BYTES",
    "MESSAGE_FIELDS",
    "MIGRATIONS",
    "SCHEMA",
    "UNKNOWN",
    "converter",
    "dump_block",
    "dump_message",
    "dump_messages",
    "dump_parts",
    "dumps",
    "load_block",
    "load_document",
    "load_message",
    "load_messages",
    "loads",
    "migrate",
    "structure",
    "unstructure",
    "write_atomic",
]
