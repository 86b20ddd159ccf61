"""A folder of logs: opened and kept, locked, appended to, replaced."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from turnkeep.errors import CorruptStoreError

from ._closing import Closing
from ._forks import Guard, keep
from ._jsonl_lines import going_on, recovery, seal, unseal
from ._jsonl_log import Log
from ._values import is_id, unknown

T = TypeVar("T")

_KEPT: Final = 16
"""Logs that a folder keeps in memory."""


class LogFolder(Closing):
    """The files of a `JsonlStore`, under one lock."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """See `JsonlStore`."""
        self.folder: Path = Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._guard = Guard(self._pause, self._renew)
        self._closed = False
        self._logs: OrderedDict[str, Log] = OrderedDict()

    def __repr__(self) -> str:
        """Show the folder."""
        return f"{type(self).__name__}({str(self.folder)!r})"

    def path(self, conversation_id: str) -> Path:
        """The file of a conversation: no part of an id is ever part of a path."""
        digest = hashlib.sha256(conversation_id.encode()).hexdigest()
        return self.folder / f"{digest[:40]}.jsonl"

    def _entered(self) -> AbstractContextManager[object]:
        """The lock, to be held while something is done.

        The lock itself, and no generator around it: a signal whose handler raises
        would leave one suspended, with the lock held for as long as its traceback is.
        """
        if self._closed:
            msg = f"{self!r} is closed"
            raise ValueError(msg)
        return self._guard.lock

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
        log = self._logs.get(conversation_id)
        if log is not None and not (log.sound and log.is_current()):
            self._drop(conversation_id)
            log = None
        try:
            if log is None:
                log = self._logs[conversation_id] = Log(self.path(conversation_id))
            else:
                log.catch_up()
        except FileNotFoundError:
            raise unknown(conversation_id) from None
        if log.replica.id != conversation_id:
            self._drop(conversation_id)
            held = log.replica.id
            reason = f"{log.path} holds conversation {held!r}, not {conversation_id!r}"
            raise CorruptStoreError(reason, line=1)
        self._logs.move_to_end(conversation_id)
        while len(self._logs) > _KEPT:
            self._logs.popitem(last=False)[1].file.close()
        return log

    def _drop(self, conversation_id: str) -> None:
        """Keep a log no longer."""
        log = self._logs.pop(conversation_id, None)
        if log is not None:
            log.file.close()

    def _write(self, conversation_id: str, work: Callable[[Log, int], T]) -> T:
        """Hold off every other writer, and do *work*.

        It is given the log and a handle to append to.
        """
        with self._entered():
            while True:
                log = self._log(conversation_id)
                handle = os.open(log.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX)
                    # Compaction may have put another file in its place meanwhile.
                    if log.is_current():
                        log.catch_up()
                        return work(log, handle)
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
        head, before = b"", log.crc
        if size > log.end:
            head, crc = recovery(log.end, size, before)
            before = going_on(before, crc)
        data = memoryview(head + seal(record, before)[0])
        try:
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
            os.fsync(handle)
        except OSError as error:
            with suppress(OSError):  # the next writer passes over what is left
                os.ftruncate(handle, size)
            if error.errno is None:  # a signal's handler raised it
                raise
            raise OSError(
                error.errno,
                f"{os.strerror(error.errno)}; nothing was written",
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
                crc = 0
                for record in lines:
                    line, crc = seal(record, crc)
                    file.write(line)
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

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl"))

    def _every(self) -> Iterator[Log]:
        for path in self._files():
            with suppress(FileNotFoundError):  # deleted meanwhile
                with path.open("rb") as file:
                    first = unseal(file.readline()[:-1], 0)
                if first is None or not isinstance(first[0].get("id"), str):
                    reason = f"{path}: the first line is damaged"
                    raise CorruptStoreError(reason, line=1)
                yield self._log(first[0]["id"])

    # -- closing ----------------------------------------------------------------

    def close(self) -> None:
        """Close the files."""
        with self._guard.lock:
            self._closed = True
            while self._logs:
                self._logs.popitem()[1].file.close()
