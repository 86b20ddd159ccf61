"""Tests for finding the format of a list or body by its shape."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generators import PNG, json_values
from tests.paths import needs_corpus, read_corpus
from turnkeep.errors import AmbiguousFormatError, FormatError
from turnkeep.formats import FORMATS, detect, format_of_model, get_format, match_format
from turnkeep.formats._detect import _VERDICTS as VERDICTS
from turnkeep.formats._detect import _judge as judge_sight
from turnkeep.formats._detect import _Sight as Sight
from turnkeep.model import Message

PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
FUNCTION = {"name": "f", "arguments": "{}"}
CALL = {"id": "c", "type": "function", "function": FUNCTION}


def assistant(**keys: Any) -> list[dict[str, Any]]:
    """A short list with an assistant message of *keys*."""
    return [PLAIN[0], {"role": "assistant", "content": "", **keys}]


def user(*parts: Any) -> list[dict[str, Any]]:
    """A list with a user message of content parts."""
    return [{"role": "user", "content": list(parts)}]


SHAPES = [
    ("openai", assistant(tool_calls=[CALL])),
    ("openai", [*PLAIN, {"role": "developer", "content": "x"}]),
    ("openai", assistant(content=None, function_call=FUNCTION)),
    ("openai", user({"type": "image_url", "image_url": {"url": "https://e.org"}})),
    ("openai", user({"type": "file", "file": {"file_id": "f"}})),
    ("openai", assistant(reasoning="hm")),
    ("openai", {"messages": assistant(tool_calls=[CALL]), "model": "gpt-4o"}),
    (
        "openai",
        assistant(
            tool_calls=[{"type": "custom", "custom": {"name": "f", "input": ""}}]
        ),
    ),
    ("deepseek", assistant(reasoning_content="hm")),
    ("deepseek", [{"role": "latest_reminder", "content": "x"}]),
    ("mistral", user({"type": "document_url", "document_url": "https://e.org"})),
    ("mistral", user({"type": "image_url", "image_url": "https://e.org"})),
    ("mistral", assistant(content=[{"type": "thinking", "thinking": []}])),
    ("ollama", [{"role": "user", "content": "see", "images": [PNG]}]),
    ("ollama", [{"role": "tool", "content": "x", "tool_name": "f"}]),
    ("ollama", assistant(thinking="hm")),
    ("ollama", assistant(tool_calls=[{"function": {"name": "f", "arguments": {}}}])),
    ("openai-responses", user({"type": "input_text", "text": "hi"})),
    ("openai-responses", [{"type": "item_reference", "id": "x"}]),
    ("openai-responses", [{"type": "message", "role": "user", "content": "hi"}]),
    ("openai-responses", {"input": "hi"}),
    ("openai-responses", {"input": PLAIN, "model": "claude"}),
    ("messages", [Message.user("hi")]),
]


@pytest.mark.parametrize(("name", "value"), SHAPES)
def test_marks_decide(name: str, value: Any) -> None:
    """What only one format has decides, and the reason says where it stands."""
    found = detect(value)

    assert found.format == name
    assert name in found.candidates
    assert found.reason


def test_shows_the_mark_and_its_place() -> None:
    """For people who wonder."""
    found = detect(assistant(reasoning_content="hm"))

    assert found.reason == "reasoning_content @ $[1]"
    assert found.candidates == ("deepseek",)
    body = detect({"messages": assistant(thinking="hm")})
    assert body.reason == "thinking @ $.messages[1]"


def test_a_late_mark_is_found() -> None:
    """Of a long list the beginning and the end are looked at."""
    value = [*PLAIN * 500, {"role": "tool", "content": "x", "tool_name": "f"}]

    assert detect(value).format == "ollama"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, "openai"),
        ("gpt-4o", "openai"),
        ("claude-opus-4-8", "anthropic"),
        ("openrouter/mistralai/mistral-large", "mistral"),
        ("deepseek-reasoner", "deepseek"),
        ("gemini-3-pro", "openai"),
        ("us.anthropic.claude-opus-4", "openai"),
    ],
)
def test_plain_lists_follow_the_model(model: str | None, name: str) -> None:
    """All candidates return the same JSON: the model's format, if it is among them."""
    found = detect(PLAIN, model=model)

    assert found.format == name
    assert {"openai", "anthropic", "mistral", "deepseek"} <= set(found.candidates)
    assert detect({"messages": PLAIN, "model": model}).format == name


