"""What only `JsonlStore` has: files that crashes tear."""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from pathlib import Path

import pytest

from turnkeep import Conversation, CorruptStoreError, Message
from turnkeep.errors import ConflictError, UnknownConversationError
from turnkeep.stores import CallRecord, Change, JsonlStore, Pin
from turnkeep.stores._jsonl_lines import Torn, recovery, scan, seal, unseal


def user(name: str) -> Message:
    """A message of a user."""
    return Message.user(f"text {name}", id=name)


def log_of(folder: Path) -> Path:
    """The only log of a store."""
    [path] = folder.glob("*.jsonl")
    return path


def started(folder: Path) -> tuple[JsonlStore, Path]:
    """A store with one conversation of two writes."""
    store = JsonlStore(folder)
    store.create("chat", Change.of_messages([user("m1")]))
    store.write("chat", Change.of_messages([user("m2")]), expected=1)
    return store, log_of(folder)


def reopened(store: JsonlStore) -> JsonlStore:
    """The store anew: nothing of it in memory."""
    store.close()
    return JsonlStore(store.folder)


def test_every_cut_of_the_last_line_is_recovered(tmp_path: Path) -> None:
    """Wherever a crash tears it: the rest loads, and the next append survives."""
    store, path = started(tmp_path / "logs")
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    start = len(whole) - len(last)
    for size in range(1, len(last)):
        path.write_bytes(whole[: start + size])
        store = reopened(store)

        found = store.read("chat")
        assert [row.message.id for row in found.rows] == ["m1"]
        assert [damage.recovered for damage in found.damage] == [True]
        assert f"{size} bytes of an unfinished write" in found.damage[0].reason
        assert store.write("chat", Change.of_messages([user("m4")]), expected=1) == 2

        # The torn bytes are still there: nothing is ever rewritten in place.
        assert path.read_bytes().startswith(whole[: start + size])
        with JsonlStore(tmp_path / "logs") as again:
            found = again.read("chat")
            assert [row.message.id for row in found.rows] == ["m1", "m4"]
            [damage] = again.check("chat")
            assert damage.recovered
            assert damage.where.endswith("line 4")
    store.close()


@pytest.mark.parametrize("rubbish", [b"\0" * 50, b"{", b"x", b"\xff~torn~"])
def test_rubbish_at_the_end_is_passed_over(tmp_path: Path, rubbish: bytes) -> None:
    """Power failures leave zeros; a second crash may strike the recovery itself."""
    store, path = started(tmp_path / "logs")
    whole = path.read_bytes()
    crc = unseal_all(whole)
    marker, _ = recovery(len(whole), len(whole) + len(rubbish), crc)
    for cut in range(len(marker)):
        path.write_bytes(whole + rubbish + marker[:cut])
        store = reopened(store)
        store.write("chat", Change.of_messages([user("m3")]), expected=2)
        with JsonlStore(tmp_path / "logs") as again:
            assert len(again.read("chat").rows) == 3
            assert all(damage.recovered for damage in again.check())
    store.close()


def unseal_all(data: bytes) -> int:
    """The checksum of the last of sound lines."""
    crc = 0
    for line in data.splitlines():
        found = unseal(line, crc)
        assert found is not None
        _, crc = found
    return crc


@pytest.mark.parametrize("rubbish", [b"\0\n", b"\n", b"\r\r{\n", b"x\r", b"~\n"])
def test_a_whole_line_at_the_end_is_damage(tmp_path: Path, rubbish: bytes) -> None:
    """No crash leaves one, so it may have been acknowledged."""
    store, path = started(tmp_path / "logs")
    path.write_bytes(path.read_bytes() + rubbish)
    with pytest.raises(CorruptStoreError, match="line 5 is damaged"):
        reopened(store).read("chat")
    store.close()


