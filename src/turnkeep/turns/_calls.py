from __future__ import annotations

from collections.abc import Sequence

import attrs

from ._entries import CallKey
from ._hosted import BY_PROVIDER, KIND, UNSPOKEN


@attrs.frozen
class Problem:
    """Something in the history that no provider would take as it stands."""

    kind: str
    """`orphan_result` or `duplicate_result`."""

    message: int
    """Index of the message."""

    position: int
    """Which of its results, from 0."""

    call_id: str
    """The id (or the tool's name) that was looked for."""

    @property
    def why(self) -> str:
        """What is wrong, in words."""
        if self.kind == "orphan_result":
            return "no such call comes before it"
        return "the call has its final result already"


class OpenCall:
    """A call without a final result."""

    __slots__ = ("answer", "id", "kind", "message", "name", "open", "position")

    def __init__(self, message: int, position: int, key: CallKey) -> None:
        """A call nobody has answered yet."""
        self.message: int = message
        self.position: int = position
        self.id: str | None = key.id
        self.name: str = key.name
        self.kind: str = key.kind
        """See `CallKey`."""
        self.answer: tuple[int, int] | None = None
        """The newest result that is not final: its message and place in it."""
        self.open: bool = True

    @property
    def key(self) -> str:
        """The call's id, or its name where the format has no ids."""
        return self.id if self.id is not None else self.name

    @property
    def is_hosted(self) -> bool:
        """Whether the provider answers it, and the caller cannot."""
        return self.kind in BY_PROVIDER

    @property
    def note(self) -> dict[str, str]:
        """What the metadata of an answer says of it."""
        return {KIND: self.kind} if self.kind else {}

    @property
    def takes_stand_in(self) -> bool:
        """Whether a text of ours can stand for its answer."""
        return self.kind not in UNSPOKEN

    def __repr__(self) -> str:
        """Show what it is and where it stands."""
        return f"OpenCall({self.key!r}, message={self.message})"


def take_out(stack: list[OpenCall], call: OpenCall) -> None:
    """Remove *call*, which stands near the end; `list.remove` would start in front."""
    at = len(stack) - 1
    while stack[at] is not call:
        at -= 1
    del stack[at]


def pick(stack: Sequence[OpenCall], *, final: bool) -> OpenCall:
    """The first fitting call of the newest message in *stack*."""
    newest = stack[-1]
    if len(stack) == 1:
        return newest
    group: list[OpenCall] = []
    for call in reversed(stack):
        if call.message != newest.message:
            break
        if call.open:
            group.append(call)
    group.reverse()
    if not final:
        # A placeholder goes to a call that has none yet.
        return next((call for call in group if call.answer is None), group[0])
    return group[0]
