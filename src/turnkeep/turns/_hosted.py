"""What providers do themselves, read from blocks that only their format knows.

A provider's own tools are calls like any other, in one message or several; what it put
in place of earlier messages, what sets it up from there on, and what it keeps under an
id stand in the list as well. Types of blocks say which is which: no two providers use
one type for two things.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final, NamedTuple, TypeAlias

from turnkeep.model import Message, Opaque, Role, ToolCall


class Does(Enum):
    """What a part of a message is to others."""

    CALL = auto()
    """A call that the provider answers itself."""
    ANSWER = auto()
    """The provider's answer to one."""
    OFFER = auto()
    """Something that others may name: a call that calls come out of."""
    BELONGS = auto()
    """It names the call that it came out of."""


class Link(NamedTuple):
    """A part of a message that is linked to others."""

    does: Does
    id: str
    name: str = ""


class Memory(Enum):
    """What a provider put in place of earlier messages, by where it has to stand."""

    THRESHOLD = "threshold"
    """Anthropic's, unsigned: what stands before it is not in the model's context."""
    SIGNED = "signed"
    """Anthropic's on demand: the first block of all."""
    ITEM = "item"
    """OpenAI's: what stands before it is read and billed."""

    @property
    def replaces(self) -> bool:
        """Whether the model sees nothing of what stands before it."""
        return self is not Memory.ITEM


class Hosted(NamedTuple):
    """What a message holds of a provider's own doing."""

    links: tuple[Link, ...] = ()
    """Its links, in order."""
    memory: Memory | None = None
    sets_up: bool = False
    """Whether it sets something up from there on: tools that come or go."""
    refers: bool = False
    """Whether it is a reference to what the provider keeps."""

    @property
    def is_alone(self) -> bool:
        """Whether its links only concern the message itself: most do."""
        calls = {link.id for link in self.links if link.does is Does.CALL}
        answers = {link.id for link in self.links if link.does is Does.ANSWER}
        return calls == answers and all(
            link.does in (Does.CALL, Does.ANSWER) for link in self.links
        )


BY_PROVIDER: Final = frozenset({"program", "server_tool"})
"""Kinds of calls that the provider answers."""

UNSPOKEN: Final = frozenset(
    {*BY_PROVIDER, "computer_call", "mcp_approval_request", "tool_search_call"}
)
"""Kinds of calls whose answer nobody can stand in for: the provider's own, consent, a
picture, a list of tools."""

_UNEDITED: Final = frozenset(
    {"mcp_approval_response", "program_output", "tool_search_output"}
)
"""Types of answers that nobody may change: consent, and the provider's own."""

_UNWRITTEN: Final = UNSPOKEN - {"computer_call"}
"""Kinds of calls whose answers nobody may change; pictures may go."""

KIND: Final = "turnkeep:kind"
"""Key of a result's metadata: the kind of the call that it answers.

Set by whoever writes an answer of ours or of the caller's, for formats in which each
kind of call has an answer of its own."""

_OFFERS: Final = frozenset({"program", "mcp_approval_request"})
"""Kinds of calls that others name as the one they came out of."""

_BY_ORDER: Final = "\0"
"""Begins the id of what is linked by order alone."""

Value: TypeAlias = Mapping[str, Any]


def kind_of_call(call: ToolCall) -> str:
    """The kind of a call that is none of a function: its type, as its format has it."""
    if not call.extra:
        return ""
    kind = call.extra.get("type")
    if not isinstance(kind, str):
        return ""
    given = call.arguments_value
    if (
        kind == "tool_search_call"
        and isinstance(given, Mapping)
        and given.get("execution") == "server"
    ):
        return "server_tool"
    return kind


def without_answers(message: Message, ids: Collection[str]) -> Message | None:
    """*message* without the provider's answers to these calls; none where all goes."""
    kept = tuple(
        block
        for block in message.content
        if type(block) is not Opaque or not _answers_one_of(block.value, ids)
    )
    if len(kept) == len(message.content):
        return message
    return message.evolve(content=kept) if kept else None


def _answers_one_of(value: Value, ids: Collection[str]) -> bool:
    return any(link.does is Does.ANSWER and link.id in ids for link in _links_of(value))


def is_final_word(message: Message) -> bool:
    """Whether a message carries an answer that nobody may change or shorten."""
    if message.extra and message.extra.get("type") in _UNEDITED:
        return True
    return bool(message.metadata) and message.metadata.get(KIND) in _UNWRITTEN


def hosted_in(message: Message) -> Hosted | None:
    """What a message holds of a provider's own doing; costs its number of blocks."""
    links: list[Link] = []
    memory: Memory | None = None
    sets_up = refers = False
    caller = message.extra.get("caller") if message.extra else None
    if caller is not None:
        links += _belongs(caller)
    for block in message.content:
        if type(block) is ToolCall:
            links += _links_of_call(block)
        elif type(block) is Opaque:
            value = block.value
            links += _links_of(value)
            memory = _memory(value) or memory
            sets_up = sets_up or _sets_up(value)
            refers = refers or value.get("type") == "item_reference"
            refers = refers or value.keys() == {"id"}
    if links or memory or sets_up or refers:
        return Hosted(tuple(links), memory, sets_up, refers)
    return None


