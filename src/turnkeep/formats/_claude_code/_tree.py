"""The main line of a Claude Code session: which lines the model would see next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import same

from .._shape import as_object, json_type, wrong

_SPEAKERS = frozenset({"user", "assistant"})


def is_message(line: dict[str, Any]) -> bool:
    """Whether a line holds a message that was sent or received.

    Notices of failed requests look like assistant lines, but no model wrote them.
    """
    if line.get("isApiErrorMessage") is True:
        return False
    kind = line.get("type")
    return (isinstance(kind, str) and kind in _SPEAKERS) or (
        kind == "system" and isinstance(line.get("message"), dict)
    )


@attrs.frozen
class _Node:
    """What the tree needs of one line."""

    uuid: str | None
    parent: str | None
    has_parent: bool
    is_message: bool
    is_root: bool
    """A compact summary stands for all that went before it."""


def _node(line: Any, path: str) -> _Node:
    as_object(line, "a line", path)
    for key in ("uuid", "parentUuid"):
        if line.get(key) is not None and not isinstance(line[key], str):
            raise wrong(repr(key), "a string", line[key], f"{path}.{key}")
    for key in ("isSidechain", "isMeta", "isCompactSummary"):
        if line.get(key) is not None and not isinstance(line[key], bool):
            raise wrong(repr(key), "a boolean", line[key], f"{path}.{key}")
    if not isinstance(line.get("type"), str):
        reason = (
            f"the type of a line must be a string, got {json_type(line.get('type'))}"
        )
        raise FormatError(reason, f"{path}.type")
    return _Node(
        line.get("uuid"),
        line.get("parentUuid"),
        "parentUuid" in line,
        not line.get("isSidechain") and is_message(line),
        line.get("isCompactSummary") is True,
    )


def main_line(lines: Sequence[Any], path: str) -> list[int]:
    """Indexes of the message lines that lead to the newest one, in order.

    Lines form a tree by `parentUuid`; going back in a session starts another branch.
    The main line ends at the last message of the file. A line whose parent is missing
    (it was cut away) follows the message before it in the file, a compact summary
    follows nothing. Parallel calls stand on branches of their own: lines that share a
    message id with one of the main line belong to it, and so do the results of its
    calls. Side chains (the talk of subagents) never do. Linear, for files in order.

    Raises:
        FormatError: A line is no object, a link is no text, or links form a circle.
    """
    nodes = [_node(line, f"{path}[{nth}]") for nth, line in enumerate(lines)]
    places = {node.uuid: nth for nth, node in enumerate(nodes) if node.uuid is not None}
    parents: list[int | None] = []
    before: int | None = None
    for nth, node in enumerate(nodes):
        parent = before
        if node.is_root or (node.has_parent and node.parent is None):
            parent = None
        elif node.parent is not None:
            parent = places.get(node.parent, before)
        parents.append(parent)
        if node.is_message:
            before = nth
    chain: list[int] = []
    seen: set[int] = set()
    while before is not None:
        if before in seen:
            reason = f"parentUuid {nodes[before].parent!r} leads in a circle"
            raise FormatError(reason, f"{path}[{before}].parentUuid")
        seen.add(before)
        chain.append(before)
        before = parents[before]
    chain.reverse()
    main = [nth for nth in chain if nodes[nth].is_message]
    rest = [
        nth for nth, node in enumerate(nodes) if node.is_message and nth not in seen
    ]
    return _with_branches(lines, main, rest, parents)


def _with_branches(
    lines: Sequence[Any], main: list[int], rest: list[int], parents: list[int | None]
) -> list[int]:
    """*main* with the lines of *rest* that belong to its assistant messages."""
    kept = set(main)
    ids = {i for nth in main if (i := _message_id(lines[nth])) is not None}
    calls = {c for nth in main for c in _ids(lines[nth], "tool_use", "id")}
    results = (_ids(lines[nth], "tool_result", "tool_use_id") for nth in main)
    waiting = calls.difference(*results)
    for nth in rest:
        parent = parents[nth]
        if parent not in kept:
            continue
        answered = set(_ids(lines[nth], "tool_result", "tool_use_id"))
        if _message_id(lines[nth]) in ids:
            waiting.update(_ids(lines[nth], "tool_use", "id"))
        elif answered and answered <= waiting:
            waiting -= answered
        else:
            continue
        kept.add(nth)
        place = main.index(parent) + 1 if parent in main else len(main)
        while place < len(main) and main[place] < nth:
            place += 1
        main.insert(place, nth)
    return main


def _message_id(line: dict[str, Any]) -> str | None:
    message = line.get("message")
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else None


def _ids(line: dict[str, Any], kind: str, key: str) -> Iterator[str]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, (list, tuple)):
        for block in content:
            if isinstance(block, dict) and block.get("type") == kind:
                found = block.get(key)
                if isinstance(found, str):
                    yield found


def put_back(lines: Sequence[Any], main: Sequence[int], made: list[Any]) -> list[Any]:
    """All *lines*, with *made* in place of the main line.

    Lines of the main line that are still there keep their place among the others; new
    ones follow the line before them.
    """
    if len(made) == len(main):
        result = list(lines)
        for nth, line in zip(main, made, strict=True):
            result[nth] = line
        return result
    places = {lines[nth].get("uuid"): order for order, nth in enumerate(main)}
    places.pop(None, None)
    ours = set(main)
    result = []
    cursor = order = 0
    for line in made:
        found = places.get(line.get("uuid"))
        if found is None:
            found = next(
                (n for n in range(order, len(main)) if same(lines[main[n]], line)), None
            )
        if found is not None and found >= order:
            order = found + 1
            result += [lines[n] for n in range(cursor, main[found]) if n not in ours]
            cursor = max(cursor, main[found] + 1)
        result.append(line)
    result += [lines[n] for n in range(cursor, len(lines)) if n not in ours]
    return result
