"""Taking answers: every provider's, whole and as they stream."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.formats.answers import PROVIDERS, Said, said
from turnkeep import (
    Conversation,
    CutOffError,
    DuplicateIdError,
    FormatError,
    Message,
    ResponseStream,
    Role,
    Text,
    Thinking,
    Usage,
)
from turnkeep.stores import SqliteStore

SAID = Said("Let me see.", "Two things.", (("build", '{"all":  true}'), ("ls", "{}")))

every_provider = pytest.mark.parametrize("name", PROVIDERS)


def asking(name: str) -> Conversation:
    """A conversation that has asked and waits for an answer."""
    chat = Conversation(model=PROVIDERS[name][0], format=name, budget=9_000)
    chat.user("Build it, please.")
    chat.fit()
    return chat


def contents(messages: tuple[Message, ...]) -> list[Any]:
    """What messages say, whatever their ids and times."""
    return [(m.role, m.content, m.extra, m.layout) for m in messages]


@every_provider
@settings(max_examples=30)
@given(told=said)
def test_a_stream_is_always_taken_as_the_whole_answer(name: str, told: Said) -> None:
    """The same messages and the same usage; every chunk passed on, none changed."""
    whole, chunks = PROVIDERS[name][1](told)
    kept = copy.deepcopy((whole, chunks))
    one, other = asking(name), asking(name)

    made = one.add_response(whole)
    stream = other.add_response(chunks)
    passed = list(stream)

    assert all(a is b for a, b in zip(passed, chunks, strict=True))
    assert (whole, chunks) == kept
    assert contents(stream.messages) == contents(made)
    assert contents(other.messages) == contents(one.messages)
    assert other.usage == one.usage
    assert one.usage.output_tokens == 7
    assert one.fit().encode() == other.fit().encode()


@every_provider
@settings(max_examples=30)
@given(told=said)
def test_an_answer_always_goes_back_as_it_came(name: str, told: Said) -> None:
    """Words, reasoning and calls, in the provider's own format; or nothing was said."""
    whole, _ = PROVIDERS[name][1](told)
    chat = asking(name)

    made = chat.add_response(whole)

    assert bool(made) == bool(told.text or told.calls)
    calls = [call for message in made for call in message.tool_calls]
    assert [(c.name, c.arguments) for c in calls] == [
        (name, json.loads(arguments)) for name, arguments in told.calls
    ]
    for call, (_, arguments) in zip(calls, told.calls, strict=True):
        assert call.arguments_text in (None, arguments)
    if made:
        blocks = [block for message in made for block in message.content]
        texts = [b.text for b in blocks if isinstance(b, Text)]
        assert "".join(texts) == told.text
        assert "".join(b.text for b in blocks if isinstance(b, Thinking)) == (
            told.thinking
        )
    assert len(chat.pending) == len(calls)


@every_provider
@pytest.mark.parametrize("other", PROVIDERS)
def test_the_conversations_format_does_not_matter(name: str, other: str) -> None:
    """Arguments arrive byte for byte, and the window is one of the other's format."""
    chat = asking(other)

    made = chat.add_response(PROVIDERS[name][1](SAID)[0])
    for call in chat.pending:
        chat.resolve(call.id, "done")
    chat.user("And now?")

    (first, second) = (call for message in made for call in message.tool_calls)
    assert first.arguments == {"all": True}
    if first.arguments_text is not None:
        assert first.arguments_text == '{"all":  true}'
    assert second.name == "ls"
    assert "Two things." in json.dumps(chat.fit().encode())


@every_provider
def test_usage_is_observed_against_the_window(name: str) -> None:
    """The next window is expected to be what the provider says of this one."""
    chat = asking(name)
    window = chat.fit()
    chat.user("Something that was never sent. " * 40)
    chat.fit()

    chat.add_response(PROVIDERS[name][1](SAID)[0], window=window)

    other = asking(name)
    seen = other.observe(PROVIDERS[name][1](SAID)[0])
    assert chat.usage == seen.usage
    assert chat._fitter.learner.calibration == other._fitter.learner.calibration


