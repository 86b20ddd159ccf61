"""Pydantic AI over Chat Completions, its history kept by the caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.pydantic_ai import TurnkeepCapability, defer, pin, resolve


def lookup(question: str, round: int, part: int) -> str:  # noqa: A002 - the model's word
    """Looks something up."""
    return found(question, round, part)


def approve(what: str) -> str:
    """Asks a person."""
    raise CallDeferred({"what": what})


class PydanticChat:
    """An agent and its history."""

    def __init__(
        self, setup: Setup, states: dict[str, Any], history: Sequence[Any]
    ) -> None:
        """Go on with *history*."""
        self._setup = setup
        self._states = states
        self._history = list(history)
        self._open = ""
        self._runner = asyncio.Runner()
        self._capability: TurnkeepCapability | None = None
        if setup.kept:
            self._capability = TurnkeepCapability(
                setup.budget, states=states, **setup.options
            )
        client = AsyncOpenAI(
            base_url=setup.provider.openai_url,
            api_key="none",
            max_retries=0,
            http_client=DefaultAsyncHttpxClient(),
        )
        self._agent: Any = Agent(
            OpenAIChatModel(setup.model, provider=OpenAIProvider(openai_client=client)),
            instructions=setup.system,
            tools=[lookup, approve],
            output_type=[str, DeferredToolRequests],
            capabilities=[self._capability] if self._capability is not None else [],
        )

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent; where a call waits, leave a placeholder."""
        history = self._history
        prompt: str | None = text
        if pinned:
            history = [*history, pin(ModelRequest.user_text_prompt(text))]
            prompt = None
        result = self._runner.run(self._run(prompt, history))
        self._history = result.all_messages()
        if isinstance(result.output, DeferredToolRequests):
            self._open = result.output.calls[0].tool_call_id
            self._history = defer(self._history, self._open)
            return "Waiting."
        return str(result.output)

    async def _run(self, prompt: str | None, history: Sequence[Any]) -> Any:
        if not self._setup.streamed:
            return await self._agent.run(prompt, message_history=history)
        async with self._agent.run_stream(prompt, message_history=history) as stream:
            output = await stream.get_output()

        class Result:
            """As `run` gives it."""

            def __init__(self) -> None:
                self.output = output
                self.all_messages = stream.all_messages

        return Result()

    def resolve(self, text: str) -> None:
        """Put the answer in its placeholder's place."""
        self._history = resolve(self._history, self._open, text)

    def history(self) -> str:
        """The history as JSON."""
        return str(ModelMessagesTypeAdapter.dump_json(self._history), "utf-8")

    def resumed(self) -> Chat:
        """Another agent with the same history, read from JSON."""
        history = ModelMessagesTypeAdapter.validate_json(self.history())
        states = json.loads(json.dumps(self._states))
        return PydanticChat(self._setup, states, history)

    def usage(self) -> int:
        """What the capability has learned."""
        assert self._capability is not None
        follower, *_ = self._capability._followers._followers.values()
        return int(follower.chat.usage.input_tokens)


class PydanticHost:
    """Pydantic AI, which is asynchronous inside."""

    name = "pydantic_ai"
    modes: tuple[Mode, ...] = ("async",)
    leaves_open = True
    shows_open = True

    def start(self, setup: Setup) -> Chat:
        """An empty history."""
        return PydanticChat(setup, {}, [])


def make_host() -> Host:
    """The adapter."""
    return PydanticHost()
