"""Answers as the official clients give them: their objects, and their streams.

A small server on the loopback interface says what `tests.formats.answers` has of each
provider, so that the clients read it as they would read theirs. Clients that are not
installed are skipped (dependency group `sdks`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import attrs
import pytest

from tests.formats.answers import PROVIDERS, Said, chat
from turnkeep import Conversation, Message, Text, Thinking

CALLS = (("build", '{"all":  true, "not": null}'), ("ls", "{}"))
SAID = Said("Let me see.", "Two things.", CALLS)
QUESTION = {"role": "user", "content": "Build it, please."}


@attrs.define
class Provider:
    """A server that gives one answer, whole or in chunks."""

    url: str
    whole: Any = None
    chunks: list[Any] = attrs.field(factory=list)
    lines: bool = False
    """Whether chunks are lines of JSON and not events."""

    def says(self, answer: tuple[Any, list[Any]], *, lines: bool = False) -> None:
        """Answer so from now on."""
        (self.whole, self.chunks), self.lines = answer, lines


@pytest.fixture
def server() -> Iterator[Provider]:
    """A provider on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            streams = body.get("stream") or "stream" in self.path
            data = json.dumps(provider.whole).encode()
            kind = "application/json"
            if streams and provider.lines:
                kind = "application/x-ndjson"
                data = b"".join(json.dumps(c).encode() + b"\n" for c in provider.chunks)
            elif streams:
                kind = "text/event-stream"
                data = "".join(map(_event, provider.chunks)).encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        provider = Provider(f"http://127.0.0.1:{httpd.server_port}")
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield provider
        httpd.shutdown()
        thread.join()


def _event(chunk: dict[str, Any]) -> str:
    kind = chunk.get("type")
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(chunk)}\n\n"


def asking(name: str) -> Conversation:
    """A conversation that has asked and waits for an answer."""
    made = Conversation(model=PROVIDERS[name][0], format=name, budget=9_000)
    made.user("Build it, please.")
    made.fit()
    return made


def contents(messages: Iterable[Message]) -> list[Any]:
    """What messages say, whatever their ids and times."""
    return [(m.role, m.content, m.extra, m.layout) for m in messages]


def check(name: str, whole: Any, *streams: Any, told: Said = SAID) -> None:
    """What the client gave is taken as the JSON that it was made from."""
    plain = asking(name)
    expected = contents(plain.add_response(PROVIDERS[name][1](told)[0]))

    one = asking(name)
    assert contents(one.add_response(whole)) == expected
    assert one.usage == plain.usage
    for stream in streams:
        one = asking(name)
        answered = one.add_response(stream)
        assert len(list(answered)) > 3
        assert contents(answered.messages) == expected
        assert one.usage == plain.usage


@pytest.mark.parametrize("name", ["openai", "deepseek"])
def test_openai_chat(server: Provider, name: str) -> None:
    """Completions, chunks, and the events of the client's own accumulator."""
    openai = pytest.importorskip("openai")
    server.says(PROVIDERS[name][1](SAID))
    asked: Any = {"model": "gpt-4o", "messages": [QUESTION]}

    with openai.OpenAI(base_url=server.url, api_key="x") as client:
        create, helper = client.chat.completions.create, client.chat.completions.stream
        with helper(**asked) as events:
            check(name, create(**asked), create(**asked, stream=True), events)


def test_openai_chat_asynchronously(server: Provider) -> None:
    """The client's asynchronous stream, gone through and left."""
    openai = pytest.importorskip("openai")
    server.says(PROVIDERS["openai"][1](SAID))
    asked: Any = {"model": "gpt-4o", "messages": [QUESTION], "stream": True}
    one, other, left = asking("openai"), asking("openai"), asking("openai")

    async def run() -> tuple[Message, ...]:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="x") as client:
            create = client.chat.completions.create
            stream = one.add_response(await create(**asked))
            assert len([chunk async for chunk in stream]) > 3
            async with left.add_response(await create(**asked)) as broken:
                async for _chunk in broken:
                    break
            with pytest.raises(TypeError, match="await"):
                other.add_response(create(**asked))
            made: tuple[Message, ...] = stream.messages
            return made

    made = asyncio.run(run())

    assert contents(made) == contents(other.add_response(server.whole))
    assert one.usage == other.usage
    assert len(left) == 1