@every_provider
def test_a_stream_learns_from_the_window_it_answers(name: str) -> None:
    """Not from one that was made while it came."""
    chat, other = asking(name), asking(name)
    whole, chunks = PROVIDERS[name][1](SAID)
    stream = chat.add_response(iter(chunks))
    next(stream)
    chat.user("Something else. " * 40)
    chat.fit()

    for _chunk in stream:
        pass

    other.add_response(whole)
    assert chat._fitter.learner.calibration == other._fitter.learner.calibration


EMPTY: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"choices": []},
        {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]},
        {"choices": [{"message": {"role": "assistant", "content": ""}}]},
        {"choices": [{"message": {"content": "a"}, "finish_reason": "model_length"}]},
    ],
    "openai-responses": [
        {"output": [], "status": "failed", "error": {"code": "x", "message": "y"}},
        {
            "output": [{"type": "reasoning", "id": "rs_1", "summary": []}],
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
        },
    ],
    "anthropic": [
        {"role": "assistant", "content": [], "stop_reason": "end_turn"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}],
            "stop_reason": "model_context_window_exceeded",
        },
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            "stop_reason": "max_tokens",
        },
    ],
    "gemini": [
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
        {"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]},
    ],
    "bedrock": [
        {"output": {"message": {"role": "assistant", "content": []}}},
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "a"}]}},
            "stopReason": "model_context_window_exceeded",
        },
    ],
    "ollama": [{"message": {"role": "assistant", "content": ""}, "done": True}],
}


@pytest.mark.parametrize(
    ("name", "answer"), [(name, one) for name, some in EMPTY.items() for one in some]
)
def test_an_answer_that_says_nothing_appends_nothing(
    name: str, answer: dict[str, Any]
) -> None:
    """Its usage is observed all the same."""
    chat = asking(name)
    whole, _ = PROVIDERS[name][1](SAID)
    keys = ("usage", "usageMetadata", "prompt_eval_count", "eval_count")
    counts = {key: whole[key] for key in keys if key in whole}

    assert chat.add_response(answer | counts) == ()

    assert len(chat) == 1
    assert chat.usage.output_tokens == 7


def _cut(name: str) -> tuple[dict[str, Any], str]:
    """An answer that the token limit cut off in its last call, and that call's id."""
    whole, _ = PROVIDERS[name][1](SAID)
    if "choices" in whole:
        choice = whole["choices"][0]
        choice["finish_reason"] = "length"
        choice["message"]["tool_calls"][1]["function"]["arguments"] = '{"a": "b'
        return whole, "call_1"
    if "output" in whole and isinstance(whole["output"], list):
        whole["status"] = "incomplete"
        whole["incomplete_details"] = {"reason": "max_output_tokens"}
        whole["output"][-1]["arguments"] = '{"a": "b'
        return whole, "call_1"
    if name == "anthropic":
        return whole | {"stop_reason": "max_tokens"}, "toolu_1"
    return whole | {"stopReason": "max_tokens"}, "tooluse_1"


CUT = ["openai", "deepseek", "openai-responses", "anthropic", "bedrock"]


@pytest.mark.parametrize("name", CUT)
def test_arguments_that_were_cut_off_are_refused(name: str) -> None:
    """By the call's id; nothing is changed, not even what was learned."""
    chat = asking(name)
    answer, call_id = _cut(name)
    before = chat.to_json()

    with pytest.raises(CutOffError, match=call_id) as caught:
        chat.add_response(answer)

    assert caught.value.call_ids == (call_id,)
    assert chat.to_json() == before
    assert not chat.usage.output_tokens


