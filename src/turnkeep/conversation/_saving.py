"""A conversation as a document of our JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from turnkeep.budgets import Budget
from turnkeep.engine import Memory
from turnkeep.model import Message, freeze, thaw
from turnkeep.serial import dump_messages, dump_parts, unstructure

if TYPE_CHECKING:
    from ._core import Core


@attrs.frozen
class SavedRun:
    """Neighbouring steps that a window left out, by the ids of their messages."""

    first: str
    last: str
    cause: str


@attrs.frozen
class SavedEdit:
    """A message that a window holds changed."""

    id: str
    cause: str
    content: Message


@attrs.frozen
class SavedInsert:
    """A message of ours that a window holds."""

    after: str | None
    tokens: int
    cause: str
    content: Message


@attrs.frozen
class SavedFrame:
    """What else a window changed, where reasoning is signed together with that."""

    added: tuple[str, ...] = ()
    """The messages that some of ours stood behind."""
    moved: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


@attrs.frozen
class SavedCut:
    """Where the last window was cut."""

    available: int
    dropped: tuple[SavedRun, ...] = ()
    edited: tuple[SavedEdit, ...] = ()
    inserted: tuple[SavedInsert, ...] = ()
    frame: SavedFrame | None = None


@attrs.frozen
class SavedUnread:
    """Results that say something else since the model last spoke."""

    results: tuple[str, ...]
    """Ids of their messages."""
    since: str | None = None
    """The newest message at that time: an answer behind it has read them."""


@attrs.frozen
class SavedBudget:
    """A `Budget` as it is saved."""

    max_tokens: int
    reserve: int = 0
    trigger: float = 1.0
    target: float | None = None
    read: float | None = None
    write: float | None = None
    ttl_seconds: float | None = None
    max_turns: int | None = None
    max_messages: int | None = None
    max_images: int | None = None


FIELDS = (
    "budget",
    "cache_marks",
    "calls",
    "counter",
    "counts",
    "cut",
    "format",
    "kept",
    "learned",
    "metadata",
    "model",
    "next_id",
    "on_invalid",
    "on_overflow",
    "open_calls",
    "pace",
    "pending_policy",
    "profile",
    "stand_in_text",
    "token_counter",
    "tools",
    "unread",
)


USUAL: Final[Mapping[str, str | None]] = {
    "cache_marks": "keep",
    "on_invalid": "repair",
    "on_overflow": "shorten",
    "open_calls": "stand-in",
    "profile": None,
}
"""Options that are saved where they are not these."""


def to_document(chat: Core) -> dict[str, Any]:
    """Everything there is to save of *chat*, as plain JSON; costs the history."""
    return dump_messages(chat._ledger.messages, **_fields_of(chat))


def to_parts(chat: Core) -> Iterator[bytes | memoryview]:
    """The bytes of `to_document`, made as they are asked for.

    What they say is how *chat* is now, whatever becomes of it until then.
    """
    return dump_parts(tuple(chat._ledger.messages), **_fields_of(chat))


def _fields_of(chat: Core) -> dict[str, Any]:
    """What stands beside the messages in a document, by name."""
    fields = settings_of(chat)
    calls = [
        note.record(place)
        for place, note in sorted(chat._desk.book.items(), key=lambda item: item[0])
    ]
    if calls:
        fields["calls"] = unstructure(calls)
    counts = chat._ledger.counts
    if any(count >= 0 for count in counts):
        fields["counts"] = list(counts)
    else:
        fields.pop("counter")
    return {name: fields[name] for name in sorted(fields)}


def settings_of(chat: Core) -> dict[str, Any]:
    """What is saved beside messages and calls: budget, model, cut and the like."""
    fitter = chat._fitter
    fields: dict[str, Any] = dict(chat._unknown)
    if chat.budget is not None:
        fields["budget"] = unstructure(saved_budget(chat.budget))
    if fitter.memory is not None:
        fields["cut"] = unstructure(_saved_cut(chat, fitter.memory, fitter.available))
    learned = fitter.learner.to_saved()
    if learned is not None:
        fields["learned"] = unstructure(learned)
    pace = fitter.pace.to_saved()
    if pace is not None:
        fields["pace"] = unstructure(pace)
    for name, value in (
        ("format", chat._format),
        ("kept", list(chat._ledger.kept)),
        ("model", chat.model),
        ("tools", chat.tools),
        ("metadata", chat.metadata),
    ):
        if value:
            fields[name] = thaw(freeze(value))
    unread = saved_unread(chat._ledger.renewed, chat._ledger.messages)
    if unread is not None:
        fields["unread"] = unread
    fields["counter"] = chat._ledger.counter.name
    fields["next_id"] = chat._next
    for option, usual in USUAL.items():
        if getattr(chat, option) != usual:
            fields[option] = getattr(chat, option)
    if isinstance(chat._text_counter, str):
        fields["token_counter"] = chat._text_counter
    if chat.stand_in_text != type(chat).DEFAULT_STAND_IN:
        fields["stand_in_text"] = chat.stand_in_text
    return fields


def saved_unread(
    results: Iterable[str], messages: Sequence[Message]
) -> dict[str, Any] | None:
    """*results* as they are saved, or nothing; *messages*: those there are then."""
    ids = tuple(results)
    if not ids:
        return None
    since = messages[-1].id if messages else None
    saved: dict[str, Any] = unstructure(SavedUnread(ids, since))
    return saved


def saved_budget(budget: Budget) -> SavedBudget:
    """*budget* as it is saved."""
    prices = budget.prices
    return SavedBudget(
        budget.max_tokens,
        budget.reserve,
        budget.trigger,
        budget.target,
        prices.read if prices else None,
        prices.write if prices else None,
        prices.ttl.total_seconds() if prices and prices.ttl else None,
        budget.max_turns,
        budget.max_messages,
        budget.max_images,
    )


def _saved_cut(chat: Core, memory: Memory, available: int) -> SavedCut:
    ledger = chat._ledger
    first = ledger.grouping.first
    runs: list[SavedRun] = []
    start = 0
    dropped = memory.dropped
    while start < len(dropped):
        code, stop = dropped[start], start + 1
        while stop < len(dropped) and dropped[stop] == code:
            stop += 1
        if code:
            runs.append(
                SavedRun(
                    ledger.id(first[start]),
                    ledger.id(first[stop - 1]),
                    str(memory.causes[code]),
                )
            )
        start = stop
    return SavedCut(
        available,
        tuple(runs),
        tuple(
            SavedEdit(ledger.id(index), str(cause), content)
            for index, (content, cause) in memory.replaced.items()
        ),
        tuple(
            SavedInsert(
                ledger.id(item.after) if item.after >= 0 else None,
                item.tokens,
                str(item.cause),
                item.message,
            )
            for item in memory.inserted
        ),
        None
        if not any(memory.frame or ())
        else SavedFrame(
            *(
                tuple(ledger.id(index) for index in places if index >= 0)
                for places in memory.frame or ()
            )
        ),
    )
