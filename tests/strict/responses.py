"""OpenAI Responses: what it refuses, and how it answers.

Items that were made behind a reasoning item say so in their id (`fc_r12_1` behind
`rs_r12`), so that no state is needed to see that it is missing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tests.strict.api import (
    Api,
    Body,
    Event,
    Fault,
    Usage,
    entries,
    fresh,
    text_of,
    words,
)
from tests.strict.chat import refusal
from tests.strict.scripts import Answer, Call, Result, Said, Seen

ROLES: Final = ("user", "assistant", "system", "developer")
CALLS: Final = {
    "function_call": ("function_call_output", "arguments"),
    "custom_tool_call": ("custom_tool_call_output", "input"),
}
OUTPUTS: Final = tuple(output for output, _ in CALLS.values())
OTHERS: Final = (
    "reasoning",
    "item_reference",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "tool_search_call",
    "tool_search_output",
    "compaction",
    "compaction_trigger",
    "additional_tools",
)
PREFIXES: Final = {
    "message": "msg",
    "function_call": "fc",
    "reasoning": "rs",
    "custom_tool_call": "ctc",
}
INPUTS: Final = ("input_text", "input_image", "input_file", "input_audio")
LONGEST: Final = 64


def _kind(item: dict[str, Any]) -> str | None:
    kind = item.get("type")
    if kind is None and "role" in item and "content" in item:
        return "message"
    return kind


def faults(body: Body, model: str) -> Iterator[Fault]:
    """The rules that a request breaks."""
    del model
    items = body.get("input")
    if isinstance(items, str):
        return
    if not isinstance(items, list) or not items:
        message = "Missing required parameter: 'input'."
        yield Fault("OR-01", message, "input", "missing_required_parameter")
        return
    for n, item in enumerate(items):
        yield from _item(n, item)
    yield from _identities(items)
    elsewhere = body.get("previous_response_id") or body.get("conversation")
    kept = elsewhere or any(_kind(item) == "item_reference" for item in items)
    yield from _pairs(items, kept=bool(kept))
    yield from _reasoning(items, stored=body.get("store") is not False)


def _item(n: int, item: dict[str, Any]) -> Iterator[Fault]:
    kind = _kind(item)
    where = f"input[{n}]"
    if kind == "message":
        yield from _message(n, item)
    elif kind in CALLS:
        key = CALLS[kind][1]
        for field in ("call_id", "name", key):
            value = item.get(field)
            if not isinstance(value, str) or (not value and field != key):
                yield Fault(
                    "OR-12",
                    f"Invalid '{where}.{field}': empty string. Expected a string with "
                    "minimum length 1.",
                    f"{where}.{field}",
                )
    elif kind in OUTPUTS:
        if not isinstance(item.get("output"), (str, list)):
            message = f"Invalid type for '{where}.output': expected a string or array."
            yield Fault("OR-13", message, f"{where}.output")
    elif kind == "reasoning":
        if not isinstance(item.get("summary"), list):
            yield Fault("OR-09", "missing required field summary", where)
    elif kind not in OTHERS:
        yield Fault("OR-02", f"Invalid value: {kind!r}.", f"{where}.type")
    call = item.get("call_id")
    if isinstance(call, str) and len(call) > LONGEST:
        yield Fault(
            "OR-11",
            f"Invalid '{where}.call_id': string too long. Expected a string with "
            f"maximum length {LONGEST}, but got a string with length {len(call)}.",
            f"{where}.call_id",
        )


def _message(n: int, item: dict[str, Any]) -> Iterator[Fault]:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        yield Fault("OR-03", f"Invalid value: {role!r}.", f"input[{n}].role")
        return
    allowed = ("output_text", "refusal") if role == "assistant" else INPUTS
    for k, part in enumerate(entries(content)):
        if part.get("type") not in allowed:
            supported = " and ".join(f"'{kind}'" for kind in allowed)
            yield Fault(
                "OR-04",
                f"Invalid value: {part.get('type')!r}. Supported values are: "
                f"{supported}.",
                f"input[{n}].content[{k}]",
            )


def _identities(items: list[dict[str, Any]]) -> Iterator[Fault]:
    ids = [item["id"] for item in items if item.get("id") is not None]
    for twice, times in Counter(map(str, ids)).items():
        if times > 1:
            yield Fault(
                "OR-07",
                f"Duplicate item found with id {twice}. Remove duplicate items from "
                "your input and try again.",
                "input",
            )
    for n, item in enumerate(items):
        own, prefix = item.get("id"), PREFIXES.get(_kind(item) or "")
        if own is None or prefix is None:
            continue
        if not re.fullmatch(r"[A-Za-z0-9_-]+", str(own)):
            asked = "letters, numbers, underscores, or dashes"
            message = f"Invalid 'input[{n}].id': '{own}'. Expected an ID that contains "
            yield Fault("OR-10", f"{message}{asked}.", f"input[{n}].id")
        elif not str(own).startswith(prefix):
            message = f"Invalid 'input[{n}].id': '{own}'. Expected an ID that begins "
            yield Fault("OR-10", f"{message}with '{prefix}'.", f"input[{n}].id")


def _pairs(items: list[dict[str, Any]], *, kept: bool) -> Iterator[Fault]:
    """Calls and outputs, wherever they stand."""
    for kind, (output, _) in CALLS.items():
        made = [str(i.get("call_id")) for i in items if _kind(i) == kind]
        answered = [str(i.get("call_id")) for i in items if _kind(i) == output]
        words = kind.replace("_", " ").removeprefix("custom ")
        for call in made:
            if call not in answered:
                message = f"No tool output found for {words} {call}."
                yield Fault("OR-05", message, "input")
        for call in answered:
            if call not in made and not kept:
                message = f"No tool call found for {words} output with call_id {call}."
                yield Fault("OR-06", message, "input")


def _reasoning(items: list[dict[str, Any]], *, stored: bool) -> Iterator[Fault]:
    """What a stored reasoning item and the item behind it demand of each other."""
    kinds = [_kind(item) for item in items]
    there = {str(item.get("id")) for item in items}
    for n, (kind, item) in enumerate(zip(kinds, items, strict=True)):
        own = str(item.get("id"))
        made = re.fullmatch(r"(?:fc|msg|ctc)_(r[0-9]+)_[0-9]+", own)
        if kind == "reasoning" and stored and not item.get("encrypted_content"):
            after = kinds[n + 1] if n + 1 < len(kinds) else None
            mine = n + 1 < len(kinds) and items[n + 1].get("role") != "user"
            if not mine or after not in ("reasoning", "message", *CALLS):
                yield Fault(
                    "OR-08",
                    f"Item '{own}' of type 'reasoning' was provided without its "
                    "required following item.",
                    "input",
                )
        elif made and stored and f"rs_{made[1]}" not in there:
            yield Fault(
                "OX-01",
                f"Item '{own}' of type '{kind}' was provided without its required "
                f"'reasoning' item: 'rs_{made[1]}'.",
                "input",
            )


def seen(body: Body) -> Seen:
    """What a request shows."""
    said = []
    if body.get("instructions"):
        said.append(Said("system", str(body["instructions"])))
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items:
        kind = _kind(item)
        if kind == "message":
            role = {"developer": "system"}.get(item["role"], item["role"])
            said.append(Said(role, text_of(item["content"])))
        elif kind == "function_call":
            arguments = json.loads(item["arguments"] or "{}")
            call = Call(item["name"], arguments, item["call_id"])
            before = said[-1] if said else None
            if before is not None and before.role == "assistant":
                said[-1] = Said("assistant", before.text, (*before.calls, call))
            else:
                said.append(Said("assistant", calls=(call,)))
        elif kind == "function_call_output":
            result = Result(item["call_id"], text_of(item["output"]))
            said.append(Said("tool", results=(result,)))
    listed = [body, *(e for e in entries(body.get("input")) if "tools" in e)]
    tools = tuple(
        str(tool.get("name"))
        for one in listed
        if one is body or one.get("type") == "additional_tools"
        for tool in one.get("tools") or ()
    )
    return Seen(tuple(said), tools)


def whole(answer: Answer, body: Body, model: str, usage: Usage) -> Body:
    """A response."""
    output: list[dict[str, Any]] = []
    behind = ""
    if answer.thinking:
        behind = fresh("r")
        part = {"type": "summary_text", "text": answer.thinking}
        output.append({"id": f"rs_{behind}", "type": "reasoning", "summary": [part]})
        if "reasoning.encrypted_content" in (body.get("include") or ()):
            output[-1]["encrypted_content"] = fresh("enc")

    def made(prefix: str) -> str:
        return f"{prefix}_{behind}_{len(output)}" if behind else fresh(f"{prefix}_")

    if answer.text:
        text: Body = {"type": "output_text", "text": answer.text, "annotations": []}
        output.append(
            {
                "id": made("msg"),
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{**text, "logprobs": []}],
            }
        )
    output += [
        {
            "id": f"{made('fc')}{n or ''}",
            "type": "function_call",
            "status": "completed",
            "name": call.name,
            "call_id": call.id or fresh("call_"),
            "arguments": json.dumps(dict(call.arguments)),
        }
        for n, call in enumerate(answer.calls)
    ]
    return {
        "id": fresh("resp_"),
        "object": "response",
        "created_at": 1_780_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": usage.read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage.written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.read + usage.written,
        },
    }


def events(made: Body, body: Body) -> Iterator[Event]:
    """The same as events, each item opened, filled and closed."""
    del body
    for number, (kind, data) in enumerate(_events(made)):
        yield kind, {"type": kind, "sequence_number": number, **data}


def _events(made: Body) -> Iterator[tuple[str, Body]]:
    begun = {**made, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for n, item in enumerate(made["output"]):
        at = {"output_index": n, "item_id": item["id"]}
        empty = {**item, "status": "in_progress"}
        fill = {"message": _filled, "function_call": _called}.get(item["type"])
        for key in ("content", "summary"):
            if key in item:
                empty[key] = []
        if "arguments" in item:
            empty["arguments"] = ""
        yield "response.output_item.added", {"output_index": n, "item": empty}
        if fill is not None:
            yield from fill(item, at)
        yield "response.output_item.done", {"output_index": n, "item": item}
    yield "response.completed", {"response": made}


def _filled(item: Body, at: Body) -> Iterator[tuple[str, Body]]:
    part = item["content"][0]
    at = {**at, "content_index": 0}
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for piece in words(part["text"]):
        yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    done = {**at, "text": part["text"], "logprobs": []}
    yield "response.output_text.done", done
    yield "response.content_part.done", {**at, "part": part}


def _called(item: Body, at: Body) -> Iterator[tuple[str, Body]]:
    text = item["arguments"]
    for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
        yield "response.function_call_arguments.delta", {**at, "delta": piece}
    done = {**at, "arguments": text, "name": item["name"]}
    yield "response.function_call_arguments.done", done


def too_long(tokens: int, limit: int) -> Fault:
    """The context is exceeded; no figures are told."""
    del tokens, limit
    return Fault(
        "context",
        "Your input exceeds the context window of this model. Please adjust your input "
        "and try again.",
        "input",
        "context_length_exceeded",
    )


RESPONSES: Final = Api(
    name="responses",
    counted=("instructions", "input", "tools"),
    rules=(*(f"OR-{n:02d}" for n in range(1, 14)), "OX-01"),
    faults=faults,
    seen=seen,
    whole=whole,
    events=events,
    refusal=refusal,
    too_long=too_long,
)
