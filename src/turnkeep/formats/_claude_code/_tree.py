"""The main line of a Claude Code session: which lines the model would see next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import same

from .._sessions._notes import Notes
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
    is_side: bool
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
        is_message(line),
        line.get("isSidechain") is True,
        line.get("isCompactSummary") is True,
    )


def main_line(lines: Sequence[Any], path: str, notes: Notes) -> list[int]:
    """Indexes of the message lines that lead to the newest one, as they are sent.

    Lines form a tree by `parentUuid`; going back in a session starts another branch.
    The main line ends at the last message of the file. A line that is written again
    (as branching and compacting do) counts where it stood first. A line whose parent is
    missing follows the message before it in the file; a compact summary follows
    nothing, and the lines that its compaction preserved follow it. Parallel calls stand
    on branches of their own: lines that share a message id with one of the main line
    belong to it, and so do the results of its calls. Side chains (the talk of
    subagents) never do, save in a file that holds nothing else. Linear, for files in
    order.

    Args:
        lines:
            All lines of the file.
        path:
            JSON path of their list.
        notes:
            Takes what is left out.

    Raises:
        FormatError: A line is no object, a link is no text, or links form a circle.
    """
    return _Tree(lines, path, notes).main_line()


class _Tree:
    """The lines with their links."""

    def __init__(self, lines: Sequence[Any], path: str, notes: Notes) -> None:
        self.lines = lines
        self.path = path
        self.notes = notes
        self.nodes = [_node(line, f"{path}[{nth}]") for nth, line in enumerate(lines)]
        self.places: dict[str, int] = {}
        self.copies: set[int] = set()
        for nth, node in enumerate(self.nodes):
            if node.uuid is not None and self.places.setdefault(node.uuid, nth) != nth:
                self.copies.add(nth)
        messages = [nth for nth, n in enumerate(self.nodes) if n.is_message]
        self.is_subagent = bool(messages) and all(
            self.nodes[nth].is_side for nth in messages
        )
        """Whether the file is a subagent's own."""
        self.ours = {
            nth
            for nth in messages
            if nth not in self.copies
            and (self.is_subagent or not self.nodes[nth].is_side)
        }
        """Messages that can be on the main line."""

    def main_line(self) -> list[int]:
        parents, newest = self._parents()
        preserved = self._preserved(parents)
        chain = self._chain(newest, parents)
        seen = set(chain)
        main = [nth for nth in chain if nth in self.ours]
        rest = [nth for nth in sorted(self.ours) if nth not in seen]
        main = _with_branches(self.lines, main, rest, parents)
        if preserved and self.summary in seen:
            # What the summary follows does not matter: it comes first.
            kept = set(preserved)
            main = [nth for nth in main if nth not in kept]
            place = main.index(self.summary) + 1
            main[place:place] = preserved
        self._note(main)
        return main

    def _parents(self) -> tuple[list[int | None], int | None]:
        """The line that each line follows, and the newest message."""
        parents: list[int | None] = []
        before: int | None = None
        missing = 0
        for nth, node in enumerate(self.nodes):
            parent = before
            if node.is_root or (node.has_parent and node.parent is None):
                parent = None
            elif node.parent is not None:
                parent = self.places.get(node.parent, before)
                missing += node.parent not in self.places and nth in self.ours
            parents.append(parent)
            if nth in self.ours:
                before = nth
        if missing:
            self.notes.say(
                f"lines behind one that was never written: {missing:,}; each is read "
                "behind the message before it"
            )
        return parents, before

    def _preserved(self, parents: list[int | None]) -> list[int]:
        """The lines that the newest compaction preserved, which follow its summary."""
        summaries = [nth for nth in self.ours if self.nodes[nth].is_root]
        self.summary = max(summaries, default=-1)
        boundary = self._boundary()
        if boundary is None:
            return []
        uuids = _preserved_uuids(boundary, self.places, parents, self.nodes)
        found = [self.places[uuid] for uuid in uuids if uuid in self.places]
        if len(found) < len(uuids):
            lost = len(uuids) - len(found)
            self.notes.say(f"lines that a compaction preserved, missing: {lost:,}")
        for nth in found:
            parents[nth] = self.summary
        return [nth for nth in dict.fromkeys(found) if nth in self.ours]

    def _boundary(self) -> dict[str, Any] | None:
        """The line that says what the newest compaction did."""
        if self.summary < 0:
            return None
        parent = self.nodes[self.summary].parent
        named = -1 if parent is None else self.places.get(parent, -1)
        for nth in (named, *range(self.summary - 1, -1, -1)):
            line = self.lines[nth] if nth >= 0 else {}
            if line.get("subtype") == "compact_boundary":
                found: dict[str, Any] = line
                return found
            if nth >= 0 and nth in self.ours and self.nodes[nth].is_root:
                return None
        return None

    def _chain(self, newest: int | None, parents: Sequence[int | None]) -> list[int]:
        chain: list[int] = []
        seen: set[int] = set()
        at = newest
        while at is not None:
            if at in seen:
                reason = f"parentUuid {self.nodes[at].parent!r} leads in a circle"
                raise FormatError(reason, f"{self.path}[{at}].parentUuid")
            seen.add(at)
            chain.append(at)
            at = parents[at]
        chain.reverse()
        return chain

    def _note(self, main: Sequence[int]) -> None:
        """Say what is not on the main line, by its kind."""
        kept = set(main)
        start = self.summary if self.summary in kept else -1
        attached: list[int] = []
        calls = {i for nth in main for i in _ids(self.lines[nth], "tool_use", "id")}
        for nth in main:
            calls.difference_update(_ids(self.lines[nth], "tool_result", "tool_use_id"))
        if calls:
            self.notes.say(
                f"calls without a result: {len(calls)}; resumed, Claude Code would "
                "leave them out"
            )
        for nth, node in enumerate(self.nodes):
            if nth in kept:
                continue
            if nth in self.copies:
                self.notes.left_out("line | written before")
            elif not node.is_message:
                kind = self.lines[nth]["type"]
                if kind == "attachment":
                    attached.append(len(str(self.lines[nth].get("attachment"))))
                elif self.lines[nth].get("isApiErrorMessage") is True:
                    self.notes.left_out("notice of a failed request")
                else:
                    self.notes.left_out("line of bookkeeping")
            elif nth not in self.ours:
                self.notes.left_out("message of a side chain | a subagent's own")
            elif nth < start:
                self.notes.left_out("message | before the compaction")
            else:
                self.notes.left_out("message | on another branch")
        if attached:
            self.notes.say(
                f"attachments: {len(attached)}, with {sum(attached):,} characters; the "
                "reminders that are sent for them are not stored and not counted"
            )


