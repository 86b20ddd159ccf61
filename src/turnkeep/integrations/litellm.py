"""litellm: `completion()`, a logger for SDK and Router, a guardrail for its proxy.

```python
litellm.callbacks = [TurnkeepLogger(100_000)]
```

litellm keeps no history, so a conversation is told by `metadata["session_id"]` (or
`litellm_session_id`) of the request, else by its system text and first message. Nothing
of a request is kept longer than the conversation is followed; what its list does not
hold never enters its window.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import litellm
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.integrations.custom_logger import CustomLogger

from turnkeep.budgets import Budget
from turnkeep.plans import Plan
from turnkeep.strategies import Strategy

from ._follower import (
    OPEN,
    Follower,
    Followers,
    Open,
    Request,
    View,
    key_of,
)
from ._options import Options, Summarizer

__all__ = ["TurnkeepGuardrail", "TurnkeepLogger", "acompletion", "completion"]


_CHATS: Final = frozenset({"completion", "acompletion", "text_completion"})
_RESPONSES: Final = frozenset({"responses", "aresponses"})
_MESSAGES: Final = frozenset({"anthropic_messages", "aanthropic_messages"})


def _same(value: Any) -> Any:
    """A message as it is sent: what an answer held is an object, or its fields."""
    dump = getattr(value, "model_dump", None)
    fields = value if dump is None else dump(exclude_none=True)
    if dump is None and not _ANSWERED & fields.keys():
        return value
    # Nulls and fields of answers are not part of requests.
    kept = {k: v for k, v in fields.items() if k in _SENT and v is not None}
    return kept if "tool_calls" in kept else {"content": "", **kept}


_ANSWERED: Final = frozenset({"annotations", "provider_specific_fields"})
"""Fields of answers: litellm itself makes dicts of objects with all of them."""

_SENT: Final = ("role", "content", "tool_calls", "function_call", "name", "refusal")


class _Fitting:
    """Fits the requests of one litellm, and learns from its answers."""

    def __init__(
        self, options: Options, states: MutableMapping[str, Any] | None
    ) -> None:
        self.options = options
        self.followers = Followers(options, states)
        self.open: Open[str, View] = Open()

    def fit(self, data: dict[str, Any], format: str = "openai") -> View | None:  # noqa: A002
        """Put the window into a request; nothing where it holds no list."""
        found = self._request(data, format)
        if found is None:
            return None
        request, key = found
        follower = self.followers.get(key)
        return self._put(data, follower.view(request), follower, key)

    async def afit(self, data: dict[str, Any], format: str = "openai") -> View | None:  # noqa: A002
        """The same without blocking the event loop while a summariser runs."""
        found = self._request(data, format)
        if found is None:
            return None
        request, key = found
        follower = self.followers.get(key)
        return self._put(data, await follower.aview(request), follower, key)

    def _put(
        self, data: dict[str, Any], view: View, follower: Follower, key: str
    ) -> View:
        data["input" if "input" in data else "messages"] = view.messages
        self.followers.save(key, follower)
        return view

    def _request(
        self,
        data: dict[str, Any],
        format: str,  # noqa: A002
    ) -> tuple[Request, str] | None:
        messages = data.get("input" if format == "openai-responses" else "messages")
        if not isinstance(messages, list) or not messages:
            return None
        system = data.get("instructions") or data.get("system")
        if isinstance(system, list):
            system = "\n".join(str(block.get("text", "")) for block in system)
        request = Request(
            messages,
            read=_same,
            make=lambda entry: entry,
            format=format,
            model=data.get("model"),
            system=system,
            tools=data.get("tools") or None,
        )
        return request, _key(data, system, messages)

    def told(self, call: str | None, view: View) -> None:
        """Remember a request until its answer comes."""
        if call is not None:
            self.open[call] = view

    def answered(self, call: str | None, answer: Any, asked: dict[str, Any]) -> None:
        """Learn from an answer, where its figures are the provider's own."""
        view = self.open.pop(call or "", None)
        usage = getattr(answer, "usage", None)
        if view is None or usage is None:
            return
        told = (asked.get("stream_options") or {}).get("include_usage")
        # litellm makes figures of its own up for streams that have none.
        if told or not asked.get("stream"):
            view.observe(usage.model_dump() if hasattr(usage, "model_dump") else usage)

    def failed(self, call: str | None, error: object) -> None:
        """Learn from a refusal."""
        view = self.open.pop(call or "", None)
        if view is not None and error is not None:
            view.overflowed(error)


def _key(data: dict[str, Any], system: Any, messages: list[Any]) -> str:
    metadata = data.get("metadata") or data.get("litellm_metadata") or {}
    named = data.get("litellm_session_id") or metadata.get("session_id")
    if named:
        return str(named)
    leading = []
    for message in map(_same, messages):
        leading.append(message)
        if message.get("role") not in ("system", "developer"):
            break
    return key_of(system, leading)


