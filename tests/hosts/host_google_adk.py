"""Google's ADK over the Gemini API, its session in memory."""

from __future__ import annotations

import asyncio
import copy
import os
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import LongRunningFunctionTool
from google.genai import types

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.google_adk import TurnkeepPlugin

APP = "app"
USER = "kim"


def lookup(question: str, round: int, part: int) -> str:  # noqa: A002 - the model's word
    """Looks something up."""
    return found(question, round, part)


def approve(what: str) -> dict[str, str]:
    """Asks a person."""
    return {"status": f"{what} waits for an approval"}


class AdkChat:
    """A session of a runner."""

    def __init__(self, setup: Setup, service: InMemorySessionService) -> None:
        """Go on with what the service holds."""
        os.environ["GOOGLE_API_KEY"] = "none"
        os.environ["GOOGLE_GEMINI_BASE_URL"] = setup.provider.url
        self._setup = setup
        self._service = service
        self._pins: set[str] = set()
        self._runner = asyncio.Runner()
        self._plugin: TurnkeepPlugin | None = None
        if setup.kept:
            self._plugin = TurnkeepPlugin(
                setup.budget, pinned=self._is_pinned, **setup.options
            )
        agent = LlmAgent(
            name="guide",
            model="gemini-2.5-flash",
            instruction=setup.system,
            tools=[lookup, LongRunningFunctionTool(approve)],
        )
        self._adk = Runner(
            app_name=APP,
            agent=agent,
            session_service=service,
            plugins=[self._plugin] if self._plugin is not None else [],
        )

    def _is_pinned(self, content: Any) -> bool:
        return any(part.text in self._pins for part in content.parts if part.text)

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent."""
        if pinned:
            self._pins.add(text)
        return self._runner.run(self._run(types.Part(text=text)))

    async def _run(self, part: Any) -> str:
        mode = StreamingMode.SSE if self._setup.streamed else StreamingMode.NONE
        said = ""
        async for event in self._adk.run_async(
            user_id=USER,
            session_id=self._setup.key,
            new_message=types.Content(role="user", parts=[part]),
            run_config=RunConfig(streaming_mode=mode),
        ):
            if event.error_code:
                raise RuntimeError(event.error_message)
            if event.is_final_response() and event.content and event.content.parts:
                said = event.content.parts[0].text or said
        return said

    def resolve(self, text: str) -> None:
        """Send the answer of the long-running tool; the model reads it at once."""
        (call,) = [
            call
            for event in self._session().events
            for call in event.get_function_calls()
            if call.name == "approve"
        ]
        answer = types.FunctionResponse(
            id=call.id, name="approve", response={"result": text}
        )
        self._runner.run(self._run(types.Part(function_response=answer)))

    def _session(self) -> Any:
        return self._runner.run(
            self._service.get_session(
                app_name=APP, user_id=USER, session_id=self._setup.key
            )
        )

    def history(self) -> str:
        """The events of the session, as far as they were said."""
        events = self._session().events
        return str([e.content.model_dump(exclude_none=True) for e in events])

    def resumed(self) -> Chat:
        """Another runner over a copy of the sessions."""
        made = AdkChat(self._setup, copy.deepcopy(self._service))
        made._pins = set(self._pins)
        return made

    def usage(self) -> int:
        """What the plugin has learned."""
        assert self._plugin is not None
        follower, *_ = self._plugin._followers._followers.values()
        return int(follower.chat.usage.input_tokens)


class AdkHost:
    """Google's ADK, which is asynchronous inside."""

    name = "google_adk"
    modes: tuple[Mode, ...] = ("async",)
    leaves_open = True
    shows_open = True

    def start(self, setup: Setup) -> Chat:
        """An empty session."""
        service = InMemorySessionService()
        asyncio.run(
            service.create_session(app_name=APP, user_id=USER, session_id=setup.key)
        )
        return AdkChat(setup, service)


def make_host() -> Host:
    """The adapter."""
    return AdkHost()
