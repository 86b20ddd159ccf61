"""The words by which messages are found."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from turnkeep import Message, ToolCall
from turnkeep.stores._words import _WORD, MAX_WORD, split, words_of


@given(st.text(st.characters(max_codepoint=127)))
@example("".join(map(chr, range(128))))
def test_plain_text_has_the_words_of_any_other(text: str) -> None:
    """It is taken apart in a shorter way that must not show."""
    assert split(text) == _WORD.findall(text.casefold())


@given(st.text())
def test_a_query_for_a_word_of_a_text_is_that_word(text: str) -> None:
    """However often it is taken apart."""
    for word in split(text):
        assert split(word) == [word]


def test_the_words_of_a_message_stand_once_each() -> None:
    """In lower case, cut where they are too long, in the order of their coming."""
    call = ToolCall("c", "read_file", {"path": "Straße"})
    long = "x" * (MAX_WORD + 1)
    message = Message.assistant(f"The the {long} {long}y", tool_calls=[call])

    assert words_of(message) == f"the {long[:MAX_WORD]} read file path strasse"
