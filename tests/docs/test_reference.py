"""The reference names everything that is public."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "reference"
PACKAGES = (
    "turnkeep",
    "turnkeep.errors",
    "turnkeep.formats",
    "turnkeep.model",
    "turnkeep.plans",
    "turnkeep.proxy",
    "turnkeep.stores",
    "turnkeep.strategies",
    "turnkeep.tokens",
)
_DIRECTIVE = re.compile(
    r"^\.\. (?P<kind>[\w:]+):: (?P<target>[\w.]+)(?P<options>(?:\n   :.*)*)",
    re.MULTILINE,
)


def _public(package: str) -> dict[str, object]:
    """The names in a package's `__all__`, with what they stand for."""
    module = import_module(package)
    return {
        name: getattr(module, name)
        for name in module.__all__
        if not name.startswith("_")
    }


def _documented() -> tuple[set[str], list[object]]:
    """Full names that the pages document, and the objects they stand for."""
    names: set[str] = set()
    objects: list[object] = []
    for page in sorted(PAGES.glob("*.md")):
        current = ""
        for found in _DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            kind, target = found["kind"], found["target"]
            if kind.endswith("currentmodule"):
                current = target
            elif kind == "automodule":
                if ":members:" in found["options"]:
                    public = _public(target)
                    names |= {f"{target}.{name}" for name in public}
                    objects += public.values()
            elif kind.startswith(("auto", "py:")):
                full = (
                    target if target.startswith("turnkeep.") else f"{current}.{target}"
                )
                place, _, name = full.rpartition(".")
                names.add(full)
                try:
                    objects.append(getattr(import_module(place), name))
                except ModuleNotFoundError:  # a method: its class is the module's
                    continue
    return names, objects


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(package: str) -> None:
    """By its full name, or as the same object under another name."""
    names, objects = _documented()
    known = {id(thing) for thing in objects}
    missing = [
        name
        for name, thing in _public(package).items()
        if f"{package}.{name}" not in names and id(thing) not in known
    ]
    assert not missing, f"not in docs/reference: {', '.join(missing)}"
