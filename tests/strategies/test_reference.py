"""The reference page names every strategy, every option and every default."""

from __future__ import annotations

import re

import attrs
import pytest

from tests.paths import ROOT
from turnkeep import strategies
from turnkeep.strategies import Composable

PAGE = ROOT / "docs" / "reference" / "strategies.md"
CLASSES = [
    made
    for name in strategies.__all__
    if isinstance(made := getattr(strategies, name), type)
    and issubclass(made, Composable)
    and made not in (Composable, strategies.Then, strategies.Alternating)
]


def rows() -> dict[str, dict[str, str]]:
    """The defaults of each strategy's options, as the page has them."""
    found: dict[str, dict[str, str]] = {}
    name = ""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[0].startswith(("`", "")) and cells[0] != "---":
            name = cells[0].strip("`") or name
            options = found.setdefault(name, {})
            if cells[1].startswith("`"):
                options[cells[1].strip("`")] = cells[2]
    return found


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.__name__)
def test_the_page_names_every_option_and_default(made: type) -> None:
    fields = [f for f in attrs.fields(made) if f.init]
    expected = {
        field.name: "required" if field.default is attrs.NOTHING else str(field.default)
        for field in fields
    }

    written = rows()[made.__name__]

    assert written.keys() == expected.keys()
    for name, default in expected.items():
        assert written[name] == default or written[name] == "a sentence"
