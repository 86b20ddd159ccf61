"""A request's body, fitted: what came, and what is sent instead."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from turnkeep.api import repair
from turnkeep.budgets import Budget
from turnkeep.conversation import Conversation, Window
from turnkeep.conversation._track import Moment, cut_again
from turnkeep.errors import TurnkeepError
from turnkeep.model import Message, Role

from ._bodies import printed
from ._routes import Route
from ._sessions import Note, Session, Sessions
from ._settings import Settings, answer_of
from ._state import State

_LARGEST: Final = 24 * 2**20
"""Bytes of a body near the limit of the APIs (32 MB for Anthropic): its true count is
told then, so that the program compacts before it is refused."""
_MOST: Final = 90_000
"""Messages of a body near the limit of the APIs (100,000 for Anthropic)."""
_NOTES: Final = ("<system-reminder>", "<environment_context>", "<user_instructions>")
"""Marks of what coding agents put into the message of the first question."""
_LISTS: Final = ("messages", "contents", "input")
_OPENING: Final[Mapping[str, Mapping[str, Any]]] = {
    "messages": {"role": "user", "content": "?"},
    "contents": {"role": "user", "parts": [{"text": "?"}]},
    "input": {"role": "user", "content": "?"},
}
"""What a question looks like, by the key of the list."""


@attrs.frozen
class Fitted:
    """What is sent in a request's place, and why."""

    session: Session
    window: Window
    body: bytes
    """The body to send: the very bytes that came where nothing was changed."""
    untouched: bool
    budget: Budget
    before: int
    """Tokens of the whole history."""
    seconds: float
    mended: tuple[str, ...] = ()
    """What was broken in the request, in words without its contents."""

    @property
    def left_out(self) -> int:
        """Tokens that stand in the history and not in the window."""
        return max(self.before - self.window.tokens, 0)

    def headers(self) -> dict[str, str]:
        """What is told to the client."""
        plan = self.window.plan
        return {
            "x-turnkeep-session": self.session.id,
            "x-turnkeep-tokens": str(self.window.expected),
            "x-turnkeep-dropped": str(len(plan.dropped)),
            "x-turnkeep-edited": str(len(plan.edited)),
            "x-turnkeep-added": str(len(plan.inserted)),
            "x-turnkeep-exact": "true" if plan.exact else "false",
            "x-turnkeep-ms": f"{self.seconds * 1e3:.1f}",
        }


