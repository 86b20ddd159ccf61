"""The items of a Responses input, and what a trim may not have changed about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from turnkeep.model import same

from .._base import Findings, Request, describe

ITEM_TYPES = frozenset(
    {
        "additional_tools",
        "apply_patch_call",
        "apply_patch_call_output",
        "code_interpreter_call",
        "compaction",
        "compaction_trigger",
        "computer_call",
        "computer_call_output",
        "configuration_update",
        "custom_tool_call",
        "custom_tool_call_output",
        "file_search_call",
        "function_call",
        "function_call_output",
        "image_generation_call",
        "item_reference",
        "local_shell_call",
        "local_shell_call_output",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "message",
        "program",
        "program_output",
        "reasoning",
        "shell_call",
        "shell_call_output",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""The union `ResponseInputItemParam` of the openai SDK 3.57.0."""

OUTPUTS = ("function_call_output", "custom_tool_call_output")
OTHER_PAIRS = {
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_MADE_BY_OTHERS = frozenset(
    {
        *OUTPUTS,
        *OTHER_PAIRS.values(),
        "additional_tools",
        "compaction_trigger",
        "configuration_update",
        "local_shell_call_output",
        "mcp_approval_response",
        "tool_search_output",
    }
)
"""Items that no model produces: they cannot follow a reasoning item as its own."""


def type_of(item: Any) -> str | None:
    """The type of an item; role and content make a message, a bare id a reference."""
    if not isinstance(item, Mapping):
        return None
    kind = item.get("type")
    if kind is None and "role" in item:
        return "message"
    if kind is None and item.keys() == {"id"}:
        return "item_reference"
    return kind if isinstance(kind, str) else None


def follows_reasoning(item: Any) -> bool:
    """Whether the model can have produced *item* behind a reasoning item."""
    kind = type_of(item)
    if kind == "message":
        return bool(item.get("role") == "assistant")
    return kind is not None and kind not in _MADE_BY_OTHERS


def _followed(entries: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Each reasoning item, its place, and what the model produced behind it."""
    for nth, (item, following) in enumerate(pairwise(entries)):
        if type_of(item) == "reasoning" and follows_reasoning(following):
            yield nth, item, following


def _without_id(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != "id"}


def check_edit(request: Request, before: Request, found: Findings) -> None:
    """OX-01 and OR-08: compare with the request *before* it; linear in both."""
    stored = request.setting("store") is not False
    kept = {
        str(item.get("id")) for item in request.entries if type_of(item) == "reasoning"
    }
    owners: dict[str, str] = {}
    followers: dict[str, Any] = {}
    for _, item, following in _followed(before.entries):
        followers[str(item.get("id"))] = _without_id(following)
        if type_of(following) != "reasoning" and isinstance(following.get("id"), str):
            owners[following["id"]] = str(item.get("id"))
    for nth, item in enumerate(request.entries):
        item_id = item.get("id") if isinstance(item, Mapping) else None
        owner = owners.get(item_id) if isinstance(item_id, str) else None
        if owner is not None and owner not in kept:
            number = "OX-01" if stored else "OX-s1"
            what = (
                f"{item_id!r} is sent with its id, but its reasoning {owner!r} is gone"
            )
            found.add(number, f"{request.at(nth)}.id", what)
    for nth, item, following in _followed(request.entries):
        was = followers.get(str(item.get("id")))
        encrypted = item.get("encrypted_content")
        if was is None or encrypted or not stored or same(_without_id(following), was):
            continue
        what = f"another item stands behind reasoning {describe(item.get('id'))} now"
        found.add("OR-08", request.at(nth), what)
