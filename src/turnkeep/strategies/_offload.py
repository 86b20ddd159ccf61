from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import Any, Final, Self

import attrs

from turnkeep.index import HistoryView
from turnkeep.model import OFFLOADED, Message, Role, ToolResult, marker_of, unmark
from turnkeep.plans import Cause, Edit, Replace
from turnkeep.tokens import text_counter

from ._base import Shrinking, Stable, at_least
from ._keeping import Task
from ._reading import CannotReadError, Reader, quoted, request_of
from ._reading_tool import reading_tool
from ._results import (
    Found,
    final_results,
    is_shortened,
    name_of,
    result_at,
    with_result,
)
from ._shelf import TextStore, shelf_of
from ._shorten import has_text, measure_of, saying, shorten

TOOL: Final = "read_offloaded"
HEAD: Final = 0.5
"""Share of a preview that is the beginning."""

SHARE: Final = 0.5
"""Share of *min_tokens* that an answer has at most by our counters: the tokenizer of
the model may be another one."""

MOST: Final = 400
"""Characters that the name of a conversation may have: stores take 500."""

_MODEL: Final = (Role.ASSISTANT, Role.TOOL_CALL)
_REFERENCE: Final = re.compile(r"[0-9a-f]{16}")
_LABEL: Final = re.compile(r"\[Offloaded as ([0-9a-f]{16}): ")
_DESCRIPTION: Final = (
    "Reads a tool result that was too long to stay in the conversation. Where it stood "
    "there is now its beginning, its end and a reference. Answers are short: ask for "
    "the lines or words you need, or go on part after part."
)