def test_says_why_a_plain_list_has_its_format() -> None:
    """The model, where it decided; else that it is the default."""
    assert "the model speaks anthropic" in detect(PLAIN, model="claude-5").reason
    assert "the model speaks openai" in detect(PLAIN, model="gpt-4o").reason
    assert "openai is the default" in detect(PLAIN).reason
    assert "openai is the default" in detect(PLAIN, model="gemini-3").reason


@pytest.mark.parametrize("value", [[], {"messages": []}])
def test_nothing_is_the_same_in_every_format(value: Any) -> None:
    """There is nothing to be wrong about."""
    assert detect(value).format == "openai"
    assert detect(value, model="claude-haiku-4-5").format == "anthropic"


def test_formats_that_would_differ_are_listed() -> None:
    """The same keys, but what we would write back differs: the caller must say."""
    calls = [{"id": "c", "function": {"name": "f", "arguments": {}}}]
    with pytest.raises(AmbiguousFormatError) as caught:
        detect(assistant(tool_calls=calls))

    assert caught.value.candidates == ("mistral", "ollama")
    assert "pass format=" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "got NoneType"),
        ("hello", "got text"),
        ({}, "got dict"),
        ({"prompt": "x"}, "an object with the keys prompt"),
        ([1], "its first entry is int"),
        ([{"role": "wizard"}], "its first entry is dict with the keys role"),
    ],
)
def test_says_what_fits_no_format(value: Any, words: str) -> None:
    """With the keys that were there."""
    with pytest.raises(FormatError, match=words):
        detect(value)


@pytest.mark.parametrize(
    ("value", "words", "path"),
    [
        ({"messages": [{"role": "robot"}]}, "openai says: role 'robot'", "[0]"),
        ([PLAIN[0], {"role": "robot"}], "openai says: role 'robot'", "[1]"),
        (
            {"model": "claude-5", "messages": [{"role": "user"}]},
            "keys model, messages; anthropic says: content is neither",
            "[0]",
        ),
        ({"prompt": "x"}, "with the keys prompt; name the format", "$"),
    ],
)
def test_says_which_entry_is_at_fault(value: Any, words: str, path: str) -> None:
    """In the eyes of the format that the model speaks; the way to hear more is said."""
    with pytest.raises(FormatError, match=words) as caught:
        detect(value)

    assert caught.value.path.endswith(path)
    assert caught.value.reason.endswith("; name the format with format= to hear why")


@given(value=json_values | st.lists(json_values))
def test_any_value_has_a_format_or_is_refused(value: Any) -> None:
    """Nothing but a detection or a format error."""
    try:
        found = detect(value)
    except FormatError:
        return
    assert found.format in FORMATS


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "gemini", "bedrock"])
def test_recorded_bodies_are_recognised(name: str) -> None:
    """Every one, from its shape."""
    for record in read_corpus(name):
        assert detect(record["body"]).format == name, record["name"]


@pytest.mark.corpus
@needs_corpus
def test_recorded_chats_are_recognised() -> None:
    """Those of OpenAI's neighbours among them too; none is ambiguous."""
    found = [detect(record["body"]).format for record in read_corpus("openai")]

    assert found.count("openai") > 0.98 * len(found)
    assert set(found) <= {"openai", "mistral", "deepseek", "anthropic"}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Magistral-Medium", "mistral"),
        ("codestral-latest", "mistral"),
        ("anthropic.claude-v2", "bedrock"),
        ("eu.anthropic.claude-sonnet-4-5", "bedrock"),
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("qwen3", "openai"),
        ("", "openai"),
    ],
)
def test_models_have_a_format(model: str, name: str) -> None:
    """By the first letters of their names, vendor prefixes aside."""
    assert format_of_model(model) == name


def test_unknown_formats_are_named() -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match=r"no format 'opanai'; there are openai, "):
        get_format("opanai")


