"""The tools that Anthropic runs itself: pairs by id, over several messages at times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._anthropic_turns import Block, Turn
from .._base import Findings, Request, describe
from .._shared import filled, inside, items, name_list

CALLS = ("server_tool_use", "mcp_tool_use")
_SEALS = ("encrypted_content", "encrypted_index")
_SEALED = {
    "web_search_result": "encrypted_content",
    "web_search_result_location": "encrypted_index",
}
"""What search results and the citations of them carry, and must give back."""


def is_server_result(kind: Any) -> bool:
    """Whether a block of this type is the result of a server's tool."""
    return isinstance(kind, str) and kind.endswith("_tool_result")


def is_paused(block: Block) -> bool:
    """Whether an answer that ends on *block* is sent back to be continued."""
    return block.kind in CALLS or is_server_result(block.kind)


def check_server_tools(
    request: Request, turns: Sequence[Turn], found: Findings
) -> None:
    """Rules AN-28 and AN-32; linear in the request.

    A call may be answered in a later assistant message while client calls of its round
    are answered; whatever else the user says finishes the message it stands in.
    """
    known: set[Any] = set()
    waiting: dict[Any, Block] = {}
    for nth, turn in enumerate(turns):
        if turn.role == "assistant":
            for block in turn.blocks:
                _take(request, block, known, waiting, found)
            continue
        other = next((b for b in turn.blocks if b.kind != "tool_result"), None)
        if other is None or not waiting:
            continue
        calls = nth > 0 and any(b.kind == "tool_use" for b in turns[nth - 1].blocks)
        ids = name_list(list(map(str, waiting)))
        if calls:
            what = f"the user says more than results while {ids} waits for its own"
            found.add("AN-32", other.path(request), what)
        else:
            what = f"the message is finished, and {ids} has no result"
            found.add("AN-28", next(iter(waiting.values())).path(request), what)
        waiting.clear()
    _check_offered(request, waiting.values(), found)


def _take(
    request: Request,
    block: Block,
    known: set[Any],
    waiting: dict[Any, Block],
    found: Findings,
) -> None:
    value, path = block.value, block.path(request)
    if block.kind in CALLS and isinstance(value.get("id"), str):
        known.add(value["id"])
        waiting[value["id"]] = block
    elif is_server_result(block.kind):
        call_id = value.get("tool_use_id")
        if not isinstance(call_id, str) or call_id not in known:
            what = f"the {block.kind} of {describe(call_id)} has no server_tool_use"
            found.add("AN-28", f"{path}.tool_use_id", f"{what} before it")
        else:
            waiting.pop(call_id, None)
    caller = inside(value, "caller").get("tool_id")
    if caller is not None and caller not in known:
        what = f"the caller {describe(caller)} is no server_tool_use before it"
        found.add("AN-28", f"{path}.caller.tool_id", what)


def _check_offered(request: Request, waiting: Any, found: Findings) -> None:
    """The tools whose results are still to come are offered."""
    tools = request.setting("tools")
    if request.body is None or not isinstance(tools, (list, tuple)):
        return
    names = [str(tool.get("name")) for _, tool in items(tools)]
    for block in waiting:
        name = str(block.value.get("name"))
        # `code_execution` has several tools of its own: `bash_code_execution`.
        if block.kind == CALLS[0] and not any(map(name.endswith, names)):
            what = f"{name} waits for its result and is not in `tools`"
            found.add("AN-32", block.path(request), what)


def check_seals(request: Request, block: Block, found: Findings) -> None:
    """Rule AN-34, as far as one block shows it: seals are there."""
    for path, part in _sealed(request, block):
        key = _SEALED[part["type"]]
        if not filled(part.get(key)):
            found.add("AN-34", path, f"the {part['type']} has no {key}")


def seals(request: Request, block: Block) -> Iterator[tuple[str, Any]]:
    """The seals of search results and citations, with their places."""
    for path, part in _sealed(request, block):
        for key in _SEALS:
            if filled(part.get(key)):
                yield f"{path}.{key}", part[key]


def _sealed(request: Request, block: Block) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("content", "citations"):
        if is_server_result(block.kind) or key == "citations":
            for nth, part in items(block.value.get(key)):
                if part.get("type") in _SEALED:
                    yield f"{block.path(request)}.{key}[{nth}]", part