def test_openai_responses(server: Provider) -> None:
    """Responses, events, and those of the client's own accumulator."""
    openai = pytest.importorskip("openai")
    server.says(PROVIDERS["openai-responses"][1](SAID))
    asked: Any = {"model": "gpt-5", "input": "Build it, please."}

    with openai.OpenAI(base_url=server.url, api_key="x") as client:
        create = client.responses.create
        check("openai-responses", create(**asked), create(**asked, stream=True))


def test_anthropic(server: Provider) -> None:
    """Messages, events, and those of the client's own accumulator."""
    anthropic = pytest.importorskip("anthropic")
    server.says(PROVIDERS["anthropic"][1](SAID))
    asked: Any = {"model": "m", "messages": [QUESTION], "max_tokens": 99}

    with anthropic.Anthropic(base_url=server.url, api_key="x") as client:
        create = client.messages.create
        with client.messages.stream(**asked) as events:
            check("anthropic", create(**asked), create(**asked, stream=True), events)
        with client.messages.stream(**asked) as events:
            final = events.get_final_message()
        check("anthropic", final)


def test_gemini(server: Provider) -> None:
    """Responses and chunks; signatures are those that the service wrote."""
    genai = pytest.importorskip("google.genai")
    server.says(PROVIDERS["gemini"][1](SAID))
    asked: Any = {"model": "gemini-2.5-pro", "contents": "Build it, please."}
    options = genai.types.HttpOptions(base_url=server.url)

    client = genai.Client(api_key="x", http_options=options)
    with contextlib.closing(client):
        whole = client.models.generate_content(**asked)
        check("gemini", whole, client.models.generate_content_stream(**asked))


def _delta(chunk: dict[str, Any]) -> dict[str, Any]:
    delta: dict[str, Any] = chunk["choices"][0]["delta"]
    return delta


def test_mistral(server: Provider) -> None:
    """Completions and events; reasoning comes among the content, calls come whole."""
    module = pytest.importorskip("mistralai.client")
    told = Said("", "Two things.", CALLS)
    whole, chunks = chat(told)
    calls = whole["choices"][0]["message"]["tool_calls"]
    begun = [c for c in chunks if c["choices"] and "tool_calls" in _delta(c)]
    _delta(begun[0])["tool_calls"] = [{**c, "index": n} for n, c in enumerate(calls)]
    server.says((whole, [c for c in chunks if c not in begun[1:]]))
    asked: Any = {"model": "mistral-large-latest", "messages": [QUESTION]}

    with module.Mistral(api_key="x", server_url=server.url) as client:
        whole = client.chat.complete(**asked)
        check("openai", whole, client.chat.stream(**asked), told=told)

        thought = [{"type": "text", "text": "Let me see."}]
        pieces: list[Any] = [
            [{"type": "thinking", "thinking": [{"type": "text", "text": "Let "}]}],
            [{"type": "thinking", "thinking": [{"type": "text", "text": "me see."}]}],
            "Two ",
            "things.",
        ]
        parts = [
            {"type": "thinking", "thinking": thought},
            {"type": "text", "text": "Two things."},
        ]
        _, chunks = chat(Said("", "1234", (), 1))
        for chunk, piece in zip(chunks[1:], pieces, strict=False):
            _delta(chunk)["content"] = piece
        whole, _ = chat(told)
        whole["choices"][0]["message"] = {"role": "assistant", "content": parts}
        server.says((whole, chunks))
        made = [
            asking("openai").add_response(client.chat.complete(**asked)),
            (stream := asking("openai").add_response(client.chat.stream(**asked))),
        ]
        list(stream)

    for (message,) in (made[0], stream.messages):
        assert message.content == (Thinking("Let me see."), Text("Two things."))
        assert message.layout == "mistral:list"


def test_ollama(server: Provider) -> None:
    """Responses and chunks."""
    ollama = pytest.importorskip("ollama")
    server.says(PROVIDERS["ollama"][1](SAID), lines=True)
    asked: Any = {"model": "qwen3", "messages": [QUESTION]}

    client = ollama.Client(host=server.url)
    check("ollama", client.chat(**asked), client.chat(**asked, stream=True))


