"""Tests for `turnkeep.model._audience`."""

import pytest

from turnkeep.model import (
    DISPLAY_KINDS,
    Audience,
    Document,
    Image,
    Message,
    Text,
    audience_of,
    count_images,
    sent,
    shown,
)


@pytest.mark.parametrize(
    ("kind", "shown_to_people", "sent_to_model"),
    [
        (None, True, True),
        ("summary", True, True),
        ("digest", True, True),
        ("context_checkpoint", True, True),
        ("continuation", True, True),
        ("invented_later", True, True),
        ("run_summary", True, False),
        ("recovery_nudge", False, True),
        ("context_marker", False, True),
        ("bridge", False, True),
    ],
)
def test_every_kind_has_one_audience(
    kind: str | None, shown_to_people: bool, sent_to_model: bool
) -> None:
    """What is sent is counted; a kind nobody knows is an ordinary message."""
    assert audience_of(kind) == Audience(shown_to_people, sent_to_model)
    assert audience_of(kind).counted is sent_to_model


def test_messages_are_filtered_in_order() -> None:
    """For the model and for people."""
    question = Message.user("q")
    summary = Message.system("took 5 s", kind="run_summary")
    nudge = Message.system("go on", kind="recovery_nudge")

    assert sent([question, summary, nudge]) == [question, nudge]
    assert shown([question, summary, nudge]) == [question, summary]


def test_display_kinds_are_those_that_are_not_sent() -> None:
    """The engine and the formats go by the same set."""
    assert all(not audience_of(kind).sent for kind in DISPLAY_KINDS)


def test_images_are_counted_where_they_are_sent() -> None:
    """Files and pictures in results are, messages for people are not."""
    image = Image("AA==")
    messages = [
        Message.user([Text("x"), image, Document("AA==")]),
        Message.tool_result("c", [image, Text("x")]),
        Message.system([image], kind="run_summary"),
    ]

    assert count_images(messages) == 3
    assert count_images([]) == 0
