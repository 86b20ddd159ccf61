"""The official clients send what we encoded: the body they put on the wire is ours.

A small server on the loopback interface records bodies and answers with an error, so
that nothing has to be imitated. Clients that are not installed are skipped (dependency
group `sdks`).
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import attrs
import pytest

from tests.generators import PDF, PNG
from turnkeep.formats import get_format
from turnkeep.model import Document, Image, Message, Text, Thinking, ToolCall


@attrs.define
class Recorder:
    """A server's address, and the bodies that it was sent."""

    url: str
    bodies: list[dict[str, Any]] = attrs.field(factory=list)

    @property
    def body(self) -> dict[str, Any]:
        """The one body."""
        (body,) = self.bodies
        return body


@pytest.fixture
def server() -> Iterator[Recorder]:
    """A server that records, on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            recorder.bodies.append(json.loads(data))
            answer = b'{"error": {"message": "recorded"}}'
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        recorder = Recorder(f"http://127.0.0.1:{httpd.server_port}")
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield recorder
        httpd.shutdown()
        thread.join()


HISTORY = (
    Message.system("You are a support agent."),
    Message.user("What does the build say?"),
    Message.assistant(
        "Let me look.",
        tool_calls=[
            ToolCall("call_1", "build", '{"target":  "all"}'),
            ToolCall("call_2", "read_file", {"path": "a.py"}),
        ],
    ),
    Message.tool_result("call_1", "started", pending=True, tool_name="build"),
    Message.tool_result("call_2", "no such file", is_error=True, tool_name="read_file"),
    Message.assistant("The build has started; there is no `a.py`. 🙂"),
    Message.user([Text("And this?"), Image(PNG, "image/png")]),
)
"""Calls in parallel, a pending and a failed result, an image."""

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}


def test_openai_chat(server: Recorder) -> None:
    """`chat.completions.create` takes the request as it is."""
    openai = pytest.importorskip("openai")
    function = {"name": "build", "description": "Build.", "parameters": PARAMETERS}
    read_file = {**function, "name": "read_file"}
    tools = [{"type": "function", "function": f} for f in (function, read_file)]
    file = Message.user([Text("Read."), Document(PDF, title="a.pdf")])
    custom = Message.assistant(
        tool_calls=[ToolCall("c", "run", "1+1", extra={"type": "custom"})]
    )
    history = [*HISTORY, file, custom, Message.tool_result("c", "2")]
    request = get_format("openai").encode_request(history, tools)

    client = openai.OpenAI(base_url=server.url, api_key="x", max_retries=0)
    with client, pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="gpt-4o", **request)

    assert server.body == {"model": "gpt-4o", **request}


def test_openai_responses(server: Recorder) -> None:
    """`responses.create` takes the request as it is, reasoning items included."""
    openai = pytest.importorskip("openai")
    fmt = get_format("openai-responses")
    tools = [{"type": "function", "name": "build", "parameters": PARAMETERS}]
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "Z0FBQQ==",
    }
    history = [*fmt.decode_system("Be brief."), *HISTORY, *fmt.decode(item)]
    request = fmt.encode_request(history, tools)

    client = openai.OpenAI(base_url=server.url, api_key="x", max_retries=0)
    with client, pytest.raises(openai.BadRequestError):
        client.responses.create(model="gpt-5", store=False, **request)

    assert server.body == {"model": "gpt-5", "store": False, **request}
    assert server.body["instructions"] == "Be brief."
    assert server.body["input"][-1] == item


def test_deepseek(server: Recorder) -> None:
    """DeepSeek is spoken with OpenAI's client; the reasoning arrives."""
    openai = pytest.importorskip("openai")
    thought = Message.assistant([Thinking("hm"), Text("yes")])
    request = get_format("deepseek").encode_request([*HISTORY[:-1], thought])

    client = openai.OpenAI(base_url=server.url, api_key="x", max_retries=0)
    with client, pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="deepseek-reasoner", **request)

    assert server.body == {"model": "deepseek-reasoner", **request}
    assert server.body["messages"][-1]["reasoning_content"] == "hm"