def _preserved_uuids(
    boundary: dict[str, Any],
    places: dict[str, int],
    parents: Sequence[int | None],
    nodes: Sequence[_Node],
) -> list[str]:
    """The uuids that a compaction preserved: a list, or the ends of a chain."""
    said = boundary.get("compactMetadata")
    said = said if isinstance(said, dict) else {}
    listed = said.get("preservedMessages")
    uuids = listed.get("uuids") if isinstance(listed, dict) else None
    if isinstance(uuids, (list, tuple)):
        return [uuid for uuid in uuids if isinstance(uuid, str)]
    ends = said.get("preservedSegment")
    if not isinstance(ends, dict):
        return []
    head, tail = (ends.get(key) for key in ("headUuid", "tailUuid"))
    found: list[str] = []
    at = places.get(tail) if isinstance(tail, str) else None
    while at is not None and len(found) <= len(nodes):
        uuid = nodes[at].uuid
        if uuid is not None:
            found.append(uuid)
        if uuid == head:
            found.reverse()
            return found
        at = parents[at]
    return [uuid for uuid in (head, tail) if isinstance(uuid, str)]


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

    Lines of the main line that are still there keep their place in the file, new ones
    follow the line before them. Of a line that goes, its copies go too: read again, the
    first of them would be taken for it.
    """
    if len(made) == len(main):
        result = list(lines)
        for nth, line in zip(main, made, strict=True):
            result[nth] = line
        return result
    places = {lines[nth].get("uuid"): order for order, nth in enumerate(main)}
    places.pop(None, None)
    slots: dict[int, list[Any]] = {}
    slot, order = -1, 0
    for line in made:
        found = places.get(line.get("uuid"))
        if found is None:
            found = next(
                (n for n in range(order, len(main)) if same(lines[main[n]], line)), None
            )
        if found is not None and found >= order:
            order = found + 1
            slot = main[found]
        slots.setdefault(slot, []).append(line)
    gone = {lines[nth].get("uuid") for nth in main if nth not in slots} - {None}
    ours = set(main)
    result = list(slots.get(-1, ()))
    for nth, line in enumerate(lines):
        if nth in ours:
            result += slots.get(nth, ())
        elif line.get("uuid") not in gone:
            result.append(line)
    return result
