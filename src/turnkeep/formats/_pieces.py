"""What the last window was made of, so that the next one costs what is new in it.

A window is written piece by piece. No format joins entries across a *seam*, so the
entries on both sides of one are those that writing all of it at once would give. What
has been appended is written from the last seam on; behind a moved cut all that follows
the first seam stays, and only the head is written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile
from operator import is_
from threading import Lock
from typing import Any

from turnkeep.model import DISPLAY_KINDS, Message, Role
from turnkeep.policy import Policy
from turnkeep.turns import is_system_text

from ._base import Piecewise
from ._copies import Masters
from ._neighbours import join_all, joiner_of
from ._registry import get_format
from ._sending import order


class Pieces:
    """The messages and the request of the newest window, for the windows after it.

    Whoever asks gets copies that share nothing which could be changed. Windows are read
    outside the conversation's lock, so this has its own.
    """

    __slots__ = ("_key", "_lock", "_made", "_request", "_total")

    def __init__(self) -> None:
        """Nothing yet."""
        self._lock = Lock()
        self._key: Hashable | None = None
        self._total = 0
        self._made: list[Message] = []
        self._request: _Request | None = None

    def messages(
        self,
        history: Sequence[Message],
        total: int,
        key: Hashable | None,
        indexes: Callable[[], Sequence[int]],
    ) -> list[Message]:
        """A window's messages; costs what is new since the last one of the same *key*.

        Args:
            history:
                All messages.
            total:
                Of how many of them the window was made.
            key:
                The same for windows of which one is the other's beginning, if all that
                was appended in between is in it; none where nothing is known.
            indexes:
                Which messages the window holds, should it be made from the start.
        """
        with self._lock:
            follows = key is not None and key == self._key and self._total <= total
            self._key = None  # whatever interrupts this, all is made anew then
            if follows:
                self._made += history[self._total : total]
            else:
                self._made = list(map(history.__getitem__, indexes()))
            self._total = total
            self._key = key
            return self._made[:]

    def request(
        self,
        name: str,
        messages: Sequence[Message],
        tools: Any,
        demands: Policy,
        key: Hashable | None = None,
    ) -> dict[str, Any] | None:
        """The request that says *messages*; none where they hang together.

        Costs what is new in them, and a copy of each entry.

        Args:
            name:
                The format.
            messages:
                A window's.
            tools:
                Tool definitions, in the provider's shape; as they were when this very
                object was first seen.
            demands:
                What the provider demands.
            key:
                As for `messages`; without one the messages are compared.
        """
        with self._lock:
            known = self._request
            if known is None or not known.is_for(name, tools, demands):
                fmt: object = get_format(name)
                if not isinstance(fmt, Piecewise):
                    return None
                known = _Request(fmt, tools, demands)
            self._request = None  # what is interrupted is not gone on with
            made = known.write(messages, key)
            self._request = known
            return made


class _Request:
    """A request of one format: what stands around the list, and the list."""

    def __init__(self, fmt: Piecewise, tools: Any, demands: Policy) -> None:
        self.fmt = fmt
        self.tools = tools
        self.demands = demands
        self.around = Masters()
        self.front: list[Message] = []
        self.listed: list[Message] = []
        self.written = _List(fmt)
        self.seen: list[Message] = []
        self.key: Hashable | None = None

    def is_for(self, name: str, tools: Any, demands: Policy) -> bool:
        return self.fmt.name == name and self.tools is tools and self.demands == demands

    def write(
        self, messages: Sequence[Message], key: Hashable | None
    ) -> dict[str, Any] | None:
        if not self._follows(messages, key) and not self._part(messages):
            return None
        self.seen, self.key = list(messages), key
        if not self.written.write(self.listed):
            return None
        body: dict[str, Any] = self.around.copies()[0]
        body[self.fmt.list_key] += self.written.entries.copies()
        return body

    def _follows(self, messages: Sequence[Message], key: Hashable | None) -> bool:
        """Take over what is new, if the rest is as it was and stands where it stood."""
        seen = self.seen
        done = len(seen)
        if not done or len(messages) < done:
            return False
        if (key is None or key != self.key) and not all(map(is_, seen, messages)):
            return False
        new = messages[done:]
        # System text may change places, also when something follows it.
        if new and (seen[-1].role is Role.SYSTEM or not _are_plain(new)):
            return False
        self.listed += new
        return True

    def _part(self, messages: Sequence[Message]) -> bool:
        """Tell what stands around the list from the list; whether that can be done."""
        self.seen = []
        if any(message.kind in DISPLAY_KINDS for message in messages):
            return False
        ordered = order(messages, self.demands)
        lead = 0
        while lead < len(ordered) and is_system_text(ordered[lead]):
            lead += 1
        beside = self.fmt.stands_beside
        front = list(ordered[:lead])
        listed: list[Message] = []
        for message in ordered[lead:]:
            is_beside = message.role is Role.SYSTEM and beside(message)
            (front if is_beside else listed).append(message)
        if listed and listed[0].role is Role.TOOL_RESULT:
            return False
        if not self.around.entries or not _are_same(front, self.front):
            body = self.fmt.encode_request(front, self.tools)
            # Copied, because the tools in it are the caller's.
            self.around = Masters(Masters([body]).copies())
            self.front = front
        self.listed = listed
        self.written.follow(listed)
        return True


class _List:
    """The entries of a list of messages, and where it can be parted."""

    def __init__(self, fmt: Piecewise) -> None:
        self.fmt = fmt
        self.join = joiner_of(fmt.name)
        self.said: list[Message] = []
        self.entries = Masters()
        # Numbers of messages and of entries in front of which there is a seam.
        self.seams = [(0, 0)]

    def write(self, messages: Sequence[Message]) -> bool:
        """Encode what is new in *messages*, which begin with those already written.

        Whether that can be done; else all stays as it was.
        """
        done = len(self.said)
        if done == len(messages):
            return True
        if self.seams[-1][0] < done and self.fmt.stands_apart(
            messages[done - 1], messages[done]
        ):
            self.seams.append((done, len(self.entries)))
        start, kept = self.seams[-1]
        last = self._last_seam(messages, start)
        head = self._encode(messages, start, last)
        tail = self._encode(messages, last, len(messages))
        if head is None or tail is None:
            return False
        self.entries.put(kept, len(self.entries), head + tail)
        if last > start:
            self.seams.append((last, kept + len(head)))
        self.said += messages[done:]
        return True

    def _last_seam(self, messages: Sequence[Message], start: int) -> int:
        apart = self.fmt.stands_apart
        for nth in range(len(messages) - 1, start, -1):
            if apart(messages[nth - 1], messages[nth]):
                return nth
        return start

    def _encode(
        self, messages: Sequence[Message], start: int, stop: int
    ) -> list[Any] | None:
        if start == stop:
            return []
        made = self.fmt.encode_piece(messages[start:stop], messages[:start])
        if made is None or self.join is None:
            return made
        return join_all(made, self.join)

    def follow(self, messages: Sequence[Message]) -> None:
        """Keep the entries of what still stands in *messages*, and of nothing else.

        Afterwards they begin with what is written. Linear in their number.
        """
        said = self.said
        if _are_same(said, messages[: len(said)]):
            return
        pairs = zip(said, messages, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: is_(*pair), pairs))
        # Both sides of a seam are as they were, or it is the beginning.
        early = max(nth for nth, seam in enumerate(self.seams) if seam[0] < (same or 1))
        if not self._splice(messages, early):
            start, kept = self.seams[early]
            del self.seams[early + 1 :], said[start:]
            self.entries.put(kept, len(self.entries), [])

    def _splice(self, messages: Sequence[Message], early: int) -> bool:
        """Keep what is the same behind a hole too, and write what lies between."""
        said, last = self.said, len(self.said) - 1
        at = len(messages) - 1
        while at >= 0 and messages[at] is not said[last]:
            at -= 1
        if at < 0:
            return False
        by, first = at - last, last + 1
        while first and first + by > 0 and said[first - 1] is messages[first - 1 + by]:
            first -= 1
        start, kept = self.seams[early]
        for nth in range(early + 1, len(self.seams)):
            seam, entry = self.seams[nth]
            stop = seam + by
            if seam < first or stop < start:
                continue
            if stop and not self.fmt.stands_apart(messages[stop - 1], messages[stop]):
                continue
            between = self._encode(messages, start, stop)
            if between is None:
                return False
            more = kept + len(between) - entry
            later = [(m + by, e + more) for m, e in self.seams[nth:]]
            self.entries.put(kept, entry, between)
            # Where nothing lies between, both are the same seam.
            self.seams[early + (stop > start) :] = later
            self.said = list(messages[: at + 1])
            return True
        return False


def _are_plain(messages: Sequence[Message]) -> bool:
    return not any(
        message.role is Role.SYSTEM or message.kind in DISPLAY_KINDS
        for message in messages
    )


def _are_same(some: Sequence[Message], others: Sequence[Message]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))
