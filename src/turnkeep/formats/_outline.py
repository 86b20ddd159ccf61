"""What a long list says, read without decoding more of it than has to be.

One loop of each format looks at every entry as little as it can. An entry that is
spelled or paired in a way that the loop does not know, or whose text begins as messages
of ours do, is *odd*: it is decoded, alone and in its place. What is malformed is always
odd, so that decoding names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeAlias

import attrs

from turnkeep.model import Message
from turnkeep.model._layout import Layout
from turnkeep.turns import (
    ASSISTANT,
    CALL,
    MANY_CALLS,
    MANY_RESULTS,
    RESULT,
    USER,
    Answer,
    CallKey,
    Columns,
    Hosted,
    LinkId,
    code_of,
    entry_of,
    link_id,
    thinks,
)

from ._shape import MARKS, is_placeholder, names_call

ONE_CALL: Final = ASSISTANT + CALL
"""The code of a message with one call."""

MOST: Final = 30
"""How many calls or results of one message its code can say."""

END: Final[Any] = object()
"""Instead of an odd entry: there is none any more."""

UNKNOWN: Final = (KeyError, TypeError, AttributeError, IndexError, ValueError)
"""What a loop meets in entries that are not as it expects."""

Decode: TypeAlias = Callable[[Any, str], tuple[Message, ...]]
"""`Format.decode`."""


@attrs.frozen
class Outline:
    """Who speaks, which calls and results there are, and what has been decoded."""

    columns: Columns | None
    """What grouping needs; none where every message was decoded."""

    wire: Sequence[int]
    """The entry of each message: a range where every entry is one message."""

    reasoning: Sequence[int]
    """The assistant's messages that hold reasoning, in order."""

    in_front: Sequence[int]
    """The user's messages before or between the results of their entry, in order."""

    id_at: Sequence[int]
    """The entries that may have an id of their own, in order."""

    ids: Sequence[Any]
    """What it is, of each of them."""

    messages: dict[int, Message]
    """The messages that had to be decoded, by index."""


def own_id(entry: Any) -> Any:
    """What stands where an entry has its id; `None` where there is none."""
    if isinstance(entry, Mapping):
        found = entry.get("id")
        if found is not None and names_call(entry):
            return None
    else:
        found = getattr(entry, "id", None)
    return None if is_placeholder(found) else found


def stands_in_front(message: Message) -> bool:
    """Whether it stands before or between the results whose entry it shares."""
    layout = message.layout
    return layout is not None and "+" in layout and Layout.read(layout).between


def outline_decoded(entries: Sequence[Any], decode: Decode, path: str) -> Outline:
    """The outline of a format whose every entry is decoded. Linear.

    Raises:
        FormatError: An entry is not what the format demands.
    """
    messages: dict[int, Message] = {}
    wire: list[int] = []
    for nth, entry in enumerate(entries):
        for message in decode(entry, f"{path}[{nth}]"):
            messages[len(wire)] = message
            wire.append(nth)
    every = range(len(entries))
    return Outline(
        None,
        every if wire == list(every) else wire,
        [index for index, message in messages.items() if thinks(message)],
        [index for index, message in messages.items() if stands_in_front(message)],
        every,
        list(map(own_id, entries)),
        messages,
    )


