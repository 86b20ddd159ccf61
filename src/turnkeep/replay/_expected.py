"""Questions whose answers are known to stand in certain messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from turnkeep.errors import FormatError, UnknownMessageError
from turnkeep.turns import USER

from ._log import Log


@attrs.frozen
class Expected:
    """A question, and the messages that must stand in the window when it is asked."""

    question: str
    """The id of a user message of the session, or a text that is asked at its end."""
    messages: tuple[str, ...]
    """Ids; a message without one has its index."""


@attrs.frozen
class Asked:
    """The same, found in a session."""

    question: str
    at: int | None
    """Index of the question; none where it is asked at the end."""
    evidence: tuple[int, ...]


def read_expected(value: Any) -> list[Expected]:
    """Questions from JSON: `[{"question": "...", "messages": ["m4", 7]}, ...]`.

    Raises:
        FormatError: It is something else; the path says where.
    """
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        reason = "a list of questions is expected, each with question and messages"
        raise FormatError(reason)
    return [_one(entry, f"$[{nth}]") for nth, entry in enumerate(value)]


def _one(entry: Any, path: str) -> Expected:
    if not isinstance(entry, Mapping):
        reason = f"a question is an object with question and messages, not {entry!r}"
        raise FormatError(reason, path)
    question, messages = entry.get("question"), entry.get("messages")
    if isinstance(question, bool) or not isinstance(question, (str, int)):
        reason = f"question must be a text or a message's id, not {question!r}"
        raise FormatError(reason, f"{path}.question")
    if not isinstance(messages, list) or not messages:
        reason = f"messages must be a list of ids, one at least, not {messages!r}"
        raise FormatError(reason, f"{path}.messages")
    for nth, name in enumerate(messages):
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            reason = f"an id is a text or an index, not {name!r}"
            raise FormatError(reason, f"{path}.messages[{nth}]")
    return Expected(str(question), tuple(map(str, messages)))


def find(expected: Sequence[Expected], log: Log) -> list[Asked]:
    """The questions in a session. Costs its length.

    Raises:
        UnknownMessageError: Its messages have not that id.
        FormatError: A question is the id of a message that is not a user's.
    """
    places = {log.id(index): index for index in range(len(log))}
    found: list[Asked] = []
    for nth, one in enumerate(expected):
        evidence: list[int] = []
        for name in one.messages:
            if name not in places:
                raise UnknownMessageError(name)
            evidence.append(places[name])
        at = places.get(one.question)
        if at is not None and log.entries[at].kind != USER:
            reason = f"question {one.question!r} is a message, but not a user's"
            raise FormatError(reason, f"$[{nth}].question")
        found.append(Asked(one.question, at, tuple(evidence)))
    return found
