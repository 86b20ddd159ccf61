"""The tool by which a model reads back what its window only refers to."""

from __future__ import annotations

from typing import Any, Final

from turnkeep.providers import PROVIDERS, by_format
from turnkeep.providers._tool_definitions import ToolDefinition, write_tools

_PROPERTIES: Final = {
    "first_line": {
        "type": "integer",
        "description": "Line to begin with, from 1. Unless given, the first.",
    },
    "last_line": {
        "type": "integer",
        "description": "Line to end with. Unless given, as many as an answer holds.",
    },
    "words": {
        "type": "string",
        "description": "Show only the lines that hold all of these words. Plain words, "
        "no pattern; upper and lower case are the same.",
    },
    "after": {
        "type": "integer",
        "description": "Go on with the next part: the number that the last answer "
        "ended with.",
    },
}


def reading_tool(
    name: str, description: str, reference: str, format_name: str, *, needed: bool
) -> dict[str, Any]:
    """The definition of a tool that reads, in a provider's wire shape.

    Args:
        name:
            What the model calls it.
        description:
            What it is for.
        reference:
            What its parameter `reference` is.
        format_name:
            The format of the request that it stands in.
        needed:
            Whether the reference must be given.

    Raises:
        ValueError: Requests in that format have no tools.
    """
    row = by_format(format_name)
    if row is None:
        msg = f"no tools in format {format_name!r}; there are {', '.join(PROVIDERS)}"
        raise ValueError(msg)
    schema = {
        "type": "object",
        "properties": {
            "reference": {"type": "string", "description": reference},
            **_PROPERTIES,
        },
    }
    if needed:
        schema["required"] = ["reference"]
    made = write_tools([ToolDefinition(name, description, schema)], row.name)
    one: dict[str, Any] = made["tools"][0] if row.name == "bedrock" else made[0]
    return one
