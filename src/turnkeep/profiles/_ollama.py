from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from turnkeep.policy import Policy

from ._base import Findings, Profile, Request, Rule, by_number, describe
from ._pairs import Half, PairRules, Said, Spot, check_pairs
from ._shared import bad_role, filled, inside, items, role_of

ROLES = ("system", "user", "assistant", "tool")
_HEAD = 1_024
"""Characters of an image that are tried as base64."""

RULES = by_number(
    Rule(
        "OL-01",
        "The role is system, user, assistant or tool.",
        "Use one of these roles; developer text has the role system.",
        sources=("ollama/ollama, docs/api.md",),
    ),
    Rule(
        "OL-02",
        "Content and thinking are text; they may be absent.",
        "Join the parts into one text and put images under `images`.",
        error="json: cannot unmarshal array into Go struct field "
        "ChatRequest.messages.content of type string",
        sources=("BerriAI/litellm#11273",),
    ),
    Rule(
        "OL-03",
        "The arguments of a call are an object, and its function has a name.",
        "Send the arguments as an object, not as JSON text.",
        error="json: cannot unmarshal string into Go struct field "
        "ChatRequest.messages.tool_calls.function.arguments of type "
        "api.ToolCallFunctionArguments",
        sources=("aliasrobotics/cai#76", "ollama/ollama#12794"),
    ),
    Rule(
        "OL-04",
        "`images` is an array of base64 texts.",
        "Send the images as base64, without `data:` in front.",
        sources=("ollama SDK 0.6.3",),
    ),
    Rule(
        "OL-s1",
        "The list is not empty (an empty one only loads the model).",
        "Send at least one message.",
        sources=("ollama/ollama, docs/api.md",),
    ),
    Rule(
        "OL-s2",
        "Results stand behind their calls, and calls have results (the server does "
        "not look, but renders them as they are).",
        "Drop the orphan, or bring back the other half of the pair.",
        sources=("ollama/ollama, docs/api.md",),
    ),
    Rule(
        "OL-s3",
        "A tool message has a tool_name.",
        "Add the name of the function that was called.",
        sources=("ollama/ollama, docs/api.md",),
    ),
    Rule(
        "OL-s4",
        "System messages stand first.",
        "Move the text to the start of the list.",
        error="system message must be at the beginning",
        sources=("ollama/ollama#17774",),
        models="the qwen3.8 renderer",
    ),
)


def check(request: Request, found: Findings) -> None:
    """Check a request for Ollama's chat API; linear in its size."""
    if not request.entries:
        found.add("OL-s1", request.path, "there are no messages")
    others = False
    for nth, entry in enumerate(request.entries):
        path, role = request.at(nth), role_of(entry)
        if role not in ROLES:
            found.add("OL-01", path, bad_role(entry))
        if isinstance(entry, Mapping):
            _check_entry(entry, path, found)
        if role == "system" and others:
            found.add("OL-s4", path, "the system message stands behind other messages")
        others = others or role != "system"
    _check_pairs(request, found)


def _check_entry(entry: Mapping[str, Any], path: str, found: Findings) -> None:
    for key in ("content", "thinking"):
        if not isinstance(entry.get(key), (str, type(None))):
            found.add("OL-02", f"{path}.{key}", f"{key} is {describe(entry[key])}")
    calls = entry.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        found.add("OL-03", f"{path}.tool_calls", f"tool_calls is {describe(calls)}")
    for nth, call in enumerate(calls if isinstance(calls, (list, tuple)) else ()):
        where = f"{path}.tool_calls[{nth}].function"
        function = inside(call, "function")
        if not filled(function.get("name")):
            found.add("OL-03", f"{where}.name", "the function has no name")
        arguments = function.get("arguments")
        if not isinstance(arguments, (Mapping, type(None))):
            found.add("OL-03", f"{where}.arguments", f"they are {describe(arguments)}")
    _check_images(entry.get("images"), f"{path}.images", found)
    if entry.get("role") == "tool" and not filled(entry.get("tool_name")):
        found.add("OL-s3", path, "the tool message does not say whose result it is")


def _check_images(images: Any, where: str, found: Findings) -> None:
    if images is None:
        return
    if not isinstance(images, (list, tuple)):
        found.add("OL-04", where, f"images is {describe(images)}")
        return
    for nth, image in enumerate(images):
        if not isinstance(image, str) or not _is_base64(image):
            found.add("OL-04", f"{where}[{nth}]", f"the image is {describe(image)}")


def _is_base64(text: str) -> bool:
    head = text[:_HEAD]
    try:
        base64.b64decode(head + "=" * (-len(head) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


_PAIRS = PairRules(
    reach="behind",
    by_number=True,
    unknown=(_LONE := Said("OL-s2", "the result has no call before it")),
    stray=_LONE,
    unanswered=Said("OL-s2", "{open} calls have no result behind them"),
)


def _check_pairs(request: Request, found: Findings) -> None:
    spots = []
    for nth, entry in enumerate(request.entries):
        path, is_result = request.at(nth), role_of(entry) == "tool"
        calls = [] if is_result else items(inside({"e": entry}, "e").get("tool_calls"))
        spots.append(
            Spot(
                path,
                "an entry",
                calls=[Half(None, path)] * len(calls),
                results=[Half(None, path)] * is_result,
                only_results=is_result,
            )
        )
    check_pairs(spots, _PAIRS, found)


_TRIMS = (
    (
        "The server refuses nothing of this and renders what it gets: an orphan "
        "result confuses the model in silence (OL-s2). turnkeep moves a call and all "
        "of its results as one step."
    ),
    (
        "A prompt over `num_ctx` is cut by the server without an error: the oldest "
        "messages go. Fit to `num_ctx`, so that pinned messages are not among them."
    ),
    (
        "Some models' templates want system text first (OL-s4). turnkeep leaves it "
        "where it was and never moves it behind other messages."
    ),
)


def profile(model: str | None = None) -> Profile:
    """The profile of Ollama's chat API."""
    return Profile(
        name="ollama",
        title="Ollama /api/chat",
        formats=("ollama",),
        list_key="messages",
        rules=RULES,
        policy=Policy(results="after-call"),
        check=check,
        model=model,
        trims=_TRIMS,
    )
