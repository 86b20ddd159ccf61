"""What a summariser said: a text, or the block of a provider's own compactor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from turnkeep.model import (
    SUMMARY,
    Message,
    Opaque,
    Role,
    ToolResult,
    mark,
    without_line,
)
from turnkeep.turns import Memory, entry_of

KIND: Final = "summary"
_SOURCES: Final = "sources"
_BESIDE: Final = "beside_questions"


@attrs.frozen
class Block:
    """The block or item in which a provider keeps what it compacted, as it came."""

    value: Opaque
    beside_questions: bool = False
    """Whether the user's own messages stay in front of it, as its provider returned
    them."""

    @property
    def stands_first(self) -> bool:
        """Whether the model sees nothing of what stands before it."""
        memory = _memory_of(self.value)
        return memory is not None and memory.replaces


Said: TypeAlias = str | Block


class NothingSaidError(ValueError):
    """Why an answer is none, in words."""


def read_answer(answer: object) -> Said:
    """What a summariser returned.

    A text; a compaction block or item; or the answer of a provider that holds one.

    Raises:
        NothingSaidError: It says nothing, or is none of these.
    """
    if isinstance(answer, str):
        said = without_line(answer.strip()).strip()
        if not said:
            reason = "it returned nothing"
            raise NothingSaidError(reason)
        return said
    value = _plain(answer)
    if value is None:
        reason = f"it returned a {type(answer).__name__}, not text"
        raise NothingSaidError(reason)
    for block in _blocks_in(value):
        form = "anthropic" if "content" in block else "openai-responses"
        opaque = Opaque(block, form)
        if _memory_of(opaque) is not None:
            return Block(opaque, value.get("object") == "response.compaction")
    reason = "it returned no text, and nothing that was compacted"
    raise NothingSaidError(reason)


def _plain(answer: object) -> Mapping[str, Any] | None:
    """An answer as JSON: a client's object says what it is, without added nulls."""
    if isinstance(answer, Mapping):
        return answer
    dump = getattr(answer, "model_dump", None)
    if dump is not None:
        made = dump(mode="json", exclude_unset=True)
        return made if isinstance(made, Mapping) else None
    return None


def _blocks_in(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The compaction that an answer is or holds, the last one first."""
    if value.get("type") == "compaction":
        yield value
    for key in ("content", "output"):
        entries = value.get(key)
        if isinstance(entries, (list, tuple)):
            for entry in reversed(entries):
                plain = _plain(entry)
                if plain is not None and plain.get("type") == "compaction":
                    yield plain


def _memory_of(block: Opaque) -> Memory | None:
    hosted = entry_of(Message(Role.ASSISTANT, [block])).hosted
    return None if hosted is None else hosted.memory


def message_of(
    said: Said, sources: Sequence[Message] = (), ids: Sequence[str] = ()
) -> Message:
    """What was said as a message, with the ids of all that it stands for."""
    known: list[str] = []
    for message in sources:
        known += covered_by(message) or ()
    metadata: dict[str, Any] = {_SOURCES: [*known, *ids]} if ids else {}
    if isinstance(said, str):
        return Message.user(mark(SUMMARY, said), kind=KIND, metadata=metadata)
    if said.beside_questions:
        metadata[_BESIDE] = True
    return Message(Role.ASSISTANT, [said.value], kind=KIND, metadata=metadata)


def covered_by(message: Message) -> Sequence[str] | None:
    """The ids that a summary of ours stands for; none where it is no such thing."""
    found = message.metadata.get(_SOURCES)
    if message.kind == KIND and isinstance(found, (list, tuple)):
        return [str(item) for item in found]
    return None


def is_block(message: Message) -> bool:
    """Whether a summary is a provider's block, which others cannot read."""
    return any(isinstance(block, Opaque) for block in message.content)


def in_front(message: Message, sources: Sequence[Message]) -> list[Message]:
    """What stands in front of a summary for the model: messages of the user's."""
    if not message.metadata.get(_BESIDE):
        return []
    return [
        source
        for source in sources
        if source.role is Role.USER
        and source.kind != KIND
        and not any(isinstance(block, ToolResult) for block in source.content)
    ]
