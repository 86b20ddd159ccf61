"""Tests for `turnkeep.model._builders`."""

from datetime import UTC, datetime

import pytest

from turnkeep.model import (
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    by_priority,
    reasoned,
    run_summary,
    with_cache,
    with_images,
    with_tool_calls,
)


def test_answers_with_their_reasoning() -> None:
    """It stands before the answer, as it was thought."""
    assert reasoned("x", "hm", id="m") == Message.assistant(
        [Thinking("hm"), Text("x")], id="m"
    )


def test_run_summaries() -> None:
    """System messages of their kind."""
    assert run_summary("took 5 s") == Message.system("took 5 s", kind="run_summary")


def test_images_with_and_without_numbers() -> None:
    """Numbers are parallel to the images."""
    images = [Image("AA=="), Image("AAA=")]
    message = Message.user("look", token_count=5)

    assert with_images(message, images).content == (Text("look"), *images)
    numbered = with_images(message, images, [4, 7])
    assert [b.number for b in numbered.content if isinstance(b, Image)] == [4, 7]
    assert numbered.token_count is None
    with pytest.raises(ValueError, match="2 images need as many numbers, not 1"):
        with_images(message, images, [4])


def test_calls_replace_those_before() -> None:
    """An empty list is none."""
    message = Message.assistant("x", tool_calls=[ToolCall("c", "f")])
    other = ToolCall("d", "g")

    assert with_tool_calls(message, [other]).content == (Text("x"), other)
    assert with_tool_calls(message, []).content == (Text("x"),)


def test_the_last_cache_hint_wins() -> None:
    """Hints are metadata: kept, never sent."""
    message = with_cache(Message.user("x", metadata={"a": 1}), "extended", "k")

    assert message.metadata == {
        "a": 1,
        "multi-llm": {"cacheable": True, "cache_type": "Extended", "cache_key": "k"},
    }
    assert with_cache(message).metadata["multi-llm"] == {
        "cacheable": True,
        "cache_type": "Ephemeral",
        "cache_key": None,
    }
    strange = Message.user("x", metadata={"multi-llm": 5})
    assert with_cache(strange).metadata["multi-llm"]["cacheable"] is True


def test_the_view_by_priority_sorts_the_preamble_only() -> None:
    """By priority, then time, then position; the conversation stays in its order."""
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    late = Message.system("late", priority=5, timestamp=second)
    early = Message.system("early", priority=5, timestamp=first)
    plain = Message.system("plain")
    top = Message.system("top", priority=0)
    untimed = Message.system("untimed", priority=5)
    talk = [Message.user("q"), Message(Role.SYSTEM, "x", priority=0)]
    given = [plain, untimed, late, early, top, *talk]

    assert by_priority(given) == [top, early, late, untimed, plain, *talk]
    assert given == [plain, untimed, late, early, top, *talk]
    assert by_priority([]) == []
