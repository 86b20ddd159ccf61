"""A session played again: what each call of the model would have been sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from turnkeep.budgets import Budget
from turnkeep.conversation import Conversation, Window
from turnkeep.model import Message, PinScope
from turnkeep.plans import Cause, Run
from turnkeep.strategies import Strategy
from turnkeep.turns import ASSISTANT, Entry, Grouping, OpenCall, entry_of

from ._survey import DROP, Survey

NEVER = -1
"""The end of a stay that has not ended."""


@attrs.frozen
class Call:
    """One call of the model, and the window it would have got."""

    at: int
    """Place of the first message of its answer; one behind the last for the call that
    would come next."""
    history: int
    """Tokens of the whole history before it, tools and overhead included."""
    window: int
    """Tokens of the window."""
    over: bool
    """Whether what must stay is more than the budget."""


@attrs.frozen
class Prune:
    """A call before which something went, or changed."""

    call: int
    """Number of the call, from 0."""
    before: int
    """Tokens the window would have had with the cut before."""
    after: int
    gone: tuple[Run, ...]
    """What left the window now, by place."""
    changed: tuple[tuple[int, str, int], ...]
    """What is sent changed from now on: place, cause, its tokens."""
    held: tuple[tuple[int, str], ...]
    """What is held though it is older than something that went: place, cause."""
    tokens: int
    """Tokens that left."""
    back: tuple[int, ...] = ()
    """What came back."""


@attrs.frozen
class Session:
    """Every call of a session, and when each message was in the window."""

    calls: tuple[Call, ...]
    prunes: tuple[Prune, ...]
    stays: tuple[tuple[tuple[int, int], ...], ...]
    """For each message the calls that it was sent with: from, and up to but without
    (`NEVER`: still there)."""


def play(
    survey: Survey,
    budget: Budget,
    *,
    model: str | None = None,
    tools: Any = None,
    strategy: Strategy | None = None,
    pin_scope: PinScope = "turn",
    pending: Iterable[str] | None = None,
    drop_system: bool = False,
) -> Session:
    """Play a measured session through a `Conversation`, one window a call.

    Each assistant message was a call of the model; so is what would come next. The
    budget prunes to 0.6 unless it names a target, as it does in a `Conversation`. Costs
    the messages once, and again at each prune.

    Args:
        survey:
            The measured history, pins included; its counts are taken over.
        budget:
            Tokens, trigger and target.
        model:
            Chooses the provider's rules.
        tools:
            Tool definitions sent with every request.
        strategy:
            What goes first; the default unless given.
        pin_scope:
            What a pin holds.
        pending:
            The unanswered calls that are awaited: `None` is all, `()` none.
        drop_system:
            Let system messages behind the leading ones go.
    """
    player = _Player(survey)
    chat = Conversation(
        budget=budget,
        model=model,
        format=None if survey.format in _UNSENT else survey.format,
        tools=tools,
        strategy=strategy,
        token_counter=survey.counter,
    )
    waiting = None if pending is None else frozenset(pending)
    for place, message in enumerate(_placed(survey, pin_scope)):
        if player.is_call(place):
            player.send(place, chat.fit(on_overflow="send", drop_system=drop_system))
        chat.append(message)
        if waiting is not None:
            _abandon(chat, player.unanswered.get(place, ()), waiting)
    if survey.entries:
        window = chat.fit(on_overflow="send", drop_system=drop_system)
        player.send(len(survey.entries), window)
    return player.session(budget)


_UNSENT = frozenset({"messages", "turnkeep"})
"""Formats of ours, which no provider takes."""


def _placed(survey: Survey, scope: PinScope) -> Iterable[Message]:
    """The messages with their places as ids and their counts as given."""
    for place, (entry, message) in enumerate(
        zip(survey.entries, survey.messages, strict=True)
    ):
        yield message.evolve(
            id=str(place),
            token_count=entry.tokens,
            pinned=entry.pinned,
            pin_scope=message.pin_scope if message.pinned else scope,
        )


def _abandon(
    chat: Conversation, calls: Sequence[OpenCall], waiting: frozenset[str]
) -> None:
    for call in calls:
        if call.key not in waiting:
            chat.abandon(call.key, message_id=str(call.message))


class _Player:
    """Notes what each window holds."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._marks: list[Entry] = [entry_of(m) for m in survey.messages]
        grouping = Grouping(self._marks)
        self.unanswered: dict[int, list[OpenCall]] = {}
        for call in grouping.open_calls:
            self.unanswered.setdefault(call.message, []).append(call)
        self._history = survey.tools + survey.request
        self._summed = 0
        self.calls: list[tuple[int, int, int]] = []
        self.prunes: list[Prune] = []
        self._stays: list[list[tuple[int, int]]] = []
        self._in: list[int] = []
        """For each message the call since which it is in; `NEVER` when it is out."""
        self._changed: dict[int, tuple[str, int]] = {}

    def is_call(self, place: int) -> bool:
        """Whether the message is the first of an answer of the model."""
        marks = self._marks
        return (
            place > 0
            and marks[place].kind == ASSISTANT
            and marks[place - 1].kind != ASSISTANT
        )

    def send(self, place: int, window: Window) -> None:
        """Note the window of the call whose answer begins at *place*."""
        nth = len(self.calls)
        entries = self._survey.entries
        added = sum(entries[i].tokens for i in range(self._summed, place))
        before = (self.calls[-1][2] if self.calls else self._history) + added
        self._history += added
        self._summed = place
        self._stays.extend([] for _ in range(place - len(self._stays)))
        self._in.extend([nth] * (place - len(self._in)))
        if window.plan.pruned:
            self._prune(nth, before, window)
        self.calls.append((place, self._history, window.tokens))

    def _prune(self, nth: int, before: int, window: Window) -> None:
        plan = window.plan
        gone, back = self._moves(plan.runs)
        newest = max((run.stop for run in plan.runs if run.action == DROP), default=0)
        changed = {
            place: (str(cause), after)
            for place, (_, cause, after) in plan.edits.items()
            if place not in gone
        }
        fresh = {p: c for p, c in changed.items() if self._changed.get(p) != c}
        self._changed = changed
        if not (gone or back or fresh):
            return  # it was due, and there was nothing to be had
        for place in gone:
            self._stays[place].append((self._in[place], nth))
            self._in[place] = NEVER
        for place in back:
            self._in[place] = nth
        self.prunes.append(
            Prune(
                call=nth,
                before=before,
                after=window.tokens,
                gone=tuple(_spans(gone)),
                changed=tuple((p, *fresh[p]) for p in sorted(fresh)),
                held=tuple(
                    (place, str(run.cause))
                    for run in plan.runs
                    if run.action != DROP and run.start < newest
                    if run.cause != Cause.ROOM
                    for place in range(run.start, run.stop)
                ),
                tokens=sum(self._survey.entries[place].tokens for place in gone),
                back=back,
            )
        )

    def _moves(self, runs: Sequence[Run]) -> tuple[dict[int, str], tuple[int, ...]]:
        """What leaves the window, with its cause, and what comes back."""
        gone: dict[int, str] = {}
        back: list[int] = []
        for run in runs:
            for place in range(run.start, run.stop):
                was_in = self._in[place] != NEVER
                if run.action == DROP and was_in:
                    gone[place] = str(run.cause)
                elif run.action != DROP and not was_in:
                    back.append(place)
        return gone, tuple(back)

    def session(self, budget: Budget) -> Session:
        """Everything that was noted."""
        room = budget.max_tokens - budget.reserve
        for place, since in enumerate(self._in):
            if since != NEVER:
                self._stays[place].append((since, NEVER))
        return Session(
            calls=tuple(
                Call(at, history, window, window > room)
                for at, history, window in self.calls
            ),
            prunes=tuple(self.prunes),
            stays=tuple(map(tuple, self._stays)),
        )


def _spans(gone: dict[int, str]) -> Iterator[Run]:
    """Neighbours that left for the same cause, taken together."""
    start = stop = -1
    cause = ""
    for place, why in gone.items():
        if place == stop and why == cause:
            stop += 1
            continue
        if stop > start:
            yield Run(start, stop, "drop", cause)
        start, stop, cause = place, place + 1, why
    if stop > start:
        yield Run(start, stop, "drop", cause)
