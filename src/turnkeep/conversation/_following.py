"""Following a host's list: whatever it did there, the conversation says the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from turnkeep.errors import ConflictError, UnknownMessageError
from turnkeep.formats import get_format, read_entry, reopen
from turnkeep.model import Message, Role
from turnkeep.model._checks import quoted
from turnkeep.stores import CallRecord, Change, Row

from ._aligning import Alignment, Known, align
from ._carrying import Carried
from ._host import HostList, copy_of
from ._saving import saved_unread
from ._taking import as_messages
from ._writing import Writing

_SYSTEM = "system"
"""Marks system text that stands beside a list, as the first of its entries."""


@attrs.frozen
class Synced:
    """What `Conversation.sync` found: messages by id, in their order."""

    kept: int
    """How many of the list's messages were here and are as they were."""
    appended: tuple[str, ...] = ()
    """Messages that are new."""
    removed: tuple[str, ...] = ()
    """Messages that the list no longer holds."""
    edited: tuple[str, ...] = ()
    """Messages that say something else now, in their place."""


@attrs.frozen
class _Listed:
    """A host's list as it came."""

    entries: Sequence[Any]
    """Its entries; system text beside it is the first."""
    path: str
    head: int
    """How many of the entries stand beside the list."""
    kept: tuple[str, ...] | None
    """Keys under which the provider keeps what came before; none: nothing is said."""
    tools: Any
    is_body: bool


