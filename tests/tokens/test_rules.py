import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tokens import pictures
from tests.tokens.pictures import encode
from tests.tokens.test_tools import CHAT
from turnkeep.model import (
    INTERIM,
    PENDING,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    freeze,
    mark,
)
from turnkeep.tokens import (
    CallableCounter,
    Parts,
    RequestCounter,
    request_counter,
    text_counter,
)

FORMATS = (
    "openai",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "deepseek",
    "ollama",
    "turnkeep",
    "unheard-of",
)
MODELS = (None, "gpt-4o", "gpt-5-mini", "claude-opus-4-8", "gemini-3-pro", "my-model")

# https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken, section 6
JARGON = (
    (
        "system",
        None,
        (
            "You are a helpful, pattern-following assistant that translates corporate "
            "jargon into plain English."
        ),
    ),
    ("system", "example_user", "New synergies will help drive top-line growth."),
    (
        "system",
        "example_assistant",
        "Things working well together will increase revenue.",
    ),
    (
        "system",
        "example_user",
        (
            "Let's circle back when we have more bandwidth to touch base on "
            "opportunities for increased leverage."
        ),
    ),
    (
        "system",
        "example_assistant",
        "Let's talk later when we're less busy about how to do better.",
    ),
    (
        "user",
        None,
        (
            "This late pivot means we don't have time to boil the ocean for the client "
            "deliverable."
        ),
    ),
)
WEATHER = (
    (
        "system",
        None,
        "You are a helpful assistant that can answer to questions about the weather.",
    ),
    ("user", None, "What's the weather like in San Francisco?"),
)


def build(rows: tuple[tuple[str, str | None, str], ...]) -> list[Message]:
    return [Message(r, t, extra={"name": n} if n else {}) for r, n, t in rows]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-3.5-turbo", 129),
        ("gpt-4-0613", 129),
        ("gpt-4", 129),
        ("gpt-4o", 124),
        ("gpt-4o-mini", 124),
    ],
)
def test_the_published_messages(model: str, tokens: int) -> None:
    """As many tokens as the cookbook prints, and the API answered there."""
    counter = request_counter(model=model)

    total = sum(map(counter.message, build(JARGON))) + counter.request()

    assert total == tokens


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-3.5-turbo", 105), ("gpt-4", 105), ("gpt-4o", 101), ("gpt-4o-mini", 101)],
)
def test_the_published_tools(model: str, tokens: int) -> None:
    """The same for its section 7, whose formula reproduces the usage reported."""
    counter = request_counter(model=model)

    total = sum(map(counter.message, build(WEATHER))) + counter.request()

    assert total + counter.tools([CHAT]) == tokens


def content() -> st.SearchStrategy[Any]:
    texts = st.text(max_size=20)
    plain = st.one_of(
        st.builds(Text, texts),
        st.builds(Json, st.dictionaries(texts, st.integers(), max_size=2)),
        st.builds(Image, st.just(encode(pictures.png(800, 600)))),
        st.builds(Document, text=texts, title=st.none() | texts),
        st.builds(Opaque, st.just({"type": "new", "data": "A" * 50})),
    )
    results = st.builds(
        ToolResult,
        st.none() | texts,
        st.lists(plain, max_size=2),
        pending=st.booleans(),
        tool_name=st.none() | texts,
    )
    calls = st.builds(ToolCall, st.none() | texts, texts, texts)
    thoughts = st.builds(Thinking, texts, data=st.none() | st.just("QUJD" * 30))
    return st.lists(st.one_of(plain, results, calls, thoughts), max_size=4)


@given(
    blocks=content(),
    role=st.sampled_from(Role),
    name=st.none() | st.just("Ann"),
    wire=st.sampled_from(FORMATS),
    model=st.sampled_from(MODELS),
)
def test_parts_always_add_up(
    blocks: list[Any], role: Role, name: str | None, wire: str, model: str | None
) -> None:
    """`message` and `parts` are one count, for every rule and every content."""
    counter = request_counter(format=wire, model=model)
    message = Message(role, blocks, extra={"name": name} if name else {})

    parts = counter.parts(message)

    assert counter.message(message) == parts.total
    assert min(parts.total, parts.text, parts.results, parts.overhead) >= 0


@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("model", MODELS)
def test_every_counter_says_what_it_does(wire: str, model: str | None) -> None:
    counter = request_counter(format=wire, model=model)

    assert isinstance(counter, RequestCounter)
    assert counter.exact == (counter.margin == 0.0)
    assert counter.name in repr(counter)
    assert len(counter.rule) > 30
    assert counter.request() >= 1
    assert counter.request(has_tools=True) >= counter.request()


