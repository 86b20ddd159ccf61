"""Saving and restoring conversations: files and documents."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from turnkeep import (
    Budget,
    Conversation,
    DuplicateIdError,
    FormatError,
    Message,
    Prices,
    ToolCall,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def full() -> Conversation:
    """A conversation that has something of everything there is to save."""
    chat = Conversation(
        budget=Budget(2_000, reserve=10, target=0.5, prices=Prices(0.1, 1.25)),
        model="gpt-4o",
        format="anthropic",
        tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
        token_counter="approximate",
        stand_in_text="Wait.",
        open_calls="keep",
    )
    chat.metadata["owner"] = {"name": "eve", "tags": [1, None]}
    chat.system("Be brief.", timestamp=NOON)
    chat.user("Remember Orion.", pinned=True, timestamp=NOON)
    call = ToolCall("c1", "f", '{"x":  1}')
    chat.assistant(tool_calls=[call], timestamp=NOON)
    chat.defer("c1", expires_at=NOON, waits_for={"who": "eve"})
    for nth in range(60):
        chat.user(f"question {nth} " + "why " * 20, timestamp=NOON)
        chat.assistant("because " * 20, timestamp=NOON)
    chat.fit(Budget(2_000))
    return chat


def test_everything_comes_back(tmp_path: Path) -> None:
    """Messages, pins, calls, counts, the cut, settings; and the same bytes again."""
    chat = full()
    path, again = tmp_path / "a.json", tmp_path / "b.json"

    chat.save(path)
    loaded = Conversation.load(path, token_counter="approximate")
    loaded.save(again)

    assert again.read_bytes() == path.read_bytes()
    assert loaded.messages == chat.messages
    assert loaded.pending == chat.pending
    assert loaded.pinned == chat.pinned
    assert loaded.metadata == chat.metadata
    assert (loaded.model, loaded.format, loaded.tools) == (
        chat.model,
        chat.format,
        chat.tools,
    )
    assert loaded.budget == chat.budget
    assert (loaded.open_calls, loaded.stand_in_text) == ("keep", "Wait.")
    assert loaded.user("next").id == f"msg-{len(chat) + 1}"


def test_the_next_window_starts_where_the_last_one_was_cut() -> None:
    """The prompt cache of the provider survives a restart."""
    chat = full()
    window = [m.id for m in chat.fit(Budget(2_000)).messages]

    loaded = Conversation.from_json(chat.to_json(), token_counter="approximate")
    loaded.user("more")

    after = [m.id for m in loaded.fit(Budget(2_000)).messages]
    assert after[: len(window)] == window


def test_options_come_before_what_was_saved() -> None:
    """Code and secrets are not saved; anything may be given anew."""
    loaded = Conversation.from_json(full().to_json(), model="gpt-4", budget=Budget(9))
    assert (loaded.model, loaded.budget) == ("gpt-4", Budget(9))


def test_counts_of_another_counter_are_not_reused() -> None:
    """They are taken again when they are needed."""
    chat = full()
    document = chat.to_json()
    assert document["counter"].startswith("approximate")
    document["counts"] = [1] * len(document["counts"])

    same = Conversation.from_json(document, token_counter="approximate")
    other = Conversation.from_json(document, token_counter="o200k_base")

    assert same.fit(Budget(2_000)).tokens < 200
    assert other.fit(Budget(2_000)).tokens > 500


def test_what_a_newer_version_wrote_is_kept() -> None:
    """Unknown fields go back where they were."""
    document = full().to_json()
    document["someday"] = {"a": [1]}
    document["messages"][0]["mood"] = "calm"

    again = Conversation.from_json(document, token_counter="approximate").to_json()

    assert again["someday"] == {"a": [1]}
    assert again["messages"][0]["mood"] == "calm"
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"turnkeep": 99}, "$.turnkeep"),
        ({"turnkeep": "1"}, "$.turnkeep"),
        ({"messages": {}}, "$.messages"),
        ({"metadata": []}, "$.metadata"),
        ({"model": 4}, "$.model"),
        ({"next_id": "7"}, "$.next_id"),
        ({"next_id": 2**70}, "$.next_id"),
        ({"open_calls": "guess"}, "$.open_calls"),
        ({"profile": "nobody"}, "$.profile"),
        ({"counts": [1]}, "$.counts"),
        ({"counts": ["x"] * 124}, "$.counts[0]"),
        ({"calls": [{"message": "nobody"}]}, "$.calls[0].message"),
        ({"calls": [{"message": "msg-3", "state": "lost"}]}, "$.calls[0].state"),
        ({"calls": [{"message": 3}]}, "$.calls[0].message"),
        ({"calls": "none"}, "$.calls"),
        ({"budget": {"max_tokens": -1}}, "$.budget"),
        ({"budget": {"max_tokens": "x"}}, "$.budget.max_tokens"),
        ({"cut": {"available": 9, "dropped": [{"first": "x"}]}}, "$.cut.dropped[0]"),
        (
            {"cut": {"available": 9, "dropped": [{"first": "nobody"}]}},
            "$.cut.dropped[0]",
        ),
    ],
)
def test_a_damaged_document_names_the_place(change: dict[str, Any], path: str) -> None:
    """With its path; nothing half-loaded comes out."""
    document = {**full().to_json(), **change}

    with pytest.raises(FormatError) as caught:
        Conversation.from_json(document, token_counter="approximate")

    assert caught.value.path.startswith(path)


def test_a_cut_must_be_of_these_messages() -> None:
    """Ids that are not there are an error here; only stores read parts."""
    document = full().to_json()
    for part in (
        {"dropped": [{"first": "nobody", "last": "msg-1", "cause": "x"}]},
        {"edited": [{"id": "nobody", "cause": "x", "content": {"role": "user"}}]},
        {
            "inserted": [
                {
                    "after": "nobody",
                    "tokens": 1,
                    "cause": "x",
                    "content": {"role": "user"},
                }
            ]
        },
    ):
        broken = {**document, "cut": {"available": 9, **part}}
        with pytest.raises(FormatError, match="no message 'nobody'"):
            Conversation.from_json(broken, token_counter="approximate")


def test_an_id_that_is_used_twice_is_refused() -> None:
    """The second use is named."""
    document = full().to_json()
    document["messages"].append(document["messages"][0])
    with pytest.raises(DuplicateIdError, match=r"'msg-1' is used twice @ \$\.messages"):
        Conversation.from_json(document)


def test_new_files_are_private(tmp_path: Path) -> None:
    """Mode 0600; the mode of an old file stays."""
    path = tmp_path / "a.json"
    Conversation().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    Conversation().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    """At every length; loading runs no code and guesses nothing."""
    path = tmp_path / "a.json"
    Conversation.from_messages([Message.user("hello")]).save(path)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(FormatError):
            Conversation.load(path)


def test_half_a_character_is_saved_as_valid_utf8(tmp_path: Path) -> None:
    """And comes back as it was."""
    chat = Conversation.from_messages([Message.user("Lovely stay \ud83d")])
    path = tmp_path / "a.json"
    chat.save(path)
    path.read_text(encoding="utf-8")
    assert Conversation.load(path).messages == chat.messages


def test_times_keep_their_instant() -> None:
    """Whatever their offset."""
    when = datetime.fromisoformat("2025-07-09T11:30:00+02:00")
    chat = Conversation.from_messages([Message.user("Noon.", timestamp=when)])

    [loaded] = Conversation.from_json(chat.to_json()).messages

    assert loaded.timestamp == when
    assert loaded.timestamp.isoformat() == "2025-07-09T11:30:00+02:00"
    naive = chat.to_json()
    naive["messages"][0]["timestamp"] = "2025-07-09T09:30:00"
    with pytest.raises(FormatError, match="has no time zone"):
        Conversation.from_json(naive)


def test_given_ids_are_never_made_again() -> None:
    """Restored, replaced or cleared: the numbers go on."""
    chat = Conversation()
    chat.replace_messages([Message.user("a"), Message.user("b", id="msg-7")])
    assert [m.id for m in chat] == ["msg-8", "msg-7"]
    chat.extend([Message.user("c"), Message.user("d", id="msg-10"), Message.user("e")])
    assert [m.id for m in chat][2:] == ["msg-9", "msg-10", "msg-11"]
    chat.clear()
    assert chat.user("x").id == "msg-12"
    assert Conversation.from_json(chat.to_json()).user("y").id == "msg-13"
    with pytest.raises(DuplicateIdError):
        chat.replace_messages([Message.user("a", id="q"), Message.user("b", id="q")])
    with pytest.raises(DuplicateIdError):
        chat.extend([Message.user("a", id="q"), Message.user("b", id="q")])
    assert len(chat) == 1


@pytest.mark.parametrize(
    ("where", "value", "path"),
    [
        (("budget", "read"), -1, r"\$\.budget"),
        (("learned", "calibration"), "", r"\$\.learned\.calibration"),
    ],
)
def test_damaged_settings_name_their_place(
    where: tuple[str, str], value: object, path: str
) -> None:
    """One error with a path, whatever stands there."""
    chat = Conversation(budget=Budget(200, prices=Prices()), model="gpt-4o")
    chat.user("x")
    chat.fit()
    chat.observe({"prompt_tokens": 100, "completion_tokens": 5})
    document = json.loads(json.dumps(chat.to_json()))
    document[where[0]][where[1]] = value

    with pytest.raises(FormatError, match=path):
        Conversation.from_json(document)