class Fitter:
    """Fits requests, one conversation a session. May be used from several threads."""

    def __init__(self, settings: Settings) -> None:
        """With no session yet."""
        self.settings = settings
        self.sessions = Sessions(settings.sessions, settings.idle, settings.secret)
        self._state = State(settings.store)
        self._pins = [re.compile(pattern) for pattern in settings.pins]

    def fit(
        self,
        route: Route,
        upstream: str,
        headers: Any,
        raw: bytes,
        body: Mapping[str, Any],
        key_in_url: str | None = None,
    ) -> Fitted | None:
        """What to send for a request; none: it passes as it is.

        Costs a comparison with what the session held, and what is new.

        Args:
            route: What the path says.
            upstream: Where it goes.
            headers: Of the request.
            raw: The body as it came.
            body: The same, read.
            key_in_url: The credential, where the URL has it.

        Raises:
            BudgetExceededError: What must stay does not fit.
        """
        started = time.perf_counter()
        model = route.model_of(body)
        key = next((k for k in _LISTS if isinstance(body.get(k), list)), None)
        if key is None or self.settings.passes(model):
            return None
        if route.kind == "count" and (len(raw) > _LARGEST or len(body[key]) > _MOST):
            return None
        if self.settings.budget(model) is None:
            return None
        name = self.sessions.name_of(
            [upstream, route.format, key_in_url], model, headers, body
        )
        session = self.sessions.find(
            name, model, route.format, lambda: self._made(route.format, model)
        )
        with session.lock:
            session.answer = max(session.answer, answer_of(body) or 0)
            budget = self.settings.budget(model, session.answer)
            if budget is None:
                return None
            return self._fit(session, budget, raw, body, key, started)

    def _made(self, form: str, model: str) -> Conversation:
        settings = self.settings
        return Conversation(
            model=model or None,
            format=form,
            strategy=settings.strategy,
            on_overflow=settings.overflow,
            on_invalid="repair" if settings.repair else "keep",
            cache_marks=settings.cache_marks,
        )

    def _fit(
        self,
        session: Session,
        budget: Budget,
        raw: bytes,
        body: Mapping[str, Any],
        key: str,
        started: float,
    ) -> Fitted | None:
        chat = self._current(session, body, key)
        try:
            sent, mended = self._followed(session, chat, body, key)
        except TurnkeepError:
            return None  # not understood: it is the provider's to judge
        moment = Moment.of(chat)
        window = chat.fit(budget)
        plan = window.plan
        made = window.apply(sent)
        untouched = not mended and bool(made == body)
        entries = made[key]
        before = session.sent
        goes_on = before == entries[: len(before)]
        if window.pruned or not goes_on:
            cut = moment.cutting(len(sent[key]), budget, pruned=window.pruned)
            session.track = (*session.track, cut)
            self._state.save(session)
        session.sent = entries
        session.requests += 1
        session.tokens = window.expected
        fitted = Fitted(
            session,
            window,
            raw if untouched else printed(made),
            untouched,
            budget,
            plan.tokens_before,
            time.perf_counter() - started,
            mended,
        )
        if not untouched:
            session.pruned += 1
            session.saved += fitted.left_out
        note = Note.of(window, fitted.before, goes_on=goes_on, limit=budget.max_tokens)
        session.notes.append(note)
        if note.dropped or note.edited or note.added:
            session.plan = plan
        return fitted

    def _current(
        self, session: Session, body: Mapping[str, Any], key: str
    ) -> Conversation:
        """The session's conversation, cut as other processes have cut it by now."""
        track = self._state.read(session)
        if track is None or track == session.track:
            return session.chat
        chat = self._made(session.format, session.model)
        session.clean = None

        def follow(entries: Sequence[Any]) -> None:
            self._followed(session, chat, {**body, key: [*entries]}, key)

        cut_again(chat, track, body[key], follow)
        session.chat, session.track = chat, track
        return chat

    def _followed(
        self, session: Session, chat: Conversation, body: Mapping[str, Any], key: str
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Let *chat* follow a body; returns it, mended, and what was broken in words.

        A list that goes on is looked at where it is new: which calls and results belong
        together, the conversation itself knows.

        Raises:
            TurnkeepError: It is not understood.
        """
        sent: Any = body
        mended: tuple[str, ...] = ()
        if self.settings.repair and not self._goes_on(session, body, key):
            mending = repair(body, format=session.format)
            sent = mending.value
            mended = tuple(str(change) for change in mending.changes)
            session.clean = None if mended else len(body[key])
        done = chat.sync(sent)
        new = {*done.appended, *done.edited}
        if self.settings.pin_leading:
            for message in _leading(chat.messages):
                _pin(chat, message)
        if self._pins and new:
            for message in chat.messages[-len(new) - 1 :]:
                if any(pattern.search(message.text) for pattern in self._pins):
                    _pin(chat, message)
        return sent, mended

    def _goes_on(self, session: Session, body: Mapping[str, Any], key: str) -> bool:
        """Whether nothing needs mending, as far as the new end of the list tells."""
        entries, known = body[key], session.clean
        if known is None or len(entries) < known or not session.sent:
            return False
        new = entries[known:]
        if new:
            part = {key: [_OPENING[key], *new]}
            if repair(part, format=session.format).changes:
                return False
        session.clean = len(entries)
        return True

    def refit(
        self, fitted: Fitted, told: Any, raw: bytes, body: Mapping[str, Any]
    ) -> Fitted | None:
        """A smaller request after the provider found one too long; none: it is not so.

        Raises:
            BudgetExceededError: There is none.
        """
        session = fitted.session
        key = next(k for k in _LISTS if isinstance(body.get(k), list))
        with session.lock:
            if not session.chat.observe_overflow(told, window=fitted.window):
                return None
            started = time.perf_counter()
            again = self._fit(session, fitted.budget, raw, body, key, started)
        if again is None or again.body == fitted.body:
            return None
        return again

    def observe(self, fitted: Fitted, usage: Mapping[str, Any]) -> tuple[int, int]:
        """Learn what an answer cost: its input tokens, and those of the cache."""
        if not usage:
            return 0, 0
        session = fitted.session
        with session.lock:
            try:
                seen = session.chat.observe(dict(usage), window=fitted.window).usage
            except (TurnkeepError, ValueError, TypeError):
                return 0, 0
            session.read += seen.input_tokens
            session.cached += seen.cached_tokens
            session.written += seen.cache_written_tokens
        return seen.input_tokens, seen.cached_tokens


def _pin(chat: Conversation, message: Message) -> None:
    if not message.pinned and message.id is not None:
        chat.pin(message.id, scope="step")


def _leading(messages: Sequence[Message]) -> list[Message]:
    """The user's messages before the first answer that hold more than the question."""
    found: list[Message] = []
    for message in messages:
        if message.role is Role.USER:
            found.append(message)
        elif message.role is not Role.SYSTEM:
            break
    asked = found[-1:]
    return found[:-1] + [m for m in asked if any(tag in m.text for tag in _NOTES)]