def test_what_the_host_counted_is_trusted() -> None:
    """Its figure includes all overhead: nothing is added, nothing is counted."""
    counter = request_counter(text=CallableCounter(_refuse))
    message = Message.user("text", token_count=7)

    assert counter.message(message) == 7
    assert counter.parts(message) == Parts(text=7)


def _refuse(text: str) -> int:
    raise AssertionError(text)


def test_what_is_only_shown_costs_nothing() -> None:
    counter = request_counter(text=CallableCounter(_refuse))
    message = Message.assistant("done in 3 s", kind="run_summary", token_count=5)

    assert counter.message(message) == 0
    assert counter.parts(message) == Parts()


def test_other_kinds_are_counted() -> None:
    assert request_counter().message(Message.user("x", kind="summary")) == 5


def words(wire: str = "openai", model: str | None = "gpt-4o") -> RequestCounter:
    """Counts words instead of tokens, so that figures can be checked by eye."""
    text = CallableCounter(lambda text: len(text.split()), name="words")
    return request_counter(format=wire, model=model, text=text)


def test_calls_names_and_ids_are_text() -> None:
    call = ToolCall("call one", "get weather", '{"city": "Rome", "days": 3}')

    parts = words().parts(Message.assistant("on it", tool_calls=[call]))

    assert parts == Parts(text=2, calls=2 + 2 + 4 + 1, overhead=3 + 1)


def test_each_result_is_a_message_of_its_own() -> None:
    """On OpenAI's wire; the text beside them, too."""
    results = [ToolResult("a b", "one two three"), ToolResult("c", [Json({"x": 1})])]

    parts = words().parts(Message(Role.USER, [*results, Text("and now")]))

    assert parts == Parts(text=2, results=2 + 3 + 1 + 1, overhead=3 * (3 + 1))


def test_results_of_anthropic_share_a_message() -> None:
    results = [ToolResult("a", "one"), ToolResult("b", "two")]

    parts = words("anthropic", "claude-opus-4-8").parts(Message(Role.USER, results))

    assert parts == Parts(results=2 * (1 + 1 + 6), overhead=4)


def test_a_name_costs_one_more() -> None:
    named = Message.user("hi", extra={"name": "Ann Lee"})

    assert words().parts(named).overhead == 3 + 1 + 2 + 1
    assert words("anthropic").parts(named).overhead == 4
    assert words("deepseek").parts(named).overhead == 3 + 2
    assert words().parts(Message.user("hi", extra={"name": 3})).overhead == 4


def test_a_result_names_its_tool() -> None:
    with_name = Message.tool_result("a", "one", tool_name="get weather")

    assert words().parts(with_name).results == 1 + 1 + 2 + 1


@pytest.mark.parametrize("flag", ["pending", "interim"])
def test_the_line_that_marks_a_result_is_counted(flag: str) -> None:
    """It is on the wire, although no text block holds it."""
    plain = ToolResult("a", "still open")
    marked = ToolResult("a", "still open", **{flag: True})  # type: ignore[arg-type]
    counter = request_counter()

    more = counter.message(Message(Role.TOOL_RESULT, marked)) - counter.message(
        Message(Role.TOOL_RESULT, plain)
    )

    assert more == text_counter().count(
        mark(PENDING if flag == "pending" else INTERIM, "still open").split("still")[0]
    )


def test_pictures_in_results_are_pictures() -> None:
    result = ToolResult(
        "a", [Text("see"), Image(encode(pictures.png(512, 512))), Opaque({"x": "y"})]
    )

    parts = words().parts(Message(Role.TOOL_RESULT, result))

    assert (parts.results, parts.images, parts.other) == (2, 255, 1)


def test_documents_in_results_are_documents() -> None:
    result = ToolResult("a", [Document(text="one two", title="three")])

    assert words().parts(Message(Role.TOOL_RESULT, result)).documents == 3


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o", 765),
        ("gpt-5-mini", 1659),
        ("claude-sonnet-4-5", 1369),
        ("gemini-2.5-pro", 1032),
        ("gemini-3-pro", 1120),
        ("mistral-small-latest", 1406),
        ("qwen3-vl", 1026),
        ("llama3.2-vision", 765),
        ("my-model", 765),
    ],
)
@pytest.mark.parametrize(
    "image",
    [
        Image(encode(pictures.jpeg(1024, 1024)), "image/jpeg"),
        Image(url=f"data:image/png;base64,{encode(pictures.png(1024, 1024))}"),
        # The stated default for what is not in the request.
        Image(url="https://example.com/cat.png"),
        Image(file_id="file-1"),
        Image("bm90IGFuIGltYWdl", "image/heic"),
    ],
)
def test_pictures_by_the_model(model: str, tokens: int, image: Image) -> None:
    """Whatever the format: the model looks at them."""
    for wire in ("openai", "turnkeep"):
        counter = request_counter(format=wire, model=model)
        assert counter.parts(Message(Role.USER, image)).images == tokens