def test_formats_load_one_by_one() -> None:
    """Asking for one loads no other provider's module."""
    script = (
        "import sys; from turnkeep.formats import get_format; get_format('ollama'); "
        "words = 'gemini', 'orion', 'cattrs'; "
        "print([m for m in sys.modules if any(word in m for word in words)])"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_what_no_candidate_can_read_is_left_to_the_decoder() -> None:
    """Its error names the place; a question about formats would not help."""
    value = user({"type": "text"})
    name = detect(value).format

    with pytest.raises(FormatError) as caught:
        get_format(name).decode(value[0], "$[0]")
    assert caught.value.path == "$[0].content[0].text"


def test_ids_of_the_caller_do_not_matter() -> None:
    """Each format keeps them; some as a field, some as a key."""
    assert detect([{"id": "m1", **PLAIN[0]}]).format == "openai"


STRANGE = [
    ("openai", assistant(tool_calls=["f"])),
    ("openai", assistant(tool_calls=[{"id": "x"}])),
    ("mistral", [{"role": "user", "content": ["hi"]}]),
    ("mistral", assistant(tool_calls=["f", CALL])),
    ("mistral", assistant(tool_calls=[{"type": "custom", "custom": {}}, CALL])),
    ("ollama", assistant(tool_calls=["f"])),
    ("ollama", assistant(content=[])),
    ("ollama", [{"role": "user"}]),
    ("openai-responses", [{"role": "user", "content": "x", "tool_calls": [CALL]}]),
]


@pytest.mark.parametrize(("name", "value"), STRANGE)
def test_what_cannot_be_is_ruled_out(name: str, value: Any) -> None:
    """With the place of what speaks against it."""
    match = match_format(value, name)

    assert match.score == 0
    assert match.reason.endswith(("@ $[0]", "@ $[1]"))


def test_weak_marks_decide_nothing() -> None:
    """Newer servers of Ollama know ids too."""
    with_ids = [{"id": "c", "function": {"name": "f", "arguments": {}}}]

    assert match_format(assistant(tool_calls=with_ids), "ollama").score == 2
    result = {"role": "tool", "content": "x", "tool_call_id": "c"}
    assert match_format([result], "ollama").score == 1
    assert match_format(assistant(tool_calls=with_ids), "mistral").score == 2


HOST_KEYS: list[dict[str, Any]] = [
    {"timestamp": "2026-01-01T00:00:00Z"},
    {"timestamp": 1_700_000_000_000, "id": "m1"},
    {"pinned": True},
    {"token_count": 3},
    {"kind": "note"},
    {"metadata": {"a": 1}},
    {"priority": 2},
    {"created_at": 1.5, "meta": {}},
    {"id": "m1", "extra": {}},
]


@pytest.mark.parametrize("keys", HOST_KEYS, ids="+".join)
@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-4-8"])
def test_a_hosts_own_keys_mean_nothing(keys: dict[str, Any], model: str) -> None:
    """Whether all messages have them or one: it is the format that it is without."""
    for value in (
        [PLAIN[0], {**PLAIN[1], **keys}],
        [{**entry, **keys, "id": f"m{n}"} for n, entry in enumerate(PLAIN * 20)],
    ):
        assert detect(value, model=model).format == format_of_model(model)


def text(**more: Any) -> dict[str, Any]:
    """A part of text."""
    return {"type": "text", "text": "hi", **more}


ADDITION = {"type": "tool_addition", "tool": {"name": "g"}}
CACHED = text(cache_control={"type": "ephemeral"})

FOUND = [
    ("anthropic", user(CACHED)),
    ("anthropic", [*user(CACHED), {"role": "system", "content": [CACHED]}]),
    ("openai", [{"role": "system", "content": "s"}, *user(CACHED)]),
    ("openai", [*user(CACHED), *assistant(tool_calls=[CALL])[1:]]),
    ("anthropic", assistant(content=[{"type": "compaction", "content": "S"}])),
    ("anthropic", assistant(content=[text(citations=[])])),
    ("anthropic", user({"type": "search_result", "source": "s", "title": "t"})),
    ("anthropic", assistant(content=[{"type": "web_fetch_tool_result"}])),
    ("anthropic", [*user(text()), {"role": "system", "content": [ADDITION]}]),
    ("anthropic", user({"type": "new-block", "x": 1}, {"type": "document"})),
    (
        "ollama",
        assistant(content=None, tool_calls=[{"function": {"arguments": {}}}]),
    ),
    ("ollama", assistant(content=None, thinking="hm")),
    ("openai-responses", [{"type": "new_item", "x": 1}, PLAIN[0]]),
    ("openai-responses", {"input": [{"type": "new_item", "x": 1}]}),
    ("openai-responses", [{"type": "message", "role": "user", "content": "hi"}] * 2),
    ("gemini", [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model"}]),
    ("gemini", [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"new": 1}]}]),
]