def test_every_byte_of_the_last_line_counts(tmp_path: Path) -> None:
    """Its line break, too: another byte there is no torn line."""
    store, path = started(tmp_path / "logs")
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for place in range(start, len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x03
        path.write_bytes(bytes(broken))
        store = reopened(store)
        with pytest.raises(CorruptStoreError, match="line 4 is damaged"):
            store.read("chat")
    store.close()


def test_a_log_that_shrinks_is_read_again(tmp_path: Path) -> None:
    """A writer whose disk failed takes back what a reader may have seen already."""
    store, path = started(tmp_path / "logs")
    assert store.read("chat").version == 2
    os.truncate(path, path.stat().st_size - 3)
    assert store.read("chat").version == 1
    store.close()


def test_damage_before_the_end_is_never_hidden(tmp_path: Path) -> None:
    """Any changed byte of an acknowledged line is found, and its line named."""
    store, path = started(tmp_path / "logs")
    whole = path.read_bytes()
    first, second = whole.index(b"\n"), whole.index(b"\n", whole.index(b"\n") + 1)
    for place in range(first + 1, second, 7):
        broken = bytearray(whole)
        broken[place] ^= 0x01
        path.write_bytes(bytes(broken))
        store = reopened(store)

        with pytest.raises(CorruptStoreError, match="line 2 is damaged") as caught:
            store.read("chat")
        assert caught.value.line == 2
        [damage] = store.check("chat")
        assert (damage.recovered, "line 2" in damage.where) == (False, True)
        with pytest.raises(CorruptStoreError):
            store.write("chat", Change(), expected=2)
        assert path.read_bytes() == broken
    store.close()


def test_a_damaged_first_line(tmp_path: Path) -> None:
    """The file tells nothing then, and says so."""
    store, path = started(tmp_path / "logs")
    path.write_bytes(b"\0" * 10)
    store = reopened(store)
    for act in (
        lambda: store.read("chat"),
        store.conversations,
        lambda: store.search("x"),
    ):
        with pytest.raises(CorruptStoreError, match="first line is damaged"):
            act()
    assert "first line is damaged" in store.check()[0].reason
    with pytest.raises(UnknownConversationError):
        store.check("nobody")
    store.close()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"v": 9, "at": "x"}, "version 9 follows version 2"),
        ({"v": 3}, "is no record of ours"),
        ({"what": 1}, "unknown record with what"),
        ({"v": 3, "at": "x", "append": [{"message": {}}]}, "a message needs a 'role'"),
        ({"v": 3, "at": "x", "append": [3]}, "a message expected"),
        (
            {"v": 3, "at": "x", "append": [{"message": {"role": "user"}}]},
            "needs an 'id'",
        ),
        ({"v": 3, "at": "x", "remove": ["nobody"]}, "no message 'nobody'"),
        (
            {"v": 3, "at": "x", "append": [{"message": {"id": "m1", "role": "user"}}]},
            "'m1' is used twice",
        ),
        ({"base": [], "seqs": [1], "of": 1}, "is no record of ours"),
    ],
)
def test_records_that_make_no_sense(
    tmp_path: Path, record: object, reason: str
) -> None:
    """Sealed, but not by us: an error with the line, whoever wrote it."""
    store, path = started(tmp_path / "logs")
    with path.open("ab") as file:
        line, _ = seal(record, unseal_all(path.read_bytes()))  # type: ignore[arg-type]
        file.write(line)

    with pytest.raises(CorruptStoreError, match=reason) as caught:
        store.read("chat")

    assert caught.value.line == 5
    store.close()


def test_a_log_of_a_newer_version(tmp_path: Path) -> None:
    """It is refused, not guessed at."""
    store, path = started(tmp_path / "logs")
    path.write_bytes(seal({"turnkeep-log": 3, "id": "chat", "at": "x"})[0])
    store = reopened(store)
    with pytest.raises(CorruptStoreError, match="turnkeep-log is 3"):
        store.read("chat")
    store.close()


def test_a_file_under_another_name(tmp_path: Path) -> None:
    """A log belongs to the conversation in its first line."""
    store, path = started(tmp_path / "logs")
    path.rename(store.path("other"))
    with pytest.raises(CorruptStoreError, match="holds conversation 'chat'"):
        store.read("other")
    assert "another name" in store.check()[0].reason
    store.close()


def test_files_are_private_and_names_say_nothing(tmp_path: Path) -> None:
    """Mode 0600 in a folder of mode 0700, named by a hash."""
    store, path = started(tmp_path / "logs")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "chat" not in path.name
    store.compact("chat")
    assert stat.S_IMODE(log_of(tmp_path / "logs").stat().st_mode) == 0o600
    assert [file.suffix for file in path.parent.iterdir()] == [".jsonl"]
    store.close()