@pytest.mark.parametrize(
    ("image", "tokens"),
    [
        (Image(detail="low"), 85),
        (Image(detail="high"), 765),
        (
            Image(extra=freeze({"mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}})),
            765,
        ),
    ],
)
def test_detail_of_pictures(image: Image, tokens: int) -> None:
    assert words().parts(Message(Role.USER, image)).images == tokens


@pytest.mark.parametrize(
    "extra",
    [
        {"mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}},
        {"media_resolution": "MEDIA_RESOLUTION_LOW"},
    ],
)
def test_resolution_of_pictures_for_gemini(extra: Any) -> None:
    counter = request_counter(format="gemini", model="gemini-3-pro")

    assert counter.parts(Message(Role.USER, Image(extra=extra))).images == 280


def test_a_model_of_other_pictures_has_another_name() -> None:
    """A count is only good for the counter that took it."""
    assert request_counter(model="gpt-4o").name == "o200k_base/openai"
    assert request_counter(model="gpt-4.1").name == "o200k_base/openai"
    assert request_counter(model="gpt-5-mini").name != "o200k_base/openai"


PDF = encode(pictures.pdf(3))


@pytest.mark.parametrize(
    ("model", "block", "tokens"),
    [
        ("gpt-4o", Document(PDF, "application/pdf"), 3 * (500 + 765)),
        ("claude-sonnet-4-5", Document(PDF, "application/pdf"), 3 * (2250 + 1540)),
        ("gemini-2.5-pro", Document(PDF, "application/pdf"), 3 * 258),
        ("gemini-3-pro", Document(PDF), 3 * 560),
        # Not in the request, or not readable: five pages.
        ("gemini-2.5-pro", Document(url="https://example.com/a.pdf"), 5 * 258),
        ("gemini-2.5-pro", Document(encode(b"%PDF"), "application/pdf"), 5 * 258),
        ("gemini-2.5-pro", Document("QUJD", "application/pdf"), 5 * 258),
        ("gemini-2.5-pro", Document(encode(b"PK\x03\x04\x00" * 9)), 5 * 258),
        ("gemini-2.5-pro", Document(""), 5 * 258),
        # Text is text, also in base64.
        ("gpt-4o", Document(encode(b"one two three"), "text/plain"), 3),
        ("gpt-4o", Document(text="one two three", title="four"), 4),
        # Pictures and sound that come as files.
        ("gpt-4o", Document(encode(pictures.png(512, 512)), "image/png"), 255),
        ("gemini-2.5-pro", Document(encode(pictures.wav(2)), "audio/wav"), 65),
        ("gemini-2.5-pro", Document(url="gs://a.mp3", media_type="audio/mp3"), 1920),
        ("gemini-2.5-pro", Document(url="gs://a.mp4", media_type="video/mp4"), 15_780),
    ],
)
def test_documents(model: str, block: Document, tokens: int) -> None:
    assert words(model=model).parts(Message(Role.USER, block)).documents == tokens


def test_sound_of_chat_messages() -> None:
    """Ten tokens a second, as commonly measured; never as text."""
    data = encode(pictures.wav(3))
    sound = Opaque({"type": "input_audio", "input_audio": {"data": data}})
    silent = Opaque({"type": "input_audio", "input_audio": {"id": "audio_1"}})

    assert words().parts(Message(Role.USER, sound)).documents == 31
    assert words().parts(Message(Role.USER, silent)).documents == 600


BIG = base64.b64encode(bytes(range(256)) * 400).decode()


@pytest.mark.parametrize(
    "block",
    [
        Image(BIG, "image/png"),
        Document(BIG, "application/octet-stream"),
        Opaque({"type": "new", "source": {"data": BIG}}),
        Opaque({"type": "new", "url": f"data:image/png;base64,{BIG}"}),
        Opaque({"type": "new", "blobs": [BIG, [BIG]]}),
        Thinking("hm", signature=BIG),
        ToolResult("a", [Image(BIG)]),
    ],
)
@pytest.mark.parametrize("wire", FORMATS)
def test_base64_is_never_text(block: Any, wire: str) -> None:
    """136,000 characters of base64 would be 90,000 tokens of text."""
    counter = request_counter(format=wire, model="gpt-4o")

    # Two files of unknown kind: each as a document that nobody can see.
    assert counter.message(Message(Role.USER, block)) < 14_000


def test_what_nobody_knows_is_counted_as_json() -> None:
    parts = request_counter().parts(
        Message(Role.USER, Opaque({"type": "poll", "question": "Tea or coffee?"}))
    )

    assert parts.other == text_counter().count(
        '{"type":"poll","question":"Tea or coffee?"}'
    )


def test_sealed_reasoning_is_estimated_from_its_size() -> None:
    """Four bytes a token; the summary beside it is not sent as well."""
    counter = request_counter(format="openai-responses", model="gpt-5")
    sealed = Message.assistant([Thinking("short", data="A" * 5330)])

    assert counter.parts(sealed).reasoning == 1000
    assert counter.parts(Message.assistant([Thinking("one two")])).reasoning == 2


@pytest.mark.parametrize(
    ("model", "auto", "forced"),
    [
        # Published: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
        ("claude-opus-4-8", 290, 410),
        ("claude-opus-4-7", 675, 804),
        ("claude-opus-4-6", 497, 589),
        ("claude-opus-4-5-20251101", 496, 588),
        ("claude-opus-4-1-20250805", 313, 315),
        ("claude-opus-4-20250514", 313, 315),
        ("claude-sonnet-4-20250514", 313, 315),
        ("claude-sonnet-5", 354, 474),
        ("claude-sonnet-4-6", 497, 589),
        ("anthropic/claude-sonnet-4-5", 496, 588),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 496, 588),
        ("claude-3-7-sonnet-20250219", 346, 313),
        ("claude-3-5-sonnet-20241022", 346, 313),
        ("claude-3-5-sonnet-20240620", 294, 261),
        ("claude-3-5-haiku-20241022", 264, 340),
        ("claude-3-haiku-20240307", 264, 340),
        ("claude-3-opus-20240229", 530, 281),
        ("claude-3-sonnet-20240229", 159, 235),
        # Newer than the table, and unknown.
        ("claude-opus-5", 290, 410),
        ("claude-fable-1", 497, 589),
        ("claude-2.1", 497, 589),
    ],
)
@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "openai", "turnkeep"])
def test_the_prompt_for_tools_of_claude(
    model: str, auto: int, forced: int, wire: str
) -> None:
    counter: Any = request_counter(format=wire, model=model)
    without = counter.request()

    assert counter.request(has_tools=True) - without == auto
    for choice in ("any", "required", {"type": "tool"}, {"type": "any"}):
        asked = counter.request(has_tools=True, tool_choice=choice)
        assert asked - without == forced
    auto_too = counter.request(has_tools=True, tool_choice={"type": "auto"})
    assert auto_too - without == auto


@pytest.mark.parametrize(
    ("choice", "tokens"),
    [
        (None, 3),
        ("auto", 3),
        ("required", 3),
        ("none", 4),
        ({"type": "function", "function": {"name": "get weather"}}, 3 + 4 + 2),
        ({"type": "function", "name": "now"}, 3 + 4 + 1),
        ({"type": "function", "function": "odd"}, 3),
    ],
)
def test_tool_choices_of_openai(choice: Any, tokens: int) -> None:
    assert words().request(has_tools=True, tool_choice=choice) == tokens


@pytest.mark.parametrize(
    ("wire", "model", "text"),
    [
        ("openai", None, "o200k_base"),
        ("openai", "gpt-4", "cl100k_base"),
        ("anthropic", None, "approximate-claude-new"),
        ("claude-code", None, "approximate-claude-new"),
        ("bedrock", None, "approximate-claude-new"),
        ("bedrock", "amazon.nova-pro", "approximate"),
        ("gemini", None, "approximate-gemini"),
        ("mistral", None, "approximate-mistral"),
        ("deepseek", None, "approximate-deepseek"),
        ("ollama", None, "approximate"),
        ("ollama", "qwen3", "approximate-qwen"),
        ("turnkeep", None, "o200k_base"),
        ("turnkeep", "my-model", "approximate"),
        ("orion", "llama3", "approximate-llama"),
    ],
)
def test_which_texts_are_counted_how(wire: str, model: str | None, text: str) -> None:
    assert request_counter(format=wire, model=model).name.split("/")[0] == text


def test_bedrock_counts_as_the_model() -> None:
    claude = words("bedrock", "anthropic.claude-opus-4-8-v1:0")
    nova = words("bedrock", "amazon.nova-pro-v1:0")
    message = Message.assistant(tool_calls=[ToolCall("a", "b", "{}")])

    assert claude.message(message) == 4 + 12 + 3
    assert nova.message(message) == 4 + 4 + 3


def test_tools_of_mistral_stand_between_control_tokens() -> None:
    assert words("mistral").tools([{"name": "x", "parameters": {}}]) == 4 + 4


@pytest.mark.parametrize("make", [text_counter, request_counter])
def test_counters_are_cheap_to_make(make: Callable[[], object]) -> None:
    """Nothing is read before the first count (import tests hold the rest)."""
    assert make() is not make()
