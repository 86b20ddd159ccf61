from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import Message
from turnkeep.plans import Cause, Cover, Drop, Edit, Note
from turnkeep.plans._edits import Place

from ._base import Composable, at_least, share
from ._bounding import bounded
from ._calling import Early, NobodyFailedError, Summarizer, SummarizerError, call
from ._covering import Covered, choose, choose_same
from ._passage import PROMPT, Passage
from ._rank import loop_steps
from ._resting import Rota
from ._said import KIND, Block, Said, covered_by, in_front, is_block, message_of
from ._shorten import beginning
from ._written import Begun, Summary, Written


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
    *fallbacks* that does not rest is asked. What was dropped so is covered by the next
    summary. Covering the same messages again costs no call: the last summaries are
    remembered with this object.

    Evidence: a summary keeps what was said and loses ids and paths, which later calls
    need: compose it with `Digest`. Costs the messages covered, and your model's call.

    >>> def call_my_model(asked):  # send asked.prompt, return what is answered
    ...     return f"{len(asked)} messages: {len(asked.prompt.split())} words"
    >>> Summarize(call_my_model, max_tokens=99).max_tokens
    99

    Args:
        summarizer:
            Sync or async; takes a list of `Message` (pictures are blocks of theirs)
            with a `prompt`, and returns a text; or what a provider's own compactor
            answered, whose block is inserted as it is, for that provider only.
        max_tokens:
            Tokens of the summary; a longer one is cut at its end.
        max_input_tokens:
            Tokens of what *summarizer* gets to read; the longest messages are cut in
            their middle, the oldest left out if that is not enough.
        fallbacks:
            Who is asked while *summarizer* rests, in this order.
        ahead:
            In a `Conversation`: the share of the trigger from which on it is written in
            the background, so that the next prune need not wait. Only that prune swaps
            it in; it is thrown away where a message that it covers was changed, went,
            was pinned or is awaited by then.
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
    ahead: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(share)
    )
    timeout: float = attrs.field(default=60.0, kw_only=True, validator=_seconds)
    prompt: str | None = attrs.field(
        default=None, kw_only=True, validator=attrs.validators.optional(_text)
    )
    _written: Written = attrs.field(factory=Written, init=False, eq=False, repr=False)
    _begun: Begun = attrs.field(factory=Begun, init=False, eq=False, repr=False)
    _rota: Rota = attrs.field(init=False, eq=False, repr=False)

    @_rota.default
    def _make_rota(self) -> Rota:
        # Each of the fallbacks gets its turn before the first one is asked again.
        return Rota(max(len(self.fallbacks), 1))

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the summary of what must go, then drops for what it does not free."""
        kept: set[int] = set()
        yield from self._summary(history, kept)
        old = history.turns[:-1]
        for turn in old:
            if turn.index not in kept:
                yield Drop(turn)
        for step in loop_steps(history):
            yield Drop(step)
        for nth in sorted(kept):
            yield Drop(old[nth])

    def _summary(self, history: HistoryView, kept: set[int]) -> Iterator[Edit]:
        """Yield it; adds to *kept* the turns whose questions it does not cover."""
        excess = history.tokens - history.target + self.max_tokens
        covered = choose(history, excess)
        if covered.is_empty or KIND in history.claims:
            return
        history.claims.add(KIND)
        try:
            early = self._early(history)
            said, asked = early[1:] if early else self._text(history, covered)
            if early:
                covered = early[0]
            content = self._content(history, covered, said, asked)
        except SummarizerError as error:
            yield Note(f"no summary: {error}; older turns are dropped instead")
            return
        if asked is not None and not early:
            sources = tuple(map(history.message, covered.indexes()))
            self._written.remember(Summary(sources, said, asked))
        place: Place = "there"
        if isinstance(said, Block) and said.stands_first:
            place = "front"
        elif isinstance(said, Block) and said.beside_questions:
            place = "behind"
            kept.update(s.turn for s in covered.steps if s.is_question)
            covered = covered.beside_questions()
        if asked is not None:
            least = min(covered.tokens, history.target)
            is_of_use = history.cost(content) < least
            (self._rota.answered if is_of_use else self._rota.failed)(asked)
        yield Cover(covered.turns, content, Cause.SUMMARY, covered.loose, place)

    def _content(
        self, history: HistoryView, covered: Covered, said: Said, asked: int | None
    ) -> Message:
        """The message that stands for what is covered; *asked* is who said it now.

        Raises:
            SummarizerError: It is a block, and of another provider; or the provider's
                own memory stands in the way: there may be one at a time.
        """
        if isinstance(said, Block):
            reason = _obstacle(history, said)
            if reason is not None:
                error = SummarizerError(reason)
                raise error if asked is None else self._failed(asked, error)
        else:
            said = self._cut(history, said)
        sources = list(map(history.message, covered.indexes()))
        ids = list(map(history.id, covered.indexes()))
        return message_of(said, sources, ids)

    def _text(self, history: HistoryView, covered: Covered) -> tuple[Said, int | None]:
        """What a summary of it says, and who was asked, if anybody was.

        Raises:
            SummarizerError: There is none.
        """
        sources = tuple(map(history.message, covered.indexes()))
        known = self._written.longest(sources)
        if known is not None and len(known.sources) == len(sources):
            return known.said, None
        nth, summarizer = self._next()
        given = self._given(history, sources, known, nth)
        try:
            said = call(summarizer, given, self.timeout)
        except NobodyFailedError:
            raise
        except SummarizerError as error:
            raise self._failed(nth, error) from error
        return said, nth

    def _given(
        self,
        history: HistoryView,
        sources: Sequence[Message],
        known: Summary | None,
        nth: int,
    ) -> Passage:
        """What the summariser *nth* gets: what was said before, and what is new.

        A provider's block is only read by who wrote it; others read all anew.
        """
        if known is not None and isinstance(known.said, Block) and known.nth != nth:
            known = None
        if known is not None:
            earlier = message_of(known.said, known.sources, ("",))
            given = [
                *in_front(earlier, known.sources),
                message_of(known.said),
                *sources[len(known.sources) :],
            ]
        else:
            given = _after(history.earlier, sources, nth)
        read = bounded(history, given, self.max_input_tokens, KIND)
        return Passage(read, self.prompt or PROMPT, self.max_tokens * 3 // 4)

    def _next(self) -> tuple[int, Summarizer]:
        """Who is asked.

        Raises:
            SummarizerError: All of them rest.
        """
        everyone = (self.summarizer, *self.fallbacks)
        nth = self._rota.next(len(everyone))
        if nth is None:
            self._rota.passed()
            reason = "it rests after failing"
            raise SummarizerError(reason)
        return nth, everyone[nth]

    def _failed(self, nth: int, error: SummarizerError) -> SummarizerError:
        """What to say of a failure, which is noted."""
        rest = self._rota.failed(nth)
        prunes = f"{rest} prune{'s' if rest > 1 else ''}"
        return SummarizerError(f"{error}, and rests for {prunes}")

    # -- written before it is needed ---------------------------------------------------

    def prepare(self, history: HistoryView, room: int, /) -> Early | None:
        """A summary of what will have to go when the window has grown by *room* tokens.

        To be begun by the caller. None where nobody is to be asked: all rest, or it is
        written already.
        """
        nth = self._rota.next(1 + len(self.fallbacks))
        excess = history.tokens + room - history.target + self.max_tokens
        covered = choose(history, excess)
        if nth is None or covered.is_empty:
            return None
        sources = tuple(map(history.message, covered.indexes()))
        known = self._written.longest(sources)
        if known is not None and len(known.sources) == len(sources):
            return None
        given = self._given(history, sources, known, nth)
        summarizer = (self.summarizer, *self.fallbacks)[nth]
        early = Early(summarizer, given, self.timeout, sources, nth)
        self._begun.add(early)
        return early

    def _early(self, history: HistoryView) -> tuple[Covered, Said, int | None] | None:
        """What is covered by a summary that was begun before, what it says, and whose.

        None where there is none for the history as it is by now, or where it frees so
        little that another has to be written: that one goes on from it.

        Raises:
            SummarizerError: It was not written, or is not yet.
        """
        for early in self._begun.newest_first():
            covered = choose_same(history, early.sources)
            if covered is None:
                continue
            try:
                said = early.said()
                content = self._content(history, covered, said, None)
            except NobodyFailedError:
                raise
            except SummarizerError as error:
                self._begun.remove(early)
                raise self._failed(early.nth, error) from error
            self._written.remember(Summary(early.sources, said, early.nth))
            left = history.tokens - covered.tokens + history.cost(content)
            slack = max(self.max_tokens, (history.available - history.target) // 4)
            if left > history.target + slack:
                return None
            return covered, said, early.nth if early.is_first_use() else None
        return None

    def _cut(self, history: HistoryView, text: str) -> str:
        """*text* cut at its end to the summary's own limit."""

        def measure(part: str) -> int:
            return history.cost(message_of(part))

        whole = measure(text)
        if whole <= self.max_tokens:
            return text
        return beginning(text, whole, self.max_tokens, measure)


def _obstacle(history: HistoryView, block: Block) -> str | None:
    """Why a window of *history* cannot hold a block, if it cannot."""
    if block.value.format != history.compacts_as:
        return f"requests of this format take no block of {block.value.format}"
    if any(step.held == Cause.MEMORY for step in history.steps):
        return "the list holds a memory of the provider's already"
    return None


def _after(
    earlier: Sequence[Message], sources: Sequence[Message], nth: int
) -> list[Message]:
    """The last window's summary, and what it does not cover; *sources* without one.

    A conversation keeps its summary when it is saved, so a new process goes on from it.
    """
    for summary in earlier:
        covered = covered_by(summary)
        if covered is not None and not (is_block(summary) and nth):
            known = [m for m in sources if m.id in set(covered)]
            rest = [m for m in sources if m.id not in set(covered)]
            return [*in_front(summary, known), summary, *rest]
    return list(sources)
