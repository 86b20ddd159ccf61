"""Tool definitions from one provider's shape into another's.

Function tools have a name, a description and a JSON schema everywhere; only the keys
differ. What is not a function tool (built-in tools, server tools) exists at one
provider only and is left out by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

_EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@attrs.frozen
class ToolDefinition:
    """A function that a model may call."""

    name: str
    description: str | None
    schema: Any
    """JSON schema of the arguments; none where the provider had none."""


def read_tools(tools: Any) -> tuple[list[ToolDefinition], list[str]]:
    """The function tools in any provider's definitions, and what else there was.

    Linear in their number; the shape of each tells whose it is.
    """
    found: list[ToolDefinition] = []
    others: list[str] = []
    for tool in _each(tools):
        known = _read(tool)
        if known is None:
            label = tool.get("type") or tool.get("name") or next(iter(tool), "?")
            others.append(str(label))
        else:
            found.append(known)
    return found, others


def _each(tools: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(tools, Mapping):
        tools = tools.get("tools", [tools])
    for tool in tools if isinstance(tools, Sequence) else ():
        if not isinstance(tool, Mapping):
            continue
        for key in ("functionDeclarations", "function_declarations"):
            declared = tool.get(key)
            if isinstance(declared, Sequence):
                yield from (d for d in declared if isinstance(d, Mapping))
                break
        else:
            yield tool


def _read(tool: Mapping[str, Any]) -> ToolDefinition | None:
    spec: Any = tool.get("toolSpec", tool.get("function"))
    if not isinstance(spec, Mapping):
        if tool.get("type") not in (None, "function", "custom"):
            return None
        spec = tool
    name = spec.get("name")
    if not isinstance(name, str):
        return None
    schema = next(
        (
            spec[key]
            for key in (
                "parameters",
                "input_schema",
                "inputSchema",
                "parametersJsonSchema",
                "parameters_json_schema",
            )
            if key in spec
        ),
        None,
    )
    if isinstance(schema, Mapping) and set(schema) == {"json"}:
        schema = schema["json"]
    if tool.get("type") == "custom" and schema is None:
        return None
    description = spec.get("description")
    return ToolDefinition(
        name, description if isinstance(description, str) else None, schema
    )


def write_tools(tools: Sequence[ToolDefinition], name: str) -> Any:
    """Definitions in the shape of the format *name*; `None` for none at all."""
    if not tools:
        return None
    made = [_write(tool, name) for tool in tools]
    if name == "gemini":
        return [{"functionDeclarations": made}]
    if name == "bedrock":
        return {"tools": made}
    return made


def _write(tool: ToolDefinition, name: str) -> dict[str, Any]:
    text = {} if tool.description is None else {"description": tool.description}
    schema = tool.schema
    if name == "anthropic":
        return {"name": tool.name, **text, "input_schema": schema or _EMPTY_SCHEMA}
    if name == "bedrock":
        spec = {
            "name": tool.name,
            **text,
            "inputSchema": {"json": schema or _EMPTY_SCHEMA},
        }
        return {"toolSpec": spec}
    with_schema = {} if schema is None else {"parameters": schema}
    if name == "gemini":
        return {"name": tool.name, **text, **with_schema}
    if name == "openai-responses":
        return {"type": "function", "name": tool.name, **text, **with_schema}
    return {"type": "function", "function": {"name": tool.name, **text, **with_schema}}
