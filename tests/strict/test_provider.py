"""The strict provider itself: a judge that refuses nothing proves nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.strict.provider import APIS, StrictProvider
from tests.strict.scripts import Answer, Call, Failure, InTurn, Rounds
from tests.strict.seeds import MODELS, SEEDS, WHOLE, Seed

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}
TOOL = {
    "name": "lookup",
    "description": "Looks something up.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    """A provider of its own for each test."""
    with StrictProvider() as started:
        yield started


def ask(provider: StrictProvider, api: str, body: Any, model: str = "") -> Any:
    """Send a body; the answer's body and its status."""
    model = model or MODELS[api]
    path = PATHS[api].format(model=model)
    named = body if api == "gemini" else {**body, "model": model}
    request = Request(provider.url + path, json.dumps(named).encode())  # noqa: S310
    try:
        with urlopen(request) as answer:  # noqa: S310 - loopback
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize("api", APIS)
def test_a_whole_request_is_answered(provider: StrictProvider, api: str) -> None:
    """What breaks no rule gets an answer."""
    status, _ = ask(provider, api, WHOLE[api])

    assert status == 200, provider.requests[-1].faults
    assert not provider.refused


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.rule)
def test_a_seeded_request_is_refused(provider: StrictProvider, seed: Seed) -> None:
    """Each rule refuses the request that breaks it, in the provider's form."""
    status, answer = ask(provider, seed.api, seed.body(), seed.model or "")

    faults = provider.requests[-1].faults
    assert status == 400
    assert seed.rule in {fault.rule for fault in faults}, faults
    assert answer["error"]["message"] == faults[0].message


@pytest.mark.parametrize("api", APIS)
def test_each_rule_has_a_seed(api: str) -> None:
    """No rule is there that was never seen to refuse."""
    seeded = {seed.rule for seed in SEEDS if seed.api == api}

    assert seeded == set(APIS[api].rules)


@pytest.mark.parametrize("api", APIS)
def test_a_long_request_is_refused(provider: StrictProvider, api: str) -> None:
    """One token above its context is too much; the limit itself is not."""
    ask(provider, api, WHOLE[api])
    provider.limit = provider.requests[-1].tokens

    assert ask(provider, api, WHOLE[api])[0] == 200
    provider.limit -= 1
    status, answer = ask(provider, api, WHOLE[api])

    assert status == 400
    assert "context" in {fault.rule for fault in provider.requests[-1].faults}
    assert "exceed" in str(answer) or "too long" in str(answer)


def test_any_http_error() -> None:
    """A script may answer with an error of its own."""
    busy = Failure(529, {"type": "error", "error": {"type": "overloaded_error"}})
    with StrictProvider(script=InTurn([busy, Answer("Here.")])) as provider:
        first, _ = ask(provider, "anthropic", WHOLE["anthropic"])
        second, _ = ask(provider, "anthropic", WHOLE["anthropic"])

    assert (first, second) == (529, 200)


def test_tokens_are_counted_without_an_answer(provider: StrictProvider) -> None:
    """`count_tokens` says what a request would fill."""
    data = json.dumps(WHOLE["anthropic"]).encode()
    url = f"{provider.url}/v1/messages/count_tokens"
    with urlopen(Request(url, data)) as answer:  # noqa: S310 - loopback
        counted = json.load(answer)["input_tokens"]
    ask(provider, "anthropic", WHOLE["anthropic"])

    assert counted == provider.requests[-1].tokens