@pytest.mark.parametrize(("name", "value"), FOUND)
def test_what_is_new_is_carried_beside_what_is_known(name: str, value: Any) -> None:
    """Marks decide; unknown items and parts claim nothing and forbid nothing."""
    assert detect(value).format == name


def test_what_nobody_knows_is_nobodys() -> None:
    """Unknown items alone claim nothing."""
    for value in ([{"type": "new_item"}], [{"role": "model", "parts": [{"new": 1}]}]):
        with pytest.raises(FormatError, match="no format fits"):
            detect(value)


LIBRARIES: list[tuple[str, list[Any]]] = [
    ("the AI SDK", assistant(content=[{"type": "tool-call", "toolCallId": "c"}])),
    ("the AI SDK", assistant(content=[text(providerOptions={})])),
    ("the AI SDK", [{"id": "1", "role": "user", "parts": [text()]}]),
    ("the AI SDK", [{"id": "1", "role": "assistant", "parts": [{"type": "tool-f"}]}]),
    ("the AI SDK", assistant(toolInvocations=[])),
    ("Haystack", [{"role": "user", "meta": {}, "name": "", "content": [{"text": ""}]}]),
    ("Haystack", [{"role": "assistant", "content": [{"tool_call": {}}]}]),
    ("Haystack", [{"_role": "user", "_content": [{"text": "x"}]}]),
    ("LlamaIndex", [{"role": "user", "blocks": [{"block_type": "text"}]}]),
    ("LlamaIndex", [{"role": "user", "blocks": [], "additional_kwargs": {}}]),
    ("AutoGen", [{"type": "UserMessage", "content": "x", "source": "user"}]),
    ("AutoGen", [{"type": "SystemMessage", "content": "x"}]),
    ("AutoGen", [{"type": "FunctionExecutionResultMessage", "content": []}]),
    ("AutoGen", [{"type": "TextMessage", "content": "x", "source": "a"}]),
    ("smolagents", [{"role": "tool-response", "content": [text()]}]),
    ("smolagents", [{"step_number": 1, "tool_calls": []}]),
    ("the Microsoft Agent Framework", [{"type": "chat_message", "role": "user"}]),
    (
        "the Microsoft Agent Framework",
        [{"type": "message", "role": "user", "contents": []}],
    ),
    (
        "Semantic Kernel",
        [{"role": "user", "content_type": "message", "items": []}],
    ),
    ("Inspect", [{"role": "tool", "content": "x", "function": "f", "source": "g"}]),
    ("Roo Code", [{"role": "user", "content": "x", "condenseParent": "c"}]),
    ("Roo Code", [{"role": "user", "content": "x", "truncationId": "t"}]),
]


@pytest.mark.parametrize(("library", "value"), LIBRARIES)
def test_another_librarys_messages_are_refused_by_name(
    library: str, value: Any
) -> None:
    """In one sentence with the place, alone, in a body, or behind plain messages."""
    theirs = value[-1:]
    for whole, place in (
        (theirs, "$[0]"),
        ({"messages": theirs}, "$.messages[0]"),
        ([*PLAIN, *theirs], "$[2]"),
    ):
        with pytest.raises(FormatError) as caught:
            detect(whole, model="gpt-4o")
        assert f"a message of {library}" in caught.value.reason
        assert "format=" in caught.value.reason
        assert caught.value.path == place


