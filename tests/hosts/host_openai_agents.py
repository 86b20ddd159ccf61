"""The OpenAI Agents SDK over Responses, its session in SQLite."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
)
from openai import AsyncOpenAI, BadRequestError

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.openai_agents import TurnkeepInputFilter

SCHEMA = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "round": {"type": "integer"},
        "part": {"type": "integer"},
    },
    "required": ["question", "round", "part"],
    "additionalProperties": False,
}


async def _look_up(context: Any, arguments: str) -> str:
    del context
    return found(**json.loads(arguments))


class AgentsChat:
    """An agent with a session."""

    def __init__(self, setup: Setup, states: dict[str, Any], items: list[Any]) -> None:
        """Go on with *items*."""
        self._setup = setup
        self._states = states
        self._pins: set[str] = set()
        self._session = SQLiteSession(setup.key)
        self._runner = asyncio.Runner()
        self._runner.run(self._session.add_items(items))
        client = AsyncOpenAI(base_url=setup.provider.openai_url, api_key="none")
        tool = FunctionTool("lookup", "Looks something up.", SCHEMA, _look_up)
        self._agent = Agent(
            name=f"guide-{setup.key}",
            instructions=setup.system,
            tools=[tool],
            model=OpenAIResponsesModel(setup.model, client),
        )
        self._filter: Any = None
        if setup.kept:
            self._filter = TurnkeepInputFilter(
                setup.budget, pinned=self._is_pinned, states=states, **setup.options
            )

    def _is_pinned(self, item: Any) -> bool:
        return item.get("role") == "user" and item.get("content") in self._pins

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent; once more where a request was too long."""
        if pinned:
            self._pins.add(text)
        try:
            return str(self._runner.run(self._run(text)))
        except BadRequestError as error:
            if self._filter is None or not self._filter.overflowed(error):
                raise
            return str(self._runner.run(self._run([])))

    async def _run(self, asked: Any) -> Any:
        config = RunConfig(call_model_input_filter=self._filter, tracing_disabled=True)
        options: dict[str, Any] = {
            "session": self._session,
            "run_config": config,
            "hooks": self._filter.hooks if self._filter is not None else None,
            "max_turns": 20,
        }
        if not self._setup.streamed:
            result = await Runner.run(self._agent, asked, **options)
            return result.final_output
        streamed = Runner.run_streamed(self._agent, asked, **options)
        async for _ in streamed.stream_events():
            pass
        return streamed.final_output

    def resolve(self, text: str) -> None:
        """Nothing is left open here."""
        raise NotImplementedError(text)

    def history(self) -> str:
        """What the session holds."""
        return json.dumps(self._runner.run(self._session.get_items()))

    def resumed(self) -> Chat:
        """Another session with the same items."""
        items = json.loads(self.history())
        made = AgentsChat(self._setup, json.loads(json.dumps(self._states)), items)
        made._pins = set(self._pins)
        return made

    def usage(self) -> int:
        """What the filter has learned."""
        follower, *_ = self._filter._followers._followers.values()
        return int(follower.chat.usage.input_tokens)


class AgentsHost:
    """openai-agents, which is asynchronous inside."""

    name = "openai_agents"
    modes: tuple[Mode, ...] = ("async",)
    leaves_open = False  # the SDK drops open calls before its filter is asked
    shows_open = False

    def start(self, setup: Setup) -> Chat:
        """An empty session."""
        return AgentsChat(setup, {}, [])


def make_host() -> Host:
    """The adapter."""
    return AgentsHost()
