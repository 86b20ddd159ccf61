"""The manual's page on formats is what the formats do."""

from tests.paths import ROOT
from turnkeep.formats import FORMATS
from turnkeep.formats._docs import page


def test_the_page_is_current() -> None:
    """Renew it with `python -m turnkeep.formats._docs`."""
    written = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")

    assert written == page()


def test_no_format_is_missing() -> None:
    """Each has a row, or is named below the tables."""
    said = page()

    assert all(f"`{name}`" in said for name in FORMATS)
