"""Pydantic AI: a capability of an agent.

```python
agent = Agent(model, capabilities=[TurnkeepCapability(100_000)])
```

Each attempt at a model request fits the model that will serve it. The run's messages,
and so `all_messages()`, stay whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, Final

import attrs
from pydantic_ai import RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    TRIES,
    Followers,
    Open,
    Request,
    View,
    key_of,
    usage_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepCapability", "defer", "pin", "resolve"]

_PINNED: Final = "pinned"
_PENDING: Final = "pending"


_HAS_ATTEMPTS: Final = hasattr(AbstractCapability, "prepare_model_request")
"""Releases from 2.63 on ask before each attempt; before them the whole is wrapped."""


class TurnkeepCapability(AbstractCapability[Any]):  # type: ignore[misc]
    """For `Agent(capabilities=[...])`: each model request fits.

    A request that the provider refuses because it was too long is fitted again and sent
    once more. What `pin` marked stays. A call that waits for its result needs a
    placeholder, or the agent refuses the next prompt: see `defer` and `resolve`.

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
        states:
            Where cut and learning of each conversation are kept between processes: any
            mutable mapping, such as `shelve.open("states")`.
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
        states: MutableMapping[str, Any] | None = None,
    ) -> None:
        """Nothing is followed yet."""
        self._pinned = pinned
        options = Options(budget, model, strategy, None, summarizer, on_prune)
        self._followers = Followers(options, states)
        self._open: Open[Any, View] = Open()

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: Any
    ) -> Any:
        """Put the window into one attempt."""
        messages, view = await self._fit(ctx, request_context)
        self._open[_run(ctx)] = view
        return replace(request_context, messages=messages)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: Any, response: ModelResponse
    ) -> ModelResponse:
        """Learn what the provider counted."""
        del request_context
        view = self._open.pop(_run(ctx), None)
        if view is not None:
            _learn(view, response)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: Any, error: Exception
    ) -> ModelResponse:
        """Ask for another attempt where the request was too long."""
        view = self._open.pop(_run(ctx), None)
        attempt = getattr(request_context, "attempt", TRIES)
        if view is not None and view.overflowed(error) and attempt < TRIES:
            raise exceptions.RetryModelRequest from error
        raise error

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: Any, handler: Any
    ) -> ModelResponse:
        """The same for releases that do not ask before each attempt."""
        if _HAS_ATTEMPTS:
            return await handler(request_context)
        for last in range(TRIES):
            messages, view = await self._fit(ctx, request_context)
            try:
                response = await handler(replace(request_context, messages=messages))
            except Exception as error:
                if last == TRIES - 1 or not view.overflowed(error):
                    raise
            else:
                _learn(view, response)
                return response
        raise AssertionError  # pragma: no cover - the last try returns or raises

    async def _fit(
        self, ctx: RunContext[Any], request_context: Any
    ) -> tuple[list[ModelMessage], View]:
        """The messages that fit."""
        history = list(request_context.messages)
        pieces = [piece for message in history for piece in _pieces(message)]
        parameters = request_context.model_request_parameters
        request = Request(
            pieces,
            read=_read,
            make=_maker(pieces),
            format="openai",
            model=request_context.model.model_name,
            system=_instructions(history, parameters),
            tools=[_described(tool) for tool in parameters.function_tools] or None,
            is_pinned=self._is_pinned,
        )
        key = getattr(ctx, "conversation_id", None) or key_of(_read(pieces[0]))
        follower = self._followers.get(key)
        view = await follower.aview(request)
        self._followers.save(key, follower)
        return _joined(view.messages, pieces), view

    def _is_pinned(self, piece: _Piece) -> bool:
        """Pinned, or waiting for an answer."""
        message = piece.message
        marks = getattr(message, "metadata", None) or {}
        return (
            _is_pending(piece.part)
            or bool(marks.get(_PINNED))
            or (self._pinned is not None and self._pinned(message))
        )


def pin(message: ModelRequest) -> ModelRequest:
    """The same request, marked to stay: `message_history=[pin(request)]`.

    The mark stands in `metadata`, which is kept with the history and not sent.
    """
    return replace(message, metadata={**(message.metadata or {}), _PINNED: True})


def defer(
    messages: Sequence[ModelMessage], call_id: str, content: str = "Not finished yet."
) -> list[ModelMessage]:
    """A history in which an open call has a placeholder, so that the chat may go on.

    Raises:
        LookupError: No call of that id is open.
    """
    answered = {p.tool_call_id for p in _parts(messages, ToolReturnPart)}
    for call in _parts(messages, ToolCallPart):
        if call.tool_call_id == call_id and call_id not in answered:
            said = ToolReturnPart(
                call.tool_name, content, call_id, metadata={_PENDING: True}
            )
            return [*messages, ModelRequest([said])]
    msg = f"no call {call_id!r} is open in this history"
    raise LookupError(msg)


def resolve(
    messages: Sequence[ModelMessage], call_id: str, content: Any
) -> list[ModelMessage]:
    """A history in which the answer has taken the placeholder's place.

    Raises:
        LookupError: No call of that id waits behind a placeholder.
    """

    def answered(part: Any) -> Any:
        if _is_pending(part) and part.tool_call_id == call_id:
            return replace(part, content=content, metadata=None)
        return part

    made = list(messages)
    for nth, message in enumerate(messages):
        parts = [answered(part) for part in message.parts]
        if any(a is not b for a, b in zip(parts, message.parts, strict=True)):
            made[nth] = replace(message, parts=parts)
            return made
    msg = f"no call {call_id!r} waits in this history"
    raise LookupError(msg)


