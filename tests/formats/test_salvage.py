"""Tests for logs of sessions that are damaged: what is whole in them is read."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.errors import FormatError
from turnkeep.formats import read
from turnkeep.formats._salvage import salvage


def record(nth: int) -> dict[str, Any]:
    """A line of a Claude Code session, with an object inside."""
    message = {"role": "user", "content": [{"type": "text", "text": f"m{nth} {{x}}"}]}
    return {
        "type": "user",
        "uuid": f"u{nth}",
        "parentUuid": None,
        "sessionId": "s",
        "message": message,
    }


RECORDS = [record(nth) for nth in range(4)]
LINES = [json.dumps(entry) for entry in RECORDS]


def saved(folder: Path, text: str | bytes, name: str = "s.jsonl") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "left", "note"),
    [
        # anthropics/claude-code#81843, 50347, 53821; openai/codex#24425
        ("\n".join([*LINES[:3], LINES[3][:40]]), 3, "line 4 is damaged: left out"),
        ("\n".join([LINES[0][:40], *LINES[1:]]), 3, "line 1 is damaged: left out"),
        (LINES[0] + LINES[1], 2, "line 1 is damaged: 2 whole records in it"),
        (LINES[0][:60] + LINES[1], 1, "line 1 is damaged: 1 whole record in it"),
        (LINES[0] + "\0" * 50 + "\n" + LINES[1], 2, "1 whole record in it"),
        ("\0" * 50 + "\n" + LINES[1], 1, "line 1 is damaged: left out"),
        ("\n".join([LINES[0][:40], LINES[0]]), 1, "line 1 is damaged: left out"),
    ],
    ids=["tail", "head", "two", "cut", "nul", "nul line", "torn, then whole"],
)
@pytest.mark.parametrize("name", ["s.jsonl", "s"])
def test_what_is_whole_is_read(
    tmp_path: Path, text: str, left: int, note: str, name: str
) -> None:
    reading = read(saved(tmp_path, text, name))

    assert len(reading.value) == left
    assert all(entry in RECORDS for entry in reading.value)
    assert note in reading.notes[0]


def test_bytes_that_are_no_text_cost_their_line(tmp_path: Path) -> None:
    data = b"\n".join([LINES[0].encode(), b'{"type": "user", "\xff": 1}', b"[1, 2]"])

    reading = read(saved(tmp_path, data))

    assert reading.value == [RECORDS[0], [1, 2]]


def test_many_damaged_lines_are_summed_up(tmp_path: Path) -> None:
    reading = read(saved(tmp_path, "\n".join([LINES[0], *["{"] * 9])))

    assert len(reading.notes) == 6
    assert reading.notes[-1] == "4 more lines are damaged"


@pytest.mark.parametrize(
    "text",
    [
        '{"role": "user", "content": "a"}\n{"role": "user", "con',
        '{"role": "user", "content": "a"}{"role": "user", "content": "b"}\n',
        "",
        '{"payload": {"type": "message", "id": "x"}, "torn": "',
    ],
)
def test_damage_of_any_other_file_is_an_error(tmp_path: Path, text: str) -> None:
    """A list of messages of which one is lost is not what its owner wrote."""
    if not text:
        assert salvage(b"") is None
        return
    with pytest.raises(FormatError):
        read(saved(tmp_path, text))


def test_files_that_are_in_order_have_no_notes(tmp_path: Path) -> None:
    reading = read(saved(tmp_path, "\n".join(LINES)))

    assert reading.value == RECORDS
    assert reading.notes == ()


@given(cut=st.integers(0, len(LINES[3])), tail=st.sampled_from(["", "\n", LINES[0]]))
def test_wherever_a_program_was_killed_the_records_before_are_there(
    cut: int, tail: str
) -> None:
    """And what another process appended behind the torn one."""
    text = "\n".join([*LINES[:3], LINES[3][:cut] + tail])

    found = salvage(text.encode())

    assert found is not None
    assert found.values[:3] == RECORDS[:3]
    assert all(entry in RECORDS for entry in found.values)
    assert (RECORDS[0] in found.values[3:]) == (tail == LINES[0])


def test_a_hostile_line_takes_no_long_time() -> None:
    """Each brace could begin a record: so many are tried, and no more."""
    data = LINES[0].encode() + b"\n" + b'{"a":' * 200_000

    start = time.process_time()
    found = salvage(data)

    assert found is not None
    assert time.process_time() - start < 20