def test_bedrock() -> None:
    """What botocore reads from the wire, encrypted reasoning included."""
    session = pytest.importorskip("botocore.session").get_session()
    parsers = pytest.importorskip("botocore.parsers")
    model = session.get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").output_shape
    whole, _ = PROVIDERS["bedrock"][1](SAID)
    sealed = base64.b64encode(b"\xfb\xff").decode()
    hidden = {"reasoningContent": {"redactedContent": sealed}}
    whole["output"]["message"]["content"].insert(0, hidden)
    wire = {"status_code": 200, "headers": {}, "body": json.dumps(whole).encode()}
    read = parsers.create_parser("rest-json").parse(wire, shape)
    start = {"reasoningContent": {"redactedContent": b"\xfb"}}
    end = {"reasoningContent": {"redactedContent": b"\xff"}}
    _, chunks = PROVIDERS["bedrock"][1](Said("", "Two things.", CALLS))
    for chunk in chunks:
        for inner in chunk.values():
            if "contentBlockIndex" in inner:
                inner["contentBlockIndex"] += 1
    place = {"contentBlockIndex": 0}
    chunks[1:1] = [{"contentBlockDelta": {"delta": d, **place}} for d in (start, end)]

    (made,) = asking("bedrock").add_response(read)
    stream = asking("bedrock").add_response(iter(chunks))
    list(stream)

    first, thought, *rest = made.content
    (streamed,) = stream.messages
    assert first == Thinking(data=sealed)
    assert thought == Thinking("Let me see.", "c2ln")
    assert streamed.content == (first, *rest)
    chat = asking("bedrock")
    chat.add_response(read)
    sent = chat.fit(open_calls="keep").encode()["messages"][-1]
    assert sent == read["output"]["message"]


def test_objects_are_appended_as_their_dicts(server: Provider) -> None:
    """Messages, items and blocks of clients: alone, in lists, and inside an entry."""
    openai = pytest.importorskip("openai")
    anthropic = pytest.importorskip("anthropic")
    genai = pytest.importorskip("google.genai")
    ollama = pytest.importorskip("ollama")
    asked: Any = {"model": "m", "messages": [QUESTION]}
    found: dict[str, list[Any]] = {}

    server.says(PROVIDERS["openai"][1](SAID))
    with openai.OpenAI(base_url=server.url, api_key="x") as client:
        made = client.chat.completions.create(**asked).choices[0].message
        found["openai"] = [made]
        server.says(PROVIDERS["openai-responses"][1](SAID))
        found["openai-responses"] = client.responses.create(model="m", input="").output
    server.says(PROVIDERS["anthropic"][1](SAID))
    with anthropic.Anthropic(base_url=server.url, api_key="x") as client:
        blocks = client.messages.create(**asked, max_tokens=9).content
        found["anthropic"] = [{"role": "assistant", "content": blocks}]
    whole, _ = PROVIDERS["gemini"][1](SAID)
    answer = genai.types.GenerateContentResponse.model_validate(whole)
    found["gemini"] = [answer.candidates[0].content]
    whole, _ = PROVIDERS["ollama"][1](SAID)
    found["ollama"] = [ollama.ChatResponse(**whole).message]

    for name, entries in found.items():
        expected = asking(name).add_response(PROVIDERS[name][1](SAID)[0])
        one, other, third = asking(name), asking(name), asking(name)
        for entry in entries:
            one.append(entry)
        other.extend(entries)
        third.replace_messages([QUESTION_OF.get(name, QUESTION), *entries])
        for chat_ in (one, other, third):
            blocks = [b for m in chat_.messages[1:] for b in m.content]
            calls = [c for m in chat_.messages for c in m.tool_calls]
            assert [(c.name, c.arguments) for c in calls] == [
                (name, json.loads(arguments)) for name, arguments in CALLS
            ]
            assert [b.text for b in blocks if isinstance(b, Text) and b.text] == [
                b.text for m in expected for b in m.content if isinstance(b, Text)
            ]


QUESTION_OF = {"gemini": {"role": "user", "parts": [{"text": "Build it, please."}]}}


def test_an_object_that_cannot_be_read_is_an_error_with_its_path() -> None:
    """Whatever its own code raises; nothing is appended."""

    class Broken:
        def model_dump(self, **_options: Any) -> Any:
            raise io.UnsupportedOperation

    chat_ = asking("openai")

    for take in (chat_.append, lambda given: chat_.extend([QUESTION, given])):
        with pytest.raises(Exception, match="Broken could not be read"):
            take(Broken())
    with pytest.raises(TypeError, match="expected"):
        chat_.append(object())  # type: ignore[arg-type]
    assert len(chat_) == 1
