from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from turnkeep.errors import ConflictError, CorruptStoreError
from turnkeep.model import freeze

from ._base import MakeChange
from ._checks import check_change, check_state, checked_body
from ._codec import merged, now, stamp
from ._jsonl_folder import LogFolder
from ._jsonl_log import Log, record_of, whole
from ._jsonl_replica import Replica
from ._tail import select
from ._texts import Texts
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    Row,
    Snapshot,
    checked_id,
    checked_limit,
    checked_text,
    is_id,
    unknown,
)
from ._words import split, words_of


class JsonlStore(LogFolder, Texts):
    """Conversations as files: a folder, one append-only log each.

    A write appends one line with a checksum and syncs it to the disk. A line that a
    crash tore is passed over, named in `check` and `Snapshot.damage`, and never
    overwritten. Several processes may use the folder at once (`flock`; not over a
    network file system that lacks it). The store reads a log once, keeps it in memory
    and then reads only what was appended. File names are hashes of the ids. POSIX only.

    Args:
        folder:
            Where the files are; made with mode 0700 where there is none.
    """

    # -- writing ----------------------------------------------------------------

    def create(self, conversation_id: str, change: Change = Change()) -> int:  # noqa: B008
        """See `Store.create`."""
        path = self.path(checked_id(conversation_id, "conversation"))
        with self._entered():
            if path.exists():
                raise ConflictError(
                    conversation_id, 0, self._log(conversation_id).replica.version
                )
            _check_kept(change)
            moment = stamp(now())
            replica = Replica(conversation_id, moment)
            replica.apply(change, moment)
            try:
                self._make(path, whole(replica, floor=0), os.link)
            except FileExistsError:
                actual = self._log(conversation_id).replica.version
                raise ConflictError(conversation_id, 0, actual) from None
            return 1

    def write(self, conversation_id: str, change: Change, *, expected: int) -> int:
        """See `Store.write`."""

        def work(log: Log, handle: int) -> int:
            actual = log.replica.version
            if actual != expected:
                changed = log.replica.changed_ids(expected)
                raise ConflictError(conversation_id, expected, actual, changed)
            return self._commit(log, handle, change)

        return self._write(conversation_id, work)

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """See `Store.update`."""

        def work(log: Log, handle: int) -> Delta:
            change = make(log.replica.since(since))
            return Delta(self._commit(log, handle, change), log.replica.serial, change)

        return self._write(conversation_id, work)

    def _commit(self, log: Log, handle: int, change: Change) -> int:
        log.replica.validate(change)
        _check_kept(change)
        moment = now()
        self._append(log, handle, record_of(change, log.replica.version + 1, moment))
        log.catch_up()
        return log.replica.version

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """See `Store.put_state`."""

        def work(log: Log, handle: int) -> None:
            change = freeze(state)
            check_state(merged(log.replica.state, change))
            record = {"state": change, "at": stamp(now())}
            self._append(log, handle, record)
            log.catch_up()

        self._write(conversation_id, work)

    def delete(self, conversation_id: str) -> bool:
        """See `Store.delete`."""
        if not is_id(conversation_id):
            return False
        with self._entered():
            self._drop(conversation_id)
            try:
                self.path(conversation_id).unlink()
            except FileNotFoundError:
                return False
            return True

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`: a new file takes the place of the old one."""

        def work(log: Log, _handle: int) -> None:
            lines = whole(log.replica, floor=log.replica.version)
            self._make(log.path, lines, os.replace)

        self._write(conversation_id, work)

    # -- reading ----------------------------------------------------------------

    def read(self, conversation_id: str) -> Snapshot:
        """See `Store.read`."""
        with self._entered():
            return _snapshot(self._log(conversation_id))

    def read_tail(
        self,
        conversation_id: str,
        *,
        messages: int | None = None,
        tokens: int | None = None,
        held: bool = False,
    ) -> Snapshot:
        """See `Store.read_tail`."""
        with self._entered():
            log = self._log(conversation_id)
            selecting = select(
                log.replica.progress,
                len(log.replica.order),
                messages=messages,
                tokens=tokens,
                held=held,
            )
            answer: Any = None
            while True:
                try:
                    answer = log.replica.answer(selecting.send(answer))
                except StopIteration as stop:
                    chosen = stop.value
                    break
            rows = tuple(log.replica.cells[raw.seq].row for raw in chosen.rows)
            known = {row.message.id for row in rows}
            calls = tuple(
                call for call in log.replica.records() if call.message in known
            )
            return attrs.evolve(
                _snapshot(log),
                rows=rows,
                calls=calls,
                whole=chosen.whole,
                border=chosen.border,
                rows_read=chosen.read,
            )

    def read_messages(
        self, conversation_id: str, message_ids: Iterable[str]
    ) -> tuple[Row, ...]:
        """See `Store.read_messages`."""
        with self._entered():
            log = self._log(conversation_id)
            found = {
                log.replica.numbers[i] for i in message_ids if i in log.replica.numbers
            }
            return tuple(log.replica.cells[seq].row for seq in sorted(found))

    def read_since(self, conversation_id: str, version: int) -> Delta:
        """See `Store.read_since`."""
        with self._entered():
            return self._log(conversation_id).replica.since(version)

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """See `Store.conversations`; costs all that are not in memory."""
        most = None if limit is None else checked_limit(limit)
        checked_text(contains, "contains")
        with self._entered():
            found = [_info(log) for log in self._every() if contains in log.replica.id]
        found.sort(key=lambda info: info.id)
        found.sort(key=lambda info: info.updated_at, reverse=True)
        return tuple(found[:most])

    def search(
        self, query: str, *, conversation_id: str | None = None, limit: int = 20
    ) -> tuple[Hit, ...]:
        """See `Store.search`; there is no index: costs everything that is searched."""
        limit = checked_limit(limit)
        words = split(checked_text(query, "what is searched for"))
        wanted = set(words) if limit else set()
        hits: list[Hit] = []
        with self._entered():
            if conversation_id is not None:
                logs = [self._log(conversation_id)]
            else:
                logs = sorted(
                    self._every(), key=lambda log: log.replica.created_at, reverse=True
                )
            for log in logs if wanted else ():
                for seq in reversed(log.replica.order):
                    row = log.replica.cells[seq].row
                    if wanted <= set(words_of(row.message).split(" ")):
                        hits.append(Hit(log.replica.id, row))
                        if len(hits) == limit:
                            return tuple(hits)
        return tuple(hits)

    def due(self, now: datetime) -> tuple[tuple[str, CallRecord], ...]:
        """See `Store.due`; costs all that are not in memory."""
        found: list[tuple[datetime, str, CallRecord]] = []
        with self._entered():
            for log in self._every():
                opened = {(p.seq, p.position) for p in log.replica.progress.open}
                for call in log.replica.records():
                    when = call.expires_at
                    if when is None or call.state is not None or when > now:
                        continue
                    if (log.replica.numbers[call.message], call.position) in opened:
                        found.append((when, log.replica.id, call))
        found.sort(key=lambda item: item[:2])
        return tuple(item[1:] for item in found)

    def check(self, conversation_id: str | None = None) -> tuple[Damage, ...]:
        """See `Store.check`; reads every file from its beginning."""
        with self._entered():
            paths = self._files()
            if conversation_id is not None:
                paths = [self.path(checked_id(conversation_id, "conversation"))]
                if not paths[0].exists():
                    raise unknown(conversation_id)
            return tuple(damage for path in paths for damage in self._check(path))

    def _check(self, path: Path) -> Iterator[Damage]:
        try:
            log = Log(path)
        except FileNotFoundError:
            return
        except CorruptStoreError as error:
            line = f", line {error.line}" if error.line is not None else ""
            yield Damage(None, f"{path}{line}", error.reason)
            return
        log.file.close()
        yield from (
            attrs.evolve(damage, conversation=log.replica.id) for damage in log.damage
        )
        if path != self.path(log.replica.id):
            reason = (
                f"it holds conversation {log.replica.id!r}, whose file has another name"
            )
            yield Damage(log.replica.id, str(path), reason)


def _snapshot(log: Log) -> Snapshot:
    return log.replica.snapshot(log.damage)


def _info(log: Log) -> Info:
    replica = log.replica
    return Info(
        replica.id,
        replica.version,
        len(replica.order),
        sum(max(cell.row.tokens, 0) for cell in replica.cells.values()),
        len(replica.progress.open),
        datetime.fromisoformat(replica.created_at),
        datetime.fromisoformat(replica.updated_at),
    )


def _check_kept(change: Change) -> None:
    check_change(change)
    for row in (*change.append, *change.replace):
        checked_body(row.message)
