"""From items of the Responses API to our messages: one item, one message."""

from __future__ import annotations

from typing import Any

from turnkeep.errors import FormatError
from turnkeep.model import (
    EMPTY,
    Block,
    FrozenDict,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    trusted_call,
    trusted_message,
    trusted_result,
    trusted_text,
)

from .._shape import (
    ERROR_TEXT,
    MARKS,
    ResultText,
    as_array,
    as_object,
    as_text,
    frozen,
    frozen_object,
    names_call,
    real_id,
    wrong,
)
from .._wire import kind_of
from ._items import (
    BUILT_IN_CALLS,
    CALLS,
    OUTPUTS,
    REQUEST,
    SETTINGS,
    SHELL,
    call_id_key,
)
from ._outputs import CONSENT, chunks, text_in
from ._parts import NAME, decode_part

_TEXTUAL = frozenset({"function_call_output", "custom_tool_call_output"})
"""Answers of the caller's own tools: text, or content parts."""
_CUSTOM = FrozenDict(type="custom")
_CALL_KEYS = {
    kind: frozenset({"type", "call_id", "name", key}) for kind, key in CALLS.items()
}
_REQUEST_KEYS = frozenset({"type", "id", "name", "arguments"})
_CONSENT_KEYS = frozenset({"approve", "reason"})
_SILENT = ResultText("")
_SPEAKING = (MARKS, ERROR_TEXT)
"""How the text of a result begins that says more than its text."""
_PLAIN = ("system", "user", "assistant")
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}


def decode_item(item: Any, path: str) -> Message:
    """The message of one item.

    Raises:
        FormatError: It is none, with the path of the value that is wrong.
    """
    if type(item) is dict and len(item) == 2:
        # The common case: a role and a text.
        role, content = item.get("role"), item.get("content")
        if type(content) is str and role in _PLAIN and not content.startswith(MARKS):
            return trusted_message(_ROLES[role], (trusted_text(content),), layout=NAME)
    item = as_object(item, "an item", path)
    kind = item.get("type")
    if kind is None and "type" not in item and "role" in item and "content" in item:
        return _message(item, path)
    if item.keys() == {"id"} and isinstance(item["id"], str):
        # A reference to a stored item may leave its type out.
        return _carried(item, Role.ASSISTANT, path)
    if kind is None:
        reason = "an item must have a type (or, a message, a role and content)"
        raise FormatError(reason, path)
    kind = as_text(kind, "the type of an item", f"{path}.type")
    if kind == "message":
        return _message(item, path)
    if kind == "reasoning":
        return _reasoning(item, path)
    if kind in CALLS:
        return _call(item, kind, path)
    if kind in BUILT_IN_CALLS and isinstance(item.get("call_id"), str):
        return _built_in_call(item, kind, path)
    if kind == REQUEST and _is_request(item):
        return _request(item, path)
    linked = item.get(call_id_key(kind, item)) is not None
    if kind == CONSENT and type(item.get("approve")) is not bool:
        linked = False
    if kind in OUTPUTS and linked:
        return _output(item, kind, path)
    role = Role.SYSTEM if kind in SETTINGS else Role.ASSISTANT
    return _carried(item, role, path)


def _carried(item: dict[str, Any], role: Role, path: str) -> Message:
    content = (Opaque(frozen(item, path), NAME),)
    return trusted_message(role, content, id=_id(item), layout=f"{NAME}:item")


def _id(item: dict[str, Any]) -> str | None:
    return None if names_call(item) else real_id(item.get("id"))


def _rest(
    item: dict[str, Any], known: frozenset[str] | set[str], path: str
) -> FrozenDict:
    if known.issuperset(item):
        return EMPTY
    return frozen_object({k: v for k, v in item.items() if k not in known}, path)


def _message(item: dict[str, Any], path: str) -> Message:
    if "role" not in item:
        reason = "a message must have a role"
        raise FormatError(reason, path)
    role = as_text(item["role"], "role", f"{path}.role")
    if role not in _ROLES:
        reason = f"unknown role {role!r}; {NAME} has {', '.join(_ROLES)}"
        raise FormatError(reason, f"{path}.role")
    where = f"{path}.content"
    content = item.get("content")
    details = ["typed"] if "type" in item else []
    if isinstance(content, str):
        blocks: tuple[Block, ...] = (trusted_text(content),)
    elif isinstance(content, (list, tuple)):
        details.append("list")
        blocks = tuple(
            decode_part(part, f"{where}[{nth}]", role)
            for nth, part in enumerate(content)
        )
    else:
        what = "content"
        raise wrong(what, "a string or an array of parts", content, where)
    known = {"type", "content"}
    if role != "developer":
        known.add("role")
    return trusted_message(
        _ROLES[role],
        blocks,
        id=_id(item),
        kind=kind_of(blocks),
        extra=_rest(item, known, path),
        layout=f"{NAME}:{','.join(details)}" if details else NAME,
    )


