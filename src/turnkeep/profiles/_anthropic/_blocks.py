"""What Anthropic demands of each message and block by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._anthropic_turns import Block
from .._base import Findings, Request, describe
from .._shared import (
    a_message,
    bad_role,
    blank,
    filled,
    items,
    role_of,
)
from ._server_tools import check_seals

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SERVER_ID = re.compile(r"[a-zA-Z0-9_]+")
_SERVER_PREFIX = "srvtoolu_"
_RESULT_PARTS = (
    "text",
    "image",
    "document",
    "search_result",
    "tool_reference",
    "browser_state",
)


def check_message(request: Request, nth: int, found: Findings) -> None:
    """What one message must be by itself; linear in its blocks."""
    entry, path = request.entries[nth], request.at(nth)
    role = role_of(entry)
    if role not in ("user", "assistant", "system"):
        found.add("AN-02", path, bad_role(entry))
        return
    content = entry.get("content")
    where = f"{path}.content"
    if not isinstance(content, (str, list, tuple)):
        found.add(
            "AN-05", where, f"the {role} message's content is {describe(content)}"
        )
    elif role == "system":
        if not is_directive(entry) and not _instructs(content):
            found.add("AN-05", where, "the system message has no text")
    elif not content and role == "user":
        found.add("AN-05", where, f"the user message's content is {describe(content)}")
    elif not content and nth < len(request.entries) - 1:
        what = f"the assistant message's content is {describe(content)}"
        found.add("AN-s2", where, what)
    _check_blanks(content, where, found)


def _check_blanks(content: Any, where: str, found: Findings) -> None:
    if isinstance(content, (list, tuple)):
        for nth, block in enumerate(content):
            if not isinstance(block, Mapping):
                what = f"the block is {describe(block)}, not an object"
                found.add("AN-35", f"{where}[{nth}]", what)
    if isinstance(content, str):
        if content and blank(content):
            found.add("AN-07", where, "the message is white space only")
        return
    blocks = items(content)
    texts = [(nth, b.get("text")) for nth, b in blocks if b.get("type") == "text"]
    white = [nth for nth, text in texts if filled(text) and blank(text)]
    if white and len(texts) == len(blocks) and all(blank(text) for _, text in texts):
        found.add("AN-07", f"{where}[{white[0]}]", "the message is white space only")
    elif white and len(texts) < len(blocks):
        what = "a text block beside other blocks is white space only"
        found.add("AN-s3", f"{where}[{white[0]}]", what)


def is_directive(entry: Mapping[str, Any]) -> bool:
    """Whether a system message only sets an output configuration."""
    return entry.get("content") in ([], ()) and entry.get("output_config") is not None


def _instructs(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content)
    return any(
        block.get("type") != "text" or filled(block.get("text"))
        for _, block in items(content)
    )


def check_block(
    request: Request,
    block: Block,
    role: Any,
    found: Findings,
) -> None:
    """What one block must be by itself."""
    value, kind = block.value, block.kind
    path = block.path(request)
    check_seals(request, block, found)
    match kind:
        case "text":
            if not isinstance(words := value.get("text"), str):
                found.add("AN-35", path, f"the text is {describe(words)}")
            elif not words and block.nth is not None:
                found.add("AN-06", path, "the text block is empty")
        case "tool_use":
            _check_use(value, role, path, found)
        case "tool_result":
            _check_result(value, role, path, found)
        case "thinking" | "redacted_thinking":
            _check_thinking_block(value, role, path, found)
        case "server_tool_use":
            _check_id(value.get("id"), _SERVER_ID, f"{path}.id", found)
            _check_prefix(value.get("id"), f"{path}.id", found)
        case str():
            pass
        case _:
            found.add("AN-35", path, f"the type of the block is {describe(kind)}")


def _check_id(
    value: Any, pattern: re.Pattern[str], where: str, found: Findings
) -> None:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        found.add("AN-15", where, f"the id is {describe(value)}")


def _check_prefix(value: Any, where: str, found: Findings) -> None:
    if (
        isinstance(value, str)
        and _SERVER_ID.fullmatch(value)
        and not value.startswith(_SERVER_PREFIX)
    ):
        what = f"the id of a server tool's call is {describe(value)}"
        found.add("AN-s12", where, what)


def _check_use(value: Mapping[str, Any], role: Any, path: str, found: Findings) -> None:
    _check_id(value.get("id"), _ID, f"{path}.id", found)
    if role != "assistant":
        found.add("AN-16", path, f"a tool_use stands in {a_message(role)}")
    if not filled(value.get("name")):
        what = f"the name of the call is {describe(value.get('name'))}"
        found.add("AN-16", f"{path}.name", what)
    if not isinstance(value.get("input"), Mapping):
        what = f"the input of the call is {describe(value.get('input'))}"
        found.add("AN-16", f"{path}.input", what)


def _check_result(
    value: Mapping[str, Any], role: Any, path: str, found: Findings
) -> None:
    _check_id(value.get("tool_use_id"), _ID, f"{path}.tool_use_id", found)
    if role != "user":
        found.add("AN-16", path, f"a tool_result stands in {a_message(role)}")
    content = value.get("content")
    if value.get("is_error") is True and not content:
        what = "the result is an error and says nothing"
        found.add("AN-27", f"{path}.content", what)
    if content == "":
        found.add("AN-s4", f"{path}.content", "the text of the result is empty")
    if not isinstance(content, (list, tuple)):
        if not isinstance(content, (str, type(None))):
            what = f"the content of the result is {describe(content)}"
            found.add("AN-25", f"{path}.content", what)
        return
    for nth, part in enumerate(content):
        where = f"{path}.content[{nth}]"
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in _RESULT_PARTS:
            what = f"a part of type {describe(kind)} stands in a tool_result"
            found.add("AN-25", where, what)
        elif kind == "text" and not isinstance(part.get("text"), str):
            found.add("AN-35", where, f"the text is {describe(part.get('text'))}")
        elif kind == "text" and part["text"] == "":
            found.add("AN-s4", where, "a text inside the result is empty")


def _check_thinking_block(
    value: Mapping[str, Any], role: Any, path: str, found: Findings
) -> None:
    kind = value["type"]
    if role != "assistant":
        found.add("AN-16", path, f"a {kind} block stands in {a_message(role)}")
    if kind == "redacted_thinking":
        if not filled(value.get("data")):
            found.add("AN-17", path, "the redacted_thinking block has no data")
    elif not isinstance(value.get("thinking"), str):
        found.add("AN-17", path, "the thinking block has no thinking")
    elif not filled(value.get("signature")):
        found.add("AN-17", path, "the thinking block has no signature")
    if value.get("cache_control") is not None:
        found.add("AN-21", path, f"the {kind} block carries cache_control")
