"""Entries as providers write them come back equal, or are refused with their path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.formats.wire_chat import (
    chat_entries,
    developer,
    legacy,
    mistral_entries,
    ollama_entries,
)
from tests.formats.wire_responses import items
from tests.generators import attempt, decoded, mangled
from tests.paths import needs_corpus, read_corpus
from turnkeep.errors import FormatError
from turnkeep.formats import get_format
from turnkeep.model import same

ENTRIES: dict[str, SearchStrategy[Any]] = {
    "openai": chat_entries | developer | legacy,
    "deepseek": chat_entries,
    "mistral": mistral_entries,
    "ollama": ollama_entries,
    "openai-responses": items,
}
KEYS = ["role", "content", "type", "tool_calls", "tool_call_id", "call_id", "output"]

every = pytest.mark.parametrize("name", ENTRIES)


@every
@settings(max_examples=300)
@given(data=st.data())
def test_entries_come_back_equal(name: str, data: st.DataObject) -> None:
    """Whatever the spelling: key for key, and in one piece with their neighbours."""
    fmt = get_format(name)
    entries = data.draw(st.lists(ENTRIES[name], max_size=3))
    found = [attempt(fmt.decode, e, f"$[{nth}]") for nth, e in enumerate(entries)]
    # Some combinations of keys are nonsense; they must be refused, with a path.
    for refused in (f for f in found if isinstance(f, FormatError)):
        assert refused.path.startswith("$[")
    pairs = zip(found, entries, strict=True)
    read = [(f, entry) for f, entry in pairs if not isinstance(f, FormatError)]
    messages = [message for made, _ in read for message in made]

    entries = [entry for _, entry in read]
    assert same(fmt.encode(messages), entries)
    assert same([e for m in messages for e in fmt.encode([m])], entries)


@every
@settings(max_examples=300)
@given(data=st.data())
def test_mangled_entries_come_back_equal_or_are_refused(
    name: str, data: st.DataObject
) -> None:
    """Wrong types, missing and additional keys: one error with a path, or no change."""
    fmt = get_format(name)
    entry = data.draw(mangled(ENTRIES[name], KEYS))
    found = attempt(fmt.decode, entry, "$.messages[4]")

    if isinstance(found, FormatError):
        assert found.path.startswith("$.messages[4]")
    else:
        assert same(fmt.encode(found), [entry])


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize("name", ["openai", "openai-responses"])
def test_recorded_histories_come_back_equal(name: str) -> None:
    """Every history of the corpus, body included."""
    fmt = get_format(name)
    count = 0
    for record in read_corpus(name):
        envelope = fmt.open(record["body"])

        entries = fmt.encode(decoded(fmt.decode, list(envelope.entries)))

        assert same(envelope.replace(entries), record["body"]), record["name"]
        count += 1
    assert count > 50


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize("name", ["deepseek", "mistral"])
def test_dialects_read_what_they_share(name: str) -> None:
    """A history that a dialect reads comes back equal from it too."""
    fmt = get_format(name)
    count = 0
    for record in read_corpus("openai"):
        entries = record["body"]["messages"]
        if any(entry["role"] == "developer" for entry in entries):
            continue

        assert same(fmt.encode(decoded(fmt.decode, entries)), entries)
        count += 1
    assert count > 500


def test_lone_surrogates_survive() -> None:
    """They are not text, but they occur; JSON escapes carry them."""
    entry = json.loads('{"role": "user", "content": "\\ud83d", "x": "\\udc00"}')

    again = get_format("openai").encode(get_format("openai").decode(entry))

    assert json.dumps(again) == json.dumps([entry])
