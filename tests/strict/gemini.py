"""Gemini's generateContent: what it refuses, and how it answers.

A signature is a hash of the call that it belongs to, so that one which was moved or
altered is seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.strict.api import Api, Body, Event, Fault, Usage, entries, printed, words
from tests.strict.scripts import Answer, Call, Result, Role, Said, Seen

DATA: Final = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
ESCAPES: Final = (
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
    "context_engineering_is_the_way_to_go",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
)
"""What is taken for any signature; clients that keep bytes send them encoded."""

SIGNING: Final = re.compile(r"gemini-(?:[3-9]|\d\d)")
"""Models that ask for signatures."""

ENDING: Final = re.compile(r"gemini-(?:3\.[6-9]|[4-9]|\d\d)")
"""Models that never answer a model turn."""


def _spelled(value: Any) -> Any:
    """*value* with its keys in camel case: the API takes both spellings."""
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, inner in value.items():
        plain = key in ("args", "response", "parameters")
        name = re.sub(r"_([a-z])", lambda found: found[1].upper(), key)
        made[name] = inner if plain else _spelled(inner)
    return made


def faults(body: Body, model: str) -> Iterator[Fault]:
    """The rules that a request breaks."""
    contents = _spelled(body.get("contents"))
    if not isinstance(contents, list) or not contents:
        message = "* GenerateContentRequest.contents: contents is not specified\n"
        yield Fault("GE-01", message)
        return
    for n, content in enumerate(contents):
        if content.get("role") not in (None, "user", "model"):
            yield Fault("GE-02", "Please use a valid role: user, model.")
        if not content.get("parts"):
            yield Fault(
                "GE-03",
                f"* GenerateContentRequest.contents[{n}].parts: contents.parts must "
                "not be empty.\n",
            )
        for part in entries(content.get("parts")):
            yield from _part(n, part)
    yield from _order(contents)
    if SIGNING.match(model):
        yield from _signed(contents)
    yield from _ending(contents, model)


def _part(n: int, part: dict[str, Any]) -> Iterator[Fault]:
    there = [key for key in DATA if part.get(key) is not None]
    empty = part.get("text") == "" and not part.get("thoughtSignature")
    if len(there) != 1 or empty:
        message = "Unable to submit request because it has an empty text parameter."
        yield Fault("GE-04", message)
        return
    call, result = part.get("functionCall"), part.get("functionResponse")
    path = f"GenerateContentRequest.contents[{n}].parts"
    if call is not None:
        if not call.get("name") or not isinstance(call.get("args", {}), dict):
            message = f"* {path}.function_call.name: Name cannot be empty.\n"
            yield Fault("GE-09", message)
        sent = part.get("thoughtSignature")
        if sent not in (None, *ESCAPES) and sent != signature(call):
            yield Fault("GX-01", "Corrupted thought signature.")
    if result is not None and (
        not result.get("name") or not isinstance(result.get("response"), dict)
    ):
        message = f"* {path}.function_response.name: Name cannot be empty.\n"
        yield Fault("GE-08", message)


def signature(call: dict[str, Any]) -> str:
    """What this provider signs a call with."""
    return printed(call.get("name"), call.get("args") or {})


def _count(content: dict[str, Any] | None, key: str) -> int:
    parts = entries((content or {}).get("parts"))
    return sum(part.get(key) is not None for part in parts)


def _order(contents: list[dict[str, Any]]) -> Iterator[Fault]:
    before: dict[str, Any] | None = None
    for content in [*contents, None]:
        asked = _count(before, "functionCall")
        answers = _count(content, "functionResponse")
        if answers and not asked:
            yield Fault(
                "GE-06",
                "Please ensure that function response turn comes immediately after a "
                "function call turn.",
            )
        elif asked and content is not None and answers != asked:
            yield Fault(
                "GE-07",
                "Please ensure that the number of function response parts is equal to "
                "the number of function call parts of the function call turn.",
            )
        user = before is not None and before.get("role") != "model"
        if _count(content, "functionCall") and not user:
            yield Fault(
                "GE-05",
                "Please ensure that function call turn comes immediately after a user "
                "turn or after a function response turn.",
            )
        before = content


def _signed(contents: list[dict[str, Any]]) -> Iterator[Fault]:
    """The first call of each step of the current turn has its signature."""
    start = 0
    for n, content in enumerate(contents):
        if content.get("role") != "model" and not _count(content, "functionResponse"):
            start = n
    for n, content in enumerate(contents[start:], start):
        calls = [p for p in content["parts"] if p.get("functionCall") is not None]
        if calls and not calls[0].get("thoughtSignature"):
            name = calls[0]["functionCall"].get("name")
            yield Fault(
                "GE-11",
                "Function call is missing a thought_signature in functionCall parts. "
                "This is required for tools to work correctly, and missing "
                "thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}`, position {n}.",
            )


def _ending(contents: list[dict[str, Any]], model: str) -> Iterator[Fault]:
    if contents[-1].get("role") != "model":
        return
    if len(contents) == 1:
        yield Fault(
            "GE-12",
            "Please ensure that single turn requests end with a user role or the role "
            "field is empty.",
        )
    elif ENDING.match(model):
        yield Fault("GE-12", "Requests ending with a model turn are not supported.")


def seen(body: Body) -> Seen:
    """What a request shows."""
    said = []
    spelled = _spelled(body)
    system = spelled.get("systemInstruction")
    if system:
        parts = entries(system.get("parts")) if isinstance(system, dict) else []
        said.append(Said("system", "\n".join(str(p.get("text", "")) for p in parts)))
    for content in spelled["contents"]:
        texts, calls, results = [], [], []
        for part in content["parts"]:
            if part.get("text"):
                texts.append(part["text"])
            elif (call := part.get("functionCall")) is not None:
                calls.append(Call(call["name"], call.get("args") or {}, call.get("id")))
            elif (result := part.get("functionResponse")) is not None:
                text = json.dumps(result["response"], ensure_ascii=False)
                results.append(Result(result.get("id"), text, result["name"]))
        role: Role = "assistant" if content.get("role") == "model" else "user"
        said.append(Said(role, "\n".join(texts), tuple(calls), tuple(results)))
    names = [
        str(function.get("name"))
        for tool in entries(spelled.get("tools"))
        for function in entries(tool.get("functionDeclarations"))
    ]
    return Seen(tuple(said), tuple(names))


def whole(answer: Answer, body: Body, model: str, usage: Usage) -> Body:
    """An answer with one candidate."""
    del body
    parts: list[dict[str, Any]] = []
    if answer.thinking:
        parts.append({"text": answer.thinking, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    for n, call in enumerate(answer.calls):
        made: dict[str, Any] = {"name": call.name, "args": dict(call.arguments)}
        if call.id:
            made["id"] = call.id
        part: dict[str, Any] = {"functionCall": made}
        if n == 0 and SIGNING.match(model):
            part["thoughtSignature"] = signature(made)
        parts.append(part)
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": usage.read,
            "candidatesTokenCount": usage.written,
            "totalTokenCount": usage.read + usage.written,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.read}],
        },
        "modelVersion": model,
        "responseId": printed(answer.text, usage.read)[:12],
    }


def events(made: Body, body: Body) -> Iterator[Event]:
    """The same as chunks, text in pieces; the last one says why it ended."""
    del body
    pieces: list[dict[str, Any]] = []
    candidate = made["candidates"][0]
    for part in candidate["content"]["parts"]:
        if "text" in part:
            pieces += [{**part, "text": piece} for piece in words(part["text"])]
        else:
            pieces.append(part)
    for n, part in enumerate(pieces):
        content = {"role": "model", "parts": [part]}
        one: dict[str, Any] = {"content": content, "index": 0}
        if n == len(pieces) - 1:
            one["finishReason"] = candidate["finishReason"]
        yield None, {**made, "candidates": [one]}


def refusal(fault: Fault) -> Body:
    """An error of Google's."""
    return {
        "error": {
            "code": 400,
            "message": fault.message,
            "status": "INVALID_ARGUMENT",
        }
    }


def too_long(tokens: int, limit: int) -> Fault:
    """The context is exceeded."""
    return Fault(
        "context",
        f"The input token count ({tokens}) exceeds the maximum number of tokens "
        f"allowed ({limit}).",
    )


GEMINI: Final = Api(
    name="gemini",
    counted=("contents", "systemInstruction", "system_instruction", "tools"),
    rules=(*(f"GE-{n:02d}" for n in range(1, 10)), "GE-11", "GE-12", "GX-01"),
    faults=faults,
    seen=seen,
    whole=whole,
    events=events,
    refusal=refusal,
    too_long=too_long,
)
