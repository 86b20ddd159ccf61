"""Tests for `turnkeep.model._markers`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import INTERIM, PENDING, SUMMARY, mark, marker_of, unmark


@given(st.text(), st.sampled_from([PENDING, INTERIM, SUMMARY]))
def test_marking_and_unmarking_always_gives_the_text_again(
    text: str, marker: str
) -> None:
    """Unless the text has that first line already: then nothing is added."""
    marked = mark(marker, text)

    assert marker_of(marked) == marker
    assert mark(marker, marked) == marked
    if marker_of(text) != marker:
        assert unmark(marked) == text


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("", None),
        ("hi", None),
        (" [turnkeep:pending]", None),
        ("[turnkeep:pending] x", None),
        ("[turnkeep:unheard_of]\nx", None),
        ("[turnkeep:pending]", PENDING),
        ("[turnkeep:pending]\r\nx", PENDING),
        ("x\n[turnkeep:pending]", None),
    ],
)
def test_only_a_whole_first_line_is_a_marker(text: str, marker: str | None) -> None:
    """Text that merely mentions one is ordinary text."""
    assert marker_of(text) == marker
    if marker is None:
        assert unmark(text) == text


def test_a_marker_alone_marks_empty_text() -> None:
    """Nothing is left behind it."""
    assert unmark("[turnkeep:pending]") == ""