@pytest.mark.parametrize("name", CUT)
def test_a_stream_that_breaks_off_in_a_call_is_refused(name: str) -> None:
    """Without any end, after every chunk has been passed on."""
    _, chunks = PROVIDERS[name][1](Said("", "", (("f", '{"a": "long text"}'),), 4))
    chat = asking(name)
    broken = {
        "openai": chunks[:-4],
        "deepseek": chunks[:-4],
        "anthropic": chunks[:-4],
        "bedrock": chunks[:-4],
        "openai-responses": [],
    }[name] or [
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {
                "type": "function_call",
                "call_id": "call_0",
                "name": "f",
                "arguments": '{"a": "lo',
            },
        }
    ]
    passed: list[Any] = []

    with pytest.raises(CutOffError, match="_0"):
        passed.extend(chat.add_response(iter(broken)))

    assert passed == broken
    assert len(chat) == 1


class Source:
    """A provider's stream that tells whether it was closed."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = iter(chunks)
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.chunks)

    def close(self) -> None:
        """Say so."""
        self.closed = True


class AsyncSource:
    """The same, asynchronous."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = chunks
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        for chunk in self.chunks:
            await asyncio.sleep(0)
            yield chunk

    async def close(self) -> None:
        """Say so."""
        await asyncio.sleep(0)
        self.closed = True


@every_provider
def test_a_loop_that_is_left_appends_nothing(name: str) -> None:
    """And the provider's stream is closed, though nobody said so."""
    chat = asking(name)
    source = Source(PROVIDERS[name][1](SAID)[1])

    for _chunk in chat.add_response(source):
        break
    gc.collect()

    assert source.closed
    assert len(chat) == 1
    assert not chat.usage.output_tokens


def test_a_stream_can_be_closed() -> None:
    """Before it has begun too; then nothing more comes."""
    chunks = PROVIDERS["openai"][1](SAID)[1]
    chat = asking("openai")
    for begun in (False, True):
        source = Source(chunks)
        with chat.add_response(source) as stream:
            if begun:
                next(stream)

        assert source.closed
        assert list(stream) == []
        assert stream.messages == ()
    assert len(chat) == 1


def test_an_error_on_the_way_appends_nothing() -> None:
    """It comes through as it is."""
    chunks = PROVIDERS["openai"][1](SAID)[1]
    chat = asking("openai")

    def breaking() -> Iterator[Any]:
        yield from chunks[:4]
        msg = "reset"
        raise ConnectionError(msg)

    with pytest.raises(ConnectionError, match="reset"):
        list(chat.add_response(breaking()))

    assert len(chat) == 1


@every_provider
def test_asynchronous_streams(name: str) -> None:
    """Passed on, taken and closed like the others."""
    whole, chunks = PROVIDERS[name][1](SAID)
    chat, other = asking(name), asking(name)
    source, left = AsyncSource(chunks), AsyncSource(chunks)

    async def run() -> tuple[list[Any], ResponseStream[Any]]:
        stream = chat.add_response(source)
        passed = [chunk async for chunk in stream]
        async with asking(name).add_response(left) as broken:
            async for _chunk in broken:
                break
        return passed, stream

    passed, stream = asyncio.run(run())

    assert passed == chunks
    assert contents(stream.messages) == contents(other.add_response(whole))
    assert chat.usage == other.usage
    assert source.closed
    assert left.closed


def test_an_asynchronous_loop_that_is_left() -> None:
    """The loop closes what nobody holds any more."""
    chat = asking("openai")
    source = AsyncSource(PROVIDERS["openai"][1](SAID)[1])

    async def run() -> None:
        async for _chunk in chat.add_response(source):
            break
        gc.collect()
        for _ in range(9):
            await asyncio.sleep(0)

    asyncio.run(run())

    assert source.closed
    assert len(chat) == 1


