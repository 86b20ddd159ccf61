"""Whether an entry could be a content of Gemini's, and what speaks for it."""

from __future__ import annotations

from typing import Any, Final

from .._marks import CARRIED, NEVER, Judgement
from ._decode import DATA, SIGNATURES

_ROLES: Final = frozenset({"user", "model", "function"})
_MARKS: Final = frozenset({*DATA, *SIGNATURES}) - {"text"}


def judge_content(entry: dict[str, Any]) -> Judgement:
    """The score of *entry*: contents have `parts` where all others have `content`."""
    role = entry.get("role")
    if role is not None and (not isinstance(role, str) or role not in _ROLES):
        return NEVER, f"no role of Gemini: {role!r}"
    parts = entry.get("parts")
    words = f"'parts' with role {role!r}"
    if parts is None:
        if "content" in entry or role is None:
            return NEVER, "no 'parts'"
        return (3, words) if role == "model" or "parts" in entry else (CARRIED, "")
    if not isinstance(parts, (list, tuple)):
        return NEVER, "'parts' is no list"
    if any(not isinstance(part, dict) or "type" in part for part in parts):
        return NEVER, "a part that is no object, or has a type"
    if any(part.keys() & _MARKS for part in parts):
        return 4, "'parts' with Gemini's data fields"
    if not parts or any("text" in part or not part for part in parts):
        return 3, words
    return CARRIED, ""
