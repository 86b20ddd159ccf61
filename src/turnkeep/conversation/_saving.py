"""A conversation as a document of our JSON, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from turnkeep.budgets import Budget, Prices
from turnkeep.engine import Memory
from turnkeep.errors import FormatError
from turnkeep.model import Message, freeze, paused_gc, thaw
from turnkeep.plans import Inserted
from turnkeep.serial import (
    dump_messages,
    dump_parts,
    load_document,
    load_messages,
    structure,
    unstructure,
)
from turnkeep.stores import CallRecord, Snapshot
from turnkeep.turns import Grouping

from ._calls import POLICIES, CallNote
from ._changes import count_of
from ._learning import Learner, SavedLearning

if TYPE_CHECKING:
    from ._conversation import Conversation
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
class SavedCut:
    """Where the last window was cut."""

    available: int
    dropped: tuple[SavedRun, ...] = ()
    edited: tuple[SavedEdit, ...] = ()
    inserted: tuple[SavedInsert, ...] = ()


@attrs.frozen
class SavedBudget:
    """A `Budget` as it is saved."""

    max_tokens: int
    reserve: int = 0
    trigger: float = 1.0
    target: float | None = None
    read: float | None = None
    write: float | None = None
    max_turns: int | None = None
    max_messages: int | None = None
    max_images: int | None = None


_FIELDS = (
    "budget",
    "calls",
    "counter",
    "counts",
    "cut",
    "format",
    "learned",
    "metadata",
    "model",
    "next_id",
    "pending_policy",
    "stand_in_text",
    "tools",
)


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
        fields["budget"] = unstructure(_saved_budget(chat.budget))
    if fitter.memory is not None:
        fields["cut"] = unstructure(_saved_cut(chat, fitter.memory, fitter.available))
    learned = fitter.learner.to_saved()
    if learned is not None:
        fields["learned"] = unstructure(learned)
    for name, value in (
        ("format", chat._format),
        ("model", chat.model),
        ("tools", chat.tools),
        ("metadata", chat.metadata),
    ):
        if value:
            fields[name] = thaw(freeze(value))
    fields["counter"] = chat._ledger.counter.name
    fields["next_id"] = chat._next
    if chat.pending_policy != "answer":
        fields["pending_policy"] = chat.pending_policy
    if chat.stand_in_text != type(chat).DEFAULT_STAND_IN:
        fields["stand_in_text"] = chat.stand_in_text
    return fields


def _saved_budget(budget: Budget) -> SavedBudget:
    prices = budget.prices
    return SavedBudget(
        budget.max_tokens,
        budget.reserve,
        budget.trigger,
        budget.target,
        prices.read if prices else None,
        prices.write if prices else None,
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
    )


def from_document(
    kind: type[Conversation], doc: Any, options: Mapping[str, Any]
) -> Any:
    """A conversation like the one that *doc* was made of.

    Raises:
        FormatError: It is not a document of ours, with the path.
    """
    # Around all of it: where a pause ends, everything new is gone through.
    with paused_gc():
        return _restored(kind, *load_messages(doc), options)


def from_bytes(
    kind: type[Conversation], data: bytes, options: Mapping[str, Any]
) -> Any:
    """The same for the bytes of a document, in less time than for a document of them.

    Raises:
        FormatError: They are not JSON, or no document of ours, with the path.
    """
    with paused_gc():
        return _restored(kind, *load_document(data), options)


def _restored(
    kind: type[Conversation],
    messages: list[Message],
    rest: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Any:
    chat = _with_settings(kind, rest, options)
    chat._take(messages, _saved_counts(chat, rest, len(messages)))
    chat._next = max(chat._next, _whole(rest.get("next_id", 1), "$.next_id"))
    calls = structure(rest.get("calls", []), tuple[CallRecord, ...], "$.calls")
    _load_calls(chat, calls)
    if "cut" in rest:
        cut = structure(rest["cut"], SavedCut, "$.cut")
        chat._fitter.remember(_memory(chat, cut), cut.available)
    return chat


def from_snapshot(
    kind: type[Conversation], snapshot: Snapshot, options: Mapping[str, Any]
) -> Any:
    """A conversation like the stored one, or its newest part.

    Raises:
        FormatError: Its settings are damaged, with the path.
    """
    rest = snapshot.state
    chat = _with_settings(kind, rest, options)
    for row in snapshot.rows:
        chat._ledger.append(row.message, count_of(chat, row))
        chat._raise_counter(row.message.id)
    chat._next = max(
        chat._next, snapshot.serial + 1, _whole(rest.get("next_id", 1), "$.next_id")
    )
    _load_calls(chat, snapshot.calls)
    if "cut" in rest:
        cut = structure(thaw(rest["cut"]), SavedCut, "$.cut")
        border = None if snapshot.whole else snapshot.border
        chat._fitter.remember(_memory(chat, cut, border), cut.available)
    return chat


def _with_settings(
    kind: type[Conversation], rest: Mapping[str, Any], options: Mapping[str, Any]
) -> Conversation:
    """An empty conversation with saved settings; *options* come before them."""
    settings: dict[str, Any] = {}
    budget = rest.get("budget")
    if budget is not None:
        settings["budget"] = _budget(structure(thaw(budget), SavedBudget, "$.budget"))
    for name in ("format", "model", "stand_in_text", "pending_policy"):
        if name in rest:
            settings[name] = _text(rest[name], f"$.{name}")
    if "tools" in rest:
        settings["tools"] = thaw(rest["tools"])
    try:
        chat = kind(**{**settings, **options})
    except ValueError as error:
        if settings.get("pending_policy") in (None, *POLICIES):
            raise
        raise FormatError(str(error), "$.pending_policy") from None
    if "learned" in rest:
        saved = structure(thaw(rest["learned"]), SavedLearning, "$.learned")
        chat._fitter.learner = Learner.from_saved(saved)
    metadata = rest.get("metadata", {})
    if not isinstance(metadata, dict):
        reason = "metadata must be an object"
        raise FormatError(reason, "$.metadata")
    chat.metadata = thaw(metadata)
    chat._unknown = {k: v for k, v in rest.items() if k not in _FIELDS}
    return chat


def _load_calls(chat: Core, calls: Sequence[CallRecord]) -> None:
    for nth, call in enumerate(calls):
        if call.message not in chat._ledger.index:
            reason = f"no message {call.message!r}"
            raise FormatError(reason, f"$.calls[{nth}].message")
        try:
            note = CallNote.of(call)
        except ValueError:
            reason = f"{call.state!r} is no state of a call"
            raise FormatError(reason, f"$.calls[{nth}].state") from None
        chat._desk.book[call.message, call.position] = note
    chat._desk.settle()


def _budget(saved: SavedBudget) -> Budget:
    try:
        prices = None
        if saved.read is not None and saved.write is not None:
            prices = Prices(saved.read, saved.write)
        return Budget(
            saved.max_tokens,
            reserve=saved.reserve,
            trigger=saved.trigger,
            target=saved.target,
            prices=prices,
            max_turns=saved.max_turns,
            max_messages=saved.max_messages,
            max_images=saved.max_images,
        )
    except (ValueError, TypeError) as error:
        raise FormatError(str(error), "$.budget") from None


def _saved_counts(chat: Core, rest: Mapping[str, Any], length: int) -> Sequence[int]:
    """Counts of the same counter; others are counted again when needed."""
    counts = rest.get("counts")
    if counts is None or rest.get("counter") != chat._ledger.counter.name:
        return ()
    if not isinstance(counts, list) or len(counts) != length:
        reason = f"one count for each of the {length} messages expected"
        raise FormatError(reason, "$.counts")
    for nth, count in enumerate(counts):
        if type(count) is not int or not -1 <= count < 2**62:
            _whole(count, f"$.counts[{nth}]")
    return counts


def _memory(chat: Core, cut: SavedCut, border: int | None = None) -> Memory:
    """The cut by places in *chat*.

    Where only the newest part is there, *border* is its first message: what stands
    before it was kept, and messages that are not there were dropped.
    """
    ledger = chat._ledger
    grouping = ledger.grouping

    def at(message_id: str, path: str) -> int | None:
        index = ledger.index.get(message_id)
        if index is None and border is None:
            reason = f"no message {message_id!r}"
            raise FormatError(reason, path)
        return index

    dropped = bytearray(grouping.steps)
    causes = [""]
    for nth, run in enumerate(cut.dropped):
        path = f"$.cut.dropped[{nth}]"
        first, last = at(run.first, path), at(run.last, path)
        if last is None:
            continue
        if first is None:
            start = _first_left_out(grouping, grouping.step_of[border or 0])
        else:
            start = grouping.step_of[first]
        stop = grouping.step_of[last] + 1
        if run.cause not in causes:
            causes.append(run.cause)
        dropped[start:stop] = bytes([causes.index(run.cause)]) * max(stop - start, 0)
    replaced: dict[int, tuple[Message, str]] = {}
    for edit in cut.edited:
        index = at(edit.id, "$.cut.edited")
        if index is not None:
            replaced[index] = (edit.content, edit.cause)
    inserted: list[Inserted] = []
    for item in cut.inserted:
        place: int | None = -1
        if item.after is not None:
            place = at(item.after, "$.cut.inserted")
        if place is None:
            place = (border or 0) - 1
        inserted.append(Inserted(place, item.content, item.tokens, item.cause))
    return Memory(bytes(dropped), tuple(causes), replaced, tuple(inserted))


def _first_left_out(grouping: Grouping, step: int) -> int:
    """*step*, or the question before it, which is here for its turn's sake alone."""
    question = grouping.turn_first[grouping.turn_of(step)]
    # Anything between the two is held, and then so is the question.
    return question if question == step - 1 else step


def _text(value: Any, path: str) -> str:
    if isinstance(value, str):
        return value
    reason = f"text expected, got {value!r}"
    raise FormatError(reason, path)


def _whole(value: Any, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62:
        return value
    reason = f"a whole number expected, got {value!r}"
    raise FormatError(reason, path)