OTHER_FILES: list[tuple[str, Any]] = [
    ("Inspect", {"epoch": 1, "input": "hi", "target": "", "messages": PLAIN}),
    ("Inspect", {"eval": {}, "samples": []}),
    ("Continue", {"history": [], "workspaceDirectory": ""}),
    ("Open WebUI", [{"id": "c", "user_id": "u", "chat": {}}]),
    ("Zed", {"messages": [{"User": {}}], "detailed_summary": None}),
    (
        "Cline",
        {
            "version": 1,
            "updated_at": "",
            "agent": "lead",
            "sessionId": "s",
            "messages": PLAIN,
        },
    ),
    ("LangSmith", {"run_type": "llm", "dotted_order": "", "inputs": {}}),
    ("LangGraph", {"values": {"messages": []}, "checkpoint": {}}),
    ("Langfuse", {"id": "t", "observations": [], "input": []}),
    ("Strands", {"message": PLAIN[0], "message_id": 0, "redact_message": None}),
]


@pytest.mark.parametrize(("program", "value"), OTHER_FILES)
def test_another_programs_file_is_refused_by_name(program: str, value: Any) -> None:
    """Not read as the one of our formats that its keys look a little like."""
    with pytest.raises(FormatError) as caught:
        detect(value)

    assert f"a file of {program} (the keys" in caught.value.reason
    assert caught.value.path == ("$[0]" if isinstance(value, list) else "$")


LANGCHAIN: list[dict[str, Any]] = [
    {"type": "human", "content": "hi"},
    {"type": "ai", "data": {"content": "hi"}},
    {"type": "tool", "content": "x", "additional_kwargs": {}},
    {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": {}},
]


PYDANTIC_AI = {"kind": "request", "parts": [{"part_kind": "user-prompt"}]}


@pytest.mark.parametrize(
    ("name", "entry"),
    [*(("langchain", entry) for entry in LANGCHAIN), ("pydantic-ai", PYDANTIC_AI)],
)
def test_messages_of_frameworks_are_read(name: str, entry: dict[str, Any]) -> None:
    """In a list or a state; beside another format's messages they are refused."""
    assert detect([entry]).format == name
    assert detect({"messages": [entry]}, model="gpt-4o").format == name
    with pytest.raises(FormatError):
        detect([*PLAIN, entry], model="gpt-4o")


READ: list[tuple[str, str, dict[str, Any]]] = [
    (
        "OpenTelemetry",
        "otel-genai",
        {"role": "user", "parts": [{"type": "text", "content": ""}]},
    ),
    ("Google ADK", "adk", {"author": "user", "invocationId": "e", "content": {}}),
    ("Codex", "codex", {"type": "response_item", "timestamp": "", "payload": {}}),
    (
        "goose",
        "goose",
        {"role": "user", "content": [{"type": "toolResponse", "id": "c"}]},
    ),
]


@pytest.mark.parametrize(("library", "name", "entry"), READ)
def test_a_programs_log_is_known_alone_and_refused_in_a_body(
    library: str, name: str, entry: dict[str, Any]
) -> None:
    """No program keeps its log in the place of a request's messages."""
    assert detect([entry]).format == name
    assert detect([*PLAIN, entry], model="gpt-4o").format == name
    with pytest.raises(FormatError) as caught:
        detect({"messages": [entry]})
    assert f"a message of {library}" in caught.value.reason
    assert repr(name) in caught.value.reason
    assert caught.value.path == "$.messages[0]"


def test_objects_of_another_library_are_named_by_their_package() -> None:
    """They have no keys to go by."""
    made = type("ModelRequest", (), {"__module__": "pydantic_ai.messages"})()

    with pytest.raises(FormatError, match=r"Pydantic AI \(a ModelRequest object\)"):
        detect([made])


def judged(model: str | None, sight: Sight) -> Any:
    """The verdict, or what the error says."""
    usual = format_of_model(model)
    try:
        verdict = judge_sight(sight, usual, has_model=bool(model))
    except FormatError as error:
        return type(error), str(error)
    return verdict.on(sight)


def whole_sight(value: Any) -> Sight:
    """A look at a value that sees every entry, not one of each kind."""
    sight = Sight.of(value)
    every = {
        key: {nth: nth for nth in range(len(entries))}
        for key, entries in sight.lists.items()
    }
    return Sight(value, sight.lists, every)


INPUTS = "gen_ai.input.messages"
SPANS: list[dict[str, Any]] = [
    {"attributes": {INPUTS: "[]"}},
    {"attributes": {"other": "[]"}},
    {"attributes": [{"key": "other"}, {"key": INPUTS, "value": {}}]},
    {"attributes": [{"key": "other", "value": {}}]},
    {"working_dir": "/", "id": "s"},
    {"sessionId": "s", "projectHash": "p"},
    {"mapping": {}, "current_node": "n"},
    {"chat_messages": []},
    {"custom_id": "r", "body": {}},
]
"""Entries of logs that are known by what stands deeper in them, or by few keys."""

PIECES: list[Any] = [
    *(value for _, value in SHAPES if isinstance(value, list)),
    *(value for _, value in FOUND if isinstance(value, list)),
    *(value for _, value in LIBRARIES),
    *([entry] for _, _, entry in READ),
    *([span] for span in SPANS),
    *([{**PLAIN[0], **keys}] for keys in HOST_KEYS),
]
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, 1.5, "", "x", [], {}, "user", "text", [{}], [None], [""]]
)


