import json
from typing import Any

import pytest

from turnkeep.errors import FormatError
from turnkeep.tokens import CallableCounter, TextCounter, request_counter, text_counter
from turnkeep.tokens._tools import count_json_tools, count_openai_tools, read_tools

LOCATION = {
    "type": "string",
    "description": "The city and state, e.g. San Francisco, CA",
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "location": LOCATION,
        "unit": {
            "type": "string",
            "description": "The unit of temperature to return",
            "enum": ["celsius", "fahrenheit"],
        },
    },
    "required": ["location"],
}
DESCRIPTION = "Get the current weather in a given location"
NAME = "get_current_weather"
CHAT = {
    "type": "function",
    "function": {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS},
}
RESPONSES = {"type": "function", **CHAT["function"]}  # type: ignore[dict-item]
ANTHROPIC = {"name": NAME, "description": DESCRIPTION, "input_schema": PARAMETERS}
GEMINI = {"functionDeclarations": [CHAT["function"]]}
BEDROCK = {
    "tools": [
        {
            "toolSpec": {
                "name": NAME,
                "description": DESCRIPTION,
                "inputSchema": {"json": PARAMETERS},
            }
        }
    ]
}
SHAPES = {
    "chat": [CHAT],
    "responses": [RESPONSES],
    "anthropic": [ANTHROPIC],
    "gemini": [GEMINI],
    "bedrock": BEDROCK,
}

WORDS: TextCounter = CallableCounter(lambda text: len(text.split()), name="words")


def openai(tools: Any) -> int:
    return count_openai_tools(tools, text_counter("gpt-4o").count, per_function=7)


def schema(**properties: Any) -> list[Any]:
    return [{"type": "function", "name": "f", "parameters": {"properties": properties}}]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_the_same(shape: str) -> None:
    """The formula sees the same function, whoever's shape it is in."""
    (tool,) = read_tools(SHAPES[shape])

    assert (tool.name, tool.description) == (NAME, DESCRIPTION)
    assert tool.parameters == PARAMETERS
    assert tool.built_in is None
    assert openai(SHAPES[shape]) == openai([CHAT])


@pytest.mark.parametrize("tools", [None, [], (), {}, {"tools": []}])
def test_no_tools_cost_nothing(tools: Any) -> None:
    for name in ("openai", "anthropic", "gemini", "mistral"):
        assert request_counter(format=name).tools(tools) == 0


def test_the_published_formula_by_hand() -> None:
    """Figures of the cookbook, on words instead of tokens."""
    # Words of "name:description", then of "key:type:description" and of each value.
    function = 7 + 8
    location, unit = 3 + 8, 3 + 6 - 3 + 2 * (3 + 1)
    expected = function + 3 + location + unit + 12

    assert count_openai_tools([CHAT], WORDS.count, per_function=7) == expected


def test_a_trailing_dot_is_not_counted() -> None:
    with_dot = {**RESPONSES, "description": f"{DESCRIPTION}."}

    assert openai([with_dot]) == openai([RESPONSES])


def test_a_function_without_parameters() -> None:
    name_only = {"type": "function", "function": {"name": "now"}}

    assert openai([name_only]) == 12 + 7 + text_counter("gpt-4o").count("now:")


@pytest.mark.parametrize(
    "value",
    [
        {"type": "object", "properties": {"street": {"type": "string"}}},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"type": "integer"}, {"const": 3}]},
        {"allOf": [{"$ref": "#/$defs/Address"}]},
        {"type": "string", "default": "somewhere far away"},
        {"type": "string", "format": "date-time", "pattern": "^x+$"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": ["string", "null"]},
        {"enum": [1, 2, None]},
        {"$defs": {"Address": {"type": "object", "description": "where"}}},
    ],
)
def test_whatever_is_nested_is_counted(value: Any) -> None:
    """More schema never costs less than none."""
    assert openai(schema(place=value)) > openai(schema(place={}))


def test_nesting_costs_what_the_top_level_costs() -> None:
    inner = {"a": {"type": "string", "description": "one"}, "b": {"type": "integer"}}
    flat = openai(schema(**inner)) - openai(schema())
    nested = openai(schema(x={"type": "object", "properties": inner}))

    assert nested - openai(schema(x={"type": "object"})) == flat


def test_definitions_beside_the_properties() -> None:
    with_definitions = schema(x={"$ref": "#/definitions/X"})
    with_definitions[0]["parameters"]["definitions"] = {"X": LOCATION, "Y": None}

    assert openai(with_definitions) > openai(schema(x={"$ref": "#/definitions/X"}))


def test_odd_values_in_schemas_do_not_fail() -> None:
    odd = schema(a=True, b=None, c={"enum": "text", "anyOf": [1], "type": None})
    odd.append({"type": "function", "function": {"name": None, "parameters": 3}})

    assert openai(odd) > 0


def test_schemas_deeper_than_python_recurses() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = {"type": "object", "properties": {"x": deep}}

    assert openai(schema(x=deep)) > 1_000


@pytest.mark.parametrize("wire", ["anthropic", "mistral", "gemini"])
def test_what_cannot_be_written_is_refused(wire: str) -> None:
    """Where definitions count as JSON, they must be JSON."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, {1, 2}, object()):
        with pytest.raises(FormatError, match="not a JSON value"):
            request_counter(format=wire).tools([{"name": "x", "parameters": value}])


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ("get_weather", r"\$\.tools"),
        (3, r"\$\.tools"),
        ([CHAT, "x"], r"\$\.tools\[1\]"),
    ],
)
def test_what_is_no_tool_is_refused(tools: Any, path: str) -> None:
    with pytest.raises(FormatError, match=path):
        openai(tools)
    with pytest.raises(FormatError, match=path):
        request_counter(format="anthropic").tools(tools)


def test_tools_of_the_provider_are_counted_as_json() -> None:
    search = {"type": "web_search", "user_location": {"country": "DE"}}

    assert openai([search]) == 12 + text_counter().count(
        json.dumps(search, separators=(",", ":"))
    )
    assert openai([{"googleSearch": {}}, {"functionDeclarations": [3]}]) > 12
    assert openai([{"functionDeclarations": "none"}]) == 0


def test_elsewhere_definitions_are_compact_json() -> None:
    assert count_json_tools([ANTHROPIC], len) == len(
        json.dumps(ANTHROPIC, separators=(",", ":"))
    )


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [
        ("bash_20250124", 245),
        ("text_editor_20250728", 700),
        ("computer_20250124", 1234),
    ],
)
def test_built_in_tools_of_anthropic(kind: str, tokens: int) -> None:
    """By the documentation of each tool."""
    counter = request_counter(format="anthropic", model="claude-opus-4-8")

    assert counter.tools([{"type": kind, "name": "x"}]) == tokens


def test_older_models_write_three_tokens_more_a_function() -> None:
    new, old = request_counter(model="gpt-4o"), request_counter(model="gpt-4")
    two = [{"type": "function", "name": "a", "parameters": {}}] * 2

    assert old.tools(two) - new.tools(two) == 6
