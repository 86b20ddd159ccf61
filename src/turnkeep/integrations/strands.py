"""Strands Agents: a conversation manager that never shortens the conversation.

```python
agent = Agent(model, conversation_manager=TurnkeepConversationManager(100_000))
```

For the time of a model call the agent's messages are the window of that call; then they
are what they were. So a session holds them all, and nothing is counted as removed. The
cut and what was learned are part of the manager's state, which sessions keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from strands import Agent
from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    TRIES,
    Follower,
    Request,
    View,
    usage_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepConversationManager", "pin"]

_STATE: Final = "turnkeep"


class TurnkeepConversationManager(ConversationManager):  # type: ignore[misc]
    """For `Agent(conversation_manager=...)`, one an agent: each model call fits.

    A request that the provider refuses because it was too long is fitted again and sent
    once more. Messages that `pin` marked stay. A summariser must be synchronous.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; the agent's unless given.
        strategy:
            What goes first.
        pinned:
            Says of a message whether it must stay in every request, beside `pin`.
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
        super().__init__()
        self._options = Options(budget, model, strategy, pinned, summarizer, on_prune)
        self._follower = Follower(self._options)
        self._call: tuple[View, list[Any]] | None = None
        self._tries = 0

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Ask to be told before and after each model call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before)
        registry.add_callback(AfterModelCallEvent, self._after)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Nothing: the conversation stays whole."""

    def reduce_context(
        self, agent: Agent, e: Exception | None = None, **kwargs: Any
    ) -> None:
        """Nothing: calls are fitted one by one.

        Raises:
            Exception: *e*, a refusal that fitting again has not helped.
        """
        del agent, kwargs
        if e is not None:
            raise e

    def get_state(self) -> dict[str, Any]:
        """The manager's state with cut and learning, for a session."""
        return {**super().get_state(), _STATE: self._follower.state}

    def restore_from_session(self, state: dict[str, Any]) -> list[Any] | None:
        """Go on from a session's state."""
        self._follower = Follower(self._options, state.get(_STATE))
        super().restore_from_session(state)
        return None

    def _before(self, event: BeforeModelCallEvent) -> None:
        """Put the window in the place of the messages."""
        agent = event.agent
        specs = agent.tool_registry.get_all_tool_specs()
        request = Request(
            list(agent.messages),
            read=_read,
            make=lambda entry: entry,
            format="bedrock",
            model=_model_of(agent.model),
            system=agent.system_prompt or None,
            tools=[{"toolSpec": spec} for spec in specs] or None,
            is_pinned=_is_pinned,
        )
        view = self._follower.view(request)
        self._call = view, agent.messages
        agent.messages = view.messages

    def _after(self, event: AfterModelCallEvent) -> None:
        """Put the messages back, and learn from the answer."""
        if self._call is None:
            return
        view, event.agent.messages = self._call
        self._call = None
        if event.exception is not None:
            self._tries += 1
            error = event.exception.__cause__ or event.exception
            event.retry = self._tries < TRIES and view.overflowed(error)
            return
        self._tries = 0
        if event.stop_response is not None:
            _learn(view, event.stop_response.message)


def pin(message: dict[str, Any]) -> dict[str, Any]:
    """The same message, marked to stay: `agent([pin(message)])`.

    The mark stands in `metadata.custom`, which sessions keep; it is not sent.
    """
    metadata = dict(message.get("metadata") or {})
    metadata["custom"] = {**(metadata.get("custom") or {}), "pinned": True}
    return {**message, "metadata": metadata}


def _is_pinned(message: Any) -> bool:
    custom = (message.get("metadata") or {}).get("custom") or {}
    return bool(custom.get("pinned"))


def _read(message: Any) -> dict[str, Any]:
    """A message as Bedrock's API takes it."""
    return {"role": message["role"], "content": message["content"]}


def _model_of(model: Any) -> str | None:
    """The name of a model, where its configuration says one."""
    config = model.get_config()
    name = config.get("model_id") if isinstance(config, dict) else None
    return name if isinstance(name, str) else None


def _learn(view: View, message: Any) -> None:
    usage = (message.get("metadata") or {}).get("usage") or {}
    if usage.get("inputTokens"):
        cached = usage.get("cacheReadInputTokens") or 0
        written = usage.get("cacheWriteInputTokens") or 0
        # Bedrock counts the tokens of its cache apart from the input.
        total = usage["inputTokens"]
        apart = usage.get("totalTokens", 0) > total + usage.get("outputTokens", 0)
        read = total + (cached + written if apart else 0)
        view.observe(usage_of(read, usage.get("outputTokens", 0), cached))
