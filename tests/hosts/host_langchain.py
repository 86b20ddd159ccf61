"""LangChain's `create_agent` over Chat Completions, its messages in a checkpointer."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from openai import DefaultAsyncHttpxClient

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.langchain import TurnkeepMiddleware, pin, resolve


@tool  # type: ignore[untyped-decorator]
def lookup(question: str, round: int, part: int) -> str:  # noqa: A002 - the model's word
    """Looks something up."""
    return found(question, round, part)


@tool  # type: ignore[untyped-decorator]
def approve(what: str) -> str:
    """Asks a person."""
    return str(interrupt(what))


class LangchainChat:
    """A thread of an agent."""

    def __init__(self, setup: Setup, saver: InMemorySaver) -> None:
        """Go on with what the checkpointer holds."""
        self._setup = setup
        self._saver = saver
        self._config: Any = {
            "configurable": {"thread_id": setup.key},
            "recursion_limit": 60,
        }
        self._middleware: TurnkeepMiddleware | None = None
        if setup.kept:
            self._middleware = TurnkeepMiddleware(setup.budget, **setup.options)
        self._runner = asyncio.Runner()
        self._agent: Any = create_agent(
            ChatOpenAI(
                model=setup.model,
                base_url=setup.provider.openai_url,
                api_key=_no_key,
                max_retries=0,
                stream_usage=setup.streamed,
                http_async_client=DefaultAsyncHttpxClient(),
            ),
            [lookup, approve],
            system_prompt=setup.system,
            middleware=[self._middleware] if self._middleware is not None else [],
            checkpointer=saver,
        )

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent."""
        message = HumanMessage(text)
        asked = {"messages": [pin(message) if pinned else message]}
        run: Callable[..., Any] = self._later if self._is_async else self._now
        made = run(asked)
        return str(made["messages"][-1].text) if made else "Waiting."

    @property
    def _is_async(self) -> bool:
        return self._setup.mode == "async"

    def _now(self, asked: Any) -> Any:
        if not self._setup.streamed:
            return self._agent.invoke(asked, self._config)
        for _ in self._agent.stream(asked, self._config, stream_mode="messages"):
            pass
        return self._agent.get_state(self._config).values

    def _later(self, asked: Any) -> Any:
        return self._runner.run(self._stream(asked))

    async def _stream(self, asked: Any) -> Any:
        if not self._setup.streamed:
            return await self._agent.ainvoke(asked, self._config)
        async for _ in self._agent.astream(asked, self._config, stream_mode="messages"):
            pass
        return (await self._agent.aget_state(self._config)).values

    def _messages(self) -> list[Any]:
        return list(self._agent.get_state(self._config).values["messages"])

    def resolve(self, text: str) -> None:
        """Answer the call that was interrupted."""
        calls = [
            call
            for message in self._messages()
            if isinstance(message, AIMessage)
            for call in message.tool_calls
            if call["name"] == "approve"
        ]
        resolve(self._agent, self._config, calls[-1]["id"], text)

    def history(self) -> str:
        """The messages of the thread."""
        return str(messages_to_dict(self._messages()))

    def resumed(self) -> Chat:
        """Another agent over a copy of the checkpoints."""
        return LangchainChat(self._setup, copy.deepcopy(self._saver))

    def usage(self) -> int:
        """What the middleware has learned."""
        assert self._middleware is not None
        follower, *_ = self._middleware._followers._followers.values()
        return int(follower.chat.usage.input_tokens)


def _no_key() -> str:
    return "none"


class LangchainHost:
    """LangChain."""

    name = "langchain"
    modes: tuple[Mode, ...] = ("sync", "async")
    leaves_open = True
    shows_open = True

    def start(self, setup: Setup) -> Chat:
        """An empty thread."""
        return LangchainChat(setup, InMemorySaver())


def make_host() -> Host:
    """The adapter."""
    return LangchainHost()
