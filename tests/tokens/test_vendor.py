"""What reaches the model never counts as nothing; what does not reach it does."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeep
from tests.tokens.pictures import png
from turnkeep import Message, Opaque, Role
from turnkeep.tokens import request_counter, request_tokens

CLAUDE = "claude-sonnet-4-5"


def cost(block: dict[str, Any], model: str = "gpt-4o") -> int:
    """Tokens of a block that nobody knows."""
    counter = request_counter(format="openai", model=model)
    return counter.message(Message(Role.USER, Opaque(block)))


def claude_search(encrypted: str) -> list[dict[str, Any]]:
    """A search that Claude's server ran."""
    found = {
        "type": "web_search_result",
        "url": "https://example.org",
        "title": "t",
        "encrypted_content": encrypted,
    }
    return [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "server_tool_use",
                    "id": "s",
                    "name": "web_search",
                    "input": {},
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": [found],
                },
                {"type": "text", "text": "a"},
            ],
        },
        {"role": "user", "content": "z"},
    ]


WORDS = "word " * 4_000


@pytest.mark.parametrize(
    "block",
    [
        {"type": "new", "text": WORDS},
        {"type": "new", "inner": [{"deep": {"er": WORDS}}]},
        {"type": "document", "source": {"type": "text", "data": WORDS}},
        {
            "type": "x",
            "source": {"type": "text", "media_type": "text/plain", "data": WORDS},
        },
        {"type": "new", "data": WORDS},
        {"type": "new", "bytes": base64.b64encode(WORDS.encode()).decode()},
        {"type": "new", "encrypted_content": "E" * 22_000},
        {"type": "new", "results": [{"encrypted_content": "Q" * 22_000}]},
        {"url": "data:text/plain;base64," + base64.b64encode(WORDS.encode()).decode()},
    ],
    ids=lambda block: "-".join(map(str, block)) + str(len(str(block))),
)
def test_content_always_counts(block: dict[str, Any]) -> None:
    """Some 4,000 tokens, wherever in a vendor's block they stand."""
    assert 3_500 < cost(block) < 5_000


@pytest.mark.parametrize("key", ["signature", "thoughtSignature", "encrypted_index"])
def test_what_no_model_reads_costs_nothing(key: str) -> None:
    """Proofs of origin travel with the request and never reach the model."""
    assert cost({"type": "new", key: "QUJD" * 4_000}) < 30


def test_a_picture_costs_a_picture() -> None:
    """In whatever block it comes: by its kind, or by its first bytes."""
    data = base64.b64encode(png(512, 512) + bytes(300)).decode()
    known = cost({"type": "new", "media_type": "image/png", "data": data})

    assert cost({"type": "new", "image": {"data": data}}) == pytest.approx(known, abs=8)
    assert known < 1_000


def test_sound_counts_by_its_length() -> None:
    """Twice the sound, twice the tokens, under a host's own key."""
    short, long = ("QUFB" * n for n in (40_000, 80_000))

    one = cost({"type": "new", "audio": {"data": short}})
    two = cost({"type": "new", "audio": {"data": long}})

    assert 1.8 < (two - 10) / (one - 10) < 2.2


def test_a_search_counts_what_it_found() -> None:
    """Anthropic decrypts it into the context, now and on every later turn."""
    few, many = (
        turnkeep.count(claude_search("E" * n), model=CLAUDE, format="anthropic").total
        for n in (40, 40_000)
    )

    assert many - few == pytest.approx(39_960 / 5.33, rel=0.01)


@pytest.mark.parametrize(
    "field", ["reasoning_details", "thinking_blocks", "reasoning_content"]
)
def test_reasoning_counts_in_every_field(field: str) -> None:
    """Hosts send it back in fields of their own."""

    def total(words: int) -> int:
        text = "word " * words
        value: Any = text
        if field == "reasoning_details":
            value = [{"type": "reasoning.text", "text": text, "signature": "s" * 900}]
        elif field == "thinking_blocks":
            value = [{"type": "thinking", "thinking": text, "signature": "s" * 900}]
        chat = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "a", field: value},
            {"role": "user", "content": "z"},
        ]
        return turnkeep.count(chat, model="gpt-4o", format="openai").total

    assert 700 < total(800) - total(1) < 900


def test_reasoning_that_is_said_twice_counts_once() -> None:
    """Gateways repeat it as text and in parts; the model reads it once."""
    text = "word " * 800
    parts = [{"type": "reasoning.text", "text": text}]
    message = {"role": "assistant", "content": "a", "reasoning_content": text}

    once = turnkeep.count([message], model="deepseek-chat", format="deepseek").total
    twice = turnkeep.count(
        [{**message, "reasoning_details": parts}],
        model="deepseek-chat",
        format="deepseek",
    ).total

    assert twice < once + 30


def tool(nth: int, **more: Any) -> dict[str, Any]:
    """A definition of some fifty tokens."""
    schema = {"type": "object", "properties": {}}
    return {"name": f"t{nth}", "description": "w " * 40, "input_schema": schema, **more}


