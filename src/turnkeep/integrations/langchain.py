"""LangChain and LangGraph: a middleware for `create_agent`, a function for the rest.

```python
agent = create_agent(model, tools, middleware=[TurnkeepMiddleware(100_000)])
```

The agent's messages, and the checkpoints that hold them, stay whole. The cut and what
was learned are kept in the agent's state under `turnkeep`, so that a chat which goes on
from its checkpoint, in whichever process, sends the same prefix.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config
from langgraph.types import Command

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    TRIES,
    Follower,
    Followers,
    Request,
    View,
    fitted,
    key_of,
    usage_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepMiddleware", "fit_messages", "pin", "resolve"]

_PINNED: Final = "pinned"


class TurnkeepState(AgentState[Any]):  # type: ignore[misc]
    """What an agent with the middleware keeps beside its messages."""

    turnkeep: NotRequired[  # type: ignore[valid-type]
        Annotated[dict[str, Any], PrivateStateAttr]
    ]


class TurnkeepMiddleware(AgentMiddleware[TurnkeepState, Any, Any]):  # type: ignore[misc]
    """For `create_agent(middleware=[...])`: each model call fits.

    Put it last, so that it sees what is sent. A request that the provider refuses
    because it was too long is fitted again and sent once more. Messages that `pin`
    marked stay; an open call is sent with a stand-in until its `ToolMessage` is there.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; the request's unless given.
        strategy:
            What goes first.
        pinned:
            Says of a message whether it must stay in every request, beside `pin`.
        summarizer:
            Sums up what goes; see `turnkeep.Summarize`.
        on_prune:
            Called with the plan whenever something had to go.
    """

    state_schema = TurnkeepState

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
        options = Options(budget, model, strategy, pinned, summarizer, on_prune)
        self._followers = Followers(options)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ExtendedModelResponse[Any]:
        """Send what fits, and learn from the answer."""
        follower, asked = self._begin(request)
        for last in range(TRIES):
            view = follower.view(asked)
            try:
                answer = handler(request.override(messages=view.messages))
            except Exception as error:
                if last == TRIES - 1 or not view.overflowed(error):
                    raise
            else:
                return _kept(answer, view, follower, request)
        raise AssertionError  # pragma: no cover - the last try returns or raises

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """The same for `ainvoke` and `astream`."""
        follower, asked = self._begin(request)
        for last in range(TRIES):
            view = await follower.aview(asked)
            try:
                answer = await handler(request.override(messages=view.messages))
            except Exception as error:
                if last == TRIES - 1 or not view.overflowed(error):
                    raise
            else:
                return _kept(answer, view, follower, request)
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _begin(self, request: ModelRequest[Any]) -> tuple[Follower, Request]:
        """The conversation of a request, and what is about to be sent."""
        key = _thread() or key_of(_read(request.messages[0]))
        state = request.state.get("turnkeep")
        system = request.system_message
        asked = _request(
            request.messages,
            model=_model_of(request.model),
            system=None if system is None else str(system.text),
            tools=[_described(tool) for tool in request.tools] or None,
        )
        return self._followers.get(key, state), asked


def _thread() -> str | None:
    """The thread that runs, where the agent has a checkpointer."""
    try:
        configurable = get_config().get("configurable", {})
    except RuntimeError:
        return None
    thread = configurable.get("thread_id")
    space = configurable.get("checkpoint_ns") or ""
    # Subgraphs run in their parent's thread with a name and an id of the run.
    return None if thread is None else f"{thread} {space.partition(':')[0]}"


def _kept(
    answer: ModelResponse[Any],
    view: View,
    follower: Follower,
    request: ModelRequest[Any],
) -> ExtendedModelResponse[Any]:
    """Learn from an answer, and leave what was learned in the agent's state."""
    for message in answer.result:
        if isinstance(message, AIMessage) and message.usage_metadata:
            told = message.usage_metadata
            details = told.get("input_token_details") or {}
            cached = details.get("cache_read") or 0
            view.observe(usage_of(told["input_tokens"], told["output_tokens"], cached))
    state = follower.state
    if state == request.state.get("turnkeep"):
        return ExtendedModelResponse(answer)
    return ExtendedModelResponse(answer, Command(update={"turnkeep": state}))


