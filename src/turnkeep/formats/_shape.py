from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import (
    BRIDGE,
    DIGEST,
    EMPTY,
    INTERIM,
    PENDING,
    PINNED,
    SUMMARY,
    FrozenDict,
    UnfitValueError,
    freeze,
    mark,
    marker_of,
    unmark,
)

ERROR = "[turnkeep:error]"
"""First line of a failed tool's result, in formats that have no flag for it."""

ERROR_TEXT = "tool error: "
"""How a failed tool's text may begin by itself: then no line is added."""

MARKS = "[turnkeep:"
"""How every first line of ours begins: cheap to look for."""

_KINDS = {
    SUMMARY: "summary",
    DIGEST: "digest",
    PINNED: "pin_copy",
    BRIDGE: "bridge",
}
_BASE64 = (string.ascii_letters + string.digits + "+/").encode()
_DATA_URL = re.compile(r"data:([^;,]*);base64,", re.IGNORECASE)


def json_type(value: Any) -> str:
    """What *value* is called in JSON: for messages to people."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
        case list() | tuple():
            return "an array"
        case _:
            # Clients return objects of their own, and know how to make JSON of them.
            way_out = "; call its model_dump()" if hasattr(value, "model_dump") else ""
            return f"a Python {type(value).__name__}{way_out}"


def wrong(what: str, expected: str, value: Any, path: str) -> FormatError:
    """The error for a value of the wrong type: what it is, and what it must be."""
    return FormatError(f"{what} must be {expected}, got {json_type(value)}", path)


PLACEHOLDERS: Final = frozenset({"__fake_id__"})
"""Ids that an SDK gives to every item, which are none (openai-agents:
`FAKE_RESPONSES_ID`)."""


def is_placeholder(identity: object) -> bool:
    """Whether what stands where an id stands is none."""
    return type(identity) is str and identity in PLACEHOLDERS


def names_call(entry: Mapping[str, Any]) -> bool:
    """Whether an entry's id is that of the call it answers: a local shell's output."""
    return (
        entry.get("type") == "local_shell_call_output" and entry.get("call_id") is None
    )


def real_id(identity: object) -> str | None:
    """The id that stands there, if it is one."""
    if not isinstance(identity, str) or identity in PLACEHOLDERS:
        return None
    return identity or None


def as_object(value: Any, what: str, path: str) -> dict[str, Any]:
    """*value*, which must be an object.

    Raises:
        FormatError: It is not.
    """
    if not isinstance(value, dict):
        raise wrong(what, "an object", value, path)
    return value


def as_array(value: Any, what: str, path: str) -> Sequence[Any]:
    """*value*, which must be an array.

    Raises:
        FormatError: It is not.
    """
    if not isinstance(value, (list, tuple)):
        raise wrong(what, "an array", value, path)
    return value


def as_text(value: Any, what: str, path: str) -> str:
    """*value*, which must be a string.

    Raises:
        FormatError: It is not.
    """
    if not isinstance(value, str):
        raise wrong(what, "a string", value, path)
    return value


def frozen(value: Any, path: str, below: str = "") -> Any:
    """*value*, which stands *below* *path*, frozen.

    Raises:
        FormatError: JSON cannot say it, with the path of the part that does not fit.
    """
    try:
        return freeze(value)
    except UnfitValueError as error:
        raise FormatError(error.reason, f"{path}{below}{error.path}") from None


def frozen_object(value: dict[str, Any], path: str) -> FrozenDict:
    """*value* frozen; the shared empty object when it has no keys."""
    if not value:
        return EMPTY
    made: FrozenDict = frozen(value, path)
    return made


def kind_of_text(text: str) -> str | None:
    """The kind of a message of ours that says *text* and no more, by its first line."""
    if not text.startswith(MARKS):
        return None
    marker = marker_of(text)
    return None if marker is None else _KINDS.get(marker)


@attrs.frozen
class ResultText:
    """The text of a tool result, and what its first lines said."""

    text: str
    """Without those lines."""
    pending: bool = False
    interim: bool = False
    is_error: bool = False

    @classmethod
    def read(cls, text: str) -> ResultText:
        r"""Take the fixed first lines off *text*.

        >>> ResultText.read("[turnkeep:pending 02a2e08b]\nstarted")
        ResultText(text='started', pending=True, interim=False, is_error=False)
        """
        if not text.startswith(MARKS):
            return cls(text, is_error=text.startswith(ERROR_TEXT))
        marker = marker_of(text)
        pending, interim = marker == PENDING, marker == INTERIM
        if pending or interim:
            text = unmark(text)
        first, newline, rest = text.partition("\n")
        if newline and first == ERROR:
            return cls(rest, pending, interim, is_error=True)
        return cls(text, pending, interim, is_error=text.startswith(ERROR_TEXT))

    def write(self) -> str:
        """The text with its first lines."""
        text = self.text
        if self.is_error and not text.startswith(ERROR_TEXT):
            text = f"{ERROR}\n{text}"
        if self.pending:
            return mark(PENDING, text)
        return mark(INTERIM, text) if self.interim else text


def split_data_url(url: str, path: str) -> tuple[str, str] | None:
    """Media type and base64 data of a `data:` address; none for any other address.

    Raises:
        FormatError: The base64 is damaged. Linear in its length.
    """
    if not url.startswith("data:"):
        return None
    found = _DATA_URL.match(url)
    if found is None or not found[0].endswith(";base64,"):
        return None
    data = url[found.end() :]
    check_base64(data, path)
    return found[1], data


def check_base64(data: str, path: str) -> None:
    """Refuse truncated or damaged base64; linear in its length.

    Raises:
        FormatError: It cannot be decoded.
    """
    # Deleting the alphabet is the fastest look at every character that there is.
    left = data.encode("ascii", "replace").translate(None, _BASE64)
    if (
        len(data) % 4
        or left not in {b"", b"=", b"=="}
        or not data.endswith(left.decode())
    ):
        reason = f"base64 of {len(data)} characters is damaged or truncated"
        raise FormatError(reason, path)


def json_text(value: Any) -> str:
    """*value* as the text that stands for it, the same as `Message.text` has."""
    return json.dumps(value, ensure_ascii=False)


def compact(value: Any) -> str:
    """*value* as JSON text without white space, for text that holds JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
