"""Tests for `turnkeep.strategies.directives`: what reads like an instruction."""

from __future__ import annotations

import pytest

from turnkeep import Image, Message, Text
from turnkeep.strategies.directives import directives, reads_like_a_rule


@pytest.mark.parametrize(
    "sentence",
    [
        "From now on answer in French.",
        "Remember: the project is called Orion.",
        "Keep in mind that we support Python 3.11.",
        "Always run the tests before you commit.",
        "Please never push to main.",
        "Do not delete files without asking me first.",
        "Don't touch the schema unless I say so.",
        "You must never share the customer's email.",
        "You can only call a tool once.",
        "Whenever you change the API, update the docs.",
        "Make sure that you always cite the source.",
        "My preference is tabs.",
        "I'd prefer that you keep answers short.",
        "Use metric units in all answers.",
        "Invalid themes must NEVER explode.",
    ],
)
def test_rules_are_found(sentence: str) -> None:
    assert reads_like_a_rule(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Please add a test for that.",
        "Actually, never mind.",
        "Why do you always do that?",
        "What is always true",
        "It has always been so and never the same.",
        "never",
        "The list is always a list and never an array.",
        "x " * 300 + "always run tests",
        "Can you remember the name?",
    ],
)
def test_requests_questions_and_statements_are_not(sentence: str) -> None:
    assert not reads_like_a_rule(sentence)


def words(message: Message) -> int:
    """A token a word."""
    return len(message.text.split())


def test_user_sentences_are_proposed_oldest_first() -> None:
    history = [
        Message.system("Always be kind."),
        Message.user("Hello. Always answer in French. Thanks!", id="a"),
        Message.assistant("I will always do that."),
        Message.user("Never mind the colour.\nFrom now on use metric units."),
        Message.user("Always sign your mails.", id="p", pinned=True),
        Message.user("Always be brief.", id="k", kind="summary"),
        Message.user([Text("ok"), Image(url="https://example.org/a.png")], id="n"),
    ]

    found = directives(history, available=1_000, count=words)

    assert [(p.index, p.id, p.sentences, p.tokens) for p in found] == [
        (1, "a", ("Always answer in French.",), 6),
        (3, "3", ("From now on use metric units.",), 10),
    ]


def test_pasted_code_and_tagged_text_say_nothing() -> None:
    text = "see:\n```\n# Always run tests\n```\n<log>Never push to main.</log>\nthanks"

    assert not directives([Message.user(text)], available=1_000, count=words)


def test_the_share_goes_to_the_newest() -> None:
    history = [
        Message.user("Always answer in French.", id="old"),
        Message.user("Always answer in German.", id="new"),
        Message.user("Never " + "very " * 40 + "long.", id="long"),
    ]

    assert [p.id for p in directives(history, available=50, count=words)] == ["new"]
    assert len(directives(history, available=80, count=words)) == 2
    assert len(directives(history, available=80, count=words, share=1)) == 3


@pytest.mark.parametrize("share", [0, 1.5, -1])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match="share must be"):
        directives([], available=10, count=words, share=share)
