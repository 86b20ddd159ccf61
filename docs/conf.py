"""Sphinx configuration."""

import inspect
import os
import re
import subprocess
import sys
from importlib.metadata import version as installed_version

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from turnkeep.cli._app import COMMANDS, load
from turnkeep.formats import FORMATS, get_format

project = "turnkeep"
copyright = "the turnkeep authors"  # noqa: A001 - the name Sphinx reads
release = version = installed_version("turnkeep")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
    "sphinx_copybutton",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["**/_*.md"]
html_theme = "furo"
html_title = "turnkeep"
nitpicky = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# Integrations import their hosts, which the documentation does not need.
autodoc_mock_imports = [
    "agent_framework",
    "agents",
    "google",
    "langchain",
    "langchain_core",
    "langgraph",
    "litellm",
    "pydantic_ai",
    "strands",
]
# No inventory can be fetched where CI runs, so names of other projects stay unlinked.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|datetime|pathlib|typing|os|re|types)\..*"),
    ("py:.*", r"(attr|starlette|tiktoken)\..*"),
    ("py:.*", r"(agent_framework|agents|google|langchain_core|litellm)\..*"),
    ("py:.*", r"(pydantic_ai|strands)\..*"),
    # Annotations name the module where a class lives, the pages where it is exported.
    ("py:.*", r"turnkeep\..*"),
    # Classes of the frameworks that integrations are for.
    ("py:.*", r"(agent_framework|langchain_core|pydantic_ai)\..*"),
    # Names that a module imports for type checkers alone stay as they are written.
    ("py:.*", r"\w+|.*TypeVar.*"),
]
# Docstring examples run under pytest --doctest-modules; here, only those of the pages.
doctest_test_doctest_blocks = ""
copybutton_exclude = ".linenos, .gp, .go"


class CommandHelp(Directive):
    """`{command-help}`: what `turnkeep --help` prints, and that of every command."""

    def run(self) -> list[nodes.Node]:
        """Ask the commands themselves, so that the page cannot be out of date."""
        sections = [_help()]
        for name in COMMANDS:
            sections.append(_help(name))
            inner = getattr(load(name), "commands", {})
            sections += [_help(name, part) for part in inner]
        return sections


def _help(*command: str) -> nodes.section:
    """A section with the help of a command."""
    title = " ".join(("turnkeep", *command))
    plain = {"COLUMNS": "84", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "turnkeep.cli", *command, "--help"],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | plain,
    )
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    section = nodes.section(ids=[nodes.make_id(title)], names=[title])
    section += nodes.title("", title)
    section += nodes.literal_block("", "\n".join(lines), language="text")
    return section


class FormatList(Directive):
    """`{format-list}`: every format with what its class says about it."""

    def run(self) -> list[nodes.Node]:
        """Ask the registry, so that no format can be missing."""
        listed = nodes.definition_list()
        for name in FORMATS:
            about = inspect.getdoc(type(get_format(name))) or ""
            item = nodes.definition_list_item()
            item += nodes.term("", "", nodes.literal("", name))
            definition = nodes.definition()
            for paragraph in about.split("\n\n"):
                definition += _paragraph(paragraph)
            item += definition
            listed += item
        return [listed]


def _paragraph(text: str) -> nodes.paragraph:
    """A paragraph in which what stands between backticks is literal."""
    made = nodes.paragraph()
    for nth, part in enumerate(" ".join(text.split()).split("`")):
        made += nodes.literal("", part) if nth % 2 else nodes.Text(part)
    return made


_TICKS = re.compile(r"(?<!`)`((?:[^`\n]|\n(?!\s*\n))+)`(?!`)(\w?)")


def _literals(
    _app: Sphinx, _what: str, _name: str, _obj: object, _opts: object, lines: list[str]
) -> None:
    """Double the backticks: docstrings are written as in Markdown."""

    # What follows a literal directly must be set off.
    def double(found: re.Match[str]) -> str:
        return f"``{found[1].strip()}``" + (f"\\ {found[2]}" if found[2] else "")

    lines[:] = _TICKS.sub(double, "\n".join(lines)).split("\n")


_PLAIN = ("attribute", "property", "data")
_kept: dict[str, list[str]] = {}


def _keep(
    _app: Sphinx, what: str, name: str, _obj: object, _opts: object, lines: list[str]
) -> None:
    if what in _PLAIN:
        _kept[name] = list(lines)


def _restore(
    _app: Sphinx, what: str, name: str, _obj: object, _opts: object, lines: list[str]
) -> None:
    if what in _PLAIN and name in _kept:
        lines[:] = _kept.pop(name)


def setup(sphinx: Sphinx) -> None:
    """Register the directive, and keep napoleon away from attributes.

    It takes what stands before a colon for a type; our attributes are sentences.
    """
    sphinx.add_directive("command-help", CommandHelp)
    sphinx.add_directive("format-list", FormatList)
    sphinx.connect("autodoc-process-docstring", _literals, priority=300)
    sphinx.connect("autodoc-process-docstring", _keep, priority=400)
    sphinx.connect("autodoc-process-docstring", _restore, priority=600)
