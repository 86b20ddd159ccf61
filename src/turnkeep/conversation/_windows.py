"""Making windows, and learning from what the provider says of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any, Final

from turnkeep.budgets import Budget
from turnkeep.engine import OPEN_CALLS, OVERFLOW, OpenCalls, Overflow, check_choice
from turnkeep.errors import BudgetExceededError, InvalidHistoryError, Violation
from turnkeep.formats import get_format
from turnkeep.model import GenerationTotals, Message
from turnkeep.model._audience import sent
from turnkeep.plans import Cause, Plan
from turnkeep.plans.telemetry import log_prune
from turnkeep.strategies._calling import REHEARSAL, Rehearsal
from turnkeep.tokens import Usage, read_exceeded

from ._archive import archive_tool, read_archive
from ._asking import Ask
from ._learning import Observation
from ._window import Window
from ._writing import Writing

_DEFAULTS: Final[dict[str, Any]] = {
    "tools": None,
    "format": None,
    "open_calls": None,
    "on_overflow": None,
    "drop_system": False,
}
"""What `fit` takes where nothing else is said."""


_SAME: Final = frozenset({Cause.PROFILE, Cause.REPAIR, Cause.STRIPPED})
"""Changes that leave out nothing which could be read."""


class Windows(Writing):
    """The part of a conversation that makes windows."""

    def fit(
        self,
        budget: Budget | int | None = None,
        *,
        tools: Any = None,
        format: str | None = None,  # noqa: A002 - the public name
        open_calls: OpenCalls | None = None,
        on_overflow: Overflow | None = None,
        drop_system: bool = False,
    ) -> Window:
        """The messages to send now. The history keeps everything.

        Remembers where it cut, so that the next window starts with the same prefix.

        Args:
            budget:
                Instead of the conversation's own, for this window.
            tools:
                Instead of the conversation's own.
            format:
                What the window will be encoded in, if not the conversation's format.
            open_calls:
                `"stand-in"`, `"keep"` or `"raise"`, instead of the conversation's own.
            on_overflow:
                `"shorten"`, `"raise"` or `"send"`, where what must stay does not fit,
                instead of the conversation's own.
            drop_system:
                Let system messages behind the leading ones go.

        Raises:
            BudgetExceededError: What must stay does not fit; the cut stays as it was.
            InvalidHistoryError: It breaks rules, and the conversation's `on_invalid` is
                `"raise"`.
            OpenCallError: A call is open, and *open_calls* is `"raise"`.
        """
        window = self._window(
            budget, tools, format, open_calls, on_overflow, drop_system=drop_system
        )
        self._announce(window)
        self._begin_work()
        return window

    def _window(
        self,
        budget: Budget | int | None,
        tools: Any,
        format: str | None,  # noqa: A002 - as in fit
        open_calls: OpenCalls | None,
        on_overflow: Overflow | None,
        *,
        drop_system: bool,
    ) -> Window:
        with self._lock:
            budget = self._budget if budget is None else Budget.of(budget)
            if budget is None:
                if self._model is None:
                    msg = "this conversation has no budget: pass one to fit()"
                    raise ValueError(msg)
                budget = Budget.for_model(self._model)
            link = self._link
            if link is not None and budget.max_tokens > (
                link.tail or budget.max_tokens
            ):
                self._load_rest()
            if open_calls is None:
                open_calls = self.open_calls
            else:
                check_choice("open_calls", open_calls, OPEN_CALLS)
            if on_overflow is None:
                on_overflow = self.on_overflow
            else:
                check_choice("on_overflow", on_overflow, OVERFLOW)
            if self.on_invalid == "raise":
                self._refuse_invalid()
            if format is not None:
                get_format(format)
            name = format or self.format
            used = self.tools if tools is None else tools
            if used:
                used = self._kept_tools(used)
            asked = (
                name,
                self._model,
                self.strategy,
                used,
                self.stand_in_text,
                open_calls,
                on_overflow,
                drop_system,
                self.on_invalid,
                self.profile,
                self.cache_marks,
            )
            if asked != self._asked[0]:
                self._asked = asked, Ask(*asked)
            ask = self._asked[1]
            fitter = self._fitter
            source = fitter.fit(budget, ask)
            expected = fitter.learner.predict(source.tokens, exact=source.exact)
            window = Window(
                name, used, expected, source, fitter.before, self._sight(name)
            )
            if self.cache_marks != "keep":
                window.mark(fitter.marking(ask, window))
            fitter.watch(window)
        return window

    def _refuse_invalid(self) -> None:
        ledger = self._ledger
        problems = ledger.grouping.problems
        if problems:
            raise InvalidHistoryError(
                tuple(
                    Violation(
                        problem.kind,
                        f"$.messages[{problem.message}]",
                        f"{ledger.id(problem.message)} answers call "
                        f"{problem.call_id!r}: {problem.why}",
                    )
                    for problem in problems
                )
            )

    def _kept_tools(self, tools: Any) -> Any:
        """A copy that stays as it is; the one before, if that says the same.

        Hosts add tools to the list that they gave.
        """
        if self._tools_seen != tools:
            self._tools_seen = deepcopy(tools)
        return self._tools_seen

    def _announce(self, window: Window) -> None:
        """Tell the store, the log and the host of a prune."""
        if window.pruned:
            self._keep_cut()
            log_prune(window.plan)
            if self.on_prune is not None:
                self.on_prune(window.plan)

    def _keep_cut(self) -> None:
        """Let the store know of a cut."""
        self.flush()

    async def afit(self, budget: Budget | int | None = None, **options: Any) -> Window:
        """The same as `fit`, without blocking the event loop.

        A summariser runs on this loop (a sync one in a thread), and the conversation
        is not locked meanwhile: it may be appended to. What it says is used if the
        messages that it covers are still those that must go.
        """
        return await self._afit(asyncio.to_thread, budget, options)

    async def _afit(
        self,
        run: Callable[..., Awaitable[Window | None]],
        budget: Budget | int | None,
        options: dict[str, Any],
    ) -> Window:
        """`afit`, whose planning is run by *run*."""
        rehearsal = Rehearsal()
        # Copied into the thread that it is run in.
        token = REHEARSAL.set(rehearsal)
        window: Window | None = None
        try:
            while window is None:
                window = await run(self._rehearse, rehearsal, budget, options)
                if window is None:
                    await rehearsal.ask()
        finally:
            REHEARSAL.reset(token)
        self._announce(window)
        self._begin_work(asyncio.get_running_loop())
        if window.is_owing:
            await asyncio.to_thread(window.hand_over)
        return window

    def _begin_work(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Begin what the next prune can be prepared with, in a thread or on *loop*."""
        fitter = self._fitter
        if fitter.work is None:
            return
        with self._lock:
            work, fitter.work = fitter.work, None
        if work is None:  # another thread was faster
            return
        if loop is None:
            work.begin()
        else:
            work.begin_on(loop)

    def _rehearse(
        self, rehearsal: Rehearsal, budget: Budget | int | None, options: dict[str, Any]
    ) -> Window | None:
        """The window, or nothing (and nothing changed) if a summariser is needed."""
        asked = {**_DEFAULTS, **options}
        with self._lock:
            state = self._fitter.checkpoint()
            try:
                window = self._window(budget, **asked)
            except BudgetExceededError:
                if not rehearsal.is_open:
                    raise
            else:
                if not rehearsal.is_open:
                    return window
            self._fitter.roll_back(state)
        return None

    def refit(self, budget: Budget | int | None = None, **options: Any) -> Window:
        """Forget the cut and fit again from the whole history."""
        with self._lock:
            self._fitter.forget()
            window = self._window(budget, **{**_DEFAULTS, **options})
        self._announce(window)
        self._begin_work()
        return window

    @property
    def archive(self) -> tuple[Message, ...]:
        """What the last window left out, in order."""
        with self._lock:
            plan = self._fitter.last
            if plan is None:
                return ()
            return tuple(plan.message(d.index) for d in plan.dropped)

    def archive_tool(self, format: str | None = None) -> dict[str, Any]:  # noqa: A002 - the public name
        """The definition of a tool by which the model reads what windows left out.

        To be sent with the other tools; `read_archive` answers its calls.

        >>> from turnkeep import Conversation
        >>> Conversation(model="claude-sonnet-4-5").archive_tool()["name"]
        'read_archive'

        Args:
            format:
                The format of the request; the conversation's own unless given.

        Raises:
            ValueError: Requests in that format have no tools.
        """
        return archive_tool(format or self.format)

    def read_archive(self, arguments: Any, *, max_tokens: int = 1_000) -> str:
        """The answer to a call of `archive_tool`, for its result.

        Searches and reads messages that the last window left out or held changed: by
        words, by lines, part after part, each by its id or all as one transcript. What
        cannot be answered is said in a sentence, for the model. Costs the history; what
        `open` has not read is read.

        Args:
            arguments:
                The call's arguments, as JSON text or as a mapping, or a `ToolCall`.
            max_tokens:
                Tokens that the answer may have, as the conversation counts; at least
                100.
        """
        if max_tokens < 100:
            msg = f"max_tokens must be at least 100, not {max_tokens!r}"
            raise ValueError(msg)
        with self._lock:
            left_out = self._left_out()
            counter = self._ledger.counter

        def measure(text: str) -> int:
            return counter.message(Message.tool_result("call", text, tool_name="tool"))

        return read_archive(arguments, left_out, max_tokens, measure)

    def _left_out(self) -> list[Message]:
        """Messages as they were that the last window does not hold as they were.

        What people alone see is none of it, nor what came after that window.
        """
        plan = self._fitter.last
        if plan is None:
            return []
        runs = plan.runs
        held = {
            plan.message(index).id
            for run in runs
            if run.action == "keep" or (run.action == "edit" and run.cause in _SAME)
            for index in range(run.start, run.stop)
        }
        newest = plan.message(runs[-1].stop - 1).id if runs else None
        self._load_rest()
        ledger = self._ledger
        stop = ledger.index.get(newest or "", len(ledger.messages) - 1) + 1
        return [m for m in sent(ledger.messages[:stop]) if m.id not in held]

    def recall(self, message_id: str) -> None:
        """Bring a dropped message's step back, and pin it.

        Raises:
            UnknownMessageError: There is no such message.
        """
        self.pin(message_id, scope="step")

    # -- learning ----------------------------------------------------------------------

    def observe(self, usage: Any, *, window: Window | None = None) -> Observation:
        """Learn from the provider's own figures for an answer.

        Corrects an estimating counter, so that later windows use the room there is;
        adds the figures up exactly; and, where the prompt cache turns out empty, lets a
        budget with prices prune now, when a rewrite is free.

        Args:
            usage:
                The usage object or dict of any provider (or its whole response).
            window:
                The window that was answered; the last one unless given.

        Raises:
            FormatError: There are no token counts in *usage*; nothing is changed.
        """
        with self._lock:
            plan = self._fitter.last if window is None else window.plan
            return self._learn(usage, plan)

    def _learn(self, usage: Any, plan: Plan | None) -> Observation:
        fitter = self._fitter
        ledger = self._ledger
        # Of a request of which the provider keeps a part, nobody knows the size.
        teaches = not (ledger.counter.exact or ledger.is_stateful)
        seen = fitter.learner.observe(
            usage, plan, exact=ledger.counter.exact, teaches=teaches
        )
        if seen.cold:
            fitter.pace.cold = True
        return seen

    def observe_overflow(self, error: object, *, window: Window | None = None) -> bool:
        """Learn that a request was longer than its model's context; whether it was.

        Knows what the providers and the usual servers say, as exceptions, bodies,
        texts, and as answers that stopped for it with status 200. Where they name limit
        and size, the next window keeps to them; where they name nothing, it is a fifth
        smaller. So fit again and send that. What was learned belongs to the model and
        is saved with the conversation; one tool result never takes more than half of a
        window that was named.

        >>> from turnkeep import Conversation
        >>> chat = Conversation(budget=200_000, model="claude-sonnet-4-5")
        >>> chat.observe_overflow("prompt is too long: 210000 tokens > 200000 maximum")
        True
        >>> chat.observe_overflow("rate limit reached: too many tokens per minute")
        False

        Args:
            error:
                What the client raised, or the body or answer it got.
            window:
                The window that was sent; the last one unless given.

        Returns:
            `False` where it is another error; nothing is learned then, nor where the
            provider keeps a part of the context under an id.
        """
        told = read_exceeded(error)
        if told is None:
            return False
        with self._lock:
            if self._ledger.is_stateful:
                return True
            budget = self._budget
            room = 0 if budget is None else budget.max_tokens - budget.reserve
            source = None if window is None else window._source  # noqa: SLF001 - ours
            self._fitter.exceed(told, source, room)
        return True

    @property
    def usage(self) -> Usage:
        """All that has been observed, added up exactly."""
        return self._fitter.learner.usage

    @property
    def generations(self) -> GenerationTotals:
        """The same as generation statistics: one record for each answer observed."""
        return self._fitter.learner.totals
