"""Nothing of a file may steer the terminal that a report is printed on."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.running import run, save
from turnkeep import Budget, Conversation, ToolCall
from turnkeep.cli._terminal import escaped, harmless
from turnkeep.stores import SqliteStore

HOSTILE = (
    "\x1b]52;c;aGk=\x1b\\",  # writes to the clipboard
    "\x1b[2J\x07",  # clears the screen, rings
    "\x9b31m",  # C1: the same in one character
    "\u202egnp.exe\u202c",  # turns the direction
    "a\u2066b\u2069\u200e\u200f",
    "x\u2028y\ufeff\x00\x7f",
    "\U000e0041",  # a tag nobody sees
)

STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)


def hostile_chat(text: str) -> list[dict[str, Any]]:
    """A chat with *text* wherever somebody else chooses it."""
    call = {
        "id": f"c{text}",
        "type": "function",
        "function": {"name": f"f{text}", "arguments": json.dumps({"path": text})},
    }
    return [
        {"role": "system", "content": f"s {text}"},
        {"role": "user", "content": f"q {text}", "name": "n"},
        {"role": "assistant", "content": text, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{text}", "content": f"r {text}"},
        {"role": "assistant", "content": None, "tool_calls": [{**call, "id": text}]},
        {"role": "user", "content": f"n {text}"},
        {"role": "tool", "tool_call_id": f"orphan {text}", "content": text},
        {"role": "user", "content": "end"},
    ]


COMMANDS: Sequence[tuple[str, ...]] = (
    ("show", "FILE", "--steps", "-n", "90"),
    ("show", "FILE", "--json"),
    ("count", "FILE", "--by", "tool"),
    ("count", "FILE", "--by", "message"),
    ("count", "FILE", "--json"),
    ("check", "FILE"),
    ("check", "FILE", "--json"),
    ("repair", "FILE", "--json"),
    ("repair", "FILE"),
    ("convert", "FILE", "--to", "anthropic"),
    ("convert", "FILE", "--to", "gemini", "--json"),
    ("fit", "FILE", "-n", "90"),
    ("fit", "FILE", "-n", "90", "--json"),
    ("fit", "FILE", "-n", "20"),
    ("fit", "FILE", "-n", "90", "--pin", "no \x1b[2J such"),
    ("fit", "FILE", "-n", "90", "--strategy", "\x1b]0;x\x07"),
    ("replay", "FILE", "-n", "90"),
    ("diff", "FILE", "FILE"),
    ("diff", "FILE", "FILE", "--text"),
    ("report", "FILE", "--json"),
    ("pending", "FILE"),
    ("pending", "FILE", "--json"),
    ("show", "no-\x1b[2J-such.json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_command_passes_on_what_steers(
    tmp_path: Path, command: tuple[str, ...], text: str
) -> None:
    """Whatever a command says of a history, in words or as JSON, is text."""
    path = save(tmp_path / "a.json", hostile_chat(text))

    result = run(*(path if word == "FILE" else word for word in command))

    assert result.exit_code in (0, 1, 2, 3)
    assert not STEERS.search(result.stdout), ascii(result.stdout)
    assert not STEERS.search(result.stderr), ascii(result.stderr)


@pytest.mark.parametrize("text", HOSTILE[:-1], ids=ascii)
def test_no_command_on_a_store_does(tmp_path: Path, text: str) -> None:
    """The same where the history is in a store."""
    path = tmp_path / "chats.db"
    name = f"id {text}".replace("\0", "")
    with SqliteStore(path) as store:
        chat = Conversation.open(store, name, model="gpt-4o", budget=Budget(5_000))
        chat.user(f"q {text}")
        chat.assistant("", tool_calls=[ToolCall("c1", f"f{text}", {})])
        chat.defer("c1", text)
        chat.user("and?")

    for command in (
        ("store", "ls", path),
        ("store", "ls", path, "--json"),
        ("store", "show", path, name),
        ("store", "show", path, name, "--json"),
        ("store", "export", path, name),
        ("store", "check", path),
        ("pending", path),
        ("show", path),
        ("resolve", path, "c1", text.replace("\0", ""), "-c", name),
        ("resolve", path, f"no {text}".replace("\0", ""), "x", "-c", name, "--json"),
    ):
        result = run(*command)
        assert not STEERS.search(result.stdout), ascii(result.stdout)
        assert not STEERS.search(result.stderr), ascii(result.stderr)


@settings(max_examples=300)
@given(st.recursive(st.text() | st.integers(), lambda v: st.lists(v, max_size=4)))
def test_escaping_never_changes_a_value(value: Any) -> None:
    """Escapes say the same JSON."""
    text = json.dumps(value, ensure_ascii=False)

    assert json.loads(escaped(text)) == value
    assert not STEERS.search(escaped(text))


@given(st.text())
def test_harmless_text_always_stays_as_long(text: str) -> None:
    """One character for one, so that columns stay where they were measured."""
    made = harmless(text)

    assert len(made) == len(text)
    assert not STEERS.search(made)


@pytest.mark.parametrize(
    "text",
    [
        "nai\u0308ve",
        "\U0001f469\u200d\U0001f4bb",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u2764\ufe0f",
    ],
    ids=ascii,
)
def test_scripts_and_emoji_are_spelled_as_they_were(text: str) -> None:
    """Accents, joiners and variation selectors are text."""
    assert harmless(text) == text
    assert escaped(json.dumps(text, ensure_ascii=False)) == f'"{text}"'


def test_values_quoted_in_errors_are_shortened(tmp_path: Path) -> None:
    """A megabyte in a wrong place is no megabyte of error."""
    chat = [{"role": "user" + "x" * 1_000_000, "content": "q"}]

    result = run("fit", save(tmp_path / "a.json", chat), "-n", "90", "-f", "openai")

    assert result.exit_code == 2
    assert len(result.stderr) < 1_000
    assert "characters)" in result.stderr