@st.composite
def broken_lists(draw: st.DrawFn) -> list[Any]:
    """Entries of all formats and libraries, keys of some cut, added or changed."""
    pieces = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
    entries = copy.deepcopy([entry for piece in pieces for entry in piece])
    for _ in range(draw(st.integers(0, 4))):
        at: Any = draw(st.sampled_from(entries))
        for _ in range(draw(st.integers(0, 3))):
            inner = [v for v in _inside(at) if isinstance(v, (dict, list)) and v]
            if inner:
                at = draw(st.sampled_from(inner))
        if isinstance(at, dict):
            key = draw(st.sampled_from([*at, "role", "type", "content", "id", "parts"]))
            if draw(st.booleans()):
                at[key] = copy.deepcopy(draw(JUNK))
            else:
                at.pop(key, None)
        elif isinstance(at, list):
            at.append(copy.deepcopy(draw(JUNK)))
    return entries


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


@settings(max_examples=400)
@given(value=broken_lists(), model=st.sampled_from([None, "gpt-4o", "claude-5", "x"]))
def test_one_of_each_kind_says_what_all_would_say(value: Any, model: Any) -> None:
    """Judging one entry of each skeleton never differs from judging every entry."""
    for whole in (value, {"messages": value, "system": "s"}, {"input": value}):
        by_kind = judged(model, Sight.of(whole))
        assert by_kind == judged(model, whole_sight(whole))


@given(value=broken_lists(), model=st.sampled_from([None, "gpt-4o", "claude-5"]))
def test_what_is_remembered_is_what_would_be_decided(value: Any, model: Any) -> None:
    """A verdict kept for a shape is the verdict on every value of that shape."""
    try:
        first = detect(value, model=model)
    except FormatError:
        return
    again = detect(copy.deepcopy(value) + copy.deepcopy(value), model=model)

    assert first == judged(model, whole_sight(value))
    assert again.format == first.format


def test_remembers_a_bounded_number_of_verdicts() -> None:
    """Shapes are anybody's: the oldest go."""
    for nth in range(300):
        detect([{**PLAIN[0], f"key-{nth}": 1}])

    assert len(VERDICTS) <= 256


def test_judges_one_entry_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the list; and none when a list of the same shape was judged."""
    seen: list[Any] = []
    judge = get_format("gemini").marks.judge

    def noted(entry: Any) -> tuple[int, str]:
        seen.append(entry)
        return judge(entry)

    marks = attrs.evolve(get_format("gemini").marks, judge=noted)
    monkeypatch.setattr(type(get_format("gemini")), "marks", marks)
    entries = [
        {"role": role, "parts": [{"text": "x"}], "once": n}
        for n, role in enumerate(["user", "model"] * 100)
    ]

    detect(entries)
    detect([*entries, entries[0]])

    assert seen == entries[:2]
