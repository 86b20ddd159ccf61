"""Google's Agent Development Kit: a plugin of a runner or an app.

```python
runner = Runner(agent=agent, plugins=[TurnkeepPlugin(100_000)], ...)
```

Each model call fits; the session's events stay whole. The cut and what was learned are
kept in the session's state, under `turnkeep_` and the agent's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    Follower,
    Followers,
    Open,
    Request,
    View,
    usage_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepPlugin"]

_TRIES: Final = 2
"""How often a request that was too long is fitted again."""


class TurnkeepPlugin(BasePlugin):  # type: ignore[misc]
    """For `Runner(plugins=[...])` or `App(plugins=[...])`: each model call fits.

    A request that the provider refuses because it was too long is fitted again and sent
    once more. The first answer of a long-running tool stays until the user's message
    with the last one has come, and that one until the model has read it.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; the request's unless given.
        strategy:
            What goes first.
        pinned:
            Says of a `google.genai.types.Content` whether it must stay in every
            request.
        summarizer:
            Sums up what goes; see `turnkeep.Summarize`.
        on_prune:
            Called with the plan whenever something had to go.
    """

    def __init__(
        self,
        budget: Budget | int | None = None,
        *,
        model: str | None = None,
        strategy: Strategy | str = "agent",
        pinned: Callable[[Any], bool] | None = None,
        summarizer: Summarizer | None = None,
        on_prune: Callable[[Plan], object] | None = None,
    ) -> None:
        """Nothing is followed yet."""
        super().__init__(name="turnkeep")
        options = Options(budget, model, strategy, pinned, summarizer, on_prune)
        self._followers = Followers(options)
        self._open: Open[str, tuple[Follower, Request, View]] = Open()

    async def before_model_callback(
        self, *, callback_context: Any, llm_request: Any
    ) -> None:
        """Put the window into a request."""
        session, name = callback_context.session, _place(callback_context)
        state = callback_context.state.get(name)
        follower = self._followers.get(f"{session.id} {name}", state)
        request = _request(llm_request, session)
        view = await follower.aview(request)
        llm_request.contents = view.messages
        self._open[_run(callback_context)] = (follower, request, view)
        if (now := follower.state) != state:
            callback_context.state[name] = now

    async def after_model_callback(
        self, *, callback_context: Any, llm_response: Any
    ) -> None:
        """Learn what the provider counted; nothing from a part of a stream."""
        usage = llm_response.usage_metadata
        if llm_response.partial or usage is None or not usage.prompt_token_count:
            return
        found = self._open.pop(_run(callback_context), None)
        if found is None:
            return
        follower, _, view = found
        written = (usage.candidates_token_count or 0) + (
            usage.thoughts_token_count or 0
        )
        cached = usage.cached_content_token_count or 0
        view.observe(usage_of(usage.prompt_token_count, written, cached))
        callback_context.state[_place(callback_context)] = follower.state

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> Any:
        """Answer with what the model says to less, where a request was too long."""
        found = self._open.pop(_run(callback_context), None)
        if found is None:
            return None
        follower, request, view = found
        # The context has no public way to its model.
        model = callback_context._invocation_context.agent.canonical_model  # noqa: SLF001
        for _ in range(_TRIES):
            if not view.overflowed(error):
                return None
            view = await follower.aview(request)
            llm_request.contents = view.messages
            try:
                answers = [a async for a in model.generate_content_async(llm_request)]
            except Exception as again:  # noqa: BLE001 - told to whoever asked, below
                error = again
            else:
                self._open[_run(callback_context)] = (follower, request, view)
                return answers[-1]
        return None


def _run(context: Any) -> str:
    return f"{context.invocation_id} {context.agent_name}"


def _place(context: Any) -> str:
    """Where an agent's state stands in its session."""
    return f"turnkeep_{context.agent_name}"


def _request(llm_request: Any, session: Any) -> Request:
    waiting = _waiting(session)
    config = llm_request.config
    tools = [_dump(tool) for tool in config.tools or () if hasattr(tool, "model_dump")]
    return Request(
        list(llm_request.contents),
        read=_dump,
        make=types.Content.model_validate,
        format="gemini",
        model=llm_request.model,
        system=_text(config.system_instruction),
        tools=tools or None,
        is_pinned=lambda content: any(
            (said.name, said.response) in waiting for said in _responses(content)
        ),
    )


def _dump(value: Any) -> dict[str, Any]:
    """As it is sent."""
    made: dict[str, Any] = value.model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return made


def _text(instruction: Any) -> str | None:
    """System text: given as one, as content, or as several of these."""
    if not instruction:
        return None
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, list):
        return "\n\n".join(filter(None, map(_text, instruction)))
    parts = getattr(instruction, "parts", None) or [instruction]
    return "\n".join(part.text for part in parts if getattr(part, "text", None))


def _responses(content: Any) -> Iterator[Any]:
    for part in (content.parts if content is not None else None) or ():
        if part.function_response is not None:
            yield part.function_response


def _waiting(session: Any) -> list[tuple[str | None, Any]]:
    """What long-running tools have said that the user has not answered yet.

    Requests do not hold the ids of calls, so these are told by name and content.
    """
    running: set[str] = set()
    said: dict[str, tuple[str | None, Any]] = {}
    for event in session.events:
        running |= event.long_running_tool_ids or set()
        for response in _responses(event.content):
            if response.id not in running:
                continue
            if event.author == "user":
                running.discard(response.id)
                said.pop(response.id, None)
            else:
                said[response.id] = (response.name, response.response)
    return list(said.values())