def fit_messages(
    messages: Sequence[BaseMessage],
    budget: Budget | int,
    *,
    model: str,
    tools: Sequence[Any] = (),
    strategy: Strategy | str = "agent",
    pinned: Callable[[Any], bool] | None = None,
) -> list[BaseMessage]:
    """The messages that fit, for chains and for a `pre_model_hook`.

    Costs a look at the whole list at each call; an agent's middleware does not. What is
    not edited is the caller's own object.

    Args:
        messages:
            The whole history; it is not changed.
        budget:
            A `Budget`, or a number of tokens.
        model:
            Whose tokens are counted and whose rules hold.
        tools:
            What the request will offer; counted.
        strategy:
            What goes first.
        pinned:
            Says of a message whether it must stay, beside `pin`.

    Raises:
        BudgetExceededError: What must stay does not fit.
    """
    request = _request(
        messages, model=model, tools=[_described(tool) for tool in tools] or None
    )
    return fitted(request, Options(budget, model, strategy, pinned))


def pin(message: BaseMessage) -> BaseMessage:
    """The same message, marked to stay in every request.

    The mark stands in `additional_kwargs`: checkpoints keep it, providers are not sent
    it.
    """
    marks = {**message.additional_kwargs, _PINNED: True}
    return message.model_copy(update={"additional_kwargs": marks})


def resolve(agent: Any, config: Any, call_id: str, content: Any) -> None:
    """Give the answer to a call that an agent's chat has left open.

    Appends its `ToolMessage` to the thread of *config*; the next model call reads it,
    placed with its call.

    Raises:
        LookupError: The thread has no such call.
    """
    messages = agent.get_state(config).values.get("messages", [])
    calls = [c for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    names = [call["name"] for call in calls if call["id"] == call_id]
    if not names:
        msg = f"no call {call_id!r} in this thread; it has {[c['id'] for c in calls]}"
        raise LookupError(msg)
    said = ToolMessage(content=content, tool_call_id=call_id, name=names[-1])
    agent.update_state(config, {"messages": [said]}, as_node="tools")


def _request(messages: Sequence[BaseMessage], **about: Any) -> Request:
    return Request(
        messages,
        read=_read,
        make=_maker(messages),
        format="openai",
        is_pinned=lambda message: bool(message.additional_kwargs.get(_PINNED)),
        **about,
    )


def _read(message: BaseMessage) -> dict[str, Any]:
    """A message as OpenAI's chat format has it: LangChain's own conversion."""
    converted = convert_to_openai_messages(message, include_id=False)
    return dict(converted) if isinstance(converted, dict) else dict(converted[0])


def _maker(messages: Sequence[BaseMessage]) -> Callable[[Any], BaseMessage]:
    """Makes messages; one that only says something else keeps all other fields."""

    def make(entry: dict[str, Any]) -> BaseMessage:
        call = entry.get("tool_call_id")
        for own in reversed(messages) if call is not None else ():
            if isinstance(own, ToolMessage) and own.tool_call_id == call:
                return own.model_copy(update={"content": entry["content"]})
        (made,) = convert_to_messages([entry])
        return made

    return make


def _model_of(model: Any) -> str | None:
    """The name of a chat model, where it says one."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name.removeprefix("models/")
    return None


def _described(tool: Any) -> dict[str, Any]:
    """A tool's definition as it is sent; a provider's own tool as it stands."""
    if isinstance(tool, dict) and "function" not in tool and "name" not in tool:
        return tool
    return dict(convert_to_openai_tool(tool))
