from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnkeep.policy import Policy

from ._base import Findings, Profile, Request, Rule, by_number, describe
from ._chat import check_messages, pairing_rules
from ._shared import (
    FUNCTION_NAME,
    a_message,
    bad_role,
    inside,
    items,
    role_of,
)

ROLES = ("developer", "system", "user", "assistant", "tool", "function")
MOST_IMAGES = 500

_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "tool": ("text",),
    "assistant": ("text", "refusal"),
    "user": ("text", "image_url", "input_audio", "file"),
}
_BAD_NAME = re.compile(r"[\s<|\\/>]")

RULES = by_number(
    *sorted(
        (
            *pairing_rules("OC", provider="OpenAI"),
            Rule(
                "OC-02",
                "The role is developer, system, user, assistant, tool or function.",
                "Use one of these roles.",
                error="Invalid value: '..'. Supported values are ..",
                sources=("openai SDK 3.57.0",),
            ),
            Rule(
                "OC-05",
                "A content array is never empty, also not beside calls.",
                "Send null beside calls, else text; or leave the message out.",
                error="Invalid 'messages[..].content': empty array. Expected an array "
                "with minimum length 1",
                sources=("langchain-ai/langchainjs#11419",),
            ),
            Rule(
                "OC-06",
                "Parts fit the role: text in system, developer and tool messages; text "
                "and refusal in assistant messages; text, image_url, input_audio and "
                "file in user messages.",
                "Move the part into a user message, or leave it out.",
                error="Invalid 'messages[4]'. Image URLs are only allowed for messages "
                "with role 'user', but this message with role 'system' contains an "
                "image URL.",
                sources=("openai SDK 3.57.0",),
            ),
            Rule(
                "OC-07",
                "Parts have their fields; a file with `file_data` has a `filename`.",
                "Complete the part.",
                error="400 without filename",
                sources=("live probe, published September 2026", "openai SDK 3.57.0"),
            ),
            Rule(
                "OC-16",
                "The `name` of a message has no white space and none of `< | \\ / >`.",
                "Use letters, digits, _ and - in the name, or leave it out.",
                error="Invalid 'messages[1].name': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                sources=("OpenAI's error text",),
            ),
            Rule(
                "OC-17",
                "Names of tool definitions match `[a-zA-Z0-9_-]{1,64}`.",
                "Rename the tool.",
                error="Invalid 'tools[0].function.name': string does not match "
                "pattern.",
                sources=("openai SDK 3.57.0",),
            ),
            Rule(
                "OC-18",
                "A (legacy) function message has a name, and text or null as content.",
                "Complete the message, or send it as a tool message.",
                sources=("openai SDK 3.57.0",),
            ),
            Rule(
                "OC-s4",
                "The `name` of a message matches `[a-zA-Z0-9_-]{1,64}`.",
                "Use letters, digits, _ and - in the name, or leave it out.",
                error="Invalid 'messages[1].name': string does not match pattern.",
                sources=("OpenAI's error text",),
                models="older models",
            ),
            Rule(
                "OC-s5",
                "A request has at most 500 images.",
                "Strip the oldest images.",
                sources=("OpenAI's documentation of image limits",),
            ),
        ),
        key=lambda rule: ("s" in rule.number, rule.number),
    )
)


def check(request: Request, found: Findings) -> None:
    """Check a request for OpenAI's chat API; linear in its size."""
    check_messages(request, found, "OC")
    images = 0
    for nth, entry in enumerate(request.entries):
        path = request.at(nth)
        role = role_of(entry)
        if role not in ROLES:
            found.add("OC-02", path, bad_role(entry))
            continue
        _check_name(entry, path, found)
        if role == "function":
            _check_function(entry, path, found)
        elif isinstance(content := entry.get("content"), (list, tuple)):
            if not content:
                what = f"the {role} message's content is an empty array"
                found.add("OC-05", f"{path}.content", what)
            images += _check_parts(content, role, f"{path}.content", found)
    if images > MOST_IMAGES:
        found.add("OC-s5", request.path, f"the request has {images} images")
    _check_tools(request, found)


