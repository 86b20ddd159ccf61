"""Microsoft Agent Framework over Chat Completions, its history in a session."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from agent_framework import Agent, AgentSession, Message, tool
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.agent_framework import TurnkeepChatMiddleware, pin


@tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
def lookup(
    question: Annotated[str, "What to look up"],
    round: int,  # noqa: A002 - the model's word
    part: int,
) -> str:
    """Looks something up."""
    return found(question, round, part)


@tool(approval_mode="always_require")  # type: ignore[untyped-decorator]
def approve(what: str) -> str:
    """Deploys, when a person says so."""
    del what
    return "APPROVED by Kim."


class FrameworkChat:
    """An agent with a session."""

    def __init__(self, setup: Setup, session: AgentSession) -> None:
        """Go on with a session."""
        self._setup = setup
        self._session = session
        self._open: Any = None
        self._runner = asyncio.Runner()
        self._middleware: TurnkeepChatMiddleware | None = None
        if setup.kept:
            self._middleware = TurnkeepChatMiddleware(setup.budget, **setup.options)
        client = OpenAIChatCompletionClient(
            model=setup.model,
            async_client=AsyncOpenAI(
                base_url=setup.provider.openai_url,
                api_key="none",
                max_retries=0,
                http_client=DefaultAsyncHttpxClient(),
            ),
        )
        self._agent: Any = Agent(
            client=client,
            name="guide",
            instructions=setup.system,
            tools=[lookup, approve],
            middleware=[self._middleware] if self._middleware is not None else [],
        )

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent."""
        message = Message("user", [text])
        return self._runner.run(self._run(pin(message) if pinned else message))

    async def _run(self, asked: Any) -> str:
        if not self._setup.streamed:
            response = await self._agent.run(asked, session=self._session)
        else:
            stream = self._agent.run(asked, session=self._session, stream=True)
            async for _ in stream:
                pass
            response = await stream.get_final_response()
        if response.user_input_requests:
            self._open = response.user_input_requests[0]
        return str(response.text)

    def resolve(self, text: str) -> None:
        """Approve; the framework runs the tool and asks the model at once."""
        del text
        response = self._open.to_function_approval_response(approved=True)
        self._runner.run(self._run(Message("user", [response])))

    def history(self) -> str:
        """What was said in the session."""
        (held,) = [v for k, v in self._session.state.items() if k != "turnkeep"]
        contents = [c for message in held["messages"] for c in message.contents]
        return "\n".join(str(c.text or c.result or c.arguments) for c in contents)

    def resumed(self) -> Chat:
        """Another agent with the session, read from JSON."""
        held = json.loads(json.dumps(self._session.to_dict()))
        return FrameworkChat(self._setup, AgentSession.from_dict(held))

    def usage(self) -> int:
        """What the middleware has learned."""
        assert self._middleware is not None
        follower, *_ = self._middleware._followers._followers.values()
        return int(follower.chat.usage.input_tokens)


class FrameworkHost:
    """Microsoft Agent Framework, which is asynchronous."""

    name = "agent_framework"
    modes: tuple[Mode, ...] = ("async",)
    leaves_open = True
    shows_open = False  # newer releases hide it until it is approved

    def start(self, setup: Setup) -> Chat:
        """An empty session."""
        return FrameworkChat(setup, AgentSession(session_id=setup.key))


def make_host() -> Host:
    """The adapter."""
    return FrameworkHost()
