"""Anthropic Messages: what it refuses, and how it answers.

A signature is a hash of the thinking that it belongs to and, for models that preserve
thinking, of everything before it; so a block that was moved, altered or bound to
another prefix is seen without any state.
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
    printed,
    text_of,
    words,
)
from tests.strict.scripts import Answer, Call, Result, Said, Seen

ENDING: Final = re.compile(
    r"claude-(?:fable|mythos|(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku)-5)"
)
"""Models that take no assistant message as the last."""

MIDDLE: Final = re.compile(
    r"claude-(?:fable|mythos|opus-4-[89]|(?:opus|sonnet|haiku)-5)"
)
"""Models that take system messages in the middle."""

BOUND: Final = re.compile(
    r"claude-(?:fable-5-[12]|mythos-5-2|(?:opus|sonnet|haiku)-5-5)"
)
"""Models whose thinking is bound to what stands before it."""

THINKING: Final = ("thinking", "redacted_thinking")
BLOCKS: Final = {
    "user": ("text", "image", "document", "search_result", "tool_result"),
    "assistant": ("text", *THINKING, "tool_use", "server_tool_use"),
}
PARTS: Final = (
    "text",
    "image",
    "document",
    "search_result",
    "tool_reference",
    "browser_state",
)
ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
MOST_MARKS: Final = 4
MOST_IMAGES: Final = 600
UNMODIFIED: Final = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
    "be modified. These blocks must remain as they were in the original response."
)


def faults(body: Body, model: str) -> Iterator[Fault]:
    """The rules that a request breaks."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Fault("AN-01", "messages: at least one message is required")
        return
    yield from _system(body.get("system"))
    for n, message in enumerate(messages):
        yield from _message(n, message)
    yield from _middle(messages, model)
    yield from _ending(messages, model)
    yield from _pairs(_merged(messages))
    yield from _servers(messages)
    yield from _thinking(body, model)
    yield from _marks(body)
    yield from _tools(body)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return entries(content)


def _merged(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Turns: neighbours of one role are one, and a system message is looked through."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        role, blocks = str(message.get("role")), _blocks(message)
        if role == "system":
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, list(blocks)))
    return turns


def _system(system: Any) -> Iterator[Fault]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list) or any(b.get("type") != "text" for b in system):
        yield Fault("AN-26", "system: Input should be a string or text blocks")
    elif any(not block.get("text") for block in system):
        yield Fault("AN-06", "system: text content blocks must be non-empty")


def _message(n: int, message: dict[str, Any]) -> Iterator[Fault]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        asked = "Input should be 'user', 'assistant' or 'system'"
        yield Fault("AN-02", f"messages.{n}.role: {asked}")
        return
    if content is None or (role == "user" and not content):
        yield Fault(
            "AN-05", f"messages.{n}: {role} messages must have non-empty content"
        )
        return
    blocks = _blocks(message)
    texts = [str(b.get("text", "")) for b in blocks if b.get("type") == "text"]
    if content and any(not text for text in texts):
        yield Fault("AN-06", "messages: text content blocks must be non-empty")
    elif texts and len(texts) == len(blocks) and not "".join(texts).strip():
        asked = "text content blocks must contain non-whitespace text"
        yield Fault("AN-07", f"messages: {asked}")
    for k, block in enumerate(blocks):
        yield from _block(f"messages.{n}.content.{k}", str(role), block)


def _block(where: str, role: str, block: dict[str, Any]) -> Iterator[Fault]:
    kind = str(block.get("type"))
    other = "user" if role == "assistant" else "assistant"
    alien = kind in BLOCKS[other] and kind not in BLOCKS.get(role, ())
    if alien and role != "system":
        yield Fault(
            "AN-16", f"{where}: `{kind}` blocks can only be in {other} messages"
        )
    if kind == "tool_use":
        if not isinstance(block.get("input"), dict) or not block.get("name"):
            yield Fault("AN-16", f"{where}.tool_use.input: Input should be an object")
        if not ID.fullmatch(str(block.get("id", ""))):
            asked = "String should match pattern '^[a-zA-Z0-9_-]+$'"
            yield Fault("AN-15", f"{where}.tool_use.id: {asked}")
    elif kind == "thinking":
        for key in ("thinking", "signature"):
            if not isinstance(block.get(key), str):
                yield Fault("AN-17", f"{where}.thinking.{key}: Field required")
    elif kind == "redacted_thinking" and not block.get("data"):
        yield Fault("AN-17", f"{where}.redacted_thinking.data: Field required")
    elif kind == "tool_result":
        inner = block.get("content")
        if block.get("is_error") and not inner:
            yield Fault("AN-27", "content cannot be empty if is_error is true")
        for part in entries(inner):
            if part.get("type") not in PARTS:
                asked = f"Input tag '{part.get('type')}' found"
                yield Fault("AN-25", f"{where}.tool_result.content.0: {asked}")


