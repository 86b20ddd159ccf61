"""Many conversations at once: over all cores, in order, in constant memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from typing import Any, Literal, TypeAlias, Unpack

import attrs

from turnkeep.api._arguments import Options
from turnkeep.api._fit import fit
from turnkeep.errors import TurnkeepError

OnError: TypeAlias = Literal["raise", "skip"]

_CHUNK = 16
"""Conversations a worker takes at a time: enough to make the hand-over cheap."""

_AHEAD = 4
"""Chunks each worker may be ahead of the reader, so that memory stays constant."""


@attrs.frozen
class Fitted:
    """One conversation of a batch."""

    index: int
    """Its place in the batch, from 0."""
    value: Any
    """What `fit` made of it; `None` where it failed."""
    error: TurnkeepError | ValueError | None = None
    """Why it failed, with `on_error="skip"`."""


def fit_many(
    conversations: Iterable[Any],
    max_tokens: int | None = None,
    *,
    workers: int | None = None,
    on_error: OnError = "raise",
    **options: Unpack[Options],
) -> Iterator[Fitted]:
    """Fit many conversations, in their order, as they come.

    Reads ahead a bounded number of conversations, so that an endless stream takes
    constant memory.

    >>> chats = ([{"role": "user", "content": str(n)}] for n in range(3))
    >>> [f.value[0]["content"] for f in fit_many(chats, 100, model="gpt-4o", workers=1)]
    ['0', '1', '2']

    Args:
        conversations:
            Lists of messages or request bodies, of any format each.
        max_tokens:
            As for `fit`.
        workers:
            Processes; one for each core unless given. With 1 nothing is started, and
            *options* need not be picklable.
        on_error:
            `"raise"` stops at the first conversation that does not fit or is
            malformed; `"skip"` hands its error over and goes on.
        **options:
            As for `fit`. With several workers they must be picklable: a
            `token_counter` must be a function of a module, not a lambda.

    Raises:
        BudgetExceededError: A conversation does not fit (`on_error="raise"`).
        FormatError: A conversation is malformed (`on_error="raise"`).
    """
    if on_error not in ("raise", "skip"):
        msg = f"on_error must be 'raise' or 'skip', got {on_error!r}"
        raise ValueError(msg)
    used = workers or os.cpu_count() or 1
    if used < 1:
        msg = f"workers must be at least 1, got {workers}"
        raise ValueError(msg)
    job = _Job(max_tokens, options)
    for outcome in spread(job, conversations, used):
        if outcome.error is not None and on_error == "raise":
            raise outcome.error
        yield outcome


@attrs.frozen
class _Job:
    """What to do with each conversation; crosses to the workers."""

    max_tokens: int | None
    options: Options

    def __call__(self, index: int, conversation: Any) -> Fitted:
        try:
            value = fit(conversation, self.max_tokens, **self.options)
        except (TurnkeepError, ValueError) as error:
            return Fitted(index, None, _portable(error))
        return Fitted(index, value)


def _portable(error: TurnkeepError | ValueError) -> TurnkeepError | ValueError:
    # Tracebacks hold frames, which cannot cross processes and keep the data alive.
    return error.with_traceback(None)


Job: TypeAlias = Callable[[int, Any], Fitted]


def spread(job: Job, items: Iterable[Any], workers: int) -> Iterator[Fitted]:
    """What *job* makes of each item, in order; over *workers* processes.

    Args:
        job:
            Takes an item's place and the item; picklable where workers > 1.
        items:
            Read ahead by a bounded number.
        workers:
            With 1 nothing is started.
    """
    if workers == 1:
        for index, item in enumerate(items):
            yield job(index, item)
        return
    # Spawned rather than forked: a fork copies the locks of running threads.
    context = get_context("spawn")
    numbered = enumerate(items)
    chunks = iter(lambda: list(islice(numbered, _CHUNK)), [])
    waiting: deque[Future[list[Fitted]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        submit: Callable[..., Future[list[Fitted]]] = pool.submit
        try:
            for chunk in chunks:
                waiting.append(submit(_some, job, chunk))
                if len(waiting) >= workers * _AHEAD:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            # Whoever stops reading does not wait for what he will not see.
            for future in waiting:
                future.cancel()


def _some(job: Job, numbered: list[tuple[int, Any]]) -> list[Fitted]:
    return [job(index, item) for index, item in numbered]
