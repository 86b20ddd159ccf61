"""The providers' own clients through the proxy: the same bytes, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.strict.provider import Recorded, StrictProvider
from turnkeep.proxy import Running, Settings

QUESTION = "Look up the answer, please."


def _openai_chat(url: str, stream: bool) -> str:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client:
        messages: list[Any] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
        ]
        if not stream:
            made = client.chat.completions.create(model="gpt-4o", messages=messages)
            return str(made.choices[0].message.content)
        events = client.chat.completions.create(
            model="gpt-4o", messages=messages, stream=True
        )
        return "".join(e.choices[0].delta.content or "" for e in events if e.choices)


def _openai_responses(url: str, stream: bool) -> str:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client:
        if not stream:
            return str(
                client.responses.create(model="gpt-5", input=QUESTION).output_text
            )
        events = client.responses.create(model="gpt-5", input=QUESTION, stream=True)
        return "".join(
            e.delta for e in events if e.type == "response.output_text.delta"
        )


def _anthropic(url: str, stream: bool) -> str:
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=url, api_key="k") as client:
        asked: dict[str, Any] = {
            "model": "claude-opus-4-8",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": QUESTION}],
        }
        if not stream:
            return str(client.messages.create(**asked).content[0].text)
        with client.messages.stream(**asked) as events:
            return "".join(events.text_stream)


def _gemini(url: str, stream: bool) -> str:
    genai = pytest.importorskip("google.genai")
    options = {"base_url": url}
    client = genai.Client(api_key="k", http_options=options)
    asked = {"model": "gemini-2.5-pro", "contents": QUESTION}
    if not stream:
        return str(client.models.generate_content(**asked).text)
    return "".join(
        part.text or "" for part in client.models.generate_content_stream(**asked)
    )


CLIENTS: dict[str, Callable[[str, bool], str]] = {
    "openai chat": _openai_chat,
    "openai responses": _openai_responses,
    "anthropic": _anthropic,
    "google-genai": _gemini,
}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_client_sees_and_sends_the_same(name: str, stream: bool) -> None:
    """Request, headers and answer are those without a proxy between."""
    ask = CLIENTS[name]
    with StrictProvider() as provider:
        straight = ask(provider.url, stream)
        settings = Settings(upstreams={"": provider.url}, budgets=[("*", 5_000)])
        with Running(settings) as proxy:
            through = ask(proxy.url, stream)
        first, second = provider.requests

    assert through == straight
    assert straight.startswith("Final answer")
    assert second.raw == first.raw
    assert second.path == first.path
    assert told(second) == told(first)


def told(request: Recorded) -> dict[str, str]:
    """Headers, but for what belongs to a connection or counts requests."""
    own = {"host", "connection", "x-stainless-retry-count", "content-length"}
    return {
        key: value
        for key, value in request.headers.items()
        if key not in own and "trace" not in key
    }
