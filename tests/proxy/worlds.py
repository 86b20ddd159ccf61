"""A program as they are: it sends its whole list again and again, in four APIs."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, Final

import httpx

from tests.strict.provider import Recorded

APIS: Final = ("chat", "responses", "anthropic", "gemini")

_MODELS: Final = {
    "chat": "gpt-4o",
    "responses": "gpt-5",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}
_PATHS: Final = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
}
_KEYS: Final = {
    "chat": "messages",
    "responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
_SCHEMA: Final = {"type": "object", "properties": {"round": {"type": "integer"}}}
_TOO_LONG: Final = {
    "chat": "context_length_exceeded",
    "responses": "context_length_exceeded",
    "anthropic": "prompt is too long",
    "gemini": "exceeds the maximum number of tokens",
}


class Program:
    """An agent with one tool, which never shortens its list."""

    RULE = "Always answer in French, rule 17-b."

    def __init__(self, api: str, *, stream: bool = False, words: int = 20) -> None:
        """Of an API; its tool's results have some words."""
        self.api, self.stream, self.words = api, stream, words
        self.messages: list[Any] = []
        self.TOO_LONG = _TOO_LONG[api]
        self.last: dict[str, Any] = {}
        """The body that was sent last."""
        self.idle = True
        """Whether the last answer was its last word."""
        self._asked = 0

    # -- what it sends -----------------------------------------------------------------

    def body(self) -> dict[str, Any]:
        """Its request."""
        own = [*self.messages]
        if self.api == "gemini":
            tool = {"name": "lookup", "description": "d", "parameters": _SCHEMA}
            return {
                "systemInstruction": {"parts": [{"text": self.RULE}]},
                "contents": own,
                "tools": [{"functionDeclarations": [tool]}],
            }
        body: dict[str, Any] = {"model": _MODELS[self.api], _KEYS[self.api]: own}
        if self.stream:
            body["stream"] = True
            if self.api == "chat":
                body["stream_options"] = {"include_usage": True}
        if self.api == "anthropic":
            tool = {"name": "lookup", "description": "d", "input_schema": _SCHEMA}
            return {**body, "max_tokens": 500, "system": self.RULE, "tools": [tool]}
        function = {"name": "lookup", "description": "d", "parameters": _SCHEMA}
        if self.api == "responses":
            tools = [{"type": "function", **function}]
            return {**body, "instructions": self.RULE, "store": False, "tools": tools}
        body["messages"] = [{"role": "system", "content": self.RULE}, *own]
        return {**body, "tools": [{"type": "function", "function": function}]}

    @property
    def path(self) -> str:
        """Where it sends them."""
        path = _PATHS.get(self.api)
        if path is None:
            way = "streamGenerateContent?alt=sse" if self.stream else "generateContent"
            path = f"/v1beta/models/{_MODELS[self.api]}:{way}"
        return path

    def ask(self, text: str) -> None:
        """A question of its user."""
        if self.api == "gemini":
            self.messages.append({"role": "user", "parts": [{"text": text}]})
        else:
            self.messages.append({"role": "user", "content": text})

    def first(self, text: str) -> dict[str, Any]:
        """A request with nothing but a question."""
        self.messages = []
        self.ask(text)
        return self.body()

    def post(self, url: str, body: dict[str, Any]) -> httpx.Response:
        """Send a body."""
        with httpx.Client(timeout=60) as client:
            return self._post(client, url, body)

    def _post(
        self, client: httpx.Client, url: str, body: dict[str, Any]
    ) -> httpx.Response:
        headers = {"authorization": "Bearer k", "x-api-key": "k"}
        self.last = body
        return client.post(f"{url}{self.path}", json=body, headers=headers)

    def run(self, url: str, *, requests: int, asked: bool = False) -> int:
        """Ask questions until that many requests have been sent; returns how many.

        Raises:
            httpx.HTTPStatusError: One was refused.
        """
        with httpx.Client(timeout=60) as client:
            for done in range(requests):
                if not asked:
                    self._asked += 1
                    self.ask(f"Question number {self._asked}, please.")
                answer = self._post(client, url, self.body())
                answer.raise_for_status()
                calls = self._take(answer)
                asked = bool(calls)
                self.idle = not calls
                if calls:
                    self._answer(calls, done)
        return requests

    # -- what it gets ------------------------------------------------------------------

    def _take(self, answer: httpx.Response) -> list[Any]:
        """Append what the model said; returns its calls."""
        said = _streamed(answer.text) if self.stream else [answer.json()]
        found: list[Any] = getattr(self, f"_{self.api}")(said)
        return found

    def _chat(self, said: list[Any]) -> list[Any]:
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        for event in said:
            for choice in event.get("choices") or ():
                delta = choice.get("message") or choice["delta"]
                message["content"] += delta.get("content") or ""
                for call in delta.get("tool_calls") or ():
                    nth = call.pop("index", len(message.setdefault("tool_calls", [])))
                    known = message.setdefault("tool_calls", [])
                    if nth == len(known):
                        known.append(call)
                    else:
                        more = call["function"].get("arguments") or ""
                        known[nth]["function"]["arguments"] += more
        self.messages.append(message)
        return message.get("tool_calls") or []

    def _responses(self, said: list[Any]) -> list[Any]:
        items: list[Any] = next(
            (
                e.get("response", e)["output"]
                for e in reversed(said)
                if e.get("response", e).get("output")
            ),
            [],
        )
        self.messages += items
        return [item for item in items if item["type"] == "function_call"]

    def _anthropic(self, said: list[Any]) -> list[Any]:
        blocks: list[Any] = []
        for event in said:
            if event.get("type") == "message":
                blocks = event["content"]
            elif event.get("type") == "content_block_start":
                blocks.append({**event["content_block"], "partial": ""})
            elif event.get("type") == "content_block_delta":
                delta = event["delta"]
                if "partial_json" in delta:
                    blocks[event["index"]]["partial"] += delta["partial_json"]
                elif "text" in delta:
                    blocks[event["index"]]["text"] += delta["text"]
        for block in blocks:
            partial = block.pop("partial", "")
            if block["type"] == "tool_use" and partial:
                block["input"] = json.loads(partial)
        self.messages.append({"role": "assistant", "content": blocks})
        return [block for block in blocks if block["type"] == "tool_use"]

    def _gemini(self, said: list[Any]) -> list[Any]:
        parts = [
            part
            for event in said
            for candidate in event.get("candidates") or ()
            for part in candidate.get("content", {}).get("parts") or ()
        ]
        self.messages.append({"role": "model", "parts": parts})
        return [part["functionCall"] for part in parts if "functionCall" in part]

    def _answer(self, calls: list[Any], done: int) -> None:
        """The results of its tool."""
        text = " ".join(f"w{done}-{n}" for n in range(self.words))
        if self.api == "chat":
            self.messages += [
                {"role": "tool", "tool_call_id": c["id"], "content": text}
                for c in calls
            ]
        elif self.api == "responses":
            self.messages += [
                {
                    "type": "function_call_output",
                    "call_id": c["call_id"],
                    "output": text,
                }
                for c in calls
            ]
        elif self.api == "anthropic":
            results = [
                {"type": "tool_result", "tool_use_id": c["id"], "content": text}
                for c in calls
            ]
            self.messages.append({"role": "user", "content": results})
        else:
            parts = [
                {
                    "functionResponse": {
                        **({"id": c["id"]} if "id" in c else {}),
                        "name": c["name"],
                        "response": {"found": text},
                    }
                }
                for c in calls
            ]
            self.messages.append({"role": "user", "parts": parts})

    # -- what is measured --------------------------------------------------------------

    def tokens(self) -> int:
        """What its whole list would take, at four characters a token."""
        return len(json.dumps(self.messages)) // 4

    def entries(self, body: dict[str, Any]) -> list[Any]:
        """The list of a body."""
        listed: list[Any] = body[_KEYS[self.api]]
        return listed

    def changed(self, requests: list[Recorded]) -> int:
        """How often a request did not begin as the one before."""
        lists = [
            self.entries(r.body)
            for r in requests
            if "generate" in r.path or not r.path.endswith("count_tokens")
        ]
        return sum(new[: len(old)] != old for old, new in pairwise(lists))

    def without_marks(self, value: Any) -> Any:
        """The same without marks of the cache; a text block alone is its text."""
        if isinstance(value, dict):
            return {
                k: self.without_marks(v)
                for k, v in value.items()
                if k != "cache_control"
            }
        if isinstance(value, list):
            made_list = [self.without_marks(v) for v in value]
            if len(made_list) == 1 and isinstance(made_list[0], dict):
                only = made_list[0]
                if only.keys() == {"type", "text"}:
                    return only["text"]
            return made_list
        return value


def _streamed(text: str) -> list[Any]:
    """The events of a stream."""
    return [
        json.loads(line[5:])
        for line in text.splitlines()
        if line.startswith("data:") and line[5:].strip() != "[DONE]"
    ]
