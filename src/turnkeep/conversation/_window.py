from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from turnkeep.formats._sending import request_of
from turnkeep.model import Message
from turnkeep.plans import Inserted, Plan
from turnkeep.policy import Policy

from ._marking import Marking
from ._sight import Sight


class Source(Protocol):
    """What a window is made from."""

    @property
    def plan(self) -> Plan:
        """Why these messages; may be made anew each time."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        ...

    @property
    def pruned(self) -> bool:
        """Whether anything had to go."""
        ...

    @property
    def exact(self) -> bool:
        """Whether *tokens* is the provider's own count."""
        ...

    @property
    def demands(self) -> Policy:
        """What its provider demands."""
        ...

    def message(self, index: int) -> Message:
        """A message of the history as it was."""
        ...

    def messages(self) -> list[Message] | None:
        """The window's messages, where little is to be done for them."""
        ...

    def request(
        self, name: str, messages: Sequence[Message], tools: Any
    ) -> dict[str, Any] | None:
        """The same as a request body, where little is to be done for that."""
        ...


@attrs.frozen(eq=False)
class Kept:
    """What a window that was pickled is made from: see `Source`."""

    plan: Plan
    tokens: int
    pruned: bool
    exact: bool
    demands: Policy
    sent: tuple[Message, ...]

    def message(self, index: int) -> Message:
        """A message of the history as it was."""
        return self.plan.message(index)

    def messages(self) -> list[Message] | None:
        """The window's messages."""
        return list(self.sent)

    def request(
        self, name: str, messages: Sequence[Message], tools: Any
    ) -> dict[str, Any] | None:
        """Nothing: it is encoded when it is asked for."""
        del name, messages, tools
        return None


@attrs.frozen(eq=False, repr=False)
class Window:
    """What a plan leaves: the messages to send now. A projection, never the history.

    It shares its messages with the conversation and stays as it is, whatever happens
    there later. The list is made when it is asked for, and costs its length then; so
    is the plan.
    """

    format: str
    """The format it was planned for."""

    tools: Any
    """Tool definitions that were counted, in the provider's shape."""

    expected: int
    """The provider's likely figure for it: `tokens`, corrected by what was observed."""

    _source: Source

    _before: Callable[[], None] | None = None
    """What is to be done before anybody sees the messages."""

    _sight: Sight | None = None
    """The host's list that was followed; none where none was."""

    _marking: Marking | None = None
    """Where cache marks go; none where they are left as they are."""

    _plan: Plan | None = attrs.field(default=None, init=False)
    _messages: list[Message] | None = attrs.field(default=None, init=False)

    @property
    def plan(self) -> Plan:
        """Why these messages."""
        if self._plan is None:
            _keep_plan(self, self._source.plan)
        return self._plan  # type: ignore[return-value]

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        return self._source.tokens

    @property
    def pruned(self) -> bool:
        """Whether anything had to go."""
        return self._source.pruned

    @property
    def messages(self) -> Sequence[Message]:
        """The messages to send, in order, stand-ins included."""
        self.hand_over()
        return self._finish()

    def _finish(self) -> Sequence[Message]:
        """The same, for ourselves: nothing is written for it."""
        if self._messages is None:
            _keep_messages(self, self._make_messages())
        return self._messages  # type: ignore[return-value]

    @property
    def is_owing(self) -> bool:
        """Whether `hand_over` may have something to write."""
        return self._before is not None

    def hand_over(self) -> None:
        """Write what `Offload` left out to its store, if that is still to be done.

        Who reads `messages` or encodes need not call it; it is for doing it earlier, or
        elsewhere than on an event loop.
        """
        if self._before is not None:
            self._before()

    def mark(self, marking: Marking | None) -> None:
        """Say where cache marks go: for the conversation that made this."""
        _keep_marking(self, marking)

    def _make_messages(self) -> list[Message]:
        known = self._source.messages()
        if known is not None:
            return known
        message, plan = self._source.message, self.plan
        edits = plan.edits
        if not edits and not plan.inserted:
            return list(map(message, plan.order))  # type: ignore[arg-type]
        made: list[Message] = []
        for item in plan.order:
            if isinstance(item, Inserted):
                made.append(item.message)
            elif item in edits:
                made.append(edits[item][0])
            else:
                made.append(message(item))
        return made

    def encode(self, format: str | None = None) -> dict[str, Any]:  # noqa: A002
        """A request body in the provider's shape, tools included.

        System text that the provider does not take in its place goes to the front. All
        of it may be changed, for example marked for the prompt cache: nothing is shared
        with later requests. Behind the last window of the same conversation it costs
        what is new, and a copy of each entry.

        Raises:
            ValueError: *format* is not the one that the window was planned for; its
                tokens and its validity would not hold.
        """
        if format is not None and format != self.format:
            msg = (
                f"this window was planned for {self.format!r}; call "
                f"fit(format={format!r}) for one in that format"
            )
            raise ValueError(msg)
        source, messages = self._source, self.messages
        known = source.request(self.format, messages, self.tools)
        if known is None:
            known = request_of(self.format, messages, self.tools, source.demands)
        if self._marking is None:
            return known
        return self._marking.applied(known, self.format, messages, source.demands)

    def apply(self, messages: Any) -> Any:
        """The window in a host's own objects, in the shape of *messages*.

        Entries that are sent as they are, are the host's; new ones stand only where
        something was changed or added, made by the type of what they replace where that
        can be. The host's list itself stays as it is. Costs the window, and a
        comparison with the list that was followed.

        Args:
            messages:
                The list, or the body, that `Conversation.sync` was last given before
                this window was made.

        Raises:
            StalePlanError: It is another one.
            ValueError: No list was followed.
        """
        if self._sight is None:
            msg = (
                "this window was made of no host's list: call sync(messages) before "
                "fit(), or encode() for a request"
            )
            raise ValueError(msg)
        demands = self._source.demands
        made = self._sight.apply(self.messages, messages, self.format, demands)
        if self._marking is None:
            return made
        if isinstance(made, Mapping):
            return self._marking.applied(made, self.format, self.messages, demands)
        listed = {"messages": made}
        marked = self._marking.applied(listed, self.format, self.messages, demands)
        return marked["messages"]

    def __reduce__(self) -> tuple[Callable[..., Window], tuple[Any, ...]]:
        """What it says, worked out: it crosses processes without its conversation."""
        source = Kept(
            self.plan,
            self.tokens,
            self.pruned,
            self._source.exact,
            self._source.demands,
            tuple(self.messages),
        )
        made = (self.format, self.tools, self.expected, source)
        return Window, (*made, None, None, self._marking)

    def __copy__(self) -> Window:
        """The same window: it never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Window:
        """The same window: it never changes."""
        return self

    def __len__(self) -> int:
        """Number of messages."""
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages, in order."""
        return iter(self.messages)

    def __repr__(self) -> str:
        """Show the figures."""
        pruned = ", pruned" if self.pruned else ""
        return f"Window({self.tokens:,} tokens, format={self.format!r}{pruned})"

    def _repr_html_(self) -> str:
        """For notebooks: figures and the newest messages."""
        from turnkeep.plans._notebook import window_html  # noqa: PLC0415 - rarely shown

        return window_html(self)


# A frozen class lets nobody else write them; both are what they were whenever they are
# made.
_keep_plan = vars(Window)["_plan"].__set__
_keep_messages = vars(Window)["_messages"].__set__
_keep_marking = vars(Window)["_marking"].__set__
