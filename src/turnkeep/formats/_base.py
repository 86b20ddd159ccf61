from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs

from turnkeep.model import Message

from ._marks import Marks
from ._objects import Objects
from ._outline import Outline


def origin_of(message: Message) -> str | None:
    """Name of the format that *message* was decoded from; none for one made in Python.

    Every format begins the `layout` of what it decodes with its own name, and may add a
    colon and details of its own: `"openai"`, `"openai:list"`. What stands in `extra`,
    and in the `extra` of blocks, belongs to that format. A format sends back its own
    keys and those of messages without origin, never those of another format.
    """
    layout = message.layout
    return None if layout is None else layout.partition(":")[0]


def layout_of(message: Message, name: str) -> str:
    """The details that format *name* left in the layout of *message*, else `""`."""
    layout = message.layout
    if layout is None or not layout.startswith(f"{name}:"):
        return ""
    return layout[len(name) + 1 :]


def is_own(message: Message, name: str) -> bool:
    """Whether the keys in `extra` are those of format *name* (or the caller's)."""
    layout = message.layout
    return layout is None or layout == name or layout.startswith(f"{name}:")


@attrs.frozen
class Envelope:
    """A list of wire entries, and what stands around it in a request body.

    Made by `Format.open`; `replace` puts other entries where the first ones stood.
    """

    entries: Sequence[Any]
    """The wire entries, the caller's own objects."""

    system: Any = None
    """System text that stands beside the list (`system`, `instructions`, ...), raw."""

    tools: Any = None
    """Tool definitions of the body, raw."""

    model: str | None = None
    """The model that the body names."""

    path: str = "$"
    """JSON path of the list, such as `"$.messages"`."""

    is_body: bool = False
    """Whether the list stands in a request body."""

    objects: Objects | None = attrs.field(default=None, repr=False)
    """The caller's own objects, where entries were read from such."""

    replace: Callable[[list[Any]], Any] = attrs.field(default=list, repr=False)
    """Gives the input's own shape with other entries in it; never changes the input."""

    wire: str | None = None
    """The format of the entries, where a session's reader made them: what its program
    would send next, in the shape of the provider it sends to."""

    session: str | None = None
    """The format that the entries were read from, where `wire` is another one."""

    kept: tuple[str, ...] = ()
    """Keys of the body under which the provider keeps what stands before the list."""

    notes: tuple[str, ...] = ()
    """What the reader left out or had to settle, one sentence each, for people."""


@attrs.frozen
class Detection:
    """Which format a value has, and why."""

    format: str
    """The name to use."""

    candidates: tuple[str, ...]
    """Every format that it could be, `format` among them."""

    reason: str
    """What decided, in words."""


@runtime_checkable
class Format(Protocol):
    """One JSON shape for message lists.

    A wire entry is one element of the list as the provider has it. It holds one logical
    message or, where a format puts tool results and user text into one entry, two: the
    results first, the text second. A second one is marked by its `layout`, so that
    `encode` joins exactly what `decode` split.

    Decoding then encoding gives the equal JSON value, key for key: what the model has
    no field for stands in `extra`; how it was spelled stands in `layout`.
    """

    name: str
    """As users write it, such as `"openai"`."""

    marks: Marks
    """What speaks for it and against it, where no format is named."""

    def open(self, value: Any) -> Envelope:
        """Take a list of entries or a whole request body apart.

        Raises:
            FormatError: It is neither.
        """
        ...

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """The logical messages of one wire entry.

        Raises:
            FormatError: With the path of the offending value below *path*.
        """
        ...

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """What a list says, decoded no further than it has to be.

        Every entry is looked at: an object, a role, a type of content. What is unusual
        is decoded, alone and in its place, and what is malformed always is. Linear.

        Raises:
            FormatError: An entry is malformed, with its path below *path*.
        """
        ...

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """Wire entries that say *messages*, in their order.

        Takes messages of any origin; what the format cannot carry is left out here
        and reported by `convert`.
        """
        ...

    def decode_system(self, system: Any, path: str = "$.system") -> tuple[Message, ...]:
        """System text that stood beside the list, as system messages."""
        ...

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """A request body: the list, system text in its place, *tools* as given."""
        ...

    def losses(self, message: Message) -> list[str]:
        """What of *message* this format cannot carry, in words; usually nothing."""
        ...


@runtime_checkable
class Piecewise(Format, Protocol):
    """A format whose list can be written piece by piece.

    Encoding pieces one after the other gives what encoding all of it gives, wherever
    `stands_apart` lets it be parted.
    """

    list_key: str
    """Where the list stands in a request body."""

    def stands_apart(self, before: Message, after: Message) -> bool:
        """Whether neighbours are written the same together as each on its own."""
        ...

    def stands_beside(self, message: Message) -> bool:
        """Whether a system message stands beside the list, wherever it was said."""
        ...

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """The entries of *messages*; none where they depend on more than that.

        Args:
            messages:
                Some that follow each other, parted from the others at seams.
            earlier:
                All that stand before them in the list.
        """
        ...


def decode_entries(envelope: Envelope, fmt: Format) -> Iterator[Message]:
    """The messages of the entries, one after the other; errors say which entry it was.

    System text beside the list is not among them.
    """
    for nth, entry in enumerate(envelope.entries):
        yield from fmt.decode(entry, f"{envelope.path}[{nth}]")