def test_lines_are_json(tmp_path: Path) -> None:
    """Anybody may read them, with a checksum at the end of each."""
    store, path = started(tmp_path / "logs")
    store.close()
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["crc"] for line in lines]
    record = {k: v for k, v in json.loads(lines[0]).items() if k != "crc"}
    assert unseal(lines[0]) == (record, int(json.loads(lines[0])["crc"], 16))
    assert unseal(b"[1]") is None
    assert list(scan(b"", 0, 1, path, 0, bool)) == []
    assert list(scan(b"x", 5, 3, path, 0, bool)) == [Torn(3, 5, 6)]


def test_compaction_by_one_process_is_seen_by_another(tmp_path: Path) -> None:
    """Which goes on with the new file, and writes to that."""
    mine, path = started(tmp_path / "logs")
    theirs = JsonlStore(tmp_path / "logs")
    for nth in range(3, 250):
        theirs.write("chat", Change.of_messages([user(f"m{nth}")]), expected=nth - 1)
    theirs.write("chat", Change(pins=[Pin("m3", "step")], state={"a": 1}), expected=249)
    record = CallRecord("m1", 0, "cancelled")
    theirs.write("chat", Change(calls=[record]), expected=250)
    before = theirs.read("chat")
    assert len(mine.read("chat").rows) == 249
    size = path.stat().st_size

    theirs.compact("chat")

    assert log_of(tmp_path / "logs").stat().st_size < size
    assert mine.read("chat") == before
    assert mine.write("chat", Change.of_messages([user("x")]), expected=251) == 252
    assert theirs.read("chat").rows[-1].message.id == "x"
    assert theirs.delete("chat")
    with pytest.raises(UnknownConversationError):
        mine.read("chat")
    mine.close()
    theirs.close()


def test_the_one_that_is_second_to_create_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where both looked before either wrote."""
    store, path = started(tmp_path / "logs")
    monkeypatch.setattr(Path, "exists", lambda _self: False)
    with pytest.raises(ConflictError, match="at version 2, not 0"):
        store.create("chat")
    monkeypatch.undo()
    assert path.parent.exists()
    store.close()


def test_many_conversations_do_not_keep_many_files_open(tmp_path: Path) -> None:
    """The least recently used are let go of."""
    with JsonlStore(tmp_path / "logs") as store:
        for nth in range(40):
            store.create(str(nth))
        assert len(store.conversations()) == 40
        assert len(store._logs) <= 16


def test_a_conversation_goes_on_after_a_crash(tmp_path: Path) -> None:
    """The torn record is reported; what is appended after it survives."""
    folder = tmp_path / "logs"
    with JsonlStore(folder) as store:
        chat = Conversation.open(store, "chat")
        chat.user("First.")
        chat.assistant("Second.")
    with log_of(folder).open("ab") as file:
        file.write(b'{"v":4,"at":"2026')
    with JsonlStore(folder) as store:
        chat = Conversation.open(store, "chat")
        assert chat.user("After the crash.").id == "msg-3"
        assert len(store.check()) == 1
    with JsonlStore(folder) as store:
        chat = Conversation.open(store, "chat")
        assert [m.text for m in chat] == ["First.", "Second.", "After the crash."]


def test_a_write_that_fails_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a line is cut off again; where even that fails, the next write copes."""
    store, path = started(tmp_path / "logs")
    before = path.read_bytes()
    write = os.write

    def half(handle: int, data: bytes) -> int:
        write(handle, bytes(data[:9]))
        raise OSError(errno.ENOSPC, "full")

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left on device; nothing was written"):
        store.write("chat", Change(), expected=2)
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(OSError, match="nothing was written"):
        store.write("chat", Change(), expected=2)
    monkeypatch.undo()

    assert len(path.read_bytes()) == len(before) + 9
    assert store.write("chat", Change(), expected=2) == 3
    assert [damage.recovered for damage in store.check()] == [True]
    store.close()


def test_a_checksum_alone_makes_no_record() -> None:
    """What it seals must be an object."""
    body = b"{nonsense"
    sealed = b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))
    assert unseal(sealed) is None