def _middle(messages: list[dict[str, Any]], model: str) -> Iterator[Fault]:
    """System messages inside the list."""
    for n, message in enumerate(messages):
        if message.get("role") != "system" or message.get("content") == []:
            continue
        before = messages[n - 1] if n else {}
        after = messages[n + 1] if n + 1 < len(messages) else {"role": "assistant"}
        words = None
        if not MIDDLE.match(model):
            words = "role 'system' is not supported on this model"
        elif after.get("role") != "assistant":
            words = "role 'system' must precede an 'assistant' message or end the array"
        elif before.get("role") != "user" and not _served(before):
            words = (
                "role 'system' must follow a 'user' message or an 'assistant' message "
                "ending in a server tool result; the directive-only form (empty "
                "content) is accepted at any position"
            )
        if words is not None:
            yield Fault("AN-03", f"messages.{n}: {words}")


def _served(message: dict[str, Any]) -> bool:
    """Whether it ends where a provider's own tool left it."""
    blocks = _blocks(message)
    kind = str(blocks[-1].get("type")) if blocks else ""
    own = kind == "server_tool_use" or kind.endswith("_tool_result")
    return message.get("role") == "assistant" and own


def _ending(messages: list[dict[str, Any]], model: str) -> Iterator[Fault]:
    last = messages[-1]
    if last.get("role") != "assistant" or _served(last):
        return
    if ENDING.match(model):
        yield Fault(
            "AN-09",
            "This model does not support assistant message prefill. The conversation "
            "must end with a user message.",
        )
    blocks = _blocks(last)
    kind = blocks[-1].get("type") if blocks else None
    if kind in THINKING:
        asked = f"The final block in an assistant message cannot be `{kind}`."
        yield Fault("AN-19", f"messages.{len(messages) - 1}: {asked}")
    elif kind == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        asked = "final assistant content cannot end with trailing whitespace"
        yield Fault("AN-08", f"messages: {asked}")


def _pairs(turns: list[tuple[str, list[dict[str, Any]]]]) -> Iterator[Fault]:
    """Calls and the results that lead the next turn."""
    for n, (role, blocks) in enumerate(turns):
        if role == "assistant":
            ids = [str(b["id"]) for b in blocks if b.get("type") == "tool_use"]
            if len(set(ids)) < len(ids):
                yield Fault("AN-13", f"messages.{n}: `tool_use` ids must be unique")
            after = turns[n + 1][1] if n + 1 < len(turns) else []
            leading = _leading(after)
            missing = [own for own in ids if own not in leading]
            if missing:
                yield Fault(
                    "AN-10" if not _behind(after, missing) else "AN-12",
                    f"messages.{n}: `tool_use` ids were found without `tool_result` "
                    f"blocks immediately after: {', '.join(missing)}. Each `tool_use` "
                    "block must have a corresponding `tool_result` block in the next "
                    "message.",
                )
        else:
            before = turns[n - 1][1] if n else []
            yield from _results(n, before, blocks)


def _leading(blocks: list[dict[str, Any]]) -> list[str]:
    found = []
    for block in blocks:
        if block.get("type") != "tool_result":
            break
        found.append(str(block.get("tool_use_id")))
    return found


