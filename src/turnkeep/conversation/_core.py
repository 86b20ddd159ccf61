"""What a conversation is: its history, its settings, its place in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import RLock
from typing import Any, ClassVar

from turnkeep.budgets import Budget
from turnkeep.engine import (
    CACHE_MARKS,
    ON_INVALID,
    OPEN_CALLS,
    OVERFLOW,
    CacheMarking,
    OnInvalid,
    OpenCalls,
    Overflow,
    check_choice,
    check_text,
)
from turnkeep.errors import UnknownMessageError
from turnkeep.formats import format_of_model, get_format
from turnkeep.index._ledger import Ledger
from turnkeep.model import STAND_IN_TEXT, Message, paused_gc
from turnkeep.plans import Plan
from turnkeep.profiles import get_profile
from turnkeep.stores import Change
from turnkeep.strategies import Strategy, strategy_of
from turnkeep.tokens import RequestCounter

from ._asking import Ask
from ._changes import apply_change
from ._counting import TokenCounter, counter_for
from ._desk import CallDesk
from ._fitting import Fitter
from ._host import HostList
from ._link import Link
from ._recovery import Before
from ._sight import Sight


class Core:
    """The state of a conversation, and the one way in which it changes."""

    DEFAULT_STAND_IN: ClassVar = STAND_IN_TEXT

    def __init__(
        self,
        *,
        budget: Budget | int | None = None,
        model: str | None = None,
        format: str | None = None,  # noqa: A002 - the public name
        profile: str | None = None,
        tools: Any = None,
        strategy: Strategy | str | None = None,
        token_counter: TokenCounter | None = None,
        stand_in_text: str | None = None,
        on_invalid: OnInvalid = "repair",
        open_calls: OpenCalls = "stand-in",
        on_overflow: Overflow = "shorten",
        cache_marks: CacheMarking = "keep",
        on_prune: Callable[[Plan], object] | None = None,
    ) -> None:
        """See the class."""
        check_choice("on_invalid", on_invalid, ON_INVALID)
        check_choice("open_calls", open_calls, OPEN_CALLS)
        check_choice("on_overflow", on_overflow, OVERFLOW)
        check_choice("cache_marks", cache_marks, CACHE_MARKS)
        if stand_in_text is None:
            stand_in_text = STAND_IN_TEXT
        check_text("stand_in_text", stand_in_text)
        if model is not None:
            check_text("model", model)
        if profile is not None:
            get_profile(name=profile)
        if format is not None:
            get_format(format)
        if on_prune is not None and not callable(on_prune):
            msg = f"on_prune must take a plan, and {on_prune!r} takes nothing"
            raise TypeError(msg)
        self._lock = RLock()
        self.budget = budget
        self._model = model
        self._format = format
        self.tools = tools
        self.profile = profile
        self.strategy = strategy
        self._text_counter = token_counter
        self.stand_in_text = stand_in_text
        self.on_invalid: OnInvalid = on_invalid
        self.open_calls: OpenCalls = open_calls
        self.on_overflow: Overflow = on_overflow
        self.cache_marks: CacheMarking = cache_marks
        self.on_prune = on_prune
        self.metadata: dict[str, Any] = {}
        """Anything of the host's that is to be saved with the conversation."""
        self._unknown: dict[str, Any] = {}
        self._next = 1
        self._link: Link | None = None
        self._host: HostList | None = None
        """The list that is followed; none until one is."""
        self._tools_seen: Any = None
        """The tools that were last sent, as they were then."""
        self._asked: tuple[Any, Ask] = ((), Ask(""))
        """What the last window was asked for: mostly the same as the next."""
        self._ledger = Ledger(self._make_counter())
        self._desk = CallDesk(self._ledger)
        self._fitter = Fitter(self._ledger, self._desk, self._lock)

    # -- what it is -----------------------------------------------------------------

    @property
    def budget(self) -> Budget | None:
        """What a window may hold. A larger one brings dropped messages back."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | int | None) -> None:
        self._budget = None if budget is None else Budget.of(budget)

    @property
    def strategy(self) -> Strategy | None:
        """What goes first; none for the default. May be set by name."""
        return self._strategy

    @strategy.setter
    def strategy(self, strategy: Strategy | str | None) -> None:
        self._strategy = strategy_of(strategy)

    @property
    def model(self) -> str | None:
        """The model; another one counts again and forgets the cut."""
        return self._model

    @model.setter
    def model(self, model: str | None) -> None:
        with self._lock:
            if model == self._model:
                return
            self._model = model
            self._fitter.settle_all()
            self._ledger.use(self._make_counter())
            self._fitter.forget()
            self._fitter.learner.forget_limits()

    @property
    def format(self) -> str:
        """The format windows are encoded in; follows the model unless given."""
        if self._format is None:
            return format_of_model(self._model)
        return self._format

    def _make_counter(self) -> RequestCounter:
        return counter_for(self._text_counter, self.format, self._model)

    @property
    def version(self) -> int | None:
        """The version in its store that this process has seen; `None` without one."""
        return None if self._link is None else self._link.version

    @property
    def is_whole(self) -> bool:
        """Whether the whole history is here, or only the part that `open` read."""
        return self._link is None or self._link.tail is None

    def refresh(self) -> tuple[str, ...]:
        """Take over what other processes wrote to the store; costs what they wrote.

        Returns:
            Ids of the messages that came, changed or went.
        """
        with self._lock:
            return () if self._link is None else self._link.refresh(self)

    def flush(self) -> None:
        """Write settings (budget, model, metadata, the cut) to the store.

        `fit` does so when it has cut. Messages, pins and calls need no flush.
        """
        with self._lock:
            if self._link is not None:
                self._link.flush(self)

    def _sight(self, format: str) -> Sight | None:  # noqa: A002 - as in fit
        """The host's list that windows in *format* can be given back in."""
        host = self._host
        return Sight.of(host) if host is not None and format == self.format else None

    def _load_rest(self) -> None:
        if self._link is not None:
            self._link.load_rest(self)

    def _commit(self, make: Callable[[], Change], *, rebase: bool = True) -> Change:
        """Make a change: in the store first, where there is one, and then here.

        With *rebase*, a change that others were faster than is made again on top of
        theirs: for what stays right whatever they wrote.
        """
        if self._link is not None:
            return self._link.commit(self, make, rebase=rebase)
        change = make()
        before = Before(self, change)
        try:
            apply_change(self, change)
        except BaseException:
            before.restore(self)
            raise
        return change

    def __len__(self) -> int:
        """Number of messages in the history."""
        with self._lock:
            self._load_rest()
            return len(self._ledger.messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages as they are now, in order."""
        return iter(self.messages)

    def __contains__(self, message_id: object) -> bool:
        """Whether a message has that id."""
        if not isinstance(message_id, str):
            return False
        with self._lock:
            if message_id not in self._ledger.index:
                self._load_rest()
            return message_id in self._ledger.index

    def __getitem__(self, message_id: str) -> Message:
        """The message with that id.

        Raises:
            UnknownMessageError: There is none.
        """
        with self._lock:
            index = self._at(message_id)  # may read the rest
            return self._ledger.messages[index]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history; costs its length."""
        with self._lock:
            self._load_rest()
            return tuple(self._ledger.messages)

    def _at(self, message_id: str) -> int:
        if not isinstance(message_id, str):
            raise UnknownMessageError(message_id)
        if message_id not in self._ledger.index:
            self._load_rest()
        try:
            return self._ledger.index[message_id]
        except KeyError:
            raise UnknownMessageError(message_id) from None

    # -- ids -------------------------------------------------------------------------

    def _new_id(self) -> str:
        while (identity := f"msg-{self._next}") in self._ledger.index:
            self._next += 1
        return identity

    def _raise_counter(self, identity: str | None) -> None:
        # A regular expression would cost a tenth of loading a history.
        if identity == f"msg-{self._next}":
            self._next += 1
        elif identity is not None and identity.startswith("msg-"):
            number = identity[4:]
            if len(number) < 16 and number.isascii() and number.isdecimal():
                self._next = max(self._next, int(number) + 1)

    def _take(self, messages: Iterable[Message], counts: Sequence[int] = ()) -> None:
        """Append what was loaded: nothing is stamped, counting waits."""
        batch = list(messages)
        with paused_gc():
            # Ids that are given are reserved before any are made.
            for message in batch:
                self._raise_counter(message.id)
            for nth, message in enumerate(batch):
                if message.id is None:
                    batch[nth] = message.evolve(id=self._new_id())
                    self._raise_counter(batch[nth].id)
            self._ledger.load(batch, counts)
