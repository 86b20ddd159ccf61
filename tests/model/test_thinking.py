"""Tests for `turnkeep.model._thinking`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import Extracted, extract_thinking


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        # No start marker: nothing is trimmed.
        ("  just text \n", None, "  just text \n"),
        ("", None, ""),
        ("x ...done thinking. y", None, "x ...done thinking. y"),
        # Both: what stood before is dropped.
        ("Thinking... 2+2 ...done thinking. Four. ", "2+2", "Four."),
        ("before Thinking...\n a \n...done thinking.\n\nb", "a", "b"),
        ("Thinking......done thinking.", "", ""),
        # A start marker alone: still thinking.
        ("Thinking... still at it ", "still at it", ""),
        ("Thinking...", "", ""),
        # The markers share their dots.
        ("Thinking...done thinking.", "", ""),
        ("Thinking...done thinking. Four.", "", "Four."),
        # The end stands before the start, and says nothing there.
        ("...done thinking. Thinking... a", "a", ""),
        ("...done thinking. Thinking... a ...done thinking. b", "a", "b"),
        # Only the first of each counts.
        (
            "Thinking... a ...done thinking. b Thinking... c ...done thinking. d",
            "a",
            "b Thinking... c ...done thinking. d",
        ),
        ("Thinking... …é ...done thinking. ü", "…é", "ü"),
    ],
)
def test_the_outcomes(text: str, thinking: str | None, answer: str) -> None:
    """Four of them, and the inputs between them."""
    assert extract_thinking(text) == Extracted(thinking, answer)


_pieces = st.sampled_from(
    ["Thinking...", "...done thinking.", "Thinking...done thinking.", "..", " ", "x"]
)


@given(st.lists(_pieces | st.text(max_size=5)).map("".join))
def test_never_raises(text: str) -> None:
    """Any text has an outcome, and without a start marker comes back as it is."""
    extracted = extract_thinking(text)

    assert (extracted.thinking is None) == ("Thinking..." not in text)
    if extracted.thinking is None:
        assert extracted.answer == text
    else:
        assert extracted.answer == extracted.answer.strip()
