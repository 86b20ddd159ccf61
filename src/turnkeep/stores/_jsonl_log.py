"""A conversation's file: replayed from its beginning, then followed as it grows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from turnkeep.errors import (
    CorruptStoreError,
    DuplicateIdError,
    FormatError,
    UnknownMessageError,
)
from turnkeep.serial import structure, unstructure

from ._checks import fields_of
from ._codec import load_fields, merged, stamp
from ._jsonl_lines import Line, Torn, scan
from ._jsonl_replica import Replica
from ._values import (
    CallRecord,
    Change,
    Damage,
    Pin,
    Row,
)

VERSION: Final = 2
"""Version of the log, in its first line: since 2, checksums go on from line to line."""

KEY: Final = "turnkeep-log"

_BATCH: Final = 200
# Messages to a line where many are written at once.


class Log:
    """What a file says up to `end`; `catch_up` reads what has come since."""

    def __init__(self, path: Path) -> None:
        """Read the whole file.

        Raises:
            FileNotFoundError: There is none.
            CorruptStoreError: It is damaged.
        """
        self.path = path
        self.file = path.open("rb")
        self.end = 0
        self.lines = 0
        self.crc = 0
        """The checksum that the next line goes on from."""
        self.sound = True
        """Whether what is in memory was read to the end: no signal came between."""
        self.passed: list[Damage] = []
        """Unfinished writes that later ones have passed over."""
        self.torn: Damage | None = None
        """An unfinished write at the end of the file."""
        self.replica = Replica()
        try:
            self.catch_up()
            self._demand_head()
        except BaseException:
            self.file.close()
            raise

    def _demand_head(self) -> None:
        if not self.lines:
            reason = f"{self.path}: the first line is damaged"
            raise CorruptStoreError(reason, line=1)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Unfinished writes; nothing that was acknowledged is lost with them."""
        return (*self.passed, *([self.torn] if self.torn else []))

    def is_current(self) -> bool:
        """Whether the path still names the file that was read, with all of it."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self.file.fileno())
        if there.st_size < self.end:
            return False  # a writer took back what was not acknowledged
        return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)

    def catch_up(self) -> None:
        """Read what was appended since; costs that.

        Raises:
            CorruptStoreError: A record is damaged, and not by a crash.
        """
        size = os.fstat(self.file.fileno()).st_size
        if size == self.end:
            self.torn = None
            return
        self.sound = False
        self._read_on()
        self.sound = True

    def _read_on(self) -> None:
        self.file.seek(self.end)
        data = self.file.read()
        stop = self.end + len(data)
        self.torn = None
        start = (self.end, self.lines + 1, self.path, self.crc)
        for item in scan(data, *start, lambda record: record.get(KEY) != 1):
            where = f"{self.path}, line {item.number}"
            if isinstance(item, Torn):
                reason = f"{item.end - item.start} bytes of an unfinished write"
                made = Damage(self.replica.id or None, where, reason, recovered=True)
                if item.end == stop:
                    self.torn = made
                else:
                    self.passed.append(made)
                continue
            try:
                self._replay(item)
            except (FormatError, DuplicateIdError, UnknownMessageError) as error:
                reason = f"{where}: {error}"
                raise CorruptStoreError(reason, line=item.number) from None
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                reason = f"{where} is no record of ours ({error!r})"
                raise CorruptStoreError(reason, line=item.number) from None
            self.end, self.lines, self.crc = item.end, item.number, item.crc

    def _replay(self, line: Line) -> None:
        record, replica = line.record, self.replica
        if line.number == 1:
            version = record.get(KEY)
            if version not in range(1, VERSION + 1):
                reason = f"not a log that this turnkeep reads: {KEY} is {version!r}"
                raise FormatError(reason, f"$.{KEY}")
            replica.id = record["id"]
            replica.created_at = replica.updated_at = record["at"]
        elif "base" in record:
            rows = (_row(row, f"$.base[{n}]") for n, row in enumerate(record["base"]))
            pairs = list(zip(record["seqs"], rows, strict=True))
            replica.place(pairs, record["of"])
        elif "v" in record:
            version = record["v"]
            if "floor" in record:
                replica.floor, replica.version = record["floor"], version - 1
                replica.serial = record["serial"]
                replica.next_seq = record["next_seq"]
            if version != replica.version + 1:
                reason = f"version {version} follows version {replica.version}"
                raise FormatError(reason, "$.v")
            replica.apply(_change(record), record["at"])
        elif "state" in record:
            replica.state = merged(replica.state, record["state"])
        elif "recovered" not in record:
            reason = f"unknown record with {', '.join(record)}"
            raise FormatError(reason)


def record_of(change: Change, version: int, moment: datetime) -> dict[str, Any]:
    """A change as it is written."""
    record: dict[str, Any] = {"v": version, "at": stamp(moment)}
    if change.remove:
        record["remove"] = list(change.remove)
    if change.replace:
        record["replace"] = [row_record(row) for row in change.replace]
    if change.pins:
        record["pin"] = [[pin.message, pin.scope] for pin in change.pins]
    if change.append:
        record["append"] = [row_record(row) for row in change.append]
    if change.calls:
        record["calls"] = unstructure(change.calls)
    if change.state:
        record["state"] = change.state
    return record


def row_record(row: Row) -> dict[str, Any]:
    """A message as it is written."""
    record: dict[str, Any] = {"message": fields_of(row.message)}
    if row.tokens >= 0:
        record["tokens"] = row.tokens
    if row.counter is not None:
        record["counter"] = row.counter
    if row.message.pinned:
        record["pin"] = row.message.pin_scope
    return record


def _row(value: Any, path: str) -> Row:
    try:
        message = load_fields(value["message"], value.get("pin"))
        return Row(message, value.get("tokens", -1), value.get("counter"))
    except FormatError as error:
        raise FormatError(error.reason, f"{path}.message{error.path[1:]}") from None
    except (KeyError, TypeError, AttributeError):
        reason = f"a message expected, found {str(value)[:60]!r}"
        raise FormatError(reason, path) from None


def _change(record: Mapping[str, Any]) -> Change:
    def rows(key: str) -> tuple[Row, ...]:
        values = enumerate(record.get(key, ()))
        return tuple(_row(value, f"$.{key}[{nth}]") for nth, value in values)

    return Change(
        append=rows("append"),
        replace=rows("replace"),
        pins=[Pin(message, scope) for message, scope in record.get("pin", ())],
        remove=record.get("remove", ()),
        calls=structure(record.get("calls", []), tuple[CallRecord, ...], "$.calls"),
        state=record.get("state", {}),
    )


def whole(replica: Replica, floor: int) -> Iterator[dict[str, Any]]:
    """The records of a file that says what *replica* holds, and no more."""
    yield {KEY: VERSION, "id": replica.id, "at": replica.created_at}
    for start in range(0, len(replica.order), _BATCH):
        seqs = replica.order[start : start + _BATCH]
        rows = [row_record(replica.cells[seq].row) for seq in seqs]
        yield {"of": replica.version, "seqs": seqs, "base": rows}
    yield {
        "v": replica.version,
        "at": replica.updated_at,
        "floor": floor,
        "serial": replica.serial,
        "next_seq": replica.next_seq,
        "calls": unstructure(replica.records()),
        "state": replica.state,
    }