@pytest.mark.parametrize("wire", ["anthropic", "openai", "openai-responses"])
def test_deferred_tools_are_not_in_the_prompt(wire: str) -> None:
    """They cost nothing until a search finds them."""
    counter = request_counter(format=wire, model=None)
    search = {"type": "tool_search_tool_regex_20251119", "name": "search"}
    rest = [search, tool(0)]
    deferred = [tool(nth, defer_loading=True) for nth in range(30)]

    assert counter.tools([*rest, *deferred]) == counter.tools(rest)
    assert counter.tools([tool(1, defer_loading=False)]) == pytest.approx(
        counter.tools([tool(1)]), abs=8
    )


def test_deferred_functions_of_chat_completions() -> None:
    """Beside the function, or inside of it."""
    counter = request_counter(format="openai", model="gpt-5")
    function = {"name": "f", "description": "w " * 40, "parameters": {}}

    for deferred in (
        {"type": "function", "function": function, "defer_loading": True},
        {"type": "function", "function": {**function, "defer_loading": True}},
        {
            "type": "namespace",
            "name": "n",
            "tools": [{**function, "defer_loading": True}],
        },
    ):
        assert counter.tools([deferred]) < 40


@pytest.mark.parametrize("model", ["gpt-99", "o9-mini", "chatgpt-foo", "gpt-55-turbo"])
def test_an_unknown_model_is_never_exact(model: str) -> None:
    """The newest tokenizer is a good guess, and stays one."""
    found = turnkeep.count([{"role": "user", "content": "hi there"}], model=model)

    assert not found.exact
    assert found.margin >= 0.05
    known = turnkeep.count([{"role": "user", "content": "hi there"}], model="gpt-4o")
    assert found.total == known.total


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.2", "o3-pro", "ft:gpt-4o:acme"])
def test_a_public_tokenizer_is_exact(model: str) -> None:
    """Names that tiktoken knows, and what begins with them."""
    assert turnkeep.count([{"role": "user", "content": "hi"}], model=model).exact


ROUND = {"type": "message", "input_tokens": 100, "cache_read_input_tokens": 20}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 1}, 5),
        ({"input_tokens": 360, "output_tokens": 1, "iterations": [ROUND] * 3}, 120),
        (
            {"input_tokens": 9, "iterations": [{**ROUND, "type": "compaction"}, ROUND]},
            None,
        ),
        ({"input_tokens": 9, "iterations": []}, 9),
        (
            {"usage": {"input_tokens": 7}, "context_management": {"applied_edits": []}},
            7,
        ),
        (
            {
                "usage": {"input_tokens": 7},
                "context_management": {"applied_edits": [{"cleared_input_tokens": 9}]},
            },
            None,
        ),
        ({"usage": {"input_tokens": 7}, "previous_response_id": "resp_1"}, None),
        ({"usage": {"input_tokens": 7}, "previous_response_id": None}, 7),
        ({"usage": {"input_tokens": 7}, "conversation": {"id": "conv_1"}}, None),
        (
            {
                "usage": {"input_tokens": 7},
                "input_transformations": [{"id": "rs_1", "action": "removed"}],
            },
            None,
        ),
        ({"promptTokenCount": 40, "toolUsePromptTokenCount": 900}, 40),
    ],
)
def test_only_the_one_request_teaches(
    usage: dict[str, Any], expected: int | None
) -> None:
    """Never a sum over rounds, never what the provider changed by itself."""
    assert request_tokens(usage) == expected


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _JSON))
def test_counting_never_raises_and_text_never_vanishes(value: dict[str, Any]) -> None:
    """A short text costs what its JSON does, wherever it stands."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    assert cost({"v": value}) >= len(text) // 40


WORDS = "word " * 800


def _anthropic(source: Any, **beside: Any) -> tuple[str, Any]:
    block = {"type": "document", "source": source, **beside}
    return "anthropic", [{"role": "user", "content": [block]}]


def _bedrock(source: Any, **beside: Any) -> tuple[str, Any]:
    inner = {"format": "txt", "name": "d", "source": source, **beside}
    content = [{"document": inner}, {"text": "q"}]
    return "bedrock", [{"role": "user", "content": content}]


def _total(value: Any, form: str) -> int:
    return turnkeep.count(value, format=form).total


def _functions(said: str) -> tuple[str, Any]:
    function = {"name": "f", "description": said, "parameters": {"type": "object"}}
    message = {"role": "user", "content": "q"}
    return "openai", {"messages": [message], "functions": [function]}


SHORT = {"type": "text", "media_type": "text/plain", "data": "x"}
READ: dict[str, Callable[[str], tuple[str, Any]]] = {
    "content in blocks": lambda said: _anthropic(
        {"type": "content", "content": [{"type": "text", "text": said}]}
    ),
    "content as text": lambda said: _anthropic({"type": "content", "content": said}),
    "context": lambda said: _anthropic(SHORT, context=said),
    "title": lambda said: _anthropic(SHORT, title=said),
    "content of Bedrock": lambda said: _bedrock({"content": [{"text": said}]}),
    "context of Bedrock": lambda said: _bedrock({"text": "x"}, context=said),
    "functions": _functions,
}


@pytest.mark.parametrize("name", READ)
def test_what_the_model_reads_counts_by_its_text(name: str) -> None:
    """Wherever a document says it, and what tools were called once."""
    form, long = READ[name](WORDS)
    _, short = READ[name]("word")

    more = _total(long, form) - _total(short, form)

    assert 800 <= more < 1_400  # an estimate says somewhat more
