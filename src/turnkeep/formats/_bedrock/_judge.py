"""Whether an entry could be a message of Bedrock's, and what speaks for it."""

from __future__ import annotations

from typing import Any, Final

from .._marks import COMMON, NEVER, Judgement
from ._decode import MEMBERS

_ROLES: Final = frozenset({"user", "assistant", "system"})


def judge_message(entry: dict[str, Any]) -> Judgement:
    """The score of *entry*: blocks have no `type` but one member each."""
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        return NEVER, f"no role of Bedrock: {role!r}"
    if not isinstance(content, (list, tuple)):
        return NEVER, "'content' is no list"
    best, mark = COMMON, ""
    for block in content:
        if not isinstance(block, dict) or "type" in block:
            return NEVER, "a block that is no object, or has a type"
        member = next((key for key in block if key in MEMBERS), None)
        if member is None:
            return NEVER, "a block without a member of Bedrock"
        if member != "text" and best < 4:
            best, mark = 4, f"a block with member {member!r}"
        elif best < 3:
            best, mark = 3, "text blocks without type"
    return best, mark