class Following(Writing):
    """The part of a conversation that follows a list which somebody else owns."""

    tools: Any
    """Tool definitions that are sent with each request."""
    _own: dict[str, None]
    """Results that were said here, by id: the host's list does not have them."""
    _seen: tuple[list[Message], int]
    """The messages at the end of the last `sync`, and how many there were."""

    def sync(
        self,
        messages: Any,
        *,
        tools: Any = None,
        system: Any = None,
        changed: str | int | Iterable[str | int] = (),
        deep: bool = False,
    ) -> Synced:
        """Say what a host's whole current list says.

        Equal beginnings and ends stay as they are here, with their counts, pins and
        calls; so does the cut, the summary and what was learned. A changed entry
        between equal neighbours is an edit, and a result that took another's place is
        new: it is held until the model has answered. Where entries are missing, theirs
        go; else all behind the equal beginning is taken anew. Results that were said
        here (`defer`, `resolve`, `cancel` ...) stay until the list answers their call
        or no longer makes it. Other messages that only stand here go.

        Costs what is new, and a comparison of addresses of what is known where the
        entries are the host's same objects, or of values where they are not. The
        newest 400 entries, open calls and placeholders are compared by value in any
        case: a change in place further back is found where *changed* names it, or with
        *deep*.

        Args:
            messages:
                The list, or a whole request body, whose tools and system text are
                taken over. Entries as for `append`.
            tools:
                Tool definitions from now on; none: as before.
            system:
                System text beside the list, as the format has it; none: as before.
            changed:
                Ids of messages, or places in the list, that were changed in place.
            deep:
                Compare everything by value.

        Raises:
            FormatError: An entry is malformed, with its path; nothing is changed.
            UnknownMessageError: *changed* names nothing that is known.
            ConflictError: Other processes wrote first, twice; nothing is changed.
        """
        with self._lock:
            self._load_rest()
            host = self._known_host()
            listed = self._listed(messages, system, host)
            if listed.kept is not None and listed.kept != self._ledger.kept:
                self._ledger.keep_elsewhere(listed.kept)
                self._fitter.forget()
            named = self._places(host, changed)
            try:
                done = self._follow(host, listed, named, deep=deep)
            except ConflictError:
                # What others wrote is here now: the list says what is to become of it.
                host = self._known_host()
                done = self._follow(host, listed, named, deep=deep)
            if tools is not None or listed.is_body:
                self.tools = listed.tools if tools is None else tools
            return done

    def _ids_at(self, place: int) -> tuple[str, ...]:
        """The messages of an entry of the list that was followed last."""
        with self._lock:
            host = self._known_host()
            return host.ids[place + host.head]

    # -- what came ---------------------------------------------------------------------

    def _listed(self, messages: Any, system: Any, host: HostList) -> _Listed:
        if isinstance(messages, Mapping):
            _, envelope = reopen(messages, self.format)
            objects = envelope.objects
            entries = envelope.entries if objects is None else objects.originals
            if system is None:
                system = envelope.system
            head = [] if system is None else [(_SYSTEM, copy_of(system))]
            return _Listed(
                [*head, *entries] if head else entries,
                envelope.path,
                len(head),
                envelope.kept,
                envelope.tools,
                is_body=True,
            )
        if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):
            msg = f"sync() takes a list or a request body, not {quoted(messages)}"
            raise TypeError(msg)
        entries = messages if isinstance(messages, list) else list(messages)
        head = [] if system is None else [(_SYSTEM, copy_of(system))]
        if not head and host.head:
            head = host.objects[:1]
        return _Listed(
            [*head, *entries] if head else entries,
            "$",
            len(head),
            None,
            None,
            is_body=False,
        )

    def _known_host(self) -> HostList:
        """The host's list as it was last seen, as far as it is still here.

        Costs what was appended here since; the list once where messages went.
        """
        messages, index = self._ledger.messages, self._ledger.index
        host = self._host
        if host is None:
            host = self._host = HostList()
            self._own, self._seen = {}, ([], 0)
        elif self._seen[0] is not messages:
            lost = (
                nth
                for nth, ids in enumerate(host.ids)
                if any(one not in index for one in ids)
            )
            first = next(lost, None)
            if first is not None:
                host.replace(first, len(host), (), (), ())
            self._own = {one: None for one in self._own if one in index}
        return host

    def _loose(self, host: HostList) -> list[Message]:
        """Messages that the host's list is not known to hold, nor said here."""
        messages, start = self._ledger.messages, self._seen[1]
        if self._seen[0] is not messages:
            start = 0
        places, own = host.places, self._own
        return [m for m in messages[start:] if m.id not in places and m.id not in own]

    def _places(
        self, host: HostList, changed: str | int | Iterable[str | int]
    ) -> list[int]:
        """The entries that *changed* names."""
        named = [changed] if isinstance(changed, (str, int)) else list(changed)
        found = []
        for one in named:
            if isinstance(one, int):
                place = one + host.head if one >= 0 else len(host) + one
                if host.head <= place < len(host):
                    found.append(place)
            elif one in host.places:
                found.append(host.places[one])
            elif one not in self._ledger.index:
                raise UnknownMessageError(one)
        return found

    # -- what is to be done ------------------------------------------------------------

    def _follow(
        self, host: HostList, listed: _Listed, named: list[int], *, deep: bool
    ) -> Synced:
        entries, ledger = listed.entries, self._ledger
        awaited = [
            place
            for call in ledger.grouping.open_calls
            for index in (call.message, *(call.answer or ())[:1])
            if (place := host.places.get(ledger.id(index))) is not None
        ]
        start = host.same_beginning(entries, [*named, *awaited], deep=deep)
        end = host.same_end(entries, start)
        loose = self._loose(host)
        if start == len(host) == len(entries) and not loose:
            host.rebind(entries)
            self._look()
            return Synced(host.count)
        stop, until = len(host) - end, len(entries) - end
        made = [
            self._decoded(entries[n], n - listed.head, listed.path)
            for n in range(start, until)
        ]
        old = [
            Known(ledger.messages[ledger.index[one]], loose=False)
            for ids in host.ids[start:stop]
            for one in ids
        ]
        known = [*old, *(Known(message, loose=True) for message in loose)]
        new = [message for messages, _ in made for message in messages]
        aligned = align(known, new, ends_open=end == 0)
        rest = [one for ids in host.ids[stop:] for one in ids] if end else []
        change, names, done = self._change(aligned, new, rest)
        self._carry_out(change, done.edited)
        for one in aligned.own:
            self._own[one] = None
        spans = _spans([len(messages) for messages, _ in made], names)
        host.replace(
            start, stop, entries[start:until], [copy for _, copy in made], spans
        )
        host.head = listed.head
        places, index = host.places, ledger.index
        self._own = {
            one: None for one in self._own if one in index and one not in places
        }
        host.rebind(entries)
        self._look()
        kept = host.count - len(done.appended) - len(done.edited)
        return attrs.evolve(done, kept=kept)

    def _look(self) -> None:
        messages = self._ledger.messages
        self._seen = messages, len(messages)

    def _decoded(
        self, entry: Any, nth: int, path: str
    ) -> tuple[tuple[Message, ...], Any]:
        """The messages of an entry, and a copy of what it says."""
        if isinstance(entry, Message):
            return (entry,), entry
        if nth < 0:
            return get_format(self.format).decode_system(entry[1]), entry
        where = f"{path}[{nth}]"
        wire = read_entry(entry, where)
        return as_messages(wire, self.format, where), copy_of(wire)

    def _change(
        self, aligned: Alignment, new: Sequence[Message], rest: list[str]
    ) -> tuple[Change, list[str], Synced]:
        """What makes the conversation say the same; and the id of each new message.

        Args:
            aligned: Which known messages the new ones are.
            new: The messages of the list's middle.
            rest: Ids of the messages that follow, which are as they were.
        """
        ledger = self._ledger
        names: list[str | None] = list(aligned.names)
        replaced: list[Row] = []
        removed = dict.fromkeys(aligned.removed)
        edited: list[str] = []
        for nth, before in aligned.spelled:
            replaced.append(self._row(_in_place(before, new[nth])))
        for nth, before in aligned.edits:
            message = _in_place(before, new[nth])
            identity = before.id or ""
            replaced.append(self._row(message))
            names[nth] = identity
            if message != before:
                edited.append(identity)
        fresh = [nth for nth, name in enumerate(names) if name is None]
        told = [*fresh, *(nth for nth, _ in aligned.edits)]
        removed |= self._answered(removed, [new[nth] for nth in told])
        moved: list[str] = []
        if fresh and rest:
            index = ledger.index
            first = min(index[one] for one in (*removed, rest[0]))
            moved = [m.id or "" for m in ledger.messages[first:] if m.id not in removed]
        rows = self._fresh_rows([new[nth] for nth in fresh], {*removed})
        for nth, row in zip(fresh, rows, strict=True):
            names[nth] = row.message.id
        appended = tuple(row.message.id or "" for row in rows)
        rows += [self._kept_row(one) for one in moved]
        gone = sorted(ledger.index[one] for one in removed)
        calls = self._desk.reopened(gone) if gone and not moved else []
        change = Change(
            append=rows,
            replace=replaced,
            remove=[*removed, *moved],
            calls=[*calls, *self._notes(moved)],
            state=self._forgetting() if removed or moved or replaced else {},
        )
        done = Synced(0, appended, tuple(removed), tuple(edited))
        return change, [name or "" for name in names], done

    def _answered(
        self, removed: Mapping[str, None], fresh: Iterable[Message]
    ) -> dict[str, None]:
        """Results of ours that go: the list answers their call, or makes it no more."""
        ledger = self._ledger
        calls = {r.tool_call_id for m in fresh for r in m.tool_results}
        for one in removed:
            message = ledger.messages[ledger.index[one]]
            calls |= {call.id for call in message.tool_calls}
        if not calls:
            return {}
        return {
            one: None
            for one in self._own
            for r in ledger.messages[ledger.index[one]].tool_results
            if r.tool_call_id in calls
        }

    def _fresh_rows(self, messages: Sequence[Message], removed: set[str]) -> list[Row]:
        """Rows of messages that are new: ids are theirs where nobody else has them."""
        taken = {m.id for m in messages if m.id is not None}
        index, given, number = self._ledger.index, set[str](), self._next
        moment = datetime.now(UTC)
        rows = []
        for message in messages:
            identity = message.id
            is_free = identity not in index or identity in removed
            if identity is None or identity in given or not is_free:
                while (made := f"msg-{number}") in index or made in taken:
                    number += 1
                number += 1
                identity = made
            given.add(identity)
            stamped = message.stamped(identity, message.timestamp or moment)
            rows.append(self._row(stamped))
        return rows

    def _kept_row(self, identity: str) -> Row:
        ledger = self._ledger
        index = ledger.index[identity]
        count = ledger.counts[index]
        name = ledger.counter.name if count >= 0 else None
        return Row(ledger.messages[index], count, name)

    def _notes(self, moved: Sequence[str]) -> list[CallRecord]:
        """What is known of the calls of messages that are put in anew."""
        wanted = set(moved)
        return [
            note.record(place)
            for place, note in self._desk.book.items()
            if place[0] in wanted
        ]

    def _carry_out(self, change: Change, edited: Collection[str]) -> None:
        """Make the change; what *edited* names of results is news to the model."""
        if not (change.append or change.replace or change.remove):
            return
        carried = None
        if change.remove or change.replace:
            known = self._ledger.index
            first = min((known[one] for one in change.remove), default=len(known))
            carried = Carried(self, first)
        renewed = [
            row.message.id or ""
            for row in change.replace
            if row.message.role is Role.TOOL_RESULT and row.message.id in edited
        ]
        if self._link is not None and (renewed or self._ledger.renewed):
            change = self._with_unread(change, renewed)
        index = self._ledger.index
        changed = [index[row.message.id or ""] for row in change.replace]
        self._commit(lambda: change, rebase=False)
        if carried is not None and min(changed, default=carried.border) >= (
            carried.border
        ):
            carried.give_back(self)
        self._ledger.renew(renewed)

    def _with_unread(self, change: Change, renewed: Collection[str]) -> Change:
        """A change that also tells the store what will be unread behind it."""
        has_spoken = any(row.message.role is Role.ASSISTANT for row in change.append)
        before = () if has_spoken else self._ledger.renewed
        gone = {*change.remove} - {row.message.id for row in change.append}
        unread = [one for one in (*before, *renewed) if one not in gone]
        if change.append:
            last: Message | None = change.append[-1].message
        else:
            known = reversed(self._ledger.messages)
            last = next((m for m in known if m.id not in gone), None)
        saved = saved_unread(dict.fromkeys(unread), [] if last is None else [last])
        return attrs.evolve(change, state={**change.state, "unread": saved})


def _in_place(before: Message, now: Message) -> Message:
    """*now* with what was decided here about the message that it takes the place of."""
    return now.evolve(
        id=before.id,
        timestamp=now.timestamp or before.timestamp,
        pinned=before.pinned or now.pinned,
        pin_scope=before.pin_scope if before.pinned else now.pin_scope,
        layout=now.layout,
    )


def _spans(sizes: Sequence[int], names: Sequence[str]) -> list[tuple[str, ...]]:
    """*names* parted by entry."""
    spans, at = [], 0
    for size in sizes:
        spans.append(tuple(names[at : at + size]))
        at += size
    return spans