def _parts(messages: Sequence[ModelMessage], kind: type[Any]) -> Iterator[Any]:
    return (p for m in messages for p in m.parts if isinstance(p, kind))


def _run(ctx: RunContext[Any]) -> Any:
    return getattr(ctx, "run_id", None) or id(ctx)


def _is_pending(part: Any) -> bool:
    marks = getattr(part, "metadata", None)
    return isinstance(marks, dict) and bool(marks.get(_PENDING))


# -- messages ------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Piece:
    """What one entry of the wire says: a part of a request, or a whole response."""

    message: ModelMessage
    part: Any = None


def _pieces(message: ModelMessage) -> list[_Piece]:
    if isinstance(message, ModelResponse):
        return [_Piece(message)]
    return [_Piece(message, part) for part in message.parts]


def _joined(kept: Sequence[_Piece], pieces: Sequence[_Piece]) -> list[ModelMessage]:
    """Messages again: the history's own where all of it is kept."""
    whole: dict[int, int] = {}
    for piece in pieces:
        whole[id(piece.message)] = whole.get(id(piece.message), 0) + 1
    made: list[ModelMessage] = []
    run: list[_Piece] = []
    for piece in kept:
        if run and piece.message is not run[0].message:
            made.append(_message(run, whole))
            run = []
        run.append(piece)
    return [*made, _message(run, whole)] if run else made


def _message(run: Sequence[_Piece], whole: dict[int, int]) -> ModelMessage:
    message = run[0].message
    parts = [piece.part for piece in run]
    if parts == [None] or len(run) == whole.get(id(message)):
        return message
    return replace(message, parts=parts)


def _read(piece: _Piece) -> dict[str, Any]:
    """A piece as OpenAI's chat format has it."""
    if isinstance(piece.message, ModelResponse):
        return _answer(piece.message)
    part = piece.part
    match part:
        case SystemPromptPart():
            return {"role": "system", "content": part.content}
        case UserPromptPart():
            return {"role": "user", "content": _content(part.content)}
        case ToolReturnPart():
            return _result(part.tool_call_id, part.model_response_str())
        case RetryPromptPart(tool_name=str()):
            return _result(part.tool_call_id, part.model_response())
        case _ if hasattr(part, "model_response"):
            return {"role": "user", "content": part.model_response()}
        case _:
            return {"role": "system", "content": str(part)}


def _result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _answer(message: ModelResponse) -> dict[str, Any]:
    texts, thoughts, calls = [], [], []
    for part in message.parts:
        match part:
            case TextPart():
                texts.append(part.content)
            case ThinkingPart():
                thoughts.append(f"{part.content}{part.signature or ''}")
            case ToolCallPart():
                calls.append(_call(part))
            case _:
                # What the provider did itself is sent back to it: it counts.
                texts.append(str(part))
    made: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    return {**made, "tool_calls": calls} if calls else made


def _call(part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _content(content: Any) -> Any:
    """A prompt's text, or its parts."""
    if isinstance(content, str):
        return content
    made: list[dict[str, Any]] = []
    for item in content:
        match item:
            case ImageUrl():
                made.append({"type": "image_url", "image_url": {"url": item.url}})
            case BinaryContent() if item.is_image:
                url = item.data_uri
                made.append({"type": "image_url", "image_url": {"url": url}})
            case BinaryContent():
                file = {"filename": "file", "file_data": item.data_uri}
                made.append({"type": "file", "file": file})
            case _:
                text = getattr(item, "content", None) or getattr(item, "url", item)
                made.append({"type": "text", "text": str(text)})
    return made


def _maker(pieces: Sequence[_Piece]) -> Callable[[Any], _Piece]:
    """Makes pieces of entries that are new, or that say something else."""

    def make(entry: dict[str, Any]) -> _Piece:
        call_id = entry.get("tool_call_id")
        if entry["role"] == "assistant":
            return _Piece(_response(entry))
        if call_id is None:
            kind = SystemPromptPart if entry["role"] == "system" else UserPromptPart
            part: Any = kind(entry["content"])
            return _Piece(ModelRequest([part]), part)
        for piece in reversed(pieces):
            own = piece.part
            if isinstance(own, ToolReturnPart) and own.tool_call_id == call_id:
                own = replace(own, content=entry["content"])
                return _Piece(ModelRequest([own]), own)
        part = ToolReturnPart(_name(pieces, call_id), entry["content"], call_id)
        return _Piece(ModelRequest([part]), part)

    return make


def _name(pieces: Sequence[_Piece], call_id: str) -> str:
    calls = _parts([piece.message for piece in pieces], ToolCallPart)
    return next((c.tool_name for c in calls if c.tool_call_id == call_id), "tool")


def _response(entry: dict[str, Any]) -> ModelResponse:
    parts: list[Any] = [TextPart(entry["content"])] if entry.get("content") else []
    for call in entry.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"] or "{}")
        parts.append(ToolCallPart(call["function"]["name"], arguments, call["id"]))
    return ModelResponse(parts)


# -- the rest of a request -------------------------------------------------------------


def _instructions(history: Sequence[ModelMessage], parameters: Any) -> str | None:
    """The instructions that a request starts with."""
    parts = getattr(parameters, "instruction_parts", None)
    if parts:
        return "\n\n".join(part.content for part in parts)
    last = history[-1]
    return last.instructions if isinstance(last, ModelRequest) else None


def _described(tool: Any) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    return {"type": "function", "function": function}


def _learn(view: View, response: ModelResponse) -> None:
    usage = response.usage
    if usage.input_tokens:
        cached = usage.cache_read_tokens or 0
        view.observe(usage_of(usage.input_tokens, usage.output_tokens, cached))
