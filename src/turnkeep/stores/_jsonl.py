from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import attrs

from turnkeep.errors import ConflictError, CorruptStoreError
from turnkeep.model import freeze
from turnkeep.serial import dumps

from ._base import MakeChange
from ._codec import check_size, fields_of, now, stamp
from ._forks import Guard, keep
from ._jsonl_lines import recovery, seal, unseal
from ._jsonl_log import Log, record_of, whole
from ._jsonl_replica import Replica
from ._tail import select
from ._values import (
    CallRecord,
    Change,
    Damage,
    Delta,
    Hit,
    Info,
    Row,
    Snapshot,
    check_names,
    checked_id,
    checked_limit,
    is_id,
    unknown,
)
from ._words import split, words_of

T = TypeVar("T")

_KEPT: Final = 16
"""Logs that a store keeps in memory."""


class JsonlStore:
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

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """See the class."""
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._guard = Guard(self._pause, self._renew)
        self._closed = False
        self._logs: OrderedDict[str, Log] = OrderedDict()

    def __repr__(self) -> str:
        """Show the folder."""
        return f"JsonlStore({str(self.folder)!r})"

    def path(self, conversation_id: str) -> Path:
        """The file of a conversation: no part of an id is ever part of a path."""
        digest = hashlib.sha256(conversation_id.encode()).hexdigest()
        return self.folder / f"{digest[:40]}.jsonl"

    @contextmanager
    def _entered(self) -> Iterator[None]:
        with self._guard.lock:
            if self._closed:
                msg = f"{self!r} is closed"
                raise ValueError(msg)
            yield

    def _pause(self) -> bool:
        return True

    def _renew(self, paused: bool) -> None:
        # The files' offsets are the parent's, too.
        if not paused:
            keep(self._logs)
        self._logs = OrderedDict()

    # -- the files --------------------------------------------------------------

    def _log(self, conversation_id: str) -> Log:
        """The log of a conversation, up to date.

        Raises:
            UnknownConversationError: There is no such conversation.
            CorruptStoreError: Its file is damaged.
        """
        if not is_id(conversation_id):
            raise unknown(conversation_id)
        log = self._logs.pop(conversation_id, None)
        if log is not None and not log.is_current():
            log.file.close()
            log = None
        try:
            if log is None:
                log = Log(self.path(conversation_id))
            else:
                log.catch_up()
        except FileNotFoundError:
            raise unknown(conversation_id) from None
        except BaseException:
            if log is not None:
                log.file.close()
            raise
        if log.replica.id != conversation_id:
            log.file.close()
            held = log.replica.id
            reason = f"{log.path} holds conversation {held!r}, not {conversation_id!r}"
            raise CorruptStoreError(reason, line=1)
        self._logs[conversation_id] = log
        while len(self._logs) > _KEPT:
            self._logs.popitem(last=False)[1].file.close()
        return log

    @contextmanager
    def _writing(self, conversation_id: str) -> Iterator[tuple[Log, int]]:
        """Hold off every other writer; gives the log and a handle to append to."""
        with self._entered():
            while True:
                log = self._log(conversation_id)
                handle = os.open(log.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX)
                    # Compaction may have put another file in its place meanwhile.
                    if log.is_current():
                        log.catch_up()
                        yield log, handle
                        return
                finally:
                    # A child that was forked meanwhile has the handle, too.
                    fcntl.flock(handle, fcntl.LOCK_UN)
                    os.close(handle)

    def _append(self, log: Log, handle: int, record: dict[str, Any]) -> None:
        """Write a record behind what is known, and sync it.

        Raises:
            OSError: The disk is full or broken; what was written of it is taken back.
        """
        size = os.fstat(handle).st_size
        head = recovery(log.end, size) if size > log.end else b""
        data = memoryview(head + seal(record))
        try:
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
            os.fsync(handle)
        except OSError as error:
            with suppress(OSError):  # the next writer passes over what is left
                os.ftruncate(handle, size)
            raise OSError(
                error.errno or errno.EIO,
                f"{os.strerror(error.errno or errno.EIO)}; nothing was written",
                str(log.path),
            ) from error

    def _make(
        self,
        path: Path,
        lines: Iterable[dict[str, Any]],
        place: Callable[[str, Path], object],
    ) -> None:
        """Write a whole file beside *path*, then *place* it."""
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                for line in lines:
                    file.write(seal(line))
                file.flush()
                os.fsync(file.fileno())
            place(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

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
        with self._writing(conversation_id) as (log, handle):
            if log.replica.version != expected:
                changed = log.replica.changed_ids(expected)
                raise ConflictError(
                    conversation_id, expected, log.replica.version, changed
                )
            return self._commit(log, handle, change)

    def update(self, conversation_id: str, make: MakeChange, *, since: int) -> Delta:
        """See `Store.update`."""
        with self._writing(conversation_id) as (log, handle):
            change = make(log.replica.since(since))
            return Delta(self._commit(log, handle, change), log.replica.serial, change)

    def _commit(self, log: Log, handle: int, change: Change) -> int:
        log.replica.validate(change)
        _check_kept(change)
        moment = now()
        self._append(log, handle, record_of(change, log.replica.version + 1, moment))
        log.catch_up()
        return log.replica.version

    def put_state(self, conversation_id: str, state: dict[str, Any]) -> None:
        """See `Store.put_state`."""
        with self._writing(conversation_id) as (log, handle):
            record = {"state": freeze(state), "at": stamp(now())}
            self._append(log, handle, record)
            log.catch_up()

    def delete(self, conversation_id: str) -> bool:
        """See `Store.delete`."""
        if not is_id(conversation_id):
            return False
        with self._entered():
            log = self._logs.pop(conversation_id, None)
            if log is not None:
                log.file.close()
            try:
                self.path(conversation_id).unlink()
            except FileNotFoundError:
                return False
            return True

    def compact(self, conversation_id: str) -> None:
        """See `Store.compact`: a new file takes the place of the old one."""
        with self._writing(conversation_id) as (log, _):
            lines = whole(log.replica, floor=log.replica.version)
            self._make(log.path, lines, os.replace)

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

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))

    def _every(self) -> Iterator[Log]:
        for path in self._files():
            with suppress(FileNotFoundError):  # deleted meanwhile
                with path.open("rb") as file:
                    first = unseal(file.readline()[:-1])
                if first is None or not isinstance(first.get("id"), str):
                    reason = f"{path}: the first line is damaged"
                    raise CorruptStoreError(reason, line=1)
                yield self._log(first["id"])

    def conversations(
        self, *, contains: str = "", limit: int | None = None
    ) -> tuple[Info, ...]:
        """See `Store.conversations`; costs all that are not in memory."""
        most = None if limit is None else checked_limit(limit)
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
        wanted = set(split(query)) if limit else set()
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

    # -- closing ----------------------------------------------------------------

    def close(self) -> None:
        """Close the files."""
        with self._guard.lock:
            self._closed = True
            while self._logs:
                self._logs.popitem()[1].file.close()

    def __enter__(self) -> Self:
        """Close when left."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


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
    check_names(change)
    for row in (*change.append, *change.replace):
        check_size(row.message.id, len(dumps(fields_of(row.message))))
