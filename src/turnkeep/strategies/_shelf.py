"""Where offloaded texts are: files in a folder, or beside a conversation in a store."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import attrs

from turnkeep.serial import write_atomic


@runtime_checkable
class TextStore(Protocol):
    """Keeps texts by name beside a conversation: every store of `turnkeep.stores`."""

    def put_text(self, conversation_id: str, name: str, text: str) -> None:
        """Keep *text*, durably; what has that name already stays."""
        ...

    def read_text(self, conversation_id: str, name: str) -> str | None:
        """The text of that name; `None` where there is none."""
        ...


@attrs.frozen
class Folder:
    """Texts as files: a folder for each conversation, named by a hash of its id.

    New folders get mode 0700, files 0600.
    """

    path: Path

    def put_text(self, conversation_id: str, name: str, text: str) -> None:
        """See `TextStore.put_text`.

        Raises:
            OSError: The disk is full, read-only, ...
        """
        path = self._path(conversation_id, name)
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, text.encode("utf-8", "surrogatepass"))

    def read_text(self, conversation_id: str, name: str) -> str | None:
        """See `TextStore.read_text`."""
        try:
            found = self._path(conversation_id, name).read_bytes()
        except FileNotFoundError:
            return None
        return found.decode("utf-8", "surrogatepass")

    def _path(self, conversation_id: str, name: str) -> Path:
        said = conversation_id.encode("utf-8", "surrogatepass")
        return self.path / blake2b(said, digest_size=8).hexdigest() / f"{name}.txt"


def shelf_of(store: Any) -> TextStore:
    """The store itself, or the files of a folder.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(store, (str, os.PathLike)) and str(store):
        return Folder(Path(store))
    if isinstance(store, TextStore) and not isinstance(store, type):
        return store
    msg = (
        "store must be a folder or a store such as SqliteStore(path) (for a database "
        f"with an async driver: the store that waits), not {store!r}"
    )
    raise TypeError(msg)
