"""The manual's page on providers says what the rules say."""

from __future__ import annotations

import runpy
import sys

import pytest

from tests.paths import ROOT
from turnkeep.profiles import PROFILES, get_profile
from turnkeep.profiles._docs import providers_page

PAGE = ROOT / "docs" / "reference" / "providers.md"


def test_the_page_is_the_rules() -> None:
    """The page is renewed whenever a rule changes."""
    renew = "python -m turnkeep.profiles._docs > docs/reference/providers.md"

    assert PAGE.read_text(encoding="utf-8") == providers_page(), renew


def test_running_the_module_writes_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command in its docstring works."""
    monkeypatch.delitem(sys.modules, "turnkeep.profiles._docs")

    runpy.run_module("turnkeep.profiles._docs", run_name="__main__")

    assert capsys.readouterr().out == providers_page()


@pytest.mark.parametrize("name", PROFILES)
def test_every_rule_is_on_the_page(name: str) -> None:
    """No rule goes without a sentence, a way out and a source."""
    page = providers_page()

    for number, rule in get_profile(name=name).rules.items():
        assert number == rule.number
        assert f"| {number} " in page
        assert rule.sentence.endswith((".", "!"))
        assert rule.mend.endswith(".")
        assert rule.sources


def test_sources_are_links() -> None:
    """Issues and addresses can be followed."""
    page = providers_page()

    assert "[simonw/llm#937](https://github.com/simonw/llm/issues/937)" in page
    assert "<https://platform.claude.com/docs/en/build-with-claude/vision.md>" in page
