"""Strands Agents over Chat Completions, its session in files."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations.strands import TurnkeepConversationManager, pin


@tool  # type: ignore[untyped-decorator]
def lookup(question: str, round: int, part: int) -> str:  # noqa: A002 - the model's word
    """Looks something up."""
    return found(question, round, part)


class StrandsChat:
    """An agent with a session."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        """Go on with the session in *folder*."""
        self._setup = setup
        self._folder = folder
        self._runner = asyncio.Runner()
        self._manager: Any = NullConversationManager()
        if setup.kept:
            self._manager = TurnkeepConversationManager(setup.budget, **setup.options)
        client = {"base_url": setup.provider.openai_url, "api_key": "none"}
        self._agent: Any = Agent(
            OpenAIModel(client_args=client, model_id=setup.model),
            tools=[lookup],
            system_prompt=setup.system,
            conversation_manager=self._manager,
            session_manager=FileSessionManager(
                session_id=setup.key, storage_dir=str(folder)
            ),
            callback_handler=None,
        )

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Run the agent."""
        message: dict[str, Any] = {"role": "user", "content": [{"text": text}]}
        asked = [pin(message)] if pinned else text
        if self._setup.mode == "sync":
            return str(self._agent(asked)).strip()
        return self._runner.run(self._later(asked))

    async def _later(self, asked: Any) -> str:
        if not self._setup.streamed:
            return str(await self._agent.invoke_async(asked)).strip()
        result = None
        async for event in self._agent.stream_async(asked):
            result = event.get("result", result)
        return str(result).strip()

    def resolve(self, text: str) -> None:
        """Nothing is left open here."""
        raise NotImplementedError(text)

    def history(self) -> str:
        """The messages of the agent."""
        return json.dumps(self._agent.messages)

    def resumed(self) -> Chat:
        """Another agent over a copy of the session."""
        folder = Path(tempfile.mkdtemp())
        shutil.copytree(self._folder, folder, dirs_exist_ok=True)
        return StrandsChat(self._setup, folder)

    def usage(self) -> int:
        """What the manager has learned."""
        return int(self._manager._follower.chat.usage.input_tokens)


class StrandsHost:
    """Strands Agents, which always stream."""

    name = "strands"
    modes: tuple[Mode, ...] = ("sync", "async")
    leaves_open = False  # an agent refuses a prompt while a call is open
    shows_open = False

    def start(self, setup: Setup) -> Chat:
        """An empty session."""
        return StrandsChat(setup, Path(tempfile.mkdtemp()))


def make_host() -> Host:
    """The adapter."""
    return StrandsHost()
