from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_atomic(
    path: str | os.PathLike[str], data: bytes | Iterable[bytes | memoryview]
) -> None:
    """Write a file so that a crash leaves the old content or the new, never a mix.

    A temporary file in the same folder is written, synced to disk and renamed; then the
    folder is synced, so that the rename itself survives. A new file gets mode 0600, an
    existing one keeps its own. A symbolic link is followed. Data may come in parts; an
    error on the way to one leaves the old content, too.

    Raises:
        OSError: The disk is full, read-only, ...; the old file is as it was.
    """
    target = Path(path).resolve()
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = 0o600
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".tmp"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # pragma: no cover - systems that cannot open a folder
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
