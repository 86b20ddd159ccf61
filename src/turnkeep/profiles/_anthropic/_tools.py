"""The tools that an Anthropic request offers, and those that its messages name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .._anthropic_turns import Block, Turn
from .._base import Findings, Request
from .._shared import items
from ._marks import KEY

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def check_tools(request: Request, turns: Sequence[Turn], found: Findings) -> None:
    """Rules AN-23, AN-24 and AN-33; linear in the request."""
    tools = request.setting("tools")
    offered = items(tools)
    for nth, tool in offered:
        name = tool.get("name")
        if name is not None and not (
            isinstance(name, str) and _TOOL_NAME.fullmatch(name)
        ):
            found.add("AN-24", f"$.tools[{nth}].name", f"the tool is named {name!r}")
        if tool.get("defer_loading") is True and tool.get(KEY) is not None:
            found.add("AN-33", f"$.tools[{nth}]", f"a deferred tool carries {KEY}")
    if offered and all(tool.get("defer_loading") is True for _, tool in offered):
        found.add("AN-33", "$.tools", "every tool is deferred")
    blocks = [block for turn in turns for block in turn.blocks]
    if not tools:
        _check_missing(request, blocks, found)
    elif request.setting("mcp_servers") is None:
        names = {tool.get("name") for _, tool in offered}
        for path, name in _references(request, blocks):
            if name not in names:
                found.add("AN-33", path, f"no tool is named {name!r}")


def _check_missing(request: Request, blocks: Sequence[Block], found: Findings) -> None:
    for block in blocks:
        if block.kind in ("tool_use", "tool_result"):
            number = "AN-s7" if request.body is None else "AN-23"
            what = f"a {block.kind} is sent without tools"
            found.add(number, block.path(request), what)
            return


def _references(request: Request, blocks: Sequence[Block]) -> Iterator[tuple[str, Any]]:
    """The names of tools in what searches for tools have found."""
    for block in blocks:
        content = block.value.get("content")
        where = f"{block.path(request)}.content"
        if block.kind == "tool_search_tool_result" and isinstance(content, dict):
            content = content.get("tool_references")
            where += ".tool_references"
        elif block.kind != "tool_result":
            continue
        for nth, part in items(content):
            if part.get("type") == "tool_reference":
                yield f"{where}[{nth}]", part.get("tool_name")
