"""Small OpenAI-style chats with token counts of their own, for tests of the engine."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from turnkeep.model import PENDING, mark

Entry = dict[str, Any]


def system(text: str = "Be brief.", **keys: Any) -> Entry:
    """A system message."""
    return {"role": "system", "content": text, **keys}


def user(text: str = "go on", **keys: Any) -> Entry:
    """A user message."""
    return {"role": "user", "content": text, **keys}


def say(text: str = "fine", **keys: Any) -> Entry:
    """An assistant message without calls."""
    return {"role": "assistant", "content": text, **keys}


def call(*ids: str, text: str | None = None, name: str = "f", **keys: Any) -> Entry:
    """An assistant message that makes calls."""
    calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}}
        for i in ids
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls, **keys}


def result(call_id: str, text: str = "done", **keys: Any) -> Entry:
    """The answer to a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text, **keys}


def placeholder(call_id: str, text: str = "started", **keys: Any) -> Entry:
    """An answer that is not final."""
    return result(call_id, mark(PENDING, text), **keys)


def numbered(chat: list[Entry]) -> list[Entry]:
    """The same chat with ids m0, m1, ..."""
    return [{"id": f"m{nth}", **entry} for nth, entry in enumerate(chat)]


def size(entry: Entry) -> int:
    """Tokens of an entry in these tests: its `size`, or 3 for what we add."""
    tokens = entry.get("size", 3)
    assert isinstance(tokens, int)
    return tokens


@st.composite
def chats(
    draw: DrawFn,
    *,
    max_length: int = 14,
    systems: bool = True,
    broken: bool = False,
) -> list[Entry]:
    """A chat with parallel, late, reused, pending and open calls, systems anywhere.

    Args:
        draw:
            Hypothesis'.
        max_length:
            Messages at most.
        systems:
            Whether system messages may stand anywhere.
        broken:
            Whether results without a call and second results may occur.
    """
    chat: list[Entry] = []
    waiting: list[str] = []
    if systems and draw(st.booleans()):
        chat.append(system())
    for _ in range(draw(st.integers(1, max_length))):
        moves = ["user", "say", "call"]
        if waiting:
            moves += ["result", "result", "result", "later"]
        if systems:
            moves.append("system")
        if broken:
            moves.append("orphan")
        match draw(st.sampled_from(moves)):
            case "user":
                chat.append(user())
            case "say":
                chat.append(say())
            case "system":
                chat.append(system("And stay calm."))
            case "call":
                free = [i for i in ("a", "b", "c") if i not in waiting]
                ids = (
                    draw(st.lists(st.sampled_from(free), max_size=3, unique=True))
                    if free
                    else []
                )
                if ids:
                    waiting += ids
                    chat.append(call(*ids, text=draw(st.sampled_from([None, "so"]))))
                else:
                    chat.append(say(""))
            case "result":
                answered = draw(st.sampled_from(waiting))
                waiting.remove(answered)
                chat.append(result(answered))
            case "later":
                chat.append(placeholder(draw(st.sampled_from(waiting))))
            case _:  # an orphan, or a second result
                chat.append(result(draw(st.sampled_from(["a", "b", "z"]))))
    sizes = draw(st.lists(st.integers(0, 40), min_size=len(chat), max_size=len(chat)))
    return numbered([{**e, "size": s} for e, s in zip(chat, sizes, strict=True)])