def _behind(blocks: list[dict[str, Any]], ids: list[str]) -> bool:
    """Whether results of *ids* stand behind something else."""
    there = [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
    return any(own in there for own in ids)


def _results(
    n: int, before: list[dict[str, Any]], blocks: list[dict[str, Any]]
) -> Iterator[Fault]:
    made = {str(b.get("id")) for b in before if b.get("type") == "tool_use"}
    results = [b for b in blocks if b.get("type") == "tool_result"]
    for own, times in Counter(str(b.get("tool_use_id")) for b in results).items():
        if own not in made:
            yield Fault(
                "AN-11",
                f"messages.{n}.content.0: unexpected `tool_use_id` found in "
                f"`tool_result` blocks: {own}. Each `tool_result` block must have a "
                "corresponding `tool_use` block in the previous message.",
            )
        elif times > 1:
            yield Fault(
                "AN-14",
                "each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {own}",
            )


def _servers(messages: list[dict[str, Any]]) -> Iterator[Fault]:
    """A provider's own calls and their results."""
    made: set[str] = set()
    answered: set[str] = set()
    last: set[str] = set()
    for n, message in enumerate(messages):
        if message.get("role") == "assistant":
            last = set()
        for block in _blocks(message):
            kind = str(block.get("type"))
            if kind in ("server_tool_use", "mcp_tool_use"):
                made.add(str(block.get("id")))
                last.add(str(block.get("id")))
            elif kind.endswith("_tool_result"):
                own = str(block.get("tool_use_id"))
                answered.add(own)
                if own not in made:
                    yield Fault(
                        "AN-28",
                        f"messages.{n}.content.0: unexpected `tool_use_id` found in "
                        f"`{kind}` blocks: {own}. Each `{kind}` block must have a "
                        "corresponding `server_tool_use` block before it.",
                    )
    # What stands open in the last answer is still being worked on.
    for own in made - answered - last:
        yield Fault(
            "AN-28",
            f"`server_tool_use` {own} was found without a corresponding result block",
        )


def _thinking(body: Body, model: str) -> Iterator[Fault]:
    messages = body["messages"]
    bound = bool(BOUND.match(model))
    for n, message in enumerate(messages):
        for k, block in enumerate(_blocks(message)):
            if block.get("type") != "thinking" or not block.get("signature"):
                continue
            prefix = _prefix(body, messages[:n]) if bound else None
            if block["signature"] == signature(block.get("thinking"), prefix):
                continue
            where = f"messages.{n}.content.{k}"
            if bound:
                yield Fault(
                    "AE-03",
                    f"{where}: Invalid `signature` in `thinking` block. The block is "
                    "bound to a different conversation. Remove the block, or set "
                    "`thinking.block_binding.prefix_mismatch_behavior` to "
                    '"drop_block".',
                )
            else:
                yield Fault("AE-01", f"{where}: {UNMODIFIED}")
    if (body.get("thinking") or {}).get("type") == "enabled":
        yield from _opened(messages)


def _opened(messages: list[dict[str, Any]]) -> Iterator[Fault]:
    """The round in progress opens with its thinking."""
    turns = _merged(messages)
    open_round = len(turns) > 1 and _leading(turns[-1][1])
    if not open_round or turns[-2][0] != "assistant":
        return
    first = turns[-2][1][0].get("type")
    if first not in THINKING:
        yield Fault(
            "AN-18",
            f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or "
            f"`redacted_thinking`, but found `{first}`. When `thinking` is enabled, a "
            "final `assistant` message must start with a thinking block (preceeding "
            "the lastmost set of `tool_use` and `tool_result` blocks).",
        )


def signature(thinking: Any, prefix: Any) -> str:
    """What this provider signs a thinking block with."""
    return printed("thinking", thinking, prefix)


def _prefix(body: Body, messages: list[dict[str, Any]]) -> Any:
    """What a bound block is bound to; marks of the cache are no part of it."""
    return _unmarked([body.get("system"), body.get("tools"), _merged(messages)])


def _unmarked(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    return value


def _marked(value: Any) -> Iterator[dict[str, Any]]:
    """The things with a mark, in order, those inside results too."""
    for block in entries(value):
        if block.get("cache_control"):
            yield block
        yield from _marked(block.get("content"))


def _marks(body: Body) -> Iterator[Fault]:
    marked = [*_marked(body.get("tools")), *_marked(body.get("system"))]
    for message in body["messages"]:
        marked += _marked(message.get("content"))
    if len(marked) > MOST_MARKS:
        yield Fault(
            "AN-20",
            f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. "
            f"Found {len(marked)}.",
        )
    elif len(marked) == MOST_MARKS and body.get("cache_control"):
        yield Fault(
            "AN-30", "A maximum of 4 blocks with cache_control may be provided."
        )
    for block in marked:
        if block.get("type") in THINKING:
            asked = "Extra inputs are not permitted"
            yield Fault("AN-21", f"{block['type']}.cache_control: {asked}")
    lives = [block["cache_control"].get("ttl", "5m") for block in marked]
    if lives != sorted(lives):
        yield Fault(
            "AN-31",
            "a ttl='1h' cache_control block must not come after a ttl='5m' "
            "cache_control block",
        )
    blocks = [b for message in body["messages"] for b in _blocks(message)]
    if sum(block.get("type") == "image" for block in blocks) > MOST_IMAGES:
        yield Fault("AN-22", f"messages: too many images (at most {MOST_IMAGES})")


def _tools(body: Body) -> Iterator[Fault]:
    tools = entries(body.get("tools"))
    blocks = [b for message in body["messages"] for b in _blocks(message)]
    if not tools and any(b.get("type") in ("tool_use", "tool_result") for b in blocks):
        yield Fault(
            "AN-23",
            "Requests which include `tool_use` or `tool_result` blocks must define "
            "tools.",
        )
    for n, tool in enumerate(tools):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", str(tool.get("name", ""))):
            asked = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
            yield Fault("AN-24", f"tools.{n}.custom.name: {asked}")
        if tool.get("defer_loading") and tool.get("cache_control"):
            yield Fault(
                "AN-33", f"tools.{n}: a deferred tool cannot have cache_control"
            )
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield Fault("AN-33", "tools: at least one tool must not be deferred")
    names = {tool.get("name") for tool in tools}
    for block in blocks:
        for part in entries(block.get("content")):
            name = part.get("tool_name")
            if part.get("type") == "tool_reference" and name not in names:
                missing = (
                    f"Tool reference '{name}' has no corresponding tool definition"
                )
                yield Fault("AN-33", missing)


def seen(body: Body) -> Seen:
    """What a request shows."""
    said = []
    if body.get("system"):
        said.append(Said("system", text_of(body["system"])))
    for message in body["messages"]:
        blocks = _blocks(message)
        calls = tuple(
            Call(b["name"], b["input"], b["id"])
            for b in blocks
            if b.get("type") == "tool_use"
        )
        results = tuple(
            Result(b["tool_use_id"], text_of(b.get("content")))
            for b in blocks
            if b.get("type") == "tool_result"
        )
        text = "\n".join(b["text"] for b in blocks if b.get("type") == "text")
        said.append(Said(message["role"], text, calls, results))
    names = tuple(str(tool.get("name")) for tool in entries(body.get("tools")))
    return Seen(tuple(said), names)


def whole(answer: Answer, body: Body, model: str, usage: Usage) -> Body:
    """A message."""
    content: list[dict[str, Any]] = []
    asked = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    if answer.thinking and asked:
        prefix = _prefix(body, body["messages"]) if BOUND.match(model) else None
        signed = signature(answer.thinking, prefix)
        block = {"type": "thinking", "thinking": answer.thinking, "signature": signed}
        content.append(block)
    if answer.text:
        content.append({"type": "text", "text": answer.text, "citations": None})
    content += [
        {
            "type": "tool_use",
            "id": call.id or fresh("toolu_"),
            "name": call.name,
            "input": dict(call.arguments),
        }
        for call in answer.calls
    ]
    return {
        "id": fresh("msg_"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.read,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": usage.written,
            "service_tier": "standard",
        },
    }


def events(made: Body, body: Body) -> Iterator[Event]:
    """The same as events, each block opened, filled and closed."""
    del body
    for data in _events(made):
        yield data["type"], data


def _events(made: Body) -> Iterator[Body]:
    usage = made["usage"]
    begun = {**made, "content": [], "stop_reason": None}
    begun["usage"] = {**usage, "output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for n, block in enumerate(made["content"]):
        empty, deltas = _filling(block)
        yield {"type": "content_block_start", "index": n, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": n, "delta": delta}
        yield {"type": "content_block_stop", "index": n}
    stop = {"stop_reason": made["stop_reason"], "stop_sequence": None}
    told = {"output_tokens": usage["output_tokens"]}
    yield {"type": "message_delta", "delta": stop, "usage": told}
    yield {"type": "message_stop"}


def _filling(block: Body) -> tuple[Body, list[Body]]:
    """A block as it begins, and what fills it."""
    if block["type"] == "text":
        pieces = words(block["text"])
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        return {**block, "text": ""}, deltas
    if block["type"] == "thinking":
        pieces = words(block["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, deltas
    text = json.dumps(block["input"])
    halves = (text[: len(text) // 2], text[len(text) // 2 :])
    deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
    return {**block, "input": {}}, deltas


def refusal(fault: Fault) -> Body:
    """An error of Anthropic's."""
    error = {"type": "invalid_request_error", "message": fault.message}
    return {"type": "error", "error": error, "request_id": fresh("req_")}


def too_long(tokens: int, limit: int) -> Fault:
    """The context is exceeded."""
    return Fault("context", f"prompt is too long: {tokens} tokens > {limit} maximum")


ANTHROPIC: Final = Api(
    name="anthropic",
    counted=("system", "tools", "messages"),
    rules=(
        *("AN-01", "AN-02", "AN-03", "AN-05", "AN-06", "AN-07", "AN-08", "AN-09"),
        *(f"AN-{n}" for n in range(10, 29)),
        *("AN-30", "AN-31", "AN-33", "AE-01", "AE-03"),
    ),
    faults=faults,
    seen=seen,
    whole=whole,
    events=events,
    refusal=refusal,
    too_long=too_long,
)
