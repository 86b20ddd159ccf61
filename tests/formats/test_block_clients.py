"""The providers' own clients send what we encode, unchanged."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import attrs
import pytest

from tests.generators import PNG, decoded
from turnkeep.formats import get_format
from turnkeep.model import Image, Json, Message, Text, Thinking, ToolCall

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}

HISTORY = [
    Message.system("Be brief."),
    Message.user([Text("What is this?"), Image(PNG, "image/png")]),
    Message.assistant(
        [Text("Let me look."), Thinking("not signed by anyone")],
        tool_calls=[ToolCall("call_1", "look", '{"path": "a"}'), ToolCall("b", "look")],
    ),
    Message.tool_result("call_1", "a pixel"),
    Message.tool_result("b", [Json({"size": 1})], is_error=True),
    Message.user("And now?"),
]

ANSWERS = {
    "messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "m:generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]
    },
    "converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    },
}


@attrs.define
class Recorder:
    """A server on loopback that keeps the bodies it gets."""

    url: str
    bodies: list[Any] = attrs.field(factory=list)


@pytest.fixture
def server() -> Iterator[Recorder]:
    """Answers every client in its own words."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            recorder.bodies.append(json.loads(self.rfile.read(length)))
            answer = json.dumps(ANSWERS[self.path.rpartition("/")[2]]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: Any) -> None:
            """Stay quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        recorder = Recorder(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield recorder
        http.shutdown()
        thread.join()


def test_anthropic(server: Recorder) -> None:
    anthropic = pytest.importorskip("anthropic")
    tools = [{"name": "look", "input_schema": SCHEMA}]
    body = get_format("anthropic").encode_request(HISTORY, tools)

    with anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        client.messages.create(model="m", max_tokens=9, **body)

    (sent,) = server.bodies
    assert sent == {"model": "m", "max_tokens": 9, **body}
    assert len(body["messages"]) == 4


def test_gemini(server: Recorder) -> None:
    """Its client respells keys in snake_case and base64 in the other alphabet."""
    genai = pytest.importorskip("google.genai")
    tools = [{"functionDeclarations": [{"name": "look"}]}]
    fmt = get_format("gemini")
    body = fmt.encode_request(HISTORY, tools)

    client = genai.Client(api_key="none", http_options={"base_url": server.url})
    client.models.generate_content(
        model="m",
        contents=body["contents"],
        config={
            "system_instruction": body["systemInstruction"],
            "tools": body["tools"],
            "automatic_function_calling": {"disable": True},
        },
    )
    client.close()

    (sent,) = server.bodies
    spelled = json.dumps(sent["contents"]).replace("mime_type", "mimeType")
    assert json.loads(spelled.replace("k-M9", "k+M9")) == body["contents"]
    assert fmt.encode(decoded(fmt.decode, sent["contents"])) == sent["contents"]
    assert sent["systemInstruction"]["parts"] == body["systemInstruction"]["parts"]
    assert sent["tools"] == tools
    assert len(body["contents"]) == 4


def test_bedrock(server: Recorder) -> None:
    """Botocore checks every field; images go in as bytes and out as base64."""
    session = pytest.importorskip("botocore.session").Session()
    tools = [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}}]
    fmt = get_format("bedrock")
    body = fmt.encode_request(HISTORY, tools)
    raw = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
    (with_bytes,) = fmt.encode(
        fmt.decode({"role": "user", "content": [{"text": "What is this?"}, raw]})
    )

    client = session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    messages = [with_bytes, *body["messages"][1:]]
    client.converse(modelId="m", **{**body, "messages": messages})
    client.close()

    (sent,) = server.bodies
    assert sent == body
    assert len(body["messages"]) == 3
