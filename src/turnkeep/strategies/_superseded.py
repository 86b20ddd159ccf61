from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import ToolCall
from turnkeep.plans import Cause, Edit, Replace

from ._base import Shrinking
from ._results import (
    Found,
    cleared,
    final_results,
    is_ours,
    name_of,
    notice,
    result_at,
    with_result,
)

_READ = re.compile(r"(?:^|_|\b)(read|view|cat|open|get|fetch|show|list|ls)", re.ASCII)
_WRITE = re.compile(r"(?:^|_|\b)(write|create|save|put)", re.ASCII)
_PATHS = ("path", "file_path", "filepath", "filename", "file", "uri", "url")
_CONTENTS = ("content", "contents", "text", "file_text", "data")
_SHORT = 200
"""Characters below which a result is not worth the line that would stand for it."""


@attrs.frozen
class Superseded(Shrinking):
    """Results that a later one repeats or replaces give way to a line that says so.

    Three cases, and no more: the same text came again later; the same read was made
    again (same tool, same arguments); the whole file was written later. Never "an edit
    supersedes the read before it": that loses what the edit left alone, and kept 79.4 %
    of the steps of a coding session whole where plain age kept 87.7 %.

    Evidence: harmless, and seldom worth much: it changed neither the cost of a coding
    session nor which calls had all they used (`benchmarks/bench_recall.py`); a session
    that reads the same files again and again gains. A good first part of a composition:
    `Superseded() | KeepRecent(0.3, ...)`.

    Costs one look at each message and the length of the results.

    >>> Superseded()
    Superseded()
    """

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the clearing of superseded results, oldest first."""
        found = [f for f in final_results(history) if not is_ours(f.result)]
        newest = _Newest(found)
        for nth, item in enumerate(found):
            if len(item.result.text) < _SHORT:
                continue
            reason = newest.reason(nth, item)
            if reason is not None:
                message = history.current(item.message)
                result = result_at(message, item.position)
                if not is_ours(result):
                    made = cleared(result, notice(reason))
                    content = with_result(message, item.position, made)
                    yield Replace(item.message, content, Cause.CLEARED)


class _Newest:
    """Where each text, each read and each whole-file write came last."""

    def __init__(self, found: list[Found]) -> None:
        self.texts: dict[tuple[Any, ...], int] = {}
        self.reads: dict[tuple[str, str], int] = {}
        self.read = [_read(item) for item in found]
        """What each of them read."""
        self.writes: dict[str, int] = {}
        for nth, item in enumerate(found):
            self.texts[_content(item)] = nth
            read = self.read[nth]
            if read is not None and not item.result.is_error:
                self.reads[read] = nth
            path = _written(item)
            if path is not None and not item.result.is_error:
                self.writes[path] = nth

    def reason(self, nth: int, item: Found) -> str | None:
        """Why the result *item* is no longer needed, if it is not."""
        if self.texts[_content(item)] > nth:
            return "The same text came again in a later tool result."
        read = self.read[nth]
        if read is None:
            return None
        if self.reads.get(read, -1) > nth:
            return "The same call was made again later; its newer result stands."
        path = _path(item.call)
        if path is not None and self.writes.get(path, -1) > nth:
            return f"{path} was written anew later."
        return None


def _content(item: Found) -> tuple[Any, ...]:
    return (item.result.content, item.result.is_error)


def _read(item: Found) -> tuple[str, str] | None:
    """The tool and its arguments, where it reads a named thing."""
    if item.call is None or _path(item.call) is None:
        return None
    name = name_of(item)
    if _READ.search(name.lower()) is None:
        return None
    arguments = json.dumps(item.call.arguments, sort_keys=True, ensure_ascii=False)
    return name, arguments


def _written(item: Found) -> str | None:
    """The path of a file that the call wrote as a whole."""
    call = item.call
    if call is None or _WRITE.search(name_of(item).lower()) is None:
        return None
    arguments = call.arguments
    if not isinstance(arguments, Mapping):
        return None
    if not any(isinstance(arguments.get(key), str) for key in _CONTENTS):
        return None
    return _path(call)


def _path(call: ToolCall | None) -> str | None:
    arguments = call.arguments if call is not None else None
    if not isinstance(arguments, Mapping):
        return None
    for key in _PATHS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
    return None
