"""Cache marks of an Anthropic request: how many, and in which order of their lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from turnkeep.providers import PROVIDERS

from .._anthropic_turns import blocks_of
from .._base import Findings, Request
from .._shared import items

_MARKS = PROVIDERS["anthropic"].marks
KEY, MOST = (_MARKS.key, _MARKS.most) if _MARKS else ("", 0)


def check_marks(request: Request, found: Findings) -> None:
    """Rules AN-20, AN-30 and AN-31; linear in the request."""
    marks = list(_marks(request))
    if len(marks) > MOST:
        found.add("AN-20", request.path, f"{len(marks)} blocks carry {KEY}")
    own = request.setting(KEY)
    if own is not None:
        _check_own(request, marks, own, found)
        marks.append((f"$.{KEY}", own))
    short = ""
    for path, mark in marks:
        if _life(mark) == "5m":
            short = short or path
        elif short:
            what = f"a mark of {_life(mark)} stands behind the one of 5m in {short}"
            found.add("AN-31", path, what)
            break


def _check_own(
    request: Request, marks: Sequence[tuple[str, Any]], own: Any, found: Findings
) -> None:
    """The mark of the request itself, which is set on its last block."""
    where = f"$.{KEY}"
    if len(marks) == MOST:
        found.add("AN-30", where, f"{MOST} blocks carry {KEY} as well")
    nth = len(request.entries) - 1
    last = blocks_of(request.entries[nth], nth)[-1:] if request.entries else []
    for block in last:
        mark = block.value.get(KEY)
        if mark is not None and _life(mark) != _life(own):
            what = f"the last block is marked for {_life(mark)}, this for {_life(own)}"
            found.add("AN-30", where, what)


def _life(mark: Any) -> str:
    ttl = mark.get("ttl") if isinstance(mark, dict) else None
    return ttl if isinstance(ttl, str) else "5m"


def _marks(request: Request) -> Iterator[tuple[str, Any]]:
    """The marks and their places, in the order in which they are cached."""
    for key in ("tools", "system"):
        for nth, item in items(request.setting(key)):
            if item.get(KEY) is not None:
                yield f"$.{key}[{nth}]", item[KEY]
    for nth, entry in enumerate(request.entries):
        for block in blocks_of(entry, nth):
            path = block.path(request)
            if block.kind == "tool_result":
                for place, part in items(block.value.get("content")):
                    if part.get(KEY) is not None:
                        yield f"{path}.content[{place}]", part[KEY]
            if block.value.get(KEY) is not None:
                yield path, block.value[KEY]
