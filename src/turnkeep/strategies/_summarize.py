from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs

from turnkeep.index import HistoryView, StepView
from turnkeep.model import SUMMARY, Message, Text, ToolResult, mark, without_line
from turnkeep.plans import Cause, Cover, Drop, Edit, Note

from ._base import Composable, at_least
from ._calling import NobodyFailedError, Summarizer, SummarizerError, call
from ._passage import PROMPT, Passage
from ._rank import loop_steps, old_turns
from ._resting import Rota
from ._shorten import beginning, shorten

KIND = "summary"


def _seconds(instance: object, attribute: object, value: float) -> None:
    del instance, attribute
    if not value > 0:
        msg = f"timeout must be a positive number of seconds, not {value!r}"
        raise ValueError(msg)


def _callable(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if not callable(value):
        msg = f"summarizer must be callable, not {value!r}"
        raise TypeError(msg)


def _callables(value: Any) -> tuple[Summarizer, ...]:
    return (value,) if callable(value) else tuple(value)


def _all_callable(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    for one in value:
        if not callable(one):
            msg = f"fallbacks must be callables, not {one!r}"
            raise TypeError(msg)


def _text(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if not isinstance(value, str) or not value.strip():
        msg = f"prompt must be a text, not {value!r}"
        raise TypeError(msg)


class _Written:
    """The last few summaries, and the messages each of them stands for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[tuple[tuple[Message, ...], str]] = []

    def longest(self, covered: Sequence[Message]) -> tuple[int, str]:
        """How many of the first messages a summary covers, and what it says."""
        with self._lock:
            known = list(self._known)
        best, text = 0, ""
        for messages, said in known:
            size = len(messages)
            if best < size <= len(covered) and messages == tuple(covered[:size]):
                best, text = size, said
        return best, text

    def remember(self, covered: Sequence[Message], text: str) -> None:
        """Keep a summary; the oldest of five goes."""
        with self._lock:
            self._known = [*self._known[-4:], (tuple(covered), text)]

    def __deepcopy__(self, _memo: object) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


@attrs.frozen
class Summarize(Composable):
    """The oldest turns go together, and a summary that you write stands for them.

    *summarizer* is called at most once a fit, with the messages to cover, an earlier
    summary first (it is merged and replaced: there is one summary at a time). They are
    a list of messages whose `prompt` is all that a model needs to write it. It covers
    what the target demands: oldest turns whole, then the beginning of a long tool loop,
    never between a call and its result. The summary is a user message of kind
    `"summary"`; its metadata lists the ids it stands for. The history itself keeps the
    originals.

    When it fails, takes too long, says nothing, or is not smaller than what it would
    replace, what it would have covered is dropped, oldest first, and the plan's
    warnings say so. It then rests for a prune (or as many as there are *fallbacks*),
    after the next failure for twice as many, ... up to 64; meanwhile the first of
    *fallbacks* that does not rest is asked. What
    was dropped so is covered by the next summary. Covering the same messages again
    costs no call: the last summaries are remembered with this object.

    Evidence: a summary keeps what was said and loses ids and paths, which later calls
    need: compose it with `Digest`. Costs the messages covered, and your model's call.

    >>> def call_my_model(asked):  # send asked.prompt, return what is answered
    ...     return f"{len(asked)} messages: {len(asked.prompt.split())} words"
    >>> Summarize(call_my_model, max_tokens=99).max_tokens
    99

    Args:
        summarizer:
            Sync or async; takes a list of `Message` (pictures are blocks of theirs)
            with a `prompt`, and returns a text.
        max_tokens:
            Tokens of the summary; a longer one is cut at its end.
        max_input_tokens:
            Tokens of what *summarizer* gets to read; the longest messages are cut in
            their middle, the oldest left out if that is not enough.
        fallbacks:
            Who is asked while *summarizer* rests, in this order.
        timeout:
            Seconds to wait for it.
        prompt:
            What the model is told instead of our words; a length and the record follow.
    """

    summarizer: Summarizer = attrs.field(validator=_callable)
    max_tokens: int = attrs.field(default=1_000, validator=at_least(20))
    max_input_tokens: int = attrs.field(default=32_000, validator=at_least(100))
    fallbacks: tuple[Summarizer, ...] = attrs.field(
        default=(), converter=_callables, validator=_all_callable
    )
    timeout: float = attrs.field(default=60.0, kw_only=True, validator=_seconds)
    prompt: str | None = attrs.field(
        default=None, kw_only=True, validator=attrs.validators.optional(_text)
    )
    _written: _Written = attrs.field(factory=_Written, init=False, eq=False, repr=False)
    _rota: Rota = attrs.field(init=False, eq=False, repr=False)

    @_rota.default
    def _make_rota(self) -> Rota:
        # Each of the fallbacks gets its turn before the first one is asked again.
        return Rota(max(len(self.fallbacks), 1))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the summary of what must go, then drops for what it does not free."""
        yield from self._summary(history)
        for turn in history.turns[:-1]:
            yield Drop(turn)
        for step in loop_steps(history):
            yield Drop(step)

    def _summary(self, history: HistoryView) -> Iterator[Edit]:
        turns, steps, covered = self._choose(history)
        if not steps or KIND in history.claims:
            return
        history.claims.add(KIND)
        sources = [history.message(i) for step in covered for i in step.indexes]
        try:
            text, asked = self._text(history, sources)
        except SummarizerError as error:
            yield Note(f"no summary: {error}; older turns are dropped instead")
            return
        ids = [history.id(i) for step in covered for i in step.indexes]
        content = _message(self._cut(history, text), sources, ids)
        if asked is not None:
            least = min(_size(covered), history.target)
            is_of_use = history.cost(content) < least
            (self._rota.answered if is_of_use else self._rota.failed)(asked)
        whole = set(turns)
        loose = tuple(
            step.index
            for step in covered
            if step.turn not in whole or step.held == Cause.SUMMARY
        )
        yield Cover(turns, content, Cause.SUMMARY, loose)

    def _choose(
        self, history: HistoryView
    ) -> tuple[tuple[int, ...], list[StepView], list[StepView]]:
        """Turns and steps that must go; all steps covered, an earlier summary too."""
        excess = history.tokens - history.target + self.max_tokens
        turns: list[int] = []
        steps: list[StepView] = []
        for turn in old_turns(history):
            if excess <= 0:
                break
            free = [s for s in turn.free_steps if history.is_kept(s.index)]
            if free:
                turns.append(turn.index)
                steps += free
                excess -= sum(step.tokens for step in free)
        for step in loop_steps(history):
            if excess <= 0:
                break
            if history.is_kept(step.index):
                steps.append(step)
                excess -= step.tokens
        earlier = [
            step
            for step in history.steps
            if step.held == Cause.SUMMARY and history.is_kept(step.index)
        ]
        return tuple(turns), steps, sorted([*earlier, *steps], key=_place)

    def _text(
        self, history: HistoryView, sources: Sequence[Message]
    ) -> tuple[str, int | None]:
        """What a summary of *sources* says, and who was asked, if anybody was.

        Raises:
            SummarizerError: There is none.
        """
        known, text = self._written.longest(sources)
        if known == len(sources):
            return text, None
        given = list(sources[known:])
        if known:
            given.insert(0, _message(text, (), ()))
        else:
            given = _after(history.earlier, given)
        text, asked = self._ask(self._bounded(history, given))
        self._written.remember(sources, text)
        return text, asked

    def _ask(self, given: Sequence[Message]) -> tuple[str, int]:
        """What the next summariser says of *given*, and which it is.

        Raises:
            SummarizerError: It says nothing, or all of them rest.
        """
        everyone = (self.summarizer, *self.fallbacks)
        nth = self._rota.next(len(everyone))
        if nth is None:
            self._rota.passed()
            reason = "it rests after failing"
            raise SummarizerError(reason)
        passage = Passage(given, self.prompt or PROMPT, self.max_tokens * 3 // 4)
        try:
            text = call(everyone[nth], passage, self.timeout)
        except NobodyFailedError:
            raise
        except SummarizerError as error:
            rest = self._rota.failed(nth)
            reason = f"{error}, and rests for {rest} prune{'s' if rest > 1 else ''}"
            raise SummarizerError(reason) from error
        return without_line(text).strip(), nth

    def _cut(self, history: HistoryView, text: str) -> str:
        """*text* cut at its end to the summary's own limit."""

        def measure(part: str) -> int:
            return history.cost(_message(part, (), ()))

        whole = measure(text)
        if whole <= self.max_tokens:
            return text
        return beginning(text, whole, self.max_tokens, measure)

    def _bounded(
        self, history: HistoryView, messages: Sequence[Message]
    ) -> list[Message]:
        """*messages* within the limit: the longest cut, then the oldest left out."""
        sizes = [history.cost(message) for message in messages]
        if sum(sizes) <= self.max_input_tokens:
            return list(messages)
        limit = _level(sizes, self.max_input_tokens)
        made = [
            message if size <= limit else _shorter(history, message, size, limit)
            for message, size in zip(messages, sizes, strict=True)
        ]
        # The earlier summary first, then from the newest: the oldest are left out.
        order = sorted(range(len(made)), key=lambda nth: (made[nth].kind != KIND, -nth))
        room = self.max_input_tokens
        kept: list[int] = []
        for nth in order:
            size = history.cost(made[nth])
            if size <= room:
                room -= size
                kept.append(nth)
        return [made[nth] for nth in sorted(kept)]


def _after(earlier: Sequence[Message], sources: list[Message]) -> list[Message]:
    """The last window's summary, and what it does not cover; *sources* without one.

    A conversation keeps its summary when it is saved, so a new process goes on from it.
    """
    for summary in earlier:
        covered = summary.metadata.get("sources")
        if summary.kind == KIND and isinstance(covered, (list, tuple)):
            return [summary, *(m for m in sources if m.id not in set(covered))]
    return sources


def _size(steps: Sequence[StepView]) -> int:
    """Tokens of steps."""
    return sum(step.tokens for step in steps)


def _place(step: StepView) -> int:
    return step.index


def _level(sizes: Sequence[int], room: int) -> int:
    """The limit to which cutting all that is longer makes the sum fit *room*."""
    left, count = room, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            return max(left // count, 1)
        left -= size
        count -= 1
    return room


def _shorter(history: HistoryView, message: Message, size: int, limit: int) -> Message:
    """*message* with its texts cut in their middle, in proportion."""

    def measure(text: str) -> int:
        return history.cost(Message.user(text))

    blocks = []
    for block in message.content:
        text = block.text if isinstance(block, (Text, ToolResult)) else ""
        tokens = measure(text) if text else 0
        allowed = tokens * limit // size
        short = shorten(text, tokens, allowed, 0.5, measure) if tokens > 20 else None
        if short is None or not text:
            blocks.append(block)
        elif isinstance(block, ToolResult):
            blocks.append(attrs.evolve(block, content=short))
        else:
            blocks.append(Text(short))
    return message.evolve(content=tuple(blocks))


def _message(text: str, sources: Sequence[Message], ids: Sequence[str]) -> Message:
    """The summary as a message, with the ids of all that it stands for."""
    known: list[str] = []
    for message in sources:
        earlier = message.metadata.get("sources")
        if message.kind == KIND and isinstance(earlier, (list, tuple)):
            known += [str(item) for item in earlier]
    metadata = {"sources": [*known, *ids]} if ids else {}
    return Message.user(mark(SUMMARY, text), kind=KIND, metadata=metadata)
