"""Tests for `turnkeep.cli._files`."""

import gzip
import os
import stat
from pathlib import Path

import pytest

from turnkeep.cli._files import UsageError, check_output, encode, read, read_one, write
from turnkeep.errors import FormatError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private(tmp_path: Path) -> None:
    """Chats are private: a file we make is for its owner alone."""
    target = tmp_path / "new.json"

    write(str(target), b"[]\n")

    assert target.read_bytes() == b"[]\n"
    assert mode(target) == 0o600


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    """Replacing what is in a file does not change who may read it."""
    target = tmp_path / "old.json"
    target.write_bytes(b"old")
    target.chmod(0o644)

    write(str(target), b"new")

    assert (target.read_bytes(), mode(target)) == (b"new", 0o644)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What a link points to is replaced, not the link."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    link.symlink_to(real)

    write(str(link), b"new")

    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_failing_write_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half-written file, and no temporary one left over."""
    target = tmp_path / "old.json"
    target.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(UsageError, match="cannot write: No space left") as caught:
        write(str(target), b"new")

    assert caught.value.where == str(target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(UsageError, match=r"cannot write: No such file .* @ .*x\.json"):
        write(str(tmp_path / "none" / "x.json"), b"")


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    """What is no file cannot be renamed over."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    write(str(fifo), b"[1]")

    assert os.read(reader, 10) == b"[1]"
    os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_gzip_in_and_out(tmp_path: Path) -> None:
    """A name in `.gz` is packed, the same bytes each time; packed input is found."""
    target = tmp_path / "x.json.gz"

    write(str(target), b'[{"a": 1}]')
    first = target.read_bytes()
    write(str(target), b'[{"a": 1}]')

    assert target.read_bytes() == first
    assert gzip.decompress(first) == b'[{"a": 1}]'
    assert read_one(str(target)).value == [{"a": 1}]


def test_a_damaged_gzip_file(tmp_path: Path) -> None:
    """A torn archive is bad input."""
    torn = tmp_path / "x.gz"
    torn.write_bytes(gzip.compress(b"[1, 2, 3]")[:-6])

    with pytest.raises(FormatError, match="gzip file is damaged"):
        read_one(str(torn))


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """The first bad byte is named."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(b'["\xff"]')

    with pytest.raises(FormatError, match=r"bad.json, line 1: not UTF-8 text"):
        read_one(str(bad))


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    """Editors on Windows put one there."""
    marked = tmp_path / "bom.json"
    marked.write_bytes(b"\xef\xbb\xbf[1]")

    assert read_one(str(marked)).value == [1]


def test_a_missing_file(tmp_path: Path) -> None:
    """The error names the path."""
    path = tmp_path / "none.json"

    with pytest.raises(UsageError, match="cannot read: No such file") as caught:
        read_one(str(path))

    assert caught.value.where == str(path)


def test_output_is_spelled_as_the_input_was(tmp_path: Path) -> None:
    """Compact, indented or one value a line."""
    path = tmp_path / "x"
    path.write_text('[\n  {"a": 1}\n]')
    assert encode(read_one(str(path)), [{"a": 2}]) == b'[\n  {\n    "a": 2\n  }\n]\n'

    path.write_text('[{"a": 1}]')
    assert encode(read_one(str(path)), [{"a": 2}]) == b'[{"a":2}]\n'

    path.write_text('{"a": 1}\n{"a": 2}\n')
    assert encode(read_one(str(path)), [{"a": 2}]) == b'{"a":2}\n'


def test_a_conversation_a_line(tmp_path: Path) -> None:
    """Such a file is several documents; a command for one says how to pick."""
    path = tmp_path / "chats.jsonl"
    path.write_text('{"messages": []}\n{"messages": [1]}\n')

    assert [source.name for source in read(str(path))] == [
        "chats.jsonl:1",
        "chats.jsonl:2",
    ]
    with pytest.raises(UsageError, match="holds 2 conversations, one a line"):
        read_one(str(path))


def test_a_device_may_be_input_and_output() -> None:
    """Nothing in it is lost by writing."""
    check_output("/dev/null", "/dev/null")
