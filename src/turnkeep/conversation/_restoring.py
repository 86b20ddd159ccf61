"""From what was saved to a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from turnkeep.budgets import Budget, Prices
from turnkeep.engine import Memory
from turnkeep.errors import FormatError
from turnkeep.model import Message, paused_gc, thaw
from turnkeep.plans import Inserted
from turnkeep.profiles import get_profile
from turnkeep.serial import load_document, load_messages, structure
from turnkeep.stores import CallRecord, Snapshot
from turnkeep.turns import ASSISTANT, Grouping

from ._calls import CallNote
from ._changes import count_of
from ._learning import Learner, SavedLearning
from ._pace import Pace, SavedPace
from ._saving import FIELDS, USUAL, SavedBudget, SavedCut, SavedUnread

if TYPE_CHECKING:
    from ._conversation import Conversation
    from ._core import Core


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
    _load_unread(chat, rest)
    if "cut" in rest:
        cut = structure(rest["cut"], SavedCut, "$.cut")
        chat._fitter.remember(_memory(chat, cut), cut.available)
    _load_pace(chat, rest)
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
    _load_unread(chat, rest)
    if "cut" in rest:
        cut = structure(thaw(rest["cut"]), SavedCut, "$.cut")
        border = None if snapshot.whole else snapshot.border
        chat._fitter.remember(_memory(chat, cut, border), cut.available)
    _load_pace(chat, rest)
    return chat


def _with_settings(
    kind: type[Conversation], rest: Mapping[str, Any], options: Mapping[str, Any]
) -> Conversation:
    """An empty conversation with saved settings; *options* come before them."""
    settings: dict[str, Any] = {}
    budget = rest.get("budget")
    if budget is not None:
        settings["budget"] = budget_of(structure(thaw(budget), SavedBudget, "$.budget"))
    for name in ("format", "model", "stand_in_text", "token_counter", *USUAL):
        if name in rest:
            settings[name] = _text(rest[name], f"$.{name}")
    if "pending_policy" in rest:
        # The first documents have another word for it.
        policy = _text(rest["pending_policy"], "$.pending_policy")
        settings["open_calls"] = "stand-in" if policy == "answer" else policy
    if "tools" in rest:
        settings["tools"] = thaw(rest["tools"])
    try:
        chat = kind(**{**settings, **options})
    except ValueError as error:
        wrong = next((name for name in settings if f"{name} " in str(error)), None)
        if wrong is None or wrong in options:
            raise
        raise FormatError(str(error), f"$.{wrong}") from None
    kept = structure(thaw(rest.get("kept", [])), tuple[str, ...], "$.kept")
    chat._ledger.keep_elsewhere(kept)
    if "learned" in rest:
        saved = structure(thaw(rest["learned"]), SavedLearning, "$.learned")
        chat._fitter.learner = Learner.from_saved(saved)
    metadata = rest.get("metadata", {})
    if not isinstance(metadata, dict):
        reason = "metadata must be an object"
        raise FormatError(reason, "$.metadata")
    chat.metadata = thaw(metadata)
    chat._unknown = {k: v for k, v in rest.items() if k not in FIELDS}
    return chat


def _load_pace(chat: Core, rest: Mapping[str, Any]) -> None:
    if "pace" in rest:
        saved = structure(thaw(rest["pace"]), SavedPace, "$.pace")
        chat._fitter.pace = Pace.from_saved(saved, chat._ledger)


def _load_unread(chat: Core, rest: Mapping[str, Any]) -> None:
    """Hold the results that the model had not read, where it has not spoken since."""
    if "unread" not in rest:
        return
    saved = structure(thaw(rest["unread"]), SavedUnread, "$.unread")
    ledger = chat._ledger
    start = ledger.index.get(saved.since or "", -1) + 1
    if ledger.grouping.kinds.find(ASSISTANT, start) < 0:
        ledger.renew(saved.results)


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


def budget_of(saved: SavedBudget) -> Budget:
    """The budget that was saved.

    Raises:
        FormatError: It is none that can be.
    """
    try:
        prices = None
        if saved.read is not None and saved.write is not None:
            ttl = saved.ttl_seconds
            lasts = None if ttl is None else timedelta(seconds=ttl)
            prices = Prices(saved.read, saved.write, lasts)
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
    except (ValueError, TypeError, OverflowError) as error:
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
    profile = get_profile(chat.format, chat.model, chat.profile)
    ledger.join_lines(profile.policy.system_joins_rounds)
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
    frame = None
    if cut.frame is not None:
        places = [
            [at(name, f"$.cut.frame.{kind}") for name in names]
            for kind, names in attrs.asdict(cut.frame).items()
        ]
        frame = tuple(tuple(sorted(i for i in p if i is not None)) for p in places)
    return Memory(bytes(dropped), tuple(causes), replaced, tuple(inserted), frame)


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
