"""Taking what a provider answered."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from functools import partial
from inspect import iscoroutine
from typing import Any, TypeVar, overload

from turnkeep.formats import answer_of, is_whole, join_chunks
from turnkeep.model import Message
from turnkeep.model._checks import quoted
from turnkeep.plans import Plan
from turnkeep.tokens import Usage

from ._stream import ResponseStream
from ._taking import Dumpable
from ._window import Window
from ._windows import Windows

T = TypeVar("T")


class Responding(Windows):
    """The part of a conversation that takes answers."""

    # Most clients' objects can be iterated over, though they are no streams: the first
    # two signatures are for what is whole.
    @overload
    def add_response(  # type: ignore[overload-overlap] # a mapping is iterable too
        self, response: Mapping[str, Any], *, window: Window | None = None
    ) -> tuple[Message, ...]: ...

    @overload
    def add_response(
        self, response: Dumpable, *, window: Window | None = None
    ) -> tuple[Message, ...]: ...

    @overload
    def add_response(
        self,
        response: Iterable[T] | AsyncIterable[T],
        *,
        window: Window | None = None,
    ) -> ResponseStream[T]: ...

    def add_response(
        self, response: Any, *, window: Window | None = None
    ) -> tuple[Message, ...] | ResponseStream[Any]:
        """Append a provider's answer, with its calls, and observe its usage.

        The first choice is taken, read by the format of the provider that gave it,
        whatever the conversation's own format is: arguments, signatures and encrypted
        reasoning stay as they came. An answer that says nothing (reasoning alone, a
        failure, a window that was full) appends nothing; its usage is observed all the
        same.

        Args:
            response:
                What the client of OpenAI (chat, Responses), Azure, Anthropic, Gemini,
                Bedrock (`converse`), Mistral, DeepSeek, Ollama or litellm returned, as
                an object or a dict. Or its stream, sync or async: then every chunk is
                passed on unchanged, and the answer appended when the last one has been.
                A loop that is left before that appends nothing.
            window:
                The window that was answered; the last one unless given.

        Returns:
            What was appended; or a stream to go through.

        Raises:
            FormatError: It is no answer of a provider, or a malformed one; nothing is
                changed.
            CutOffError: The token limit cut off the arguments of a call; nothing is
                changed.
            DuplicateIdError: It is here already.
            ConflictError: Another process wrote first, as for `append`.
        """
        found = self._answer_or_stream(response, window)
        return found if isinstance(found, ResponseStream) else found()

    def _answer_or_stream(
        self, response: Any, window: Window | None
    ) -> Callable[[], tuple[Message, ...]] | ResponseStream[Any]:
        """What appends a whole answer; or a stream, that does so at its end."""
        with self._lock:
            plan = self._fitter.last if window is None else window.plan
        if is_whole(response):
            return partial(self._take_answer, response, plan)
        if iscoroutine(response):
            response.close()
            msg = "an answer is to be awaited first: add_response(await ...)"
            raise TypeError(msg)
        is_text = isinstance(response, (str, bytes))
        if is_text or not isinstance(response, (Iterable, AsyncIterable)):
            msg = f"an answer of a provider expected, not {quoted(response)}"
            raise TypeError(msg)

        def take(chunks: list[Any]) -> tuple[Message, ...]:
            joined = join_chunks(chunks)
            return () if joined is None else self._take_answer(joined, plan)

        return ResponseStream(response, take)

    def _take_answer(self, response: Any, plan: Plan | None) -> tuple[Message, ...]:
        answer = answer_of(response, self.format)
        if answer.usage is not None:
            Usage.read(answer.usage)  # refused before anything is changed
        with self._lock:
            made = self._append(answer.messages, None) if answer.messages else []
            if answer.usage is not None:
                self._learn(answer.usage, plan)
        return tuple(made)
