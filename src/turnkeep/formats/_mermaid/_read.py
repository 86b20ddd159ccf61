from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from turnkeep.model import (
    EMPTY,
    Block,
    Message,
    Opaque,
    Role,
    Thinking,
    ToolResult,
    trusted_message,
    trusted_text,
)

from .._fields import (
    CARRIED,
    call_of,
    carried,
    checked,
    read_time,
    required,
    text_blocks,
    write_time,
)
from .._shape import MARKS, ResultText, frozen, kind_of_text
from .._wire import rest
from ._names import (
    CALL,
    CARRIED_FIELDS,
    FUNCTION,
    MESSAGE,
    NAME,
    ROLES,
)
from ._parts import (
    read_continuation,
    read_images,
)

_CARRIED = frozenset({CARRIED})
_SPEAKERS = ("User", "Assistant", "System")
_UNSET = (
    "metadata",
    "thinking",
    "images",
    "image_numbers",
    "tool_calls",
    "tool_call_id",
    "tool_name",
    "provider_continuation",
)
_nulls = itemgetter(*_UNSET)
_NULLS = (None,) * len(_UNSET)


def read_short(entry: Any, path: str) -> Message | None:
    """The message of an entry that is one text in today's spelling; none for others."""
    if type(entry) is not dict or len(entry) != len(MESSAGE.keys):
        return None
    name, text, spelled = (
        entry.get("role"),
        entry.get("content"),
        entry.get("timestamp"),
    )
    if (
        type(text) is not str
        or type(name) is not str
        or type(spelled) is not str
        or not text
        or name not in _SPEAKERS
        or text.startswith(MARKS)
        or not MESSAGE.keys.issuperset(entry)
        or entry["kind"] != "normal"
        or entry["actions"] != []
        or _nulls(entry) != _NULLS
    ):
        return None
    when = read_time(spelled, f"{path}.timestamp")
    if write_time(when) != spelled:
        return None
    said = (trusted_text(text),)
    return trusted_message(ROLES[name], said, timestamp=when, layout=NAME)


def read_message(entry: Any, path: str) -> Message:
    """The message that a Mermaid entry says.

    Raises:
        FormatError: With the path of the offending value below *path*.
    """
    found = MESSAGE.read(entry, "a message", path)
    role, text = ROLES.get(found["role"], Role.SYSTEM), found["content"]
    ours: dict[str, Any] = {} if found["role"] in ROLES else {"role": found["role"]}
    images, numbers = read_images(entry, path)
    if numbers is not None:
        ours["image_numbers"] = numbers
    if actions := _read_actions(found["actions"], path):
        ours["actions"] = actions
    fields = _read_metadata(entry, ours, path)
    native = None if found["kind"] == "normal" else found["kind"]
    fields.setdefault("kind", kind_of_text(text) or native)
    said: tuple[Block, ...]
    if role is Role.TOOL_RESULT:
        said = (_read_result(found, images),)
    else:
        said = (*text_blocks(text), *images)
    return trusted_message(
        role,
        (*_read_thinking(found, path), *said, *_read_calls(found, path)),
        timestamp=found["timestamp"],
        extra=MESSAGE.rest(entry, path),
        layout=NAME,
        **fields,
    )


def _read_result(found: dict[str, Any], images: Sequence[Block]) -> ToolResult:
    said = ResultText.read(found["content"])
    return ToolResult(
        found["tool_call_id"],
        (*text_blocks(said.text), *images),
        is_error=said.is_error,
        pending=said.pending,
        interim=said.interim,
        tool_name=found["tool_name"],
    )


def _read_actions(actions: list[Any], path: str) -> list[Any]:
    for nth, action in enumerate(actions):
        where = f"{path}.actions[{nth}]"
        required(checked(action, "an action", dict, where), "action_type", str, where)
    return actions


def _read_metadata(
    entry: dict[str, Any], ours: dict[str, Any], path: str
) -> dict[str, Any]:
    """Fields said by the metadata; what is no object of the host's joins *ours*."""
    where = f"{path}.metadata"
    host = entry.get("metadata")
    fields: dict[str, Any] = {}
    metadata = EMPTY
    if isinstance(host, dict):
        fields = carried(host.get(CARRIED), f"{where}.{CARRIED}", CARRIED_FIELDS)
        metadata = rest(host, _CARRIED, where)
        if NAME in metadata:
            ours["metadata"], metadata = metadata, EMPTY
    elif host is not None:
        ours["metadata"] = frozen(host, where)
    if ours:
        metadata = frozen({**metadata, NAME: ours}, path)
    return {"metadata": metadata, **fields}


def _read_thinking(found: dict[str, Any], path: str) -> list[Block]:
    text, continuation = found["thinking"], found["provider_continuation"]
    if continuation is None:
        return [] if text is None else [Thinking(text)]
    where = f"{path}.provider_continuation"
    signature, extra, opaque = read_continuation(continuation, where)
    blocks: list[Block] = []
    if text is not None or signature is not None:
        blocks.append(Thinking(text or "", signature, extra=extra))
    if opaque is not None:
        blocks.append(Opaque(opaque, NAME))
    return blocks


def _read_calls(found: dict[str, Any], path: str) -> list[Block]:
    calls: list[Block] = []
    for nth, record in enumerate(found["tool_calls"] or ()):
        where = f"{path}.tool_calls[{nth}]"
        call = CALL.read(record, "a tool call", where)
        function = FUNCTION.read(call["function"], "function", f"{where}.function")
        extra = CALL.rest(record, where)
        if inner := FUNCTION.rest(call["function"], f"{where}.function"):
            extra = frozen({**extra, "function": inner}, where)
        calls.append(call_of(call["id"], **function, extra=extra))
    return calls