def is_setting(message: Message) -> bool:
    """Whether a message of the user's says nothing, and only sets something up."""
    return message.role is not Role.ASSISTANT and all(
        type(block) is Opaque and _sets_up(block.value) for block in message.content
    )


def is_system_text(message: Message) -> bool:
    """Whether a message is system text, which may stand beside the list.

    What sets something up takes effect where it stands.
    """
    return message.role is Role.SYSTEM and not any(
        type(block) is Opaque and _sets_up(block.value) for block in message.content
    )


def is_memory_item(message: Message) -> bool:
    """Whether a message is nothing but a provider's memory, as an item of its own."""
    return (
        len(message.content) == 1
        and type(block := message.content[0]) is Opaque
        and _memory(block.value) is Memory.ITEM
    )


def _links_of_call(call: ToolCall) -> Iterator[Link]:
    given = call.arguments_value
    for value in (call.extra, given if isinstance(given, Mapping) else {}):
        if "caller" in value:
            yield from _belongs(value["caller"])
    if call.id is not None and kind_of_call(call) in _OFFERS:
        yield Link(Does.OFFER, call.id, call.name)


def _belongs(caller: object) -> Iterator[Link]:
    """The link to what a call came out of."""
    if isinstance(caller, Mapping):
        for key in ("tool_id", "caller_id"):
            if isinstance(name := caller.get(key), str):
                yield Link(Does.BELONGS, name)


def _links_of(value: Value) -> Iterator[Link]:
    """The links of a block that only its format knows."""
    kind = value.get("type")
    if isinstance(kind, str):
        look = _TYPES.get(kind)
        if look is None and kind.endswith("_tool_result"):
            look = _server_result
        if look is not None:
            yield from look(value)
        return
    for member, (does, key, otherwise) in _MEMBERS.items():
        inner = value.get(member)
        if not isinstance(inner, Mapping):
            continue
        if member == "toolUse" and "type" not in inner:
            continue  # a client's call where none may stand
        found = inner.get(key)
        identity = found if isinstance(found, str) else otherwise
        if identity:
            yield Link(does, identity, str(inner.get("name") or member))


def _server_call(value: Value) -> Iterator[Link]:
    if isinstance(value.get("id"), str):
        yield Link(Does.CALL, value["id"], str(value.get("name") or ""))
    yield from _belongs(value.get("caller"))


def _server_result(value: Value) -> Iterator[Link]:
    if isinstance(value.get("tool_use_id"), str):
        yield Link(Does.ANSWER, value["tool_use_id"])
    yield from _belongs(value.get("caller"))


def _remote_call(value: Value) -> Iterator[Link]:
    if isinstance(value.get("approval_request_id"), str):
        yield Link(Does.BELONGS, value["approval_request_id"])


def _search_call(value: Value) -> Iterator[Link]:
    del value
    yield Link(Does.CALL, f"{_BY_ORDER}search", "tool_search")


def _search_output(value: Value) -> Iterator[Link]:
    del value
    yield Link(Does.ANSWER, f"{_BY_ORDER}search")


_TYPES: Final[Mapping[str, Callable[[Value], Iterator[Link]]]] = {
    "server_tool_use": _server_call,
    "mcp_tool_use": _server_call,
    "mcp_call": _remote_call,
    "tool_search_call": _search_call,
    "tool_search_output": _search_output,
}

_CODE: Final = f"{_BY_ORDER}code"

_MEMBERS: Final = {
    "toolUse": (Does.CALL, "toolUseId", ""),
    "toolResult": (Does.ANSWER, "toolUseId", ""),
    "toolCall": (Does.CALL, "id", ""),
    "tool_call": (Does.CALL, "id", ""),
    "toolResponse": (Does.ANSWER, "id", ""),
    "tool_response": (Does.ANSWER, "id", ""),
    "executableCode": (Does.CALL, "id", _CODE),
    "executable_code": (Does.CALL, "id", _CODE),
    "codeExecutionResult": (Does.ANSWER, "id", _CODE),
    "code_execution_result": (Does.ANSWER, "id", _CODE),
}
"""Members of blocks and parts that have no type, Bedrock's and Gemini's: what each
does, the key of its id, and the id of what is linked by order alone."""

_SETTINGS: Final = frozenset({"tool_addition", "tool_removal"})
_SETTING_MEMBERS: Final = ("toolAddition", "toolRemoval")


def _sets_up(value: Value) -> bool:
    return value.get("type") in _SETTINGS or any(
        member in value for member in _SETTING_MEMBERS
    )


def _memory(value: Value) -> Memory | None:
    """The memory that a block is; one without content failed, and is none."""
    if value.get("type") != "compaction":
        return None
    if "content" not in value:
        return Memory.ITEM if "encrypted_content" in value else None
    if not isinstance(value["content"], str):
        return None
    return Memory.SIGNED if value.get("signature") else Memory.THRESHOLD