class _Kept:
    """The references that have been put away by this object."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, None] = {}

    def __contains__(self, reference: str) -> bool:
        return reference in self._known

    def add(self, reference: str) -> None:
        """Note one; the oldest of ten thousand is forgotten, and put again if need be.

        Putting twice does no harm.
        """
        with self._lock:
            self._known[reference] = None
            if len(self._known) > 10_000:
                del self._known[next(iter(self._known))]

    def __deepcopy__(self, _memo: object) -> Self:
        return type(self)()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


def _conversation(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if not isinstance(value, str) or not 0 < len(value) <= MOST:
        msg = f"conversation must be a text of 1 to {MOST} characters, not {value!r}"
        raise ValueError(msg)


def _tool_name(instance: object, attribute: object, value: Any) -> None:
    del instance, attribute
    if not isinstance(value, str) or not value:
        msg = f"tool_name must be the name of a tool, not {value!r}"
        raise ValueError(msg)


@attrs.frozen
class Offload(Shrinking, Stable):
    """Large tool results move to a store; the model reads back what it needs of them.

    In its place the window holds the beginning, the end and a reference. Send the tool
    of `tool` with your request and answer its calls with `call`. Oldest first; what the
    model has not read yet stays whole as long as it fits. Answers of that tool, open
    calls' answers and pinned messages are left alone.

    The text is written when a window is encoded or applied, never by `plan`, and before
    anybody sees its reference. The history keeps it as well: with a larger budget it
    comes back. References are made from conversation and text, so the same history
    gives the same window on every machine.

    Costs one look at each message, and the length of what is offloaded.

    >>> offload = Offload("offloaded", min_tokens=1_000, conversation="chat-7")
    >>> offload.tool("anthropic")["name"]
    'read_offloaded'
    >>> offload.call('{"reference": "../../etc/passwd"}')
    "There is no offloaded result '../../etc/passwd' in this conversation."

    Args:
        store:
            A folder, or a store: any of `turnkeep.stores`, or a `TextStore` of yours.
        min_tokens:
            Tokens above which a result is large. Answers of `call` are smaller.
        preview:
            Tokens of what stands in its place.
        conversation:
            Which conversation it is, where one store serves several: a reference is
            only valid in its own.
        tool_name:
            What the model calls to read.
    """

    store: Any = attrs.field()
    min_tokens: int = attrs.field(default=2_000, validator=at_least(200))
    preview: int = attrs.field(default=400, validator=at_least(60))
    conversation: str = attrs.field(
        default="main", kw_only=True, validator=_conversation
    )
    tool_name: str = attrs.field(default=TOOL, kw_only=True, validator=_tool_name)
    _shelf: TextStore = attrs.field(init=False, eq=False, repr=False)
    _kept: _Kept = attrs.field(factory=_Kept, init=False, eq=False, repr=False)

    @_shelf.default
    def _make_shelf(self) -> TextStore:
        return shelf_of(self.store)

    @preview.validator
    def _is_smaller(self, _attribute: object, value: int) -> None:
        if value >= self.min_tokens:
            msg = (
                f"preview must be smaller than min_tokens ({self.min_tokens}), "
                f"not {value}"
            )
            raise ValueError(msg)

    def for_conversation(self, conversation_id: str) -> Self:
        """The same for another conversation: its references are valid there only.

        `Conversations` takes it for each of its own, by its id. Any text is an id.
        """
        if not 0 < len(conversation_id) <= MOST:
            said = conversation_id.encode("utf-8", "surrogatepass")
            conversation_id = blake2b(said, digest_size=16).hexdigest()
        return attrs.evolve(self, conversation=conversation_id)

    # -- what windows hold -------------------------------------------------------------

    def propose(self, history: HistoryView, /) -> Iterator[Edit]:
        """Yield the messages with references in them, oldest first."""
        messages = history.messages
        read = next(
            (n for n in reversed(range(len(messages))) if messages[n].role in _MODEL),
            -1,
        )
        unread: list[Found] = []
        for item in final_results(history):
            if item.message > read:
                unread.append(item)
            else:
                yield from self._offload(history, item)
        if unread and _held(history) > history.available:
            for item in unread:
                yield from self._offload(history, item)

    def _offload(self, history: HistoryView, item: Found) -> Iterator[Edit]:
        """Yield the message without one result, if that is large."""
        message = history.current(item.message)
        result = result_at(message, item.position)
        if name_of(item) == self.tool_name or is_shortened(result):
            return
        text = result.text
        # No token is shorter than a byte, so most results need no counting.
        if not has_text(result) or len(text) * 4 <= self.min_tokens:
            return
        measure = measure_of(history.cost, result)
        whole = measure(text)
        if whole <= self.min_tokens:
            return
        label = self._label(text)
        short = shorten(text, whole, self.preview, HEAD, measure, label)
        if short is not None:
            content = with_result(message, item.position, saying(result, short))
            yield Replace(item.message, content, Cause.OFFLOADED)

    def _label(self, text: str) -> str:
        lines = len(text.splitlines())
        return (
            f"[Offloaded as {self._reference(text)}: {lines:,} lines, "
            f"{len(text):,} characters. {self.tool_name} reads it.]"
        )

    def _reference(self, text: str) -> str:
        said = f"{self.conversation}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(said, digest_size=8).hexdigest()

    # -- putting away ------------------------------------------------------------------

    def put_away(self, original: Message, sent: Message, /) -> Iterable[Task]:
        """What writes the texts that *sent* refers to; not what is known as written."""
        for before, after in zip(
            original.tool_results, sent.tool_results, strict=False
        ):
            reference = reference_in(after)
            if reference is None or reference in self._kept:
                continue
            if marker_of(before.text) != OFFLOADED:
                yield partial(self._put, reference, before.text)

    def _put(self, reference: str, text: str) -> None:
        self._shelf.put_text(self.conversation, reference, text)
        self._kept.add(reference)

    # -- reading back ------------------------------------------------------------------

    def tool(self, format: str = "openai") -> dict[str, Any]:  # noqa: A002 - the public name
        """The tool's definition, as requests in that format have it in their list.

        Raises:
            ValueError: Requests in that format have no tools.
        """
        reference = "The reference that stands in the place of the result."
        return reading_tool(
            self.tool_name, _DESCRIPTION, reference, format, needed=True
        )

    def call(self, arguments: Any) -> str:
        """The answer to a call of that tool, smaller than *min_tokens*.

        What cannot be answered is said in a sentence, for the model. Costs the text.

        Args:
            arguments:
                The call's arguments, as JSON text or as a mapping, or a `ToolCall`.

        Raises:
            OSError: The folder cannot be read.
            TurnkeepError: The store cannot be read.
        """
        try:
            request = request_of(arguments)
            reference = request.reference
            text = None
            if _REFERENCE.fullmatch(reference):
                text = self._shelf.read_text(self.conversation, reference)
            if text is None:
                return (
                    f"There is no offloaded result {quoted(reference)} in this "
                    "conversation."
                )
            limit = int(self.min_tokens * SHARE)
            return Reader(reference, text, limit, _tokens).answer(request)
        except CannotReadError as error:
            return str(error)

    async def acall(self, arguments: Any) -> str:
        """The same as `call`, without blocking the event loop."""
        import asyncio  # noqa: PLC0415 - slow to import, and seldom needed

        return await asyncio.to_thread(self.call, arguments)


def _held(history: HistoryView) -> int:
    """Tokens of what no strategy may drop, with the edits taken so far."""
    total = 0
    for step in history.steps:
        if not step.is_free and history.is_kept(step.index):
            for index in step.indexes:
                now = history.current(index)
                same = now is history.message(index)
                total += history.message_tokens(index) if same else history.cost(now)
    return total


def reference_in(result: ToolResult) -> str | None:
    """The reference that a result has in its place; none where it is no such thing."""
    text = result.text
    if marker_of(text) != OFFLOADED:
        return None
    found = _LABEL.match(unmark(text))
    return None if found is None else found[1]


def _tokens(text: str) -> int:
    """Tokens of *text* by whichever of our counters finds most."""
    counters = text_counter(), text_counter(name="approximate")
    return max(counter.count(text) for counter in counters)