def test_mistral(server: Recorder) -> None:
    """`chat.complete` reads messages into its own types, and writes them back."""
    module = pytest.importorskip("mistralai.client")
    function = {"name": "build", "description": "", "parameters": PARAMETERS}
    tools = [{"type": "function", "function": function}]
    file = Message.user([Text("Read."), Document(url="https://e.org/a.pdf")])
    thought = Message.assistant([Thinking("hm"), Text("yes")])
    request = get_format("mistral").encode_request([*HISTORY, thought, file], tools)

    client = module.Mistral(api_key="x", server_url=server.url)
    with pytest.raises(Exception, match="recorded"):
        client.chat.complete(model="mistral-large-latest", **request)

    assert _without_defaults(server.body["messages"]) == request["messages"]


def _without_defaults(value: Any) -> Any:
    """*value* without what Mistral's client adds by itself."""
    if isinstance(value, list):
        return [_without_defaults(v) for v in value]
    if not isinstance(value, dict):
        return value
    added = {"prefix": False, "index": 0, "strict": False, "closed": True}
    return {
        key: _without_defaults(v)
        for key, v in value.items()
        if not (key in added and v == added[key])
    }


def test_ollama(server: Recorder) -> None:
    """`chat` reads messages into its own types, and writes them back."""
    ollama = pytest.importorskip("ollama")
    thought = Message.assistant([Thinking("hm"), Text("yes")])
    request = get_format("ollama").encode_request([*HISTORY, thought])

    with pytest.raises(ollama.ResponseError):
        ollama.Client(host=server.url).chat(model="qwen3", **request)

    assert server.body["messages"] == request["messages"]


def test_anthropic(server: Recorder) -> None:
    """`messages.create` takes the request as it is."""
    anthropic = pytest.importorskip("anthropic")
    tools = [{"name": "build", "description": "", "input_schema": PARAMETERS}]
    request = get_format("anthropic").encode_request(HISTORY, tools)

    client = anthropic.Anthropic(base_url=server.url, api_key="x", max_retries=0)
    with client, pytest.raises(anthropic.BadRequestError):
        client.messages.create(model="claude-opus-4-8", max_tokens=9, **request)

    assert server.body == {"model": "claude-opus-4-8", "max_tokens": 9, **request}


def test_gemini(server: Recorder) -> None:
    """`generate_content` reads contents into its own types, and writes them back."""
    genai = pytest.importorskip("google.genai")
    request = get_format("gemini").encode_request(HISTORY)

    options = genai.types.HttpOptions(base_url=server.url)
    client = genai.Client(api_key="x", http_options=options)
    with pytest.raises(genai.errors.ClientError):
        client.models.generate_content(
            model="gemini-3-pro",
            contents=request["contents"],
            config={"system_instruction": request["systemInstruction"]},
        )

    # The client spells this key, and two letters of base64, in a way of its own.
    sent = json.dumps(server.body["contents"]).replace("mime_type", "mimeType")
    sent = sent.replace(PNG.translate(str.maketrans("+/", "-_")), PNG)
    assert json.loads(sent) == request["contents"]
    system = server.body["systemInstruction"]["parts"]
    assert system == request["systemInstruction"]["parts"]


def test_bedrock() -> None:
    """The validation of Converse in botocore accepts the request."""
    session = pytest.importorskip("botocore.session").get_session()
    client = session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
    )
    spec = {"name": "build", "inputSchema": {"json": PARAMETERS}}
    request = get_format("bedrock").encode_request(HISTORY, [{"toolSpec": spec}])
    sent: list[Any] = []
    client.meta.events.register("before-call", lambda params, **_: sent.append(params))
    # Validation comes before the call; nothing leaves the machine.
    client.meta.events.register("before-send", lambda **_: _refuse())

    with contextlib.suppress(ConnectionError):
        client.converse(modelId="anthropic.claude-opus-4-8", **_with_bytes(request))

    body = json.loads(sent[0]["body"])
    assert body == request


def _refuse() -> None:
    raise ConnectionError


def _with_bytes(value: Any) -> Any:
    """*value* with base64 as the bytes that botocore's Python types want."""
    if isinstance(value, list):
        return [_with_bytes(v) for v in value]
    if isinstance(value, dict):
        return {
            key: base64.b64decode(v) if key == "bytes" else _with_bytes(v)
            for key, v in value.items()
        }
    return value
