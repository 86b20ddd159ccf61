from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import BLOCK_TYPES, Block, Content, FrozenDict, Message

from ._dump import dump_block, dump_message
from ._load import below, frozen, load_block, load_message, timestamp, wrong

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")

_DEEPER = "\0"
# Between a reason and the rest of its path: cattrs knows the path down to our hooks.


@cache
def converter() -> Converter:
    """The cattrs converter of our JSON, made on first use.

    It knows messages, blocks, frozen JSON and times; other attrs classes go by their
    fields, those at their default left out. Register further hooks on a `copy()`.
    """
    # cattrs takes 50 ms to import, and most uses of turnkeep never save anything.
    from cattrs import Converter  # noqa: PLC0415

    made = Converter(omit_if_default=True, forbid_extra_keys=True)
    made.register_unstructure_hook(Message, dump_message)
    made.register_structure_hook(Message, lambda value, _: load_message(value))
    for kind in BLOCK_TYPES:
        made.register_unstructure_hook(kind, dump_block)
        made.register_structure_hook(kind, _block)
    for union in (Block, Content):
        made.register_structure_hook(union, lambda value, _: load_block(value))
    made.register_unstructure_hook(datetime, datetime.isoformat)
    made.register_structure_hook(datetime, lambda value, _: timestamp(value))
    made.register_unstructure_hook(FrozenDict, lambda value: value)
    made.register_structure_hook(FrozenDict, lambda value, _: frozen(value))
    # cattrs would turn 1 into "1" and "no" into True.
    for plain in (str, int, float, bool):
        made.register_structure_hook(plain, _strict)
    return made


def unstructure(value: Any) -> Any:
    """*value* (an attrs object, a message, a collection of them) as plain JSON."""
    return converter().unstructure(value)


def structure(value: Any, wanted: type[T], path: str = "$") -> T:
    """The *wanted* object that *value* says.

    Raises:
        FormatError: With the path of the first offending value below *path*.
    """
    from cattrs import BaseValidationError, transform_error  # noqa: PLC0415

    if attrs.has(wanted) and not isinstance(value, dict):
        raise below(wrong("an object", value), path)
    if get_origin(wanted) is tuple and not isinstance(value, (list, tuple)):
        raise below(wrong("a list", value), path)
    try:
        return converter().structure(value, wanted)
    except FormatError as error:
        raise below(error, path) from None
    except BaseValidationError as error:
        told, _, where = transform_error(error, path, _say)[0].rpartition(" @ ")
        reason, _, deeper = told.partition(_DEEPER)
        raise FormatError(reason, where + deeper) from None


def _block(value: Any, wanted: type[T]) -> T:
    block = load_block(value)
    if not isinstance(block, wanted):
        expected = f"a block that is a {wanted.__name__}"
        raise wrong(expected, value)
    return block


def _strict(value: Any, wanted: type[Any]) -> Any:
    # An integer is a fine float: JSON has one kind of number.
    if type(value) is wanted or (wanted is float and type(value) is int):
        return value
    raise wrong(_WORDS[wanted], value)


_WORDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _say(error: BaseException, _wanted: type | None) -> str:
    """What cattrs found wrong, in words; its own sentence where we have none."""
    if isinstance(error, FormatError):
        return f"{error.reason}{_DEEPER}{error.path[1:]}"
    from cattrs.v import format_exception  # noqa: PLC0415

    return format_exception(error, _wanted)
