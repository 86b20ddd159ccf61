from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError
from turnkeep.model import MAX_DEPTH

from ._text import dumps

Count = Callable[[str], int]


_WHOLE: Final = frozenset({"tools", "functionDeclarations", "function_declarations"})
"""Keys of the objects in which Bedrock and Gemini hold their definitions."""


@attrs.frozen
class Tool:
    """One tool definition, whatever the provider's shape."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    raw: Mapping[str, Any]
    """The definition as it is sent."""
    built_in: str | None = None
    """The provider's own type (`web_search`, ...) where it brings the definition."""


def read_tools(tools: Any) -> Iterator[Tool]:
    """Every tool in *tools*: a list, or an object that holds it (Bedrock, Gemini).

    Raises:
        FormatError: Something is not an object where one must be.
    """
    if isinstance(tools, Mapping):
        if _WHOLE.isdisjoint(tools):
            reason = "tools must be a list of definitions: put this one into a list"
            raise FormatError(reason, "$.tools")
        tools = tools.get("tools", [tools])
    if not isinstance(tools, Sequence) or isinstance(tools, (str, bytes)):
        reason = f"tools must be a list, not {type(tools).__name__}"
        raise FormatError(reason, "$.tools")
    for nth, raw in enumerate(tools):
        if not isinstance(raw, Mapping):
            reason = f"a tool definition must be an object, not {type(raw).__name__}"
            raise FormatError(reason, f"$.tools[{nth}]")
        yield from _read_tool(raw)


def _read_tool(raw: Mapping[str, Any]) -> Iterator[Tool]:
    if _is_deferred(raw) or _is_deferred(raw.get("function")):
        # Not in the prompt until a search finds it; then it costs where its name
        # stands. Source: Anthropic, "Tool use with prompt caching"; OpenAI's
        # `defer_loading` works alike.
        return
    inside = raw.get("tools")
    if raw.get("type") == "namespace" and isinstance(inside, Sequence):
        yield Tool("", "", {}, {**raw, "tools": []}, "namespace")
        for one in inside:
            if isinstance(one, Mapping):
                yield from _read_tool(one)
        return
    declared = raw.get("functionDeclarations", raw.get("function_declarations"))
    if isinstance(declared, Sequence):
        for one in declared:
            if isinstance(one, Mapping):
                yield _function(one, one)
        return
    for key in ("function", "toolSpec", "custom"):
        if isinstance(inner := raw.get(key), Mapping):
            yield _function(inner, raw)
            return
    kind = raw.get("type")
    if _schema_of(raw) is not None or kind in ("function", "custom"):
        yield _function(raw, raw)
        return
    yield Tool("", "", {}, raw, kind if isinstance(kind, str) else "")


def _is_deferred(tool: Any) -> bool:
    return isinstance(tool, Mapping) and tool.get("defer_loading") is True


def _function(inner: Mapping[str, Any], raw: Mapping[str, Any]) -> Tool:
    return Tool(
        str(inner.get("name") or ""),
        str(inner.get("description") or ""),
        _schema_of(inner) or {},
        raw,
    )


def _schema_of(inner: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema"):
        if isinstance(found := inner.get(key), Mapping):
            # Bedrock wraps the schema once more.
            wrapped = found.get("json")
            return wrapped if isinstance(wrapped, Mapping) else found
    return None


def count_json_tools(tools: Any, count: Count) -> int:
    """Tool definitions as the compact JSON of each, where no formula is published."""
    return sum(count(dumps(tool.raw)) for tool in read_tools(tools))


# The cookbook's figures ("How to count tokens with tiktoken", section 7): reverse
# engineered there, and equal to the usage that the API reports for flat schemas.
_PROPERTIES: Final = 3
_KEY: Final = 3
_ENUM: Final = -3
_ENUM_ITEM: Final = 3
_END: Final = 12


def count_openai_tools(tools: Any, count: Count, *, per_function: int) -> int:
    """Tool definitions by the cookbook's formula.

    Flat schemas are counted exactly as published. What the formula leaves open is
    extended in its spirit: a nested object costs what one at the top does; variants
    (`anyOf`, `oneOf`, `allOf`, definitions) cost a key each; an array costs its items.
    Linear in the size of the schemas.

    Args:
        tools: In any provider's shape; nothing for none.
        count: Tokens of a text.
        per_function: 7 for gpt-4o and later, 10 for gpt-4 and gpt-3.5-turbo.
    """
    total = _END
    empty = True
    for tool in read_tools(tools):
        empty = False
        if tool.built_in is not None:
            # Built in: the provider adds its own text, of which nothing is published.
            total += count(dumps(tool.raw))
            continue
        total += per_function
        total += count(f"{tool.name}:{tool.description.removesuffix('.')}")
        total += _count_schema(tool.parameters, count)
    return 0 if empty else total


def _count_schema(schema: Mapping[str, Any], count: Count) -> int:
    total = 0
    # A stack of our own: a schema may be nested deeper than Python recurses.
    todo = [(schema, 0)]
    while todo:
        node, depth = todo.pop()
        if depth > MAX_DEPTH:
            total += count(_keys(node))
            continue
        properties = node.get("properties")
        if isinstance(properties, Mapping) and properties:
            total += _PROPERTIES
            for key, value in properties.items():
                total += _count_property(str(key), value, count)
                if isinstance(value, Mapping):
                    todo.append((value, depth + 1))
        for name, child in _children(node):
            total += _count_property(name, child, count)
            todo.append((child, depth + 1))
    return total


def _count_property(key: str, value: Any, count: Count) -> int:
    if not isinstance(value, Mapping):
        return _KEY + count(f"{key}:{value}:")
    total = _KEY
    if isinstance(enum := value.get("enum"), Sequence) and not isinstance(enum, str):
        total += _ENUM
        for item in enum:
            total += _ENUM_ITEM + count(item if isinstance(item, str) else dumps(item))
    kind = value.get("type", "")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = "|".join(map(str, kind))
    description = str(value.get("description") or "").removesuffix(".")
    total += count(f"{key}:{kind}:{description}")
    for extra in ("const", "default", "format", "pattern", "$ref"):
        if extra in value:
            total += count(f"{extra}:{value[extra]}")
    return total


def _children(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(variants := node.get(key), Sequence):
            yield from ((key, v) for v in variants if isinstance(v, Mapping))
    for key in ("$defs", "definitions"):
        if isinstance(definitions := node.get(key), Mapping):
            for name, v in definitions.items():
                if isinstance(v, Mapping):
                    yield str(name), v
    for key in ("items", "additionalProperties"):
        if isinstance(child := node.get(key), Mapping):
            yield key, child


def _keys(node: Mapping[str, Any]) -> str:
    """The keys of *node*: all that is counted below `MAX_DEPTH` levels."""
    return ",".join(map(str, node))