class TurnkeepLogger(CustomLogger):  # type: ignore[misc]
    """For `litellm.callbacks`: every `acompletion` and every Router call fits.

    litellm asks no hook before its synchronous `completion`; see `completion`.

    Args:
        budget:
            A `Budget`, a number of tokens, or nothing: the model's context window
            (extra `models`).
        model:
            Whose tokens are counted and whose rules hold; the request's unless given.
        strategy:
            What goes first.
        pinned:
            Says of a message whether it must stay in every request.
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
        super().__init__()
        options = Options(budget, model, strategy, pinned, summarizer, on_prune)
        self._fitting = _Fitting(options, states)

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Fit a request whose deployment is chosen, never the caller's own list."""
        if getattr(call_type, "value", call_type) not in _CHATS:
            return None
        made = dict(kwargs)
        view = await self._fitting.afit(made)
        if view is None:
            return None
        self._fitting.told(made.get("litellm_call_id"), view)
        return made

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Learn what the provider counted, at once."""
        del call_type
        call = request_data.get("litellm_call_id")
        if not request_data.get("stream"):
            self._fitting.answered(call, response, request_data)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: Any,
        fallback_depth: int | None = None,
    ) -> None:
        """Learn that a request was too long, at once: the next one fits."""
        del call_type, fallback_depth
        self._fitting.failed(request_data.get("litellm_call_id"), exception)

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """The same for streams, which litellm puts together when they have ended."""
        del start_time, end_time
        asked = {**(kwargs.get("optional_params") or {}), **kwargs}
        self._fitting.answered(kwargs.get("litellm_call_id"), response_obj, asked)

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """The same for releases of litellm that have no hook for a failure."""
        del response_obj, start_time, end_time
        self._fitting.failed(kwargs.get("litellm_call_id"), kwargs.get("exception"))


class TurnkeepGuardrail(CustomGuardrail):  # type: ignore[misc]
    """For its proxy: `guardrail: turnkeep.integrations.litellm.TurnkeepGuardrail`.

    With `mode: pre_call` every request to /chat/completions, /responses and
    /v1/messages is fitted before a model is chosen. `max_tokens` among its
    `litellm_params` is the budget, `target` its target (0.6 unless given).
    """

    def __init__(
        self,
        budget: Budget | int | None = None,
        *,
        max_tokens: int | None = None,
        target: float = 0.6,
        strategy: Strategy | str = "agent",
        states: MutableMapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Nothing is followed yet."""
        super().__init__(**kwargs)
        if budget is None and max_tokens is not None:
            budget = Budget(max_tokens, target=target)
        self._fitting = _Fitting(Options(budget, strategy=strategy), states)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Fit a request that came in."""
        del user_api_key_dict, cache
        kind = str(getattr(call_type, "value", call_type))
        formats = (
            (_CHATS, "openai"),
            (_RESPONSES, "openai-responses"),
            (_MESSAGES, "anthropic"),
        )
        for kinds, name in formats:
            if kind in kinds:
                view = await self._fitting.afit(data, name)
                if view is not None:
                    self._fitting.told(data.get("litellm_call_id"), view)
                return data
        return None

    async def async_log_success_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Learn what the provider counted."""
        del start_time, end_time
        asked = {**(kwargs.get("optional_params") or {}), **kwargs}
        self._fitting.answered(kwargs.get("litellm_call_id"), response_obj, asked)

    async def async_log_failure_event(
        self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Learn that a request was too long: the next one fits."""
        del response_obj, start_time, end_time
        self._fitting.failed(kwargs.get("litellm_call_id"), kwargs.get("exception"))


_shared: list[tuple[Options, Any, _Fitting]] = []
"""What `completion` has followed, by what it was told; the newest last."""


def _fitting_of(options: Options, states: MutableMapping[str, Any] | None) -> _Fitting:
    """What earlier calls with the same options have followed."""
    for known, kept, fitting in _shared:
        if known == options and kept is states:
            return fitting
    fitting = _Fitting(options, states)
    _shared.append((options, states, fitting))
    del _shared[:-OPEN]
    return fitting


def completion(
    *args: Any,
    budget: Budget | int | None = None,
    strategy: Strategy | str = "agent",
    pinned: Callable[[Any], bool] | None = None,
    summarizer: Summarizer | None = None,
    on_prune: Callable[[Plan], object] | None = None,
    states: MutableMapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """`litellm.completion()` whose messages fit; what is not named here is litellm's.

    A request that turns out too long is fitted again and sent once more.

    Raises:
        BudgetExceededError: What must stay does not fit.
    """
    options = Options(budget, None, strategy, pinned, summarizer, on_prune)
    fitting = _fitting_of(options, states)
    made = _named(args, kwargs)
    view = fitting.fit(made)
    try:
        answer = litellm.completion(**made)
    except litellm.ContextWindowExceededError as error:
        if view is None or not view.overflowed(error):
            raise
        made = _named(args, kwargs)
        view = fitting.fit(made)
        answer = litellm.completion(**made)
    return _learned(view, answer, made)


async def acompletion(
    *args: Any,
    budget: Budget | int | None = None,
    strategy: Strategy | str = "agent",
    pinned: Callable[[Any], bool] | None = None,
    summarizer: Summarizer | None = None,
    on_prune: Callable[[Plan], object] | None = None,
    states: MutableMapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """`completion` for `litellm.acompletion()`."""
    options = Options(budget, None, strategy, pinned, summarizer, on_prune)
    fitting = _fitting_of(options, states)
    made = _named(args, kwargs)
    view = await fitting.afit(made)
    try:
        answer = await litellm.acompletion(**made)
    except litellm.ContextWindowExceededError as error:
        if view is None or not view.overflowed(error):
            raise
        made = _named(args, kwargs)
        view = await fitting.afit(made)
        answer = await litellm.acompletion(**made)
    return _learned(view, answer, made)


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name; litellm takes model and messages by place."""
    return {**dict(zip(("model", "messages"), args, strict=False)), **kwargs}


def _learned(view: View | None, answer: Any, asked: dict[str, Any]) -> Any:
    usage = getattr(answer, "usage", None)
    if view is not None and usage is not None and not asked.get("stream"):
        view.observe(json.loads(usage.model_dump_json()))
    return answer
