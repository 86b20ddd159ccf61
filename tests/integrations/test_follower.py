"""Tests of what all integrations share, with a host that is made up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from turnkeep import Budget
from turnkeep.integrations._follower import Follower, Followers, Request
from turnkeep.integrations._options import Options

OPTIONS = Options(Budget(600, target=0.6), "gpt-4o", "oldest-turns")


@dataclass
class Note:
    """A message of the made-up host."""

    by: str
    text: str
    tags: dict[str, Any] = field(default_factory=dict)


def read(note: Note) -> dict[str, Any]:
    return {"role": note.by, "content": note.text}


def request(notes: list[Note], **options: Any) -> Request:
    made = {"is_pinned": lambda note: "keep" in note.tags, **options}
    return Request(
        notes,
        read=read,
        make=lambda entry: Note(entry["role"], entry["content"], {"made": True}),
        format="openai",
        **made,
    )


def long_chat(turns: int) -> list[Note]:
    notes = [Note("user", "Rule R-77.", {"keep": True}), Note("assistant", "Noted.")]
    for number in range(turns):
        notes.append(Note("user", f"Question {number}? " + "word " * 20))
        notes.append(Note("assistant", f"Answer {number}. " + "word " * 20))
    return [*notes, Note("user", "And now?")]


def test_what_fits_is_the_hosts_own() -> None:
    """The very objects, in a list of our own."""
    notes = long_chat(2)

    view = Follower(OPTIONS).view(request(notes))

    assert view.messages is not notes
    assert all(a is b for a, b in zip(view.messages, notes, strict=True))


def test_a_pin_of_the_hosts_stays() -> None:
    """Its own mark, and what its user says, both hold."""
    notes = long_chat(30)
    options = Options(OPTIONS.budget, "gpt-4o", "oldest-turns", lambda n: n is notes[6])

    view = Follower(options).view(request(notes))

    assert len(view.messages) < len(notes)
    assert notes[0] in view.messages
    assert notes[6] in view.messages
    assert notes[2] not in view.messages


def test_another_process_sends_the_same_prefix() -> None:
    """From the state, which is small JSON, and the host's list built anew."""
    notes = long_chat(30)
    mine = Follower(OPTIONS)
    mine.view(request(notes))
    state = json.loads(json.dumps(mine.state))

    notes.append(Note("assistant", "Now."))
    notes.append(Note("user", "Then?"))
    other = Follower(OPTIONS, state).view(request([*map(copy, notes)]))

    assert other.messages == mine.view(request(notes)).messages
    assert len(json.dumps(state)) < 1_000


def copy(note: Note) -> Note:
    return Note(note.by, note.text, dict(note.tags))


def test_a_state_of_another_chat_is_not_used() -> None:
    """A list that begins otherwise is cut anew."""
    mine = Follower(OPTIONS)
    mine.view(request(long_chat(30)))
    other = [Note("user", "Something else."), *long_chat(30)[1:]]

    view = Follower(OPTIONS, mine.state).view(request(other))

    assert view.messages == Follower(OPTIONS).view(request(other)).messages


def test_a_broken_state_costs_a_cut_and_no_more() -> None:
    """Whatever stands there, the request goes out."""
    notes = long_chat(30)
    wanted = Follower(OPTIONS).view(request(notes)).messages

    broken: list[Any] = [{}, {"entries": 3}, {"entries": "x"}, [], "state", 3]
    for state in broken:
        assert Follower(OPTIONS, state).view(request(notes)).messages == wanted


def test_the_least_recently_used_goes() -> None:
    """Beyond the limit; its state stays where states are kept."""
    states: dict[str, Any] = {}
    followers = Followers(OPTIONS, states, limit=2)
    for key in ("a", "b", "a", "c"):
        follower = followers.get(key)
        follower.view(request(long_chat(30)))
        followers.save(key, follower)

    assert list(followers._followers) == ["a", "c"]
    assert sorted(states) == ["a", "b", "c"]


def test_a_refusal_for_length_makes_the_next_request_smaller() -> None:
    """It is learned by the conversation whose request it was."""
    notes = long_chat(5)
    follower = Follower(Options(Budget(100_000, target=0.6), "gpt-4o"))
    view = follower.view(request(notes))
    message = "This model's maximum context length is 200 tokens. However, your "
    message += "messages resulted in 400 tokens. Please reduce the length."

    assert view.overflowed(ValueError(message))

    assert len(follower.view(request(notes)).messages) < len(view.messages)
    assert not view.overflowed(ValueError("no such model"))


def test_an_answer_in_a_placeholders_place_is_read() -> None:
    """Even where the model answered something else before, and nothing holds it."""

    def called(call: str) -> Any:
        function = {"name": "build", "arguments": "{}"}
        calls = [{"id": call, "type": "function", "function": function}]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    notes: list[Any] = [{"role": "user", "content": "Build it."}, called("b1")]
    notes.append({"role": "tool", "tool_call_id": "b1", "content": "Wait."})
    for number in range(30):
        notes.append({"role": "user", "content": f"Question {number}? " + "word " * 20})
        notes.append({"role": "assistant", "content": "Answer. " + "word " * 20})
    follower = Follower(OPTIONS)
    follower.view(raw([*notes[:-1]], {"Wait."}))

    notes[2] = {**notes[2], "content": "BUILT."}
    notes.append({"role": "user", "content": "And now?"})
    view = follower.view(raw(notes, {"Wait."}))

    assert any(m["content"] == "BUILT." for m in view.messages)
    assert not follower.chat.pinned


def raw(entries: list[Any], waiting: set[str]) -> Request:
    return Request(
        entries,
        read=lambda entry: entry,
        make=lambda entry: entry,
        format="openai",
        is_pinned=lambda entry: entry["content"] in waiting,
    )