def _check_name(entry: Mapping[str, Any], path: str, found: Findings) -> None:
    name = entry.get("name")
    if not isinstance(name, str):
        return
    if _BAD_NAME.search(name):
        found.add("OC-16", f"{path}.name", f"the message is named {describe(name)}")
    elif not FUNCTION_NAME.fullmatch(name):
        found.add("OC-s4", f"{path}.name", f"the message is named {describe(name)}")


def _check_function(entry: Mapping[str, Any], path: str, found: Findings) -> None:
    if not isinstance(entry.get("name"), str):
        what = f"the function message's name is {describe(entry.get('name'))}"
        found.add("OC-18", f"{path}.name", what)
    if not isinstance(entry.get("content"), (str, type(None))):
        what = f"the function message's content is {describe(entry['content'])}"
        found.add("OC-18", f"{path}.content", what)


def _check_parts(content: Any, role: str, path: str, found: Findings) -> int:
    """Check the parts of a content array; how many images there are."""
    images = 0
    for nth, part in enumerate(content):
        where = f"{path}[{nth}]"
        if not isinstance(part, Mapping):
            found.add("OC-07", where, f"the part is {describe(part)}, not an object")
            continue
        kind = part.get("type")
        images += kind == "image_url"
        if kind not in _PARTS[role]:
            what = f"a part of type {describe(kind)} stands in {a_message(role)}"
            found.add("OC-06", where, what)
        elif (fault := _part_fault(kind, part)) is not None:
            found.add("OC-07", where, fault)
    return images


def _part_fault(kind: str, part: Mapping[str, Any]) -> str | None:
    match kind:
        case "text" | "refusal":
            if not isinstance(part.get(kind), str):
                return f"{kind} of the {kind} part is {describe(part.get(kind))}"
        case "image_url":
            url = inside(part, "image_url").get("url")
            if not isinstance(url, str):
                return f"image_url.url of the image is {describe(url)}"
        case "input_audio":
            audio = inside(part, "input_audio")
            for key in ("data", "format"):
                if not isinstance(audio.get(key), str):
                    return f"input_audio.{key} is {describe(audio.get(key))}"
        case _:
            file = inside(part, "file")
            if not file:
                return "the file part has no `file` object"
            if file.get("file_data") and not isinstance(file.get("filename"), str):
                return "the file has file_data, but no filename"
    return None


def _check_tools(request: Request, found: Findings) -> None:
    for nth, tool in items(request.setting("tools")):
        name = inside(tool, "function").get("name")
        if isinstance(name, str) and not FUNCTION_NAME.fullmatch(name):
            where = f"$.tools[{nth}].function.name"
            found.add("OC-17", where, f"the tool is named {describe(name)}")


_TRIMS = (
    (
        "A cut between a call and its results leaves one without the other (OC-10, "
        "OC-11, OC-12). turnkeep moves a message with calls and all of its results as "
        "one step."
    ),
    (
        "A call that is still open is refused as soon as the request is sent (OC-12). "
        "Where other messages follow it, the window carries a stand-in result that "
        "tells the model so; the history does not."
    ),
    (
        "A message emptied of its parts may not stay behind as an empty array (OC-05, "
        "OC-08). turnkeep removes it."
    ),
)


def profile(model: str | None = None) -> Profile:
    """The profile of OpenAI's chat API and of what copies it."""
    return Profile(
        name="openai",
        title="OpenAI Chat Completions",
        formats=("openai",),
        list_key="messages",
        rules=RULES,
        policy=Policy(
            results="after-call",
            empty_arrays_refused=frozenset({"tool_calls", "content"}),
            empty_refused=frozenset({"system", "user", "assistant"}),
        ),
        check=check,
        model=model,
        trims=_TRIMS,
    )