class OutlineReader(ABC):
    """Fills the columns of one list; each format knows its own entries.

    Loops look at texts by `said.removeprefix(MARKS) is not said`, in line: that is the
    quickest look, and the text is at hand. A call for each would cost as much again.
    """

    def __init__(self, entries: Sequence[Any], decode: Decode, path: str) -> None:
        """Nothing is read yet."""
        self.entries = entries
        self.rest = iter(entries)
        """The entries that have not been looked at."""
        self.codes: list[int] = []
        self.call_ids: list[LinkId] = []
        self.result_ids: list[LinkId] = []
        self.reasoning: list[int] = []
        self.in_front: list[int] = []
        self.id_at: list[int] = []
        self.ids: list[Any] = []
        self.more: list[int] = []
        """The messages that share the entry of the one before."""
        self._decode = decode
        self._path = path
        self._messages: dict[int, Message] = {}
        self._answers: dict[int, Sequence[Answer]] = {}
        self._summaries: list[int] = []
        self._hosted: dict[int, Hosted] = {}

    @abstractmethod
    def scan(self) -> Any:
        """Take entries from `rest` up to one that is odd, which is returned, or `END`.

        Whatever an entry lacks must show before it has changed anything here.
        """

    @staticmethod
    @abstractmethod
    def keys_in(entry: Any) -> list[CallKey]:
        """The calls that an entry makes that is not odd; never raises."""

    def read(self) -> Outline:
        """Read all entries. Linear.

        Raises:
            FormatError: An entry is not what the format demands: the first of them.
        """
        while (odd := self.scan()) is not END:
            self._take(odd)
        wire = self._wire()
        keys_of = partial(_keys_of, self.entries, wire, self._messages, self.keys_in)
        return Outline(
            Columns(
                bytes(self.codes),
                self.call_ids,
                self.result_ids,
                keys_of,
                self._answers,
                self._summaries,
                self._hosted,
            ),
            wire,
            self.reasoning,
            self.in_front,
            self.id_at,
            self.ids,
            self._messages,
        )

    def note_id(self, identity: Any) -> None:
        """Note the id of the entry whose first message has been noted last."""
        if is_placeholder(identity):
            return
        self.id_at.append(len(self.codes) - 1 - len(self.more))
        self.ids.append(identity)

    def add_calls(self, ids: list[LinkId]) -> None:
        """Note an assistant's message with calls of these ids, at most `MOST`."""
        self.call_ids += ids
        self.codes.append(ASSISTANT + CALL * len(ids))

    def add_results(self, ids: list[LinkId], identity: Any, *, words: bool) -> None:
        """Note an entry with several blocks, whose texts are none of ours.

        Args:
            ids:
                Those of the calls that its results answer, at most `MOST`, all final.
            identity:
                The entry's own id; `None` for none.
            words:
                Whether there is something of the user's in it.
        """
        codes, count = self.codes, len(ids)
        if count == 1:
            codes.append(RESULT)
        elif count:
            codes.append(RESULT + CALL * count)
        else:
            codes.append(USER)
        if identity is not None:
            self.note_id(identity)
        self.result_ids += ids
        if count and words:
            self.more.append(len(codes))
            codes.append(USER)

    def _wire(self) -> Sequence[int]:
        if not self.more:
            return range(len(self.codes))
        begins = bytearray(b"\1") * len(self.codes)
        for index in self.more:
            begins[index] = 0
        return list(accumulate(begins, initial=-1))[1:]

    def _take(self, entry: Any) -> None:
        """Decode an odd entry and note its messages."""
        nth = len(self.codes) - len(self.more)
        parts = self._decode(entry, f"{self._path}[{nth}]")
        identity = own_id(entry)
        if identity is not None:
            self.id_at.append(nth)
            self.ids.append(identity)
        for place, part in enumerate(parts):
            index = len(self.codes)
            if place:
                self.more.append(index)
            row = entry_of(part)
            code = code_of(row)
            self.codes.append(code)
            self._messages[index] = part
            if code != MANY_CALLS:
                self.call_ids += map(link_id, row.calls)
            if code == MANY_RESULTS:
                self._answers[index] = row.results
            else:
                self.result_ids += map(link_id, row.results)
            if row.is_summary:
                self._summaries.append(index)
            if row.hosted is not None:
                self._hosted[index] = row.hosted
            if thinks(part):
                self.reasoning.append(index)
            if stands_in_front(part):
                self.in_front.append(index)


def _keys_of(
    entries: Sequence[Any],
    wire: Sequence[int],
    messages: Mapping[int, Message],
    keys_in: Callable[[Any], list[CallKey]],
    index: int,
) -> list[CallKey]:
    """The calls of a message."""
    message = messages.get(index)
    if message is None:
        return keys_in(entries[wire[index]])
    return list(entry_of(message).calls)


def unmarked(text: Any) -> None:
    """Refuse a text that may begin a message of ours.

    Raises:
        ValueError: It does.
        AttributeError: It is no text.
    """
    # The very same text comes back where there is no such prefix: the quickest look.
    if text.removeprefix(MARKS) is not text:
        raise ValueError


def first_text(parts: Sequence[Any], kinds: Iterable[str]) -> Any:
    """What the first of several typed *parts* says: empty if it is of no text kind.

    Raises:
        KeyError, TypeError: It has no type, or its text is missing.
    """
    if not parts:
        return ""
    first = parts[0]
    return first["text"] if first["type"] in kinds else ""
