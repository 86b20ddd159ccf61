"""A strict provider on loopback, for tests that use a real client.

It speaks OpenAI's Chat Completions and Responses, Anthropic's Messages and Gemini's
generateContent, streamed and whole. It judges each request by rules that were written
from what the providers publish, and never by the library that is tested: a request that
breaks one gets status 400 and the provider's own words, and so does one that is longer
than the context. What it answers is a script's (`tests.strict.scripts`).

>>> with StrictProvider(limit=10_000) as provider:
...     provider.openai_url.startswith("http://127.0.0.1:")
True
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

from tests.strict.anthropic import ANTHROPIC
from tests.strict.api import Api, Body, Fault, Usage, written
from tests.strict.chat import CHAT
from tests.strict.gemini import GEMINI
from tests.strict.responses import RESPONSES
from tests.strict.scripts import Failure, Rounds, Script, Seen

APIS: Final = {api.name: api for api in (CHAT, RESPONSES, ANTHROPIC, GEMINI)}

_PATHS: Final = (
    (re.compile(r"(?:/v1)?/chat/completions"), CHAT, "answer"),
    (re.compile(r"(?:/v1)?/responses"), RESPONSES, "answer"),
    (re.compile(r"(?:/v1)?/messages"), ANTHROPIC, "answer"),
    (re.compile(r"(?:/v1)?/messages/count_tokens"), ANTHROPIC, "count"),
    (re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent"), GEMINI, "answer"),
    (re.compile(r"/v1(?:beta)?/models/([^/:]+):streamGenerateContent"), GEMINI, "flow"),
    (re.compile(r"/v1(?:beta)?/models/([^/:]+):countTokens"), GEMINI, "count"),
)
_ROOT: Final = re.compile(r"(/v1(?:beta)?)(?:/v1(?:beta)?)?")


@dataclass(frozen=True)
class Recorded:
    """A request that came in, and what became of it."""

    api: str
    path: str
    headers: dict[str, str]
    raw: bytes
    """The body as it came."""

    body: dict[str, Any]
    model: str
    tokens: int
    """What it filled of the context."""

    faults: tuple[Fault, ...]
    status: int
    seen: Seen | None
    """What the model read; none where the request was refused."""

    @property
    def refused(self) -> bool:
        """Whether it broke a rule, or was too long."""
        return bool(self.faults)


@dataclass
class StrictProvider:
    """A server on a port of its own, from `with` to the end of it."""

    script: Script = field(default_factory=Rounds)
    """What the model says; may be changed while it runs."""

    limit: int | None = None
    """Tokens of the context, at four characters of JSON a token; may be changed."""

    requests: list[Recorded] = field(default_factory=list)
    """Everything that was asked, in the order in which it came in."""

    def __enter__(self) -> Self:
        """Start."""
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        # Looked at often, so that a test does not wait for the end.
        serve = {"poll_interval": 0.02}
        run = threading.Thread(target=self._server.serve_forever, kwargs=serve)
        run.daemon = True
        run.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens; Anthropic's and Google's clients take this."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The same for OpenAI's clients."""
        return f"{self.url}/v1"

    @property
    def refused(self) -> list[Recorded]:
        """The requests that broke a rule, or were too long."""
        return [request for request in self.requests if request.refused]

    def clear(self) -> None:
        """Forget what was asked."""
        with self._lock:
            self.requests.clear()

    def judge(self, api: Api, body: Body, model: str) -> tuple[Fault, ...]:
        """The rules that a request breaks, its length last."""
        found = list(api.faults(body, model))
        tokens = api.tokens(body)
        if self.limit is not None and tokens > self.limit:
            found.append(api.too_long(tokens, self.limit))
        return tuple(found)

    def record(self, recorded: Recorded) -> None:
        """Keep a request."""
        with self._lock:
            self.requests.append(recorded)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    provider: StrictProvider
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """List a model: some clients look before they ask."""
        self._send(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        """Judge a request and answer it."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        for pattern, api, way in _PATHS:
            found = pattern.fullmatch(_ROOT.sub(r"\1", path, count=1))
            if found is not None:
                self._handle(api, way, raw, found[1] if found.lastindex else None)
                return
        self._send(404, {"error": {"message": f"Unknown path {path}"}})

    def _handle(self, api: Api, way: str, raw: bytes, named: str | None) -> None:
        try:
            body = json.loads(raw)
        except ValueError:
            fault = Fault("json", "We could not parse the JSON body of your request.")
            self._send(400, api.refusal(fault))
            return
        model = named or str(body.get("model", ""))
        tokens = api.tokens(body)
        if way == "count":
            self._send(200, {"input_tokens": tokens, "totalTokens": tokens})
            return
        faults = self.provider.judge(api, body, model)
        seen = None if faults else api.seen(body)
        answer = self.provider.script(seen) if seen is not None else None
        status = 400 if faults else 200
        if isinstance(answer, Failure):
            status = answer.status
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.provider.record(
            Recorded(
                api.name,
                self.path,
                headers,
                raw,
                body,
                model,
                tokens,
                faults,
                status,
                seen,
            )
        )
        if isinstance(answer, Failure):
            self._send(status, dict(answer.body), dict(answer.headers))
        elif answer is None:
            self._send(status, api.refusal(faults[0]))
        else:
            made = api.whole(answer, body, model, Usage(tokens, written(answer)))
            if way == "flow" or body.get("stream"):
                self._flow(api.events(made, body), answer.pause)
            else:
                self._send(200, made)

    def _send(
        self, status: int, body: Body, headers: dict[str, str] | None = None
    ) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        # A client that has gone needs no answer.
        with suppress(OSError):
            self.wfile.write(data)

    def _flow(self, events: Iterator[tuple[str | None, Any]], pause: float) -> None:
        """Server-sent events, a chunk each."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            for name, data in events:
                text = data if isinstance(data, str) else json.dumps(data)
                head = f"event: {name}\n" if name else ""
                self._chunk(f"{head}data: {text}\n\n".encode())
                if pause:
                    time.sleep(pause)
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()
