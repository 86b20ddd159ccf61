"""litellm's SDK, whose users write the loop themselves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import litellm

from tests.hosts.scenario import Chat, Host, Mode, Setup, found
from turnkeep.integrations import litellm as ours

TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks something up.",
        "parameters": {
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "round": {"type": "integer"},
                "part": {"type": "integer"},
            },
        },
    },
}


APPROVE = {
    "type": "function",
    "function": {
        "name": "approve",
        "description": "Asks a person.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    },
}


class LitellmChat:
    """A list of messages and a loop."""

    def __init__(self, setup: Setup, messages: list[Any], states: Any) -> None:
        """Go on with *messages*."""
        self._setup = setup
        self._states = states
        self._pins: set[str] = set()
        self._open = ""
        self.messages = messages
        self._options: dict[str, Any] = {
            "model": f"openai/{setup.model}",
            "api_base": setup.provider.openai_url,
            "api_key": "none",
            "tools": [TOOL, APPROVE],
            "metadata": {"session_id": setup.key},
        }
        self._logger: Any = None
        self._loop = asyncio.Runner()
        if setup.kept:
            self._ours: dict[str, Any] = {
                "budget": setup.budget,
                "pinned": self._is_pinned,
                "states": states,
                **setup.options,
            }
            self._logger = ours.TurnkeepLogger(**self._ours)

    def _is_pinned(self, message: Any) -> bool:
        return isinstance(message, dict) and message.get("content") in self._pins

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Ask and look up until there is an answer."""
        if pinned:
            self._pins.add(text)
        self.messages.append({"role": "user", "content": text})
        while True:
            message = self._answer()
            self.messages.append(message)
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                if call.function.name == "approve":
                    self._open = call.id
                    return "Waiting."
                result = found(**json.loads(call.function.arguments))
                answer = {"role": "tool", "tool_call_id": call.id, "content": result}
                self.messages.append(answer)

    def _answer(self) -> Any:
        asked = {**self._options, "messages": self.messages}
        if self._setup.streamed:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        if self._setup.mode == "sync":
            if self._logger is None:
                answer = litellm.completion(**asked)
            else:
                answer = ours.completion(**asked, **self._ours)
            chunks = list(answer) if self._setup.streamed else None
        else:
            answer, chunks = self._loop.run(self._later(asked))
        if chunks is not None:
            answer = litellm.stream_chunk_builder(chunks, messages=self.messages)
        return answer.choices[0].message

    async def _later(self, asked: dict[str, Any]) -> tuple[Any, list[Any] | None]:
        litellm.callbacks = [] if self._logger is None else [self._logger]
        try:
            answer = await litellm.acompletion(**asked)
        except litellm.ContextWindowExceededError:
            if self._logger is None:
                raise
            # What every caller does who retries; releases without a hook for failures
            # tell the logger in the background.
            await asyncio.sleep(0.5)
            answer = await litellm.acompletion(**asked)
        chunks = [c async for c in answer] if self._setup.streamed else None
        # Successes are told in the background.
        await asyncio.sleep(0.05)
        return answer, chunks

    def resolve(self, text: str) -> None:
        """Append the late result."""
        answer = {"role": "tool", "tool_call_id": self._open, "content": text}
        self.messages.append(answer)

    def history(self) -> str:
        """The list."""
        return json.dumps(
            [m if isinstance(m, dict) else m.json() for m in self.messages]
        )

    def resumed(self) -> Chat:
        """A copy of the list and of what was kept beside it, as JSON."""
        states = json.loads(json.dumps(self._states))
        copies = [
            m if isinstance(m, dict) else m.model_dump(exclude_none=True)
            for m in self.messages
        ]
        said = ("role", "content", "tool_calls", "tool_call_id")
        kept = [{k: v for k, v in m.items() if k in said} for m in copies]
        made = LitellmChat(self._setup, json.loads(json.dumps(kept)), states)
        made._pins = set(self._pins)
        return made

    def usage(self) -> int:
        """What logger or `completion` have learned."""
        if self._setup.mode == "async":
            fitting = self._logger._fitting
        else:
            fitting = ours._shared[-1][2]
        return int(fitting.followers.get(self._setup.key).chat.usage.input_tokens)


class LitellmHost:
    """litellm."""

    name = "litellm"
    modes: tuple[Mode, ...] = ("sync", "async")
    leaves_open = True
    shows_open = True

    def start(self, setup: Setup) -> Chat:
        """An empty list."""
        system = {"role": "system", "content": setup.system}
        return LitellmChat(setup, [system], {})


def make_host() -> Host:
    """The adapter."""
    return LitellmHost()
