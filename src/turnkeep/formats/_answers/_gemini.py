from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .._shape import as_object
from ._base import Found, added, inner, parts_of, stated, text_or_none

_USAGE: Final = ("usageMetadata", "usage_metadata")
_FEEDBACK: Final = ("promptFeedback", "prompt_feedback")
_SIGNATURES: Final = ("thoughtSignature", "thought_signature")
_MERGED: Final = (frozenset({"text"}), frozenset({"text", "thought"}))
"""Keys of parts whose text goes on in the next part of the same keys."""


class GeminiAnswers:
    """Answers of Gemini's `generateContent`, of either of Google's services."""

    def is_answer(self, response: Mapping[str, Any]) -> bool:
        """It has candidates, or says why there are none."""
        return isinstance(response.get("candidates"), (list, tuple)) or any(
            key in response for key in (*_USAGE, *_FEEDBACK)
        )

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """A chunk is a whole answer of a few words."""
        return self.is_answer(chunk)

    def join(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The parts of the first candidate, texts that follow each other as one."""
        joined: dict[str, Any] = {}
        candidate: dict[str, Any] = {}
        parts: list[Any] = []
        role = "model"
        for nth, chunk in enumerate(chunks):
            joined |= stated(chunk)
            path = f"$[{nth}].candidates"
            given = parts_of(chunk, "candidates", f"$[{nth}]")
            for place, one in enumerate(given):
                where = f"{path}[{place}]"
                found = as_object(one, "a candidate", where)
                if found.get("index"):
                    continue
                candidate |= stated(found)
                content = inner(found, "content", where)
                role = content.get("role") or role
                for part in parts_of(content, "parts", f"{where}.content"):
                    _add(parts, as_object(part, "a part", f"{where}.content.parts"))
        candidate["content"] = {"role": role, "parts": parts}
        return {**joined, "candidates": [candidate]}

    def take(self, response: Mapping[str, Any]) -> Found:
        """The content of the first candidate.

        Calls come whole, whatever the limit: none is ever cut off.
        """
        usage = None
        if any(response.get(key) is not None for key in _USAGE):
            usage = dict(response)
        model = text_or_none(response.get("modelVersion"))
        candidates = parts_of(response, "candidates", "$")
        if not candidates:
            return Found(usage=usage, model=model)
        path = "$.candidates[0]"
        content = as_object(candidates[0], "a candidate", path).get("content")
        if content is None:
            return Found(usage=usage, model=model)
        path = f"{path}.content"
        given = as_object(content, "content", path)
        parts = parts_of(given, "parts", path)
        made = [_part(as_object(part, "a part", f"{path}.parts")) for part in parts]
        if not made:
            return Found(usage=usage, model=model)
        entry = {"role": given.get("role") or "model", "parts": made}
        return Found(((path, entry),), usage, model)


def _add(parts: list[Any], part: Mapping[str, Any]) -> None:
    said = stated(part)
    last = parts[-1] if parts else {}
    if said.keys() == last.keys() and said.keys() in _MERGED:
        parts[-1] = {**last, "text": added(last["text"], said["text"])}
    else:
        parts.append(said)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part as the service wrote it.

    Google's client gives bytes in another alphabet than the one they came in.
    """
    made = stated(part)
    for key in _SIGNATURES:
        if isinstance(seal := made.get(key), (str, bytes)):
            made[key] = _standard(seal)
    return made


def _standard(data: str | bytes) -> str:
    if isinstance(data, bytes):
        return base64.b64encode(data).decode("ascii")
    return data.replace("-", "+").replace("_", "/")
