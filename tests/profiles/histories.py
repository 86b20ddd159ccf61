"""Random valid requests in every provider's shape, for property tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Json = dict[str, Any]


@attrs.frozen
class Round:
    """One message with calls, and whether the model says something as well."""

    calls: int
    says: bool
    thinks: bool


@attrs.frozen
class Talk:
    """One turn: a question, rounds of calls, an answer."""

    rounds: tuple[Round, ...]
    thinks: bool


rounds = st.builds(
    Round, calls=st.integers(1, 3), says=st.booleans(), thinks=st.booleans()
)
talks = st.builds(
    Talk,
    rounds=st.lists(rounds, max_size=3).map(tuple),
    thinks=st.booleans(),
)


def _ids(*, reuse: bool) -> Iterator[str]:
    """Ids of nine letters and digits, which every provider takes."""
    while True:
        for number in range(6 if reuse else 10**6):
            yield f"call{number:05d}"


def chat(history: Sequence[Talk], *, reuse: bool, **extra: Any) -> list[Json]:
    """OpenAI's chat shape; *extra* keys stand on every message with calls."""
    ids = _ids(reuse=reuse)
    out: list[Json] = []
    for nth, talk in enumerate(history):
        out.append({"role": "user", "content": f"question {nth}"})
        for each in talk.rounds:
            made = [next(ids) for _ in range(each.calls)]
            calls = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": "look", "arguments": "{}"},
                }
                for call_id in made
            ]
            said = "I look." if each.says else None
            entry: Json = {"role": "assistant", "content": said, "tool_calls": calls}
            out.append({**entry, **extra})
            out += [
                {"role": "tool", "tool_call_id": each_id, "content": "found"}
                for each_id in made
            ]
        out.append({"role": "assistant", "content": f"answer {nth}", **extra})
    out.append({"role": "user", "content": "last question"})
    return out


def deepseek(history: Sequence[Talk], *, reuse: bool) -> list[Json]:
    """With the reasoning that thinking mode wants back."""
    return chat(history, reuse=reuse, reasoning_content="Let me see.")


def anthropic(history: Sequence[Talk], *, reuse: bool) -> list[Json]:
    """Results in one user message, thinking in front."""
    ids = _ids(reuse=reuse)
    out: list[Json] = []
    for nth, talk in enumerate(history):
        out.append({"role": "user", "content": f"question {nth}"})
        for place, each in enumerate(talk.rounds):
            made = [next(ids) for _ in range(each.calls)]
            blocks: list[Json] = []
            if each.thinks:
                words = f"thought {nth}.{place}"
                sign = f"sign {nth}.{place}"
                blocks.append(
                    {"type": "thinking", "thinking": words, "signature": sign}
                )
            if each.says:
                blocks.append({"type": "text", "text": "I look."})
            blocks += [
                {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
                for call_id in made
            ]
            out.append({"role": "assistant", "content": blocks})
            results = [
                {"type": "tool_result", "tool_use_id": call_id, "content": "found"}
                for call_id in made
            ]
            out.append({"role": "user", "content": results})
        text = {"type": "text", "text": f"answer {nth}"}
        out.append({"role": "assistant", "content": [text]})
    out.append({"role": "user", "content": "last question"})
    return out


def bedrock(history: Sequence[Talk], *, reuse: bool) -> list[Json]:
    """Strictly alternating, results in one message."""
    ids = _ids(reuse=reuse)
    out: list[Json] = []
    for nth, talk in enumerate(history):
        out.append({"role": "user", "content": [{"text": f"question {nth}"}]})
        for place, each in enumerate(talk.rounds):
            made = [next(ids) for _ in range(each.calls)]
            blocks: list[Json] = []
            if each.thinks:
                text = {"text": "hm", "signature": f"sign {nth}.{place}"}
                blocks.append({"reasoningContent": {"reasoningText": text}})
            if each.says:
                blocks.append({"text": "I look."})
            blocks += [
                {"toolUse": {"toolUseId": call_id, "name": "look", "input": {}}}
                for call_id in made
            ]
            out.append({"role": "assistant", "content": blocks})
            results = [
                {"toolResult": {"toolUseId": call_id, "content": [{"text": "found"}]}}
                for call_id in made
            ]
            out.append({"role": "user", "content": results})
        out.append({"role": "assistant", "content": [{"text": f"answer {nth}"}]})
    out.append({"role": "user", "content": [{"text": "last question"}]})
    return out


def gemini(history: Sequence[Talk], *, reuse: bool) -> list[Json]:
    """A signature on the first call of each step."""
    ids = _ids(reuse=reuse)
    out: list[Json] = []
    for nth, talk in enumerate(history):
        out.append({"role": "user", "parts": [{"text": f"question {nth}"}]})
        for place, each in enumerate(talk.rounds):
            made = [next(ids) for _ in range(each.calls)]
            parts: list[Json] = [{"text": "I look."}] if each.says else []
            parts += [
                {"functionCall": {"name": "look", "args": {}, "id": call_id}}
                for call_id in made
            ]
            first = parts[-each.calls]
            first["thoughtSignature"] = f"sign{nth}{place}"
            out.append({"role": "model", "parts": parts})
            results = [
                {"name": "look", "id": call_id, "response": {"found": 1}}
                for call_id in made
            ]
            said = [{"functionResponse": each_result} for each_result in results]
            out.append({"role": "user", "parts": said})
        out.append({"role": "model", "parts": [{"text": f"answer {nth}"}]})
    out.append({"role": "user", "parts": [{"text": "last question"}]})
    return out


def responses(history: Sequence[Talk], *, reuse: bool) -> list[Json]:
    """Items, with stored reasoning in front of calls and answers."""
    ids = _ids(reuse=reuse)
    out: list[Json] = []

    def reason(mark: str) -> None:
        out.append({"type": "reasoning", "id": f"rs_{mark}", "summary": []})

    for nth, talk in enumerate(history):
        out.append({"role": "user", "content": f"question {nth}"})
        for place, each in enumerate(talk.rounds):
            made = [next(ids) for _ in range(each.calls)]
            if each.thinks:
                reason(f"{nth}_{place}")
            calls: Json = {"type": "function_call", "name": "look", "arguments": "{}"}
            out += [{**calls, "call_id": call_id} for call_id in made]
            output = {"type": "function_call_output", "output": "found"}
            out += [{**output, "call_id": call_id} for call_id in made]
        if talk.thinks:
            reason(f"{nth}")
        out.append({"role": "assistant", "content": f"answer {nth}"})
    out.append({"role": "user", "content": "last question"})
    return out


SHAPES: dict[str, Callable[..., list[Json]]] = {
    "openai": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
    "mistral": chat,
    "deepseek": deepseek,
}
"""How each format spells a history."""


@st.composite
def requests(draw: DrawFn, name: str, *, reuse: bool | None = None) -> list[Json]:
    """A valid list of format *name*; ids are used again in some, if *reuse* allows."""
    history = draw(st.lists(talks, min_size=1, max_size=4))
    again = draw(st.booleans()) if reuse is None else reuse
    return SHAPES[name](history, reuse=again and name != "openai-responses")