def test_the_wrong_kind_of_loop_is_named() -> None:
    """Which one it should have been."""
    chat = asking("openai")
    with pytest.raises(TypeError, match="async for"):
        next(chat.add_response(AsyncSource([])))

    async def run() -> None:
        await anext(chat.add_response(Source([])))

    with pytest.raises(TypeError, match="use 'for'"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (None, TypeError, "not None"),
        (5, TypeError, "not 5"),
        ("Hello", TypeError, "not 'Hello'"),
        ({}, FormatError, "no answer of any provider"),
        ({"error": {"message": "too long"}}, FormatError, "too long"),
        ({"error": "too long"}, FormatError, "too long"),
        ({"stream": []}, FormatError, r"pass response\[\"stream\"\]"),
        ({"role": "assistant", "content": "Hi"}, FormatError, "no answer"),
        ({"choices": [5]}, FormatError, r"\$\.choices\[0\]"),
        (
            {"choices": [{"message": {"role": "assistant", "content": 5}}]},
            FormatError,
            r"\$\.choices\[0\]\.message\.content",
        ),
        ({"output": [5]}, FormatError, r"\$\.output\[0\]"),
        ({"output": [{"role": "assistant"}]}, FormatError, "a type"),
        ({"role": "assistant", "content": [5]}, FormatError, r"\$\.content\[0\]"),
        ({"candidates": [5]}, FormatError, r"\$\.candidates\[0\]"),
        ({"output": {"message": 5}}, FormatError, r"\$\.output\.message"),
        (
            {"choices": [{"message": {"content": "a"}}], "usage": {"x": 1}},
            FormatError,
            "no token counts",
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "f", "input": "{"}
                ],
                "stop_reason": "tool_use",
            },
            FormatError,
            "'t1'",
        ),
    ],
)
def test_what_is_no_answer_is_refused(
    answer: Any, error: type[Exception], words: str
) -> None:
    """With its path, and nothing is changed."""
    chat = asking("openai")
    before = chat.to_json()

    with pytest.raises(error, match=words):
        chat.add_response(answer)

    assert chat.to_json() == before


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([5], "a chunk"),
        ([{"x": 1}], "no chunk of any provider"),
        ([{"type": "ping"}, {"error": {"message": "overloaded"}}], "overloaded"),
        ([{"choices": [{"delta": 5}]}], r"\$\[0\]\.choices\[0\]\.delta"),
    ],
)
def test_a_stream_of_nothing_known_is_refused(chunks: list[Any], words: str) -> None:
    """After its last chunk: whoever reads it is not disturbed by us."""
    chat = asking("openai")
    passed: list[Any] = []

    with pytest.raises(FormatError, match=words):
        passed.extend(chat.add_response(chunks))

    assert passed == chunks
    assert len(chat) == 1


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what it is in, and its key or index there."""
    if isinstance(value, (dict, list)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            yield from _places(value[key])


@every_provider
@pytest.mark.parametrize("junk", [None, "x", [5], {"x": [None]}])
def test_damage_is_one_clear_error_or_none(name: str, junk: Any) -> None:
    """Whatever stands anywhere: an error of ours, or an answer that can be sent."""
    for streams in (False, True):
        answer = PROVIDERS[name][1](SAID)[streams]
        for nth in range(len(list(_places(answer)))):
            damaged: Any = copy.deepcopy(answer)
            parent, key = list(_places(damaged))[nth]
            parent[key] = junk
            chat = asking(name)
            before = chat.to_json()
            try:
                made = chat.add_response(damaged)
                if isinstance(made, ResponseStream):
                    list(made)
            except FormatError:
                assert chat.to_json() == before
            else:
                chat.fit().encode()


@pytest.mark.parametrize("chunks", [[], [{"type": "ping"}]])
def test_an_empty_stream_says_nothing(chunks: list[Any]) -> None:
    """Some servers end so where there is no room."""
    chat = asking("anthropic")

    stream = chat.add_response(chunks)

    assert list(stream) == chunks
    assert stream.messages == ()


def test_the_first_choice_is_taken() -> None:
    """Of several, whole and streamed, whatever comes between its chunks."""
    choices = [
        {"index": nth, "message": {"role": "assistant", "content": f"no. {nth}"}}
        for nth in range(2)
    ]
    chunks = [
        {"choices": [{"index": nth, "delta": {"content": text}}]}
        for nth, text in [(0, "no"), (1, "no"), (0, ". 0"), (1, ". 1")]
    ]
    chat = asking("openai")

    (whole,) = chat.add_response({"choices": choices})
    stream = chat.add_response(chunks)
    list(stream)

    assert whole.text == stream.messages[0].text == "no. 0"


@pytest.mark.parametrize(
    "pieces",
    [
        # OpenAI: begun once, then arguments under an index.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"x"'}},
            {"index": 0, "function": {"arguments": "{}"}},
            {"index": 1, "function": {"arguments": ": 1}"}},
        ],
        # Whole calls, all under index 0.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"index": 0, "id": "b", "function": {"name": "g", "arguments": '{"x": 1}'}},
        ],
        # No index at all.
        [
            {"id": "a", "function": {"name": "f", "arguments": ""}},
            {"function": {"arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": ""}},
            {"function": {"arguments": '{"x": 1}'}},
        ],
        # Id and name with every piece.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}},
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"x":'}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": " 1}"}},
        ],
        # Empty ids behind the first piece.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}},
            {"index": 0, "id": "", "function": {"name": "", "arguments": "}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"x":'}},
            {"index": 1, "id": "", "function": {"name": None, "arguments": " 1}"}},
        ],
        # What Mistral's client puts for an id that is not there.
        [
            {"id": "a", "function": {"name": "f", "arguments": "{"}},
            {"id": "null", "function": {"name": "", "arguments": "}"}},
            {"id": "b", "function": {"name": "g", "arguments": '{"x":'}},
            {"id": "null", "function": {"name": "", "arguments": " 1}"}},
        ],
    ],
)
def test_calls_come_in_every_servers_pieces(pieces: list[dict[str, Any]]) -> None:
    """Two calls, however they are cut up."""
    chunks = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}
        for piece in pieces
    ]
    chat = asking("openai")

    stream = chat.add_response(chunks)
    list(stream)

    (message,) = stream.messages
    calls = [(c.id, c.name, c.arguments_text) for c in message.tool_calls]
    assert calls == [("a", "f", "{}"), ("b", "g", '{"x": 1}')]


def test_answers_are_read_by_their_own_providers_format() -> None:
    """The shape that several share: by what only one has, then by the model."""
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = [chunk, {"type": "text", "text": "yes"}]
    thought = {
        "model": "magistral-medium",
        "choices": [{"message": {"content": parts}}],
    }
    plain = {"choices": [{"message": {"content": "yes"}}]}

    assert asking("openai").add_response(thought)[0].content == (
        Thinking("hm"),
        Text("yes"),
    )
    for model, layout in [("gpt-4o", "openai"), ("mistral-large-latest", "mistral")]:
        (message,) = asking("anthropic").add_response({**plain, "model": model})
        assert message.layout == layout
    (message,) = asking("deepseek").add_response({**plain, "model": "gpt-4o"})
    assert message.layout == "deepseek"


def test_an_answer_is_durable_or_nothing_of_it(tmp_path: Path) -> None:
    """In a store as in memory; a Responses answer is several messages."""
    with SqliteStore(tmp_path / "chats.db") as store:
        chat = Conversation.open(store, "x", model="gpt-5", format="openai-responses")
        chat.user("Go.")
        whole, _ = PROVIDERS["openai-responses"][1](SAID)

        made = chat.add_response(whole)

        assert len(made) == 4
        assert Conversation.open(store, "x").messages == chat.messages
        with pytest.raises(DuplicateIdError, match="rs_1"):
            chat.add_response(whole)
        assert Conversation.open(store, "x").messages == chat.messages
        assert len(chat) == 5


def test_usage_is_not_needed() -> None:
    """Streams tell it only when they are asked to."""
    chat = asking("openai")

    (message,) = chat.add_response({"choices": [{"message": {"content": "Hi"}}]})

    assert message.role is Role.ASSISTANT
    assert chat.usage == Usage()
