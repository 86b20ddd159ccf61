"""Microsoft Agent Framework: a chat middleware.

```python
agent = Agent(client=client, middleware=[TurnkeepChatMiddleware(100_000)])
```

Each model call fits, those inside of a run as well; what history providers and sessions
hold stays whole. The cut and what was learned are kept in the session's state, under
`turnkeep`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import attrs
from agent_framework import ChatContext, ChatMiddleware, Content, Message

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    TRIES,
    Follower,
    Followers,
    Request,
    View,
    key_of,
    usage_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepChatMiddleware", "pin"]

_PINNED: Final = "pinned"
_STATE: Final = "turnkeep"


class TurnkeepChatMiddleware(ChatMiddleware):  # type: ignore[misc]
    """For `Agent(middleware=[...])`: each model call fits.

    A request that the provider refuses because it was too long is fitted again and sent
    once more, unless its answer is streamed: then the next one fits. What `pin` marked
    stays. A call that waits for an approval is sent with a stand-in, and the result of
    a late approval is placed with its call.

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
        self._pinned = pinned
        options = Options(budget, model, strategy, None, summarizer, on_prune)
        self._followers = Followers(options)

    async def process(
        self, context: ChatContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Send what fits, and learn from the answer."""
        history = list(context.messages)
        pieces = [piece for message in history for piece in _pieces(message)]
        follower = self._follower(context, pieces)
        request = self._request(context, pieces)
        for last in range(TRIES):
            view = await follower.aview(request)
            context.messages = _joined(view.messages)
            if context.stream:
                context.stream_result_hooks.append(_learner(view, follower, context))
                await call_next()
                return
            try:
                await call_next()
            except Exception as error:
                if last == TRIES - 1 or not _overflowed(view, error):
                    raise
            else:
                _learner(view, follower, context)(context.result)
                return

    def _follower(self, context: ChatContext, pieces: Sequence[_Piece]) -> Follower:
        session = getattr(context, "session", None)
        if session is None:
            return self._followers.get(key_of(_read(pieces[0])))
        return self._followers.get(session.session_id, session.state.get(_STATE))

    def _request(self, context: ChatContext, pieces: Sequence[_Piece]) -> Request:
        options = context.options or {}
        tools = options.get("tools") or ()
        tools = tools if isinstance(tools, list | tuple) else [tools]
        return Request(
            pieces,
            read=_read,
            make=_make,
            format="openai",
            model=options.get("model") or getattr(context.client, "model", None),
            system=options.get("instructions") or None,
            tools=[_described(tool) for tool in tools] or None,
            is_pinned=self._is_pinned,
        )

    def _is_pinned(self, piece: _Piece) -> bool:
        message = piece.message
        marks = message.additional_properties or {}
        return bool(marks.get(_PINNED)) or (
            self._pinned is not None and self._pinned(message)
        )


def pin(message: Message) -> Message:
    """The same message, marked to stay.

    The mark stands in `additional_properties`, which sessions keep; it is not sent.
    """
    marks = {**(message.additional_properties or {}), _PINNED: True}
    return _with(message, message.contents, additional_properties=marks)


def _with(message: Message, contents: Sequence[Any], **changed: Any) -> Message:
    fields = {
        "author_name": message.author_name,
        "message_id": message.message_id,
        "additional_properties": message.additional_properties,
    }
    return Message(message.role, list(contents), **{**fields, **changed})


def _overflowed(view: View, error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised from, says so."""
    while error is not None:
        if view.overflowed(error):
            return True
        error = error.__cause__
    return False


def _learner(
    view: View, follower: Follower, context: ChatContext
) -> Callable[[Any], None]:
    """Learns from an answer, and leaves what was learned in the session's state."""

    def learn(response: Any) -> None:
        usage = getattr(response, "usage_details", None) or {}
        if usage.get("input_token_count"):
            cached = usage.get("cache_read_input_token_count") or 0
            written = usage.get("output_token_count") or 0
            view.observe(usage_of(usage["input_token_count"], written, cached))
        session = getattr(context, "session", None)
        if session is not None:
            session.state[_STATE] = follower.state

    return learn


# -- messages ------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Piece:
    """What one entry of the wire says: a result, or a message without results."""

    message: Message
    content: Any = None


def _pieces(message: Message) -> list[_Piece]:
    """Approvals are the framework's own business: clients do not send them."""
    contents = message.contents
    if message.role == "tool":
        return [_Piece(message, c) for c in contents if c.type == "function_result"]
    if contents and all(c.type == "function_approval_response" for c in contents):
        return []
    return [_Piece(message)]


def _joined(kept: Sequence[_Piece]) -> list[Message]:
    """Messages again: the history's own where all of it is kept."""
    made: list[Message] = []
    run: list[_Piece] = []
    for piece in kept:
        if run and (piece.message is not run[0].message or piece.content is None):
            made.append(_message(run))
            run = []
        run.append(piece)
    return [*made, _message(run)] if run else made


def _message(run: Sequence[_Piece]) -> Message:
    message = run[0].message
    contents = [piece.content for piece in run if piece.content is not None]
    if not contents:
        # A call that waits for an approval is sent as the call it is.
        contents = _sent(message)
    same = len(contents) == len(message.contents)
    if same and all(a is b for a, b in zip(contents, message.contents, strict=True)):
        return message
    return _with(message, contents)


def _sent(message: Message) -> list[Any]:
    called = {c.call_id for c in message.contents if c.type == "function_call"}
    made = []
    for content in message.contents:
        if content.type != "function_approval_request":
            made.append(content)
        elif content.function_call.call_id not in called:
            made.append(content.function_call)
    return made


def _read(piece: _Piece) -> dict[str, Any]:
    """A piece as OpenAI's chat format has it."""
    if piece.content is not None:
        content = piece.content
        text = _text(content.result)
        return {"role": "tool", "tool_call_id": content.call_id, "content": text}
    texts: list[dict[str, Any]] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for content in _sent(piece.message):
        match content.type:
            case "text":
                texts.append({"type": "text", "text": content.text or ""})
            case "text_reasoning":
                thoughts.append(content.text or content.protected_data or "")
            case "function_call":
                calls.append(_call(content))
            case "data" | "uri" if _is_image(content):
                url = {"url": content.uri}
                texts.append({"type": "image_url", "image_url": url})
            case "function_approval_response" | "usage":
                pass
            case _:
                texts.append({"type": "text", "text": _text(content.to_dict())})
    said: Any = texts
    if all(part["type"] == "text" for part in texts):
        said = "\n".join(part["text"] for part in texts)
    made: dict[str, Any] = {"role": piece.message.role, "content": said}
    if thoughts:
        made["reasoning_content"] = "\n".join(thoughts)
    return {**made, "tool_calls": calls} if calls else made


def _call(content: Any) -> dict[str, Any]:
    function = {"name": content.name, "arguments": _text(content.arguments or "{}")}
    return {"id": content.call_id, "type": "function", "function": function}


def _is_image(content: Any) -> bool:
    return str(content.media_type or "").startswith("image/")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _make(entry: dict[str, Any]) -> _Piece:
    """A piece of an entry that is new, or that says something else."""
    if entry["role"] == "tool":
        result = Content.from_function_result(
            entry["tool_call_id"], result=entry["content"]
        )
        return _Piece(Message("tool", [result]), result)
    contents: list[Any] = []
    if entry.get("content"):
        contents.append(Content.from_text(entry["content"]))
    for call in entry.get("tool_calls") or ():
        function = call["function"]
        contents.append(
            Content.from_function_call(
                call["id"], function["name"], arguments=function["arguments"]
            )
        )
    return _Piece(Message(entry["role"], contents))


def _described(tool: Any) -> dict[str, Any]:
    """A tool's definition as it is sent; a provider's own tool as it stands."""
    if isinstance(tool, dict):
        return tool
    function = {
        "name": str(getattr(tool, "name", "tool")),
        "description": str(getattr(tool, "description", "") or ""),
    }
    parameters = getattr(tool, "parameters", None)
    if callable(parameters):
        function["parameters"] = parameters()
    return {"type": "function", "function": function}
