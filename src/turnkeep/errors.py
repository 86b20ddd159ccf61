"""Every error turnkeep raises, in one tree.

```text
TurnkeepError
├── BudgetExceededError        what must stay does not fit
├── InvalidHistoryError        the history breaks rules that trimming cannot mend
├── OpenCallError              a call is open and open_calls="raise" was asked for
├── FormatError                a value is not what its format says it is
│   ├── AmbiguousFormatError   several formats could be meant
│   ├── CutOffError            the token limit cut off a call's arguments
│   └── CorruptStoreError      a saved file or database is damaged
├── DuplicateIdError           an id is used twice
├── UnknownConversationError   the store has no conversation of that id
├── UnknownMessageError        no message has that id
├── UnknownCallError           no call has that id
├── AmbiguousCallError         several open calls share that id
├── AlreadyResolvedError       the call has a final answer already
├── NaiveTimestampError        a time stamp without a time zone
├── StalePlanError             a plan applied to other messages than its own
├── StrategyError              a strategy broke its contract
├── TokenizerUnavailableError  no vocabulary for an exact count
└── ConflictError              somebody else wrote first
```

Wrong *arguments* (a negative budget, an unknown option) raise `ValueError` or
`TypeError`, as everywhere in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

__all__ = [
    "AlreadyResolvedError",
    "AmbiguousCallError",
    "AmbiguousFormatError",
    "BudgetExceededError",
    "ConflictError",
    "CorruptStoreError",
    "CutOffError",
    "DuplicateIdError",
    "FormatError",
    "Held",
    "InvalidHistoryError",
    "NaiveTimestampError",
    "OpenCallError",
    "StalePlanError",
    "StrategyError",
    "TokenizerUnavailableError",
    "TurnkeepError",
    "UnknownCallError",
    "UnknownConversationError",
    "UnknownMessageError",
    "Violation",
]


class TurnkeepError(Exception):
    """The root: catch it to catch everything turnkeep raises on purpose."""


@attrs.frozen
class Held:
    """One thing that cannot go, and who holds it."""

    id: str
    """Id of the message, or `"tools"`, `"system"`, `"overhead"`."""

    cause: str
    """`pinned`, `pending`, `question`, `newest`, `unread`, `system`, `memory`,
    `stateful`, `tools`, `overhead`, `signature`, `profile` or `not_offered` (the
    strategy never offered it)."""

    tokens: int
    """Tokens it occupies; for another limit than tokens, how many it uses of it."""


@attrs.define
class BudgetExceededError(TurnkeepError):
    """What must stay does not fit, however much else goes."""

    needed: int
    """How much cannot go (tokens, or messages, turns, images: see *limit*)."""

    available: int
    """How much the budget leaves for it."""

    smallest: int
    """The smallest budget (`max_tokens`, or the limit's own) that would work."""

    limit: str = "tokens"
    """Which limit was hit: `tokens`, `turns`, `messages` or `images`."""

    held: tuple[Held, ...] = ()
    """Everything that cannot go, oldest first."""

    def __str__(self) -> str:
        """Say what does not fit, who holds it and what to do."""
        totals: dict[str, int] = {}
        for item in self.held:
            totals[item.cause] = totals.get(item.cause, 0) + item.tokens
        parts = ", ".join(f"{cause} {tokens}" for cause, tokens in totals.items())
        name = "max_tokens" if self.limit == "tokens" else f"max_{self.limit}"
        return (
            f"{self.needed} {self.limit} cannot be dropped, but only {self.available} "
            f"are available ({parts or 'nothing held'}).{self._worst(totals)} Set "
            f"{name} to at least {self.smallest}{self._others(totals)}."
        )

    def _worst(self, totals: Mapping[str, int]) -> str:
        """The cause that holds most, its largest message, and what frees it."""
        cause = max(totals, key=totals.__getitem__, default=None)
        if cause is None or not totals[cause]:
            return ""
        of_it = [item for item in self.held if item.cause == cause]
        largest = max(of_it, key=lambda item: item.tokens)
        most = "all of it" if len(of_it) == 1 else f"{largest.tokens} of it"
        whose = "" if largest.id == cause else f", {most} {largest.id}"
        held = f" Most is held as {cause} ({totals[cause]}{whose})"
        way = self._way_out(cause)
        return f"{held}: {way}." if way else f"{held}."

    def _others(self, totals: Mapping[str, int]) -> str:
        """What frees what other causes hold, those that hold most first."""
        causes = sorted(totals, key=totals.__getitem__, reverse=True)[1:]
        ways = (self._way_out(c) for c in causes if c not in _BY_SIZE and totals[c])
        return "".join(f", or {way}" for way in ways if way)

    def _way_out(self, cause: str) -> str | None:
        if self.limit != "tokens" and cause in _BY_SIZE:
            return None
        return _WAYS_OUT.get(cause)


_WAYS_OUT: Final = {
    "pinned": 'unpin something, or pin less with pin_scope="step"',
    "pending": "answer a pending call, or say with pending=() that nobody waits",
    "question": "shorten the question",
    "newest": "shorten the newest step's tool results",
    "unread": "shorten the tool results that the model has not read",
    "system": "shorten the system text, or let it go with drop_system=True",
    "memory": "let the provider compact again, or leave its memory out",
    "stateful": "answer without what the provider keeps under an id",
    "tools": "send fewer tools",
    "signature": "switch thinking off for this request",
    "profile": "free what it stands beside: a pin, a pending call, system text",
    "not_offered": "choose a strategy that offers more",
}
"""What frees what a cause holds."""

_BY_SIZE: Final = frozenset({"question", "newest", "unread", "tools", "signature"})
"""Causes that something smaller would free: no help where messages are counted."""


@attrs.frozen
class Violation:
    """One rule that a history or request breaks."""

    rule: str
    """The rule's number, such as `"OC-12"`, or a name such as `"orphan_result"`."""

    where: str
    """A JSON path to the offending value, such as `"$.messages[3].content"`."""

    message: str
    """What is wrong, in words, with the ids concerned and what would mend it."""

    hard: bool = True
    """Whether the provider refuses the request (otherwise the evidence differs)."""


@attrs.define
class InvalidHistoryError(TurnkeepError):
    """The history breaks rules, and the caller asked not to have it mended."""

    violations: tuple[Violation, ...]
    """What is wrong, in the order of the history."""

    def __str__(self) -> str:
        """List the first few violations."""
        shown = "; ".join(f"{v.where}: {v.message}" for v in self.violations[:3])
        more = len(self.violations) - 3
        rest = f"; and {more} more" if more > 0 else ""
        return f"the history is not valid: {shown}{rest}"


@attrs.define
class OpenCallError(TurnkeepError):
    """Calls without a final result stand in the way of sending."""

    call_ids: tuple[str, ...]
    """The open calls, oldest first."""

    def __str__(self) -> str:
        """Name the calls and the ways out."""
        return (
            f"open calls: {', '.join(self.call_ids)}. Resolve, cancel or abandon them, "
            'or pass open_calls="stand-in".'
        )


@attrs.define
class FormatError(TurnkeepError):
    """A value is not what its format demands."""

    reason: str
    """What is wrong, with the offending value."""

    path: str = "$"
    """Where: a JSON path, such as `"$.messages[3].content"`."""

    def __str__(self) -> str:
        """Say what is wrong and where."""
        return f"{self.reason} @ {self.path}"


@attrs.define
class AmbiguousFormatError(FormatError):
    """Several formats could be meant, and they would not give the same."""

    candidates: tuple[str, ...] = ()
    """Names to choose from, for `format=`."""

    def __str__(self) -> str:
        """List the candidates."""
        names = ", ".join(self.candidates) or "none"
        return f"{self.reason} @ {self.path}; pass format= (candidates: {names})"


@attrs.define
class CutOffError(FormatError):
    """The token limit cut off the arguments of a call; nothing was changed."""

    call_ids: tuple[str, ...] = ()
    """The calls that are not whole."""

    def __str__(self) -> str:
        """Name the calls and the way out."""
        return (
            f"the token limit cut off the arguments of {', '.join(self.call_ids)} "
            f"@ {self.path}; ask again with room for a longer answer"
        )


@attrs.define
class CorruptStoreError(FormatError):
    """A saved file or database is damaged; nothing was changed."""

    line: int | None = None
    """The damaged line of a file, counted from 1."""


@attrs.define
class DuplicateIdError(TurnkeepError):
    """Two messages of one history have the same id."""

    id: str
    path: str = "$"

    def __str__(self) -> str:
        """Name the id and the place of its second use."""
        return f"message id {self.id!r} is used twice @ {self.path}"


@attrs.define
class UnknownConversationError(TurnkeepError, KeyError):
    """The store has no conversation of that id."""

    id: str

    def __str__(self) -> str:
        """Name the id."""
        return f"no conversation {self.id!r} in this store"


@attrs.define
class UnknownMessageError(TurnkeepError, KeyError):
    """No message has that id."""

    id: object

    def __str__(self) -> str:
        """Name the id."""
        hint = "" if isinstance(self.id, (str, int)) else ": an id is text"
        return f"no message {self.id!r} in this history{hint}"


@attrs.define
class UnknownCallError(TurnkeepError, KeyError):
    """No open call has that id."""

    call_id: str

    def __str__(self) -> str:
        """Name the id."""
        return f"no tool call {self.call_id!r} in this conversation"


@attrs.define
class AmbiguousCallError(TurnkeepError):
    """More than one open call has that id."""

    call_id: str
    message_ids: tuple[str, ...]

    def __str__(self) -> str:
        """Name the messages to choose from."""
        return (
            f"tool call id {self.call_id!r} is open in several messages: "
            f"{', '.join(self.message_ids)}. Pass message_id= to say which."
        )


@attrs.define
class AlreadyResolvedError(TurnkeepError):
    """The call has a final answer; the first one stands."""

    call_id: str
    state: str = "resolved"

    def __str__(self) -> str:
        """Name the call and how it was closed."""
        return f"tool call {self.call_id!r} is {self.state} already; nothing changed"


@attrs.define
class NaiveTimestampError(TurnkeepError, ValueError):
    """A time stamp has no time zone."""

    value: object
    path: str = "$"

    def __str__(self) -> str:
        """Show the value and the way out."""
        return (
            f"time stamp {self.value!s} has no time zone @ {self.path}; "
            "give it one, for example datetime.now(UTC)"
        )


@attrs.define
class StalePlanError(TurnkeepError):
    """The plan was made for other messages than these."""

    reason: str

    def __str__(self) -> str:
        """Say what differs."""
        return f"the plan was made for another history: {self.reason}. Plan again."


@attrs.define
class StrategyError(TurnkeepError):
    """A strategy proposed something it must not."""

    strategy: str
    reason: str

    def __str__(self) -> str:
        """Name the strategy and its fault."""
        return f"strategy {self.strategy}: {self.reason}"


@attrs.define
class TokenizerUnavailableError(TurnkeepError):
    """No vocabulary for this encoding can be had offline."""

    encoding: str
    ways_out: Sequence[str] = ()

    def __str__(self) -> str:
        """Name the encoding and the ways out."""
        ways = "; ".join(self.ways_out)
        return f"no vocabulary for {self.encoding!r} on this machine. {ways}".rstrip()


@attrs.define
class ConflictError(TurnkeepError):
    """Somebody else changed the conversation first; nothing was written."""

    conversation_id: str
    expected: int
    """The version this write was made for."""
    actual: int
    """The version that is stored."""
    changed: tuple[str, ...] = ()
    """Ids of the messages that were added or changed in between."""

    def __str__(self) -> str:
        """Say what changed and how to go on."""
        ids = f" (changed: {', '.join(self.changed)})" if self.changed else ""
        return (
            f"conversation {self.conversation_id!r} is at version {self.actual}, not "
            f"{self.expected}{ids}. Reload it, or append with rebase=True."
        )