def _grown(client: Any, streamed: bool) -> list[Any]:
    """A question over chat: its calls are answered until the model has its answer."""
    tools = [{"type": "function", "function": TOOL}]
    said: list[Any] = [{"role": "user", "content": "What is it?"}]
    while True:
        options = {"model": "gpt-4o", "messages": said, "tools": tools}
        if streamed:
            with client.chat.completions.stream(**options) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**options).choices[0].message
        said.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        if not message.tool_calls:
            return said
        for call in message.tool_calls:
            result = {"role": "tool", "tool_call_id": call.id, "content": "found"}
            said.append(result)
            for made in said[-2].get("tool_calls") or ():
                made["function"].pop("parsed_arguments", None)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_openai_client_chat(streamed: bool) -> None:
    """OpenAI's client goes through six rounds of two calls, and gets the answer."""
    openai = pytest.importorskip("openai")
    with StrictProvider() as provider:
        client = openai.OpenAI(base_url=provider.openai_url, api_key="none")
        said = _grown(client, streamed)

    assert not provider.refused
    assert len(provider.requests) == 7
    assert said[-1]["content"] == "Final answer to What is it."


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_openai_client_responses(streamed: bool) -> None:
    """The same over Responses, reasoning items with their calls."""
    openai = pytest.importorskip("openai")
    items: list[Any] = [{"role": "user", "content": "What is it?"}]
    with StrictProvider(script=Rounds(thinking=True)) as provider:
        client = openai.OpenAI(base_url=provider.openai_url, api_key="none")
        while True:
            tools = [{"type": "function", **TOOL}]
            options: dict[str, Any] = {"model": "gpt-5", "input": items, "tools": tools}
            if streamed:
                with client.responses.stream(**options) as stream:
                    response = stream.get_final_response()
            else:
                response = client.responses.create(**options)
            made = [i.model_dump(exclude_none=True) for i in response.output]
            items += [{k: v for k, v in i.items() if k[:6] != "parsed"} for i in made]
            calls = [item for item in made if item["type"] == "function_call"]
            if not calls:
                break
            items += [
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "output": "found",
                }
                for call in calls
            ]

    assert not provider.refused
    assert response.output_text == "Final answer to What is it."
    assert response.usage.input_tokens == provider.requests[-1].tokens


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5-5"])
def test_anthropic_client(model: str, streamed: bool) -> None:
    """Anthropic's client, thinking included, bound to its prefix or not."""
    sdk = pytest.importorskip("anthropic")
    said: list[Any] = [{"role": "user", "content": "What is it?"}]
    tool = {"name": "lookup", "input_schema": TOOL["parameters"]}
    options: dict[str, Any] = {
        "model": model,
        "max_tokens": 2_048,
        "messages": said,
        "tools": [tool],
        "thinking": {"type": "enabled", "budget_tokens": 1_024},
    }
    with StrictProvider(script=Rounds(thinking=True)) as provider:
        client = sdk.Anthropic(base_url=provider.url, api_key="none")
        while True:
            if streamed:
                with client.messages.stream(**options) as stream:
                    message = stream.get_final_message()
            else:
                message = client.messages.create(**options)
            blocks = [b.model_dump(exclude_none=True) for b in message.content]
            for block in blocks:
                block.pop("parsed_output", None)
            said.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                break
            results = [
                {"type": "tool_result", "tool_use_id": c["id"], "content": "found"}
                for c in calls
            ]
            said.append({"role": "user", "content": results})

    assert not provider.refused, provider.refused[0].faults
    assert message.content[0].text == "Final answer to What is it."
    assert message.usage.input_tokens == provider.requests[-1].tokens


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_google_client(streamed: bool) -> None:
    """Google's client, signatures included."""
    genai = pytest.importorskip("google.genai")
    types = genai.types
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="lookup")])
    said = [types.Content(role="user", parts=[types.Part(text="What is it?")])]
    with StrictProvider() as provider:
        options = types.HttpOptions(base_url=provider.url)
        client = genai.Client(api_key="none", http_options=options)
        asked = {
            "model": "gemini-3-pro",
            "contents": said,
            "config": types.GenerateContentConfig(tools=[tool]),
        }
        while True:
            if streamed:
                chunks = list(client.models.generate_content_stream(**asked))
            else:
                chunks = [client.models.generate_content(**asked)]
            parts = [p for c in chunks for p in c.candidates[0].content.parts]
            said.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                break
            results = [
                types.Part.from_function_response(name=c.name, response={"result": "x"})
                for c in calls
            ]
            said.append(types.Content(role="user", parts=results))

    assert not provider.refused, provider.refused[0].faults
    assert "".join(p.text for p in parts) == "Final answer to What is it."
    told = chunks[-1].usage_metadata.prompt_token_count
    assert told == provider.requests[-1].tokens


def test_calls_of_a_script_keep_their_ids(provider: StrictProvider) -> None:
    """Ids are the script's where it gives them."""
    provider.script = InTurn([Answer(calls=(Call("lookup", {}, "call_mine"),))])

    _, answer = ask(provider, "chat", WHOLE["chat"])

    made = answer["choices"][0]["message"]["tool_calls"]
    assert [call["id"] for call in made] == ["call_mine"]
