"""Which formats write the same where their marks are equal, and whose it then is."""

from __future__ import annotations

from typing import Any, Final

from ._marks import COMMON, WEAK

_ALIKE: Final = (
    (frozenset({"openai", "mistral", "deepseek"}), "openai"),
    # Text parts with cache marks: compatible servers took the marks over.
    (frozenset({"openai", "mistral", "deepseek", "anthropic"}), "anthropic"),
)
"""Formats whose shared marks are written the same by all, and whose they are unless the
model says otherwise."""

_SYSTEM_BESIDE: Final = "anthropic"
"""A format whose own lists never begin with a system message."""

_YIELDING: Final = "orion"
"""A format that is told by keys which a host may have put there itself."""


def candidates(
    scores: dict[str, int], *, has_model: bool = False, first: Any = None
) -> tuple[str, ...]:
    """The formats with the best of *scores*; none where every one is 0.

    >>> candidates({"openai": 1, "anthropic": 3, "gemini": 0})
    ('anthropic',)

    Args:
        scores: How much the value looks like each format.
        has_model: Whether a model is named.
        first: The role of the first entry.
    """
    best = max(scores.values(), default=0)
    if not best:
        return ()
    if has_model and scores.get(_YIELDING) == best == WEAK:
        # Ids and time stamps in milliseconds, and a model that somebody else serves.
        return candidates({**scores, _YIELDING: 0}, first=first) or (_YIELDING,)
    names = tuple(name for name, score in scores.items() if score == best)
    if first == "system" and len(names) > 1 and best > COMMON:
        # Marks that others share: this one would have put the text beside its list.
        names = tuple(name for name in names if name != _SYSTEM_BESIDE)
    return names


def settle(names: tuple[str, ...], best: int, usual: str | None) -> str | None:
    """Which of *names* it is, where all would write the same; else none.

    Plain roles and contents belong to all chat formats alike. What nobody's model
    claims is OpenAI's, or that of the shared marks' home.

    >>> settle(("openai", "mistral", "deepseek"), 2, "mistral")
    'mistral'
    >>> settle(("mistral", "ollama"), 2, "openai") is None
    True

    Args:
        names: The formats with the best score.
        best: That score.
        usual: The format that the model's provider speaks; none where none is named.
    """
    if len(names) == 1:
        return names[0]
    if best == COMMON:
        return _first(usual, "openai", names)
    for alike, home in _ALIKE:
        if alike.issuperset(names):
            return _first(usual, home, names)
    return None


def _first(usual: str | None, home: str, names: tuple[str, ...]) -> str:
    return next((name for name in (usual, home) if name in names), names[0])
