"""The seeds' histories through `fit` and detection, as their users hand them over."""

from typing import Any

import pytest

import turnkeep
from turnkeep.formats import detect, get_format
from turnkeep.model import Message, ToolCall, same

SEEDS = ("orion", "molo", "multi-llm", "lellm", "mermaid", "langchain", "pydantic-ai")


def history() -> list[Message]:
    """Six turns, half of them with a tool."""
    made = [Message.system("You are a support agent.")]
    for n in range(6):
        made.append(Message.user(f"question {n} " + "x " * 20))
        if n % 2:
            made += [
                Message.assistant("", tool_calls=[ToolCall(f"c{n}", "f", {"n": n})]),
                Message.tool_result(f"c{n}", f"result {n} " + "y " * 20),
            ]
        made.append(Message.assistant(f"answer {n}"))
    return made


@pytest.mark.parametrize("name", SEEDS)
def test_each_is_detected_and_no_other(name: str) -> None:
    """Whole, and from a single message."""
    entries = get_format(name).encode(history())

    assert detect(entries).candidates == (name,)
    for entry in entries:
        assert detect([entry]).format == name
    assert detect({"messages": entries}).format == name


@pytest.mark.parametrize("name", SEEDS)
def test_under_budget_the_same_list_comes_back(name: str) -> None:
    """Key for key, and the caller's own objects."""
    entries = get_format(name).encode(history())

    kept = turnkeep.fit(entries, 100_000, model="gpt-4o")

    assert same(kept, entries)
    assert all(a is b for a, b in zip(kept, entries, strict=True))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("name", SEEDS)
def test_over_budget_what_stays_is_untouched(name: str, share: float) -> None:
    """The same shape; whole turns went, calls with their results."""
    entries = get_format(name).encode(history())
    total = turnkeep.count(entries, model="gpt-4o").total

    kept = turnkeep.fit(entries, int(total * share), model="gpt-4o")

    own = {id(entry) for entry in entries}
    assert 0 < len(kept) < len(entries)
    assert all(id(entry) in own for entry in kept)
    assert turnkeep.count(kept, model="gpt-4o").total <= total * share
    read = [m for e in kept for m in get_format(name).decode(e)]
    calls = [c.id for m in read for c in m.tool_calls]
    assert calls == [r.tool_call_id for m in read for r in m.tool_results]


@pytest.mark.parametrize("name", SEEDS)
def test_a_body_keeps_what_stands_around_the_list(name: str) -> None:
    """A session file stays one."""
    entries: Any = get_format(name).encode(history())
    session = {"id": "s1", "messages": entries, "title": "t"}

    kept = turnkeep.fit(session, 200, model="gpt-4o", format=name)

    assert kept.keys() == session.keys()
    assert len(kept["messages"]) < len(entries)
    assert session["messages"] is entries
