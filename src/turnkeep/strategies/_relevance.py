from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from turnkeep.errors import StrategyError
from turnkeep.index import HistoryView
from turnkeep.plans import Cause, Drop, Edit

from ._around import best_of, sessions_of, with_surroundings
from ._base import Composable
from ._bm25 import WordIndex, bm25, has_call
from ._memory import Memory
from ._rank import drop_ranked
from ._words import terms_in, terms_said

FEEDBACK, FEEDBACK_TERMS = 0.3, 8
"""The weight of what the best steps add to the question, and how many terms that is."""

RESERVE = 0.3
"""Share of the target within which the newest steps with tool calls go last."""

NAME = "Relevance"

Query = str | Callable[[HistoryView], str]
Scorer = Callable[[str, Sequence[str]], Sequence[float]]


def _query(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if value is not None and not isinstance(value, str) and not callable(value):
        msg = f"query must be a text or a function of the history, not {value!r}"
        raise TypeError(msg)


def _scorer(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if value is not None and not callable(value):
        msg = f"scorer must be a function of a query and texts, not {value!r}"
        raise TypeError(msg)


@attrs.frozen
class Relevance(Composable):
    """What has least to do with the question goes first (BM25).

    Words are indexed in lower case, with light stemming and without stop words; so are
    the speaker and the date, in every usual spelling. Steps without tool calls also get
    of the scores around them: half of a neighbour's and a quarter of the next one's,
    and a fifth of their session's (the mean of its three best; a session ends where
    more than an hour passes). A step with tool calls gets half of the better one beside
    it. Where there are no tool calls at all, eight words that tell the three best steps
    from the others count too. Of tool calls, the newest steps within 30 % of the
    target go last.

    Age plays no part otherwise, except among equals: to keep what is recent, reserve
    room for it with `KeepRecent`. Small steps that a later, larger drop made room for
    come back.

    Evidence: of 216 questions about two invented dialogues of 17,000 tokens each, the
    window held all that answers them for 93.1 % at 1,000 tokens and 98.1 % at 2,000; a
    sliding window for 5.1 and 11.1 % (`benchmarks/bench_recall.py`).

    Words are found once a message; appending costs the new text. A plan costs
    O(n log n) in the steps, plus the messages that share a word with the question. With
    a *scorer* it costs the texts of the history, each time.

    >>> Relevance("refund policy").query
    'refund policy'

    Args:
        query:
            What to rank by: a text, or a function that makes one of the history; the
            current turn's user message unless given.
        scorer:
            Ranks instead of BM25 and what it reads around a step: a function that takes
            the query and the text of each step and returns a number each, more for what
            should stay. For embeddings, or a reranker.

    Raises:
        TypeError: *query* or *scorer* is neither.
    """

    query: Query | None = attrs.field(default=None, validator=_query)
    scorer: Scorer | None = attrs.field(default=None, validator=_scorer)
    _memory: Memory[WordIndex] = attrs.field(
        factory=lambda: Memory(WordIndex), init=False, eq=False, repr=False
    )

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield steps, the least relevant first.

        Raises:
            StrategyError: The query is no text, or the scorer did not return a finite
                number for each text.
        """
        asked = self._asked(history)
        if self.scorer is not None:
            scores = _scored(self.scorer, asked, history)
            calls = [nth for nth, m in enumerate(history.messages) if has_call(m)]
        else:
            with self._memory.reading(history.messages) as index:
                scores = _scores(history, index, frozenset(self._terms(asked, history)))
                calls = list(index.with_calls)
        late = _late(history, _steps_of(history, calls))
        steps = [step for step in history.free_steps if step.index not in late]
        # Whole numbers, so that every machine ranks alike.
        ranks = (round(1e6 * scores[step.index]) for step in steps)
        yield from drop_ranked(steps, ranks, Cause.RELEVANCE, may_return=True)
        for step in history.free_steps:
            if step.index in late:
                yield Drop(step, Cause.RELEVANCE)

    def _asked(self, history: HistoryView) -> str | None:
        """The query as a text; None where it is the question."""
        query = self.query
        if query is None or isinstance(query, str):
            return query
        made = query(history)
        if not isinstance(made, str):
            reason = f"query(history) must return a text, not {made!r}"
            raise StrategyError(NAME, reason)
        return made

    def _terms(self, asked: str | None, history: HistoryView) -> Iterator[str]:
        # Who asks, and when, is not what is asked for.
        if asked is not None:
            yield from terms_in(asked)
        elif history.question is not None:
            yield from terms_said(history.question)


def _scores(
    history: HistoryView, index: WordIndex, terms: frozenset[str]
) -> list[float]:
    """What each step has to do with *terms*."""
    step_of = history.message_steps
    sizes = [0] * history.step_count
    for step, size in zip(step_of, index.sizes, strict=True):
        sizes[step] += size
    scores = bm25(index.found(terms, step_of), sizes)
    apart = _steps_of(history, index.with_calls)
    if not apart:
        _feed_back(history, index, scores, sizes, terms)
    starts = (step_of[nth] for nth in index.breaks)
    return with_surroundings(scores, sessions_of(starts, len(scores)), apart)


def _feed_back(
    history: HistoryView,
    index: WordIndex,
    scores: list[float],
    sizes: Sequence[int],
    terms: frozenset[str],
) -> None:
    """Add to *scores* what the best steps say beside *terms*.

    Not where there are tool calls: a question in a loop is short and general, and what
    else the best steps say leads to other talk.
    """
    # The question itself says nothing of what came before. (Among tool calls it does:
    # what stands beside it is what the loop works with.)
    asking = _question_step(history)
    if asking is not None:
        scores[asking] = 0.0
    best = best_of(scores, range(len(scores)))
    said = (message for step in best for message in history.steps[step].messages)
    more = index.telling(said, terms, FEEDBACK_TERMS) if best else []
    found = index.found(more, history.message_steps)
    for step, score in enumerate(bm25(found, sizes)):
        if step != asking:
            scores[step] += FEEDBACK * score


def _question_step(history: HistoryView) -> int | None:
    """The step of the current turn's user message."""
    steps = history.turns[-1].range if history.turns else range(0)
    return next((step for step in steps if history.steps[step].is_question), None)


def _steps_of(history: HistoryView, messages: Iterable[int]) -> set[int]:
    step_of = history.message_steps
    return {step_of[nth] for nth in messages}


def _late(history: HistoryView, with_calls: set[int]) -> set[int]:
    """The newest steps with tool calls, within their share of the target."""
    if not with_calls:
        return set()
    late: set[int] = set()
    room = round(RESERVE * history.target, 6)
    for step in reversed(range(history.step_count)):
        if history.is_said(step):
            room -= history.step_tokens(step)
            if room < 0:
                break
            if step in with_calls:
                late.add(step)
    return late


def _scored(scorer: Scorer, asked: str | None, history: HistoryView) -> list[float]:
    """What anyone's scorer says of each step."""
    if asked is None:
        asked = history.question.text if history.question is not None else ""
    texts = ["\n".join(m.text for m in step.messages) for step in history.steps]
    scores = list(map(float, scorer(asked, texts)))
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        reason = (
            f"scorer(query, texts) must return a finite number for each of "
            f"{len(texts)} texts"
        )
        raise StrategyError(NAME, reason)
    return scores