def _reasoning(item: dict[str, Any], path: str) -> Message:
    known = {"type"}
    data = item.get("encrypted_content")
    if data is not None:
        where = f"{path}.encrypted_content"
        data = as_text(data, "encrypted_content", where)
        known.add("encrypted_content")
    text: list[str] = []
    for key in ("summary", "content"):
        pieces = item.get(key)
        if pieces is None:
            continue
        for nth, piece in enumerate(as_array(pieces, key, f"{path}.{key}")):
            where = f"{path}.{key}[{nth}]"
            said = as_object(piece, f"a part of the {key}", where).get("text")
            text.append(as_text(said, "text", f"{where}.text"))
        if text:
            # The summary says in short what the content says at length.
            break
    block = Thinking("\n".join(text), data=data, extra=_rest(item, known, path))
    return trusted_message(Role.ASSISTANT, (block,), id=_id(item), layout=NAME)


def _call(item: dict[str, Any], kind: str, path: str) -> Message:
    key = CALLS[kind]
    for needed in ("call_id", "name", key):
        if type(item.get(needed)) is str:
            continue
        if needed not in item:
            reason = f"an item of type {kind} must have {needed}"
            raise FormatError(reason, path)
        as_text(item[needed], needed, f"{path}.{needed}")
    extra = _CUSTOM if kind == "custom_tool_call" else EMPTY
    return trusted_message(
        Role.ASSISTANT,
        (trusted_call(item["call_id"], item["name"], item[key], extra),),
        id=_id(item),
        extra=_rest(item, _CALL_KEYS[kind], path),
        layout=NAME,
    )


def _built_in_call(item: dict[str, Any], kind: str, path: str) -> Message:
    # OpenAI's own tools have arguments of many shapes: everything else is the argument.
    arguments = _rest(item, {"type", "call_id"}, path)
    name = kind.removesuffix("_call")
    call = ToolCall(item["call_id"], name, arguments, extra=FrozenDict(type=kind))
    return trusted_message(Role.ASSISTANT, (call,), id=_id(item), layout=NAME)


def _is_request(item: dict[str, Any]) -> bool:
    return all(type(item.get(key)) is str for key in ("id", "name", "arguments"))


def _request(item: dict[str, Any], path: str) -> Message:
    """A request for approval: a call whose answer is a person's consent."""
    kind = FrozenDict(type=REQUEST)
    call = trusted_call(item["id"], item["name"], item["arguments"], kind)
    extra = _rest(item, _REQUEST_KEYS, path)
    return trusted_message(
        Role.ASSISTANT, (call,), id=_id(item), extra=extra, layout=NAME
    )


def _output(item: dict[str, Any], kind: str, path: str) -> Message:
    id_key, key = call_id_key(kind, item), OUTPUTS[kind]
    call_id = as_text(item[id_key], id_key, f"{path}.{id_key}")
    known = {"type", id_key} if kind == "function_call_output" else {id_key}
    blocks: tuple[Block, ...] = ()
    flags, detail = _SILENT, ""
    where = f"{path}.{key}"
    said, own = item.get(key), "text"
    if key in item:
        known.add(key)
    if kind == SHELL and (ours := text_in(said)) is not None:
        flags = ResultText.read(ours)
        made = trusted_result(call_id, (), flags.is_error, flags.pending, flags.interim)
        if flags.write() == ours and chunks(ours, made) == said:
            said, own = ours, "shell"
    if kind == CONSENT:
        known |= _CONSENT_KEYS
        given = {k: v for k, v in item.items() if k in _CONSENT_KEYS}
        blocks, detail = (Json(frozen_object(given, path)),), "json"
    elif isinstance(said, str):
        if said.startswith(_SPEAKING):
            flags = ResultText.read(said)
            if flags.write() != said:
                flags = ResultText(said)
            blocks = (trusted_text(flags.text),)
        else:
            blocks = (trusted_text(said),)
        detail = own
    elif kind in _TEXTUAL:
        parts = as_array(said, key, where)
        blocks = tuple(
            decode_part(part, f"{where}[{nth}]", "user")
            for nth, part in enumerate(parts)
        )
        flags, blocks = _flags(blocks)
        detail = "list"
    elif kind == "computer_call_output" and _is_screenshot(said):
        blocks, detail = (decode_part(said, where, "user"),), "part"
    elif key in item:
        blocks, detail = (Json(frozen(said, where)),), "json"
    if id_key != call_id_key(kind):
        detail += ",call_id"
    result = trusted_result(
        call_id, blocks, flags.is_error, flags.pending, flags.interim
    )
    return trusted_message(
        Role.TOOL_RESULT,
        (result,),
        id=_id(item),
        extra=_rest(item, known, path),
        layout=f"{NAME}:{detail}" if detail else NAME,
    )


def _is_screenshot(said: Any) -> bool:
    return isinstance(said, dict) and said.get("type") == "computer_screenshot"


def _flags(blocks: tuple[Block, ...]) -> tuple[ResultText, tuple[Block, ...]]:
    """What the first line of a list of parts says, and the parts without it."""
    if not blocks or not isinstance(first := blocks[0], Text):
        return ResultText(""), blocks
    flags = ResultText.read(first.text)
    if flags.write() != first.text:
        return ResultText(""), blocks
    return flags, (Text(flags.text, extra=first.extra), *blocks[1:])
