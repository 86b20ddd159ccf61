"""OpenAI Agents SDK: an input filter for every model call.

```python
fitting = TurnkeepInputFilter(100_000)
config = RunConfig(call_model_input_filter=fitting)
result = await Runner.run(agent, question, run_config=config, hooks=fitting.hooks)
```
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import Any, Final

from agents import FunctionTool, RunContextWrapper, RunHooks
from agents.run import CallModelData, ModelInputData

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import Followers, Request, View, key_of, usage_of
from ._options import Options, Summarizer

__all__ = ["TurnkeepInputFilter"]

_FAKE: Final = "__fake_id__"
"""The id that the SDK gives to every item of a chat model."""


_ANSWERING: Final[ContextVar[View | None]] = ContextVar("answering", default=None)
"""The request whose answer this run awaits."""


class _Hooks(RunHooks[Any]):  # type: ignore[misc]
    """Learns from each answer."""

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Learn what the provider counted."""
        del context, agent
        view, usage = _ANSWERING.get(), response.usage
        if view is not None and usage.input_tokens:
            details = getattr(usage, "input_tokens_details", None)
            cached = getattr(details, "cached_tokens", 0) or 0
            view.observe(usage_of(usage.input_tokens, usage.output_tokens, cached))


class TurnkeepInputFilter:
    """For `RunConfig(call_model_input_filter=...)`: each model call fits.

    With `hooks=` of the run it also learns what the provider counts. The SDK tells
    nobody of a refused request: hand its error to `overflowed` and run again.

    The SDK hands over Responses items, for chat models as well. One filter may serve
    many chats: each is told by its agent and its first item, or by *key*.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; the agent's unless given.
        strategy:
            What goes first.
        pinned:
            Says of an item whether it must stay in every request.
        summarizer:
            Sums up what goes; see `turnkeep.Summarize`.
        on_prune:
            Called with the plan whenever something had to go.
        key:
            Names the chat of a call, from the SDK's `CallModelData`: such as
            `lambda data: data.context.session_id`.
        states:
            Where cut and learning of each chat are kept between processes: any mutable
            mapping, such as `shelve.open("states")`.
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
        key: Callable[[CallModelData[Any]], str] | None = None,
        states: MutableMapping[str, Any] | None = None,
    ) -> None:
        """Nothing is followed yet."""
        options = Options(budget, model, strategy, pinned, summarizer, on_prune)
        self._followers = Followers(options, states)
        self._key = key
        self._view: View | None = None
        self.hooks: _Hooks = _Hooks()

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The window of one model call, in the SDK's own items."""
        sent = data.model_data
        agent = data.agent
        tools = await agent.get_all_tools(RunContextWrapper(data.context))
        request = Request(
            sent.input,
            read=_read,
            make=_maker(sent.input),
            format="openai-responses",
            model=_model_of(agent),
            system=sent.instructions or None,
            tools=[_described(tool) for tool in tools] or None,
        )
        key = self._key_of(data)
        follower = self._followers.get(key)
        view = await follower.aview(request)
        self._followers.save(key, follower)
        self._view = view
        _ANSWERING.set(view)
        return ModelInputData(input=view.messages, instructions=sent.instructions)

    def overflowed(self, error: object) -> bool:
        """Whether *error* says that the last request was too long, which is learned."""
        return self._view is not None and self._view.overflowed(error)

    def _key_of(self, data: CallModelData[Any]) -> str:
        if self._key is not None:
            return self._key(data)
        return key_of(data.agent.name, list(map(_read, data.model_data.input[:1])))


def _read(item: Any) -> Any:
    """An item without an id that all of a chat model's items have."""
    if isinstance(item, dict) and item.get("id") == _FAKE:
        return {key: value for key, value in item.items() if key != "id"}
    return item


def _maker(items: list[Any]) -> Callable[[Any], Any]:
    """Makes items for the model of *items*: a chat model's converter wants its id."""
    has_fake = any(isinstance(i, dict) and i.get("id") == _FAKE for i in items)

    def make(item: Any) -> Any:
        said = item.get("role") == "assistant" or item.get("type") == "function_call"
        return {**item, "id": _FAKE} if has_fake and said else item

    return make


def _model_of(agent: Any) -> str | None:
    """The name of an agent's model, where it says one."""
    model = agent.model
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) else None


def _described(tool: Any) -> dict[str, Any]:
    """A tool's definition as it is sent, as far as the SDK tells."""
    made = {"type": "function", "name": str(getattr(tool, "name", "tool"))}
    if isinstance(tool, FunctionTool):
        return {
            **made,
            "description": tool.description,
            "parameters": tool.params_json_schema,
        }
    return made
