"""Tests for `turnkeep.model._markers`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import (
    INTERIM,
    PENDING,
    SUMMARY,
    mark,
    marker_of,
    unmark,
    without_line,
)


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
        ("[turnkeep:pending]", None),
        ("[turnkeep:pending]\nx", None),
        ("[turnkeep:unheard_of 02a2e08b]\nstarted", None),
        ("[turnkeep:interim 02a2e08b]\nstarted", None),
        ("[turnkeep:pending 02a2e08b]\nstarted", PENDING),
        ("[turnkeep:pending 02a2e08b]\r\nstarted\r\n", PENDING),
        ("[turnkeep:pending 02a2e08b]\nstarted, and more", None),
        (" [turnkeep:pending 02a2e08b]\nstarted", None),
        ("x\n[turnkeep:pending 02a2e08b]\nstarted", None),
    ],
)
def test_only_a_first_line_that_fits_the_rest_is_a_marker(
    text: str, marker: str | None
) -> None:
    """Whoever prints such a line, or adds to one of our texts, has not said it."""
    assert marker_of(text) == marker
    if marker is None:
        assert unmark(text) == text


def test_a_marker_alone_marks_empty_text() -> None:
    """Nothing is left behind it."""
    assert unmark(mark(PENDING, "")) == ""
    assert unmark(mark(PENDING, "").rstrip()) == ""


@pytest.mark.parametrize("line", ["[turnkeep:summary]", "[turnkeep:summary 12345678]"])
def test_a_line_that_only_looks_like_ours_can_be_taken_off(line: str) -> None:
    """A model that has read one writes one."""
    assert without_line(f"{line}\nIn short.") == "In short."
    assert without_line("In short.") == "In short."
