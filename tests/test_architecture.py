"""The contracts on imports name every sibling there is."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from turnkeep.formats import _registry
from turnkeep.profiles import PROFILES
from turnkeep.strategies._registry import _OURS

ROOT = Path(__file__).parents[1]


def contracts() -> dict[str, set[str]]:
    """The modules of each independence contract, by the contract's name."""
    config: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = config["tool"]["importlinter"]["contracts"]
    return {c["name"]: set(c["modules"]) for c in found if c["type"] == "independence"}


@pytest.mark.parametrize(
    ("package", "modules"),
    [
        ("formats", {place.partition(":")[0] for place in _registry._CLASSES.values()}),
        ("profiles", {place.partition(":")[0] for place in PROFILES.values()}),
        (
            "strategies",
            {
                f"turnkeep.strategies.{place.partition(':')[0]}"
                for place in (*_OURS.values(), "_summarize")
            },
        ),
    ],
)
def test_every_sibling_is_held_apart(package: str, modules: set[str]) -> None:
    """A new format, profile or strategy joins its contract, or this fails."""
    held = contracts()[f"{package.capitalize()} do not know each other"]

    assert held == modules


def test_every_layer_is_explained() -> None:
    """The page for contributors has a row for each layer, in the same order."""
    config: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (layers,) = [
        contract["layers"]
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    expected = [sorted(re.findall(r"\w+", layer)) for layer in layers]
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]

    assert [sorted(re.findall(r"\w+", row)) for row in rows] == expected
