from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, assert_never

import attrs

from turnkeep.model import (
    DISPLAY_KINDS,
    INTERIM,
    PENDING,
    Block,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    mark,
)

from ._base import Parts, TextCounter
from ._claude import tool_prompt
from ._media_rules import MediaRule
from ._text import dumps
from ._tools import count_json_tools
from ._vendor import SEALED_CHARACTERS, VendorJson

_REASONING_FIELDS: Final = (
    "reasoning_details",
    "thinking_blocks",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
)
"""Fields beside the content in which hosts and gateways send reasoning back."""

_FILE_FIELDS: Final = (
    "attachments",
    "experimental_attachments",
    "audio",
    "files",
    "images",
    "documents",
)
"""Fields beside the content in which they send files."""

_SAID: Final = frozenset({Text, ToolCall})
"""What most messages of several blocks are made of."""

_WORDS: Final = 1_000
"""Words (roles, tools) whose tokens are remembered."""


@attrs.define
class Tally:
    """What one message has been spent on so far."""

    text: int = 0
    calls: int = 0
    results: int = 0
    reasoning: int = 0
    images: int = 0
    documents: int = 0
    other: int = 0
    texts: bool = False
    """Whether there is anything but results."""
    answers: int = 0
    """How many results there are."""


class Rules:
    """Counts requests by text and a fixed overhead; the base of every provider's rule.

    A subclass is a provider: it states its figures and where they come from. Costs a
    call of the text counter for each text, and next to nothing beside it.
    """

    label: ClassVar[str] = "generic"
    """Last part of the counter's name."""

    source: ClassVar[str] = (
        "no published rule: text, 4 tokens a message for role and separators"
    )

    published: ClassVar[bool] = False
    """Whether the provider, or somebody who measured it, states the overhead."""

    uncertainty: ClassVar[float] = 0.05
    """Margin at least, where it is not published."""

    per_message: ClassVar[int] = 4
    per_call: ClassVar[int] = 4
    per_result: ClassVar[int] = 0
    priming: ClassVar[int] = 3

    results_are_messages: ClassVar[bool] = True
    """Whether every result is a wire message of its own."""

    roles: ClassVar[dict[Role, str]] = {}
    """Roles that the provider sends as text and counts; others are in the overhead."""

    sends_call_ids: ClassVar[bool] = True

    @classmethod
    def for_family(cls, family: str) -> type[Rules]:
        """The rule for models of *family*: this one, unless a subclass says another."""
        del family
        return cls

    def __init__(self, text: TextCounter, media: MediaRule, default: MediaRule) -> None:
        self.text = text
        self.media = media
        self.name = f"{text.name}/{self.label}"
        if media.name != default.name:
            self.name += f"/{media.name}"
        self.exact = text.exact and self.published
        self.margin = text.margin
        if not self.published:
            self.margin = max(text.margin, self.uncertainty)
        kind = "counted exactly" if text.exact else "estimated"
        self.rule = f"{self.source}; text {kind} ({text.name})"
        self.leaves_out_thinking = False
        """Whether what was thought before the newest question counts as nothing."""
        self._count = text.count
        self._vendor = VendorJson(media, text.count)
        self._known: dict[str, int] = {}
        self._fixed: dict[tuple[Role, int], int] = {}

    def message(self, message: Message) -> int:
        """Tokens of one logical message, its overhead included."""
        if message.kind is not None and message.kind in DISPLAY_KINDS:
            return 0
        if message.token_count is not None:
            return message.token_count
        if not message.extra:
            plain = self._plain(message)
            if plain is not None:
                return plain
        tally, overhead = self._spend(message)
        return overhead + (
            tally.text
            + tally.calls
            + tally.results
            + tally.reasoning
            + tally.images
            + tally.documents
            + tally.other
        )

    def _plain(self, message: Message) -> int | None:
        """Tokens of text, calls, or one result of text: no tally for most messages."""
        content, count = message.content, self._count
        if len(content) == 1:
            block = content[0]
            if type(block) is Text:
                return self._fixed_for(message) + count(block.text)
            if type(block) is ToolResult:
                inner = block.content
                if (
                    len(inner) != 1
                    or type(inner[0]) is not Text
                    or block.tool_name is not None
                    or not block.final
                    or message.role is not Role.TOOL_RESULT
                ):
                    return None
                total = self._fixed_for(message, answers=1) + count(inner[0].text)
                if block.tool_call_id and self.sends_call_ids:
                    total += count(block.tool_call_id)
                return total + self.per_result
        if not _SAID.issuperset(map(type, content)):
            return None
        total = self._fixed_for(message)
        for block in content:
            if type(block) is Text:
                total += count(block.text)
            elif type(block) is ToolCall:
                total += self._call(block)
        return total

    def _fixed_for(self, message: Message, answers: int = 0) -> int:
        """The overhead of messages like this, worked out once."""
        key = (message.role, answers)
        known = self._fixed.get(key)
        if known is None:
            known = self._overhead(message, texts=not answers, answers=answers)
            self._fixed[key] = known
        return known

    def parts(self, message: Message) -> Parts:
        """The same by kind; a host's own count is all text."""
        if message.kind is not None and message.kind in DISPLAY_KINDS:
            return Parts()
        if message.token_count is not None:
            return Parts(text=message.token_count)
        tally, overhead = self._spend(message)
        return Parts(
            text=tally.text,
            calls=tally.calls,
            results=tally.results,
            reasoning=tally.reasoning,
            images=tally.images,
            documents=tally.documents,
            other=tally.other,
            overhead=overhead,
        )

    def tools(self, tools: Any) -> int:
        """Tokens of tool definitions, as compact JSON.

        Raises:
            FormatError: A definition is not an object.
        """
        return count_json_tools(tools, self._count) if tools else 0

    def request(self, *, has_tools: bool = False, tool_choice: Any = None) -> int:
        """Tokens a request costs beyond its messages and tools.

        Args:
            has_tools: Whether it brings tools: Claude gets a prompt for them.
            tool_choice: In the provider's shape; its length may depend on it.
        """
        if has_tools and self.media.family == "claude":
            return self.priming + tool_prompt(self.media.model, tool_choice)
        return self.priming

    def _spend(self, message: Message) -> tuple[Tally, int]:
        tally = Tally()
        for block in message.content:
            self._add(block, tally)
        texts = tally.texts or not tally.answers
        overhead = self._overhead(message, texts=texts, answers=tally.answers)
        if message.extra:
            name = message.extra.get("name")
            if isinstance(name, str):
                overhead += self._name(name)
            self._add_extra(message.extra, tally)
        return tally, overhead

    def _add_extra(self, extra: Mapping[str, Any], tally: Tally) -> None:
        """What hosts send in fields of their own: reasoning, and files."""
        reasoning = 0
        for key in _REASONING_FIELDS:
            if extra.get(key):
                # They repeat each other, and the reasoning that was read: sent once.
                reasoning = max(reasoning, self._vendor.tokens(extra[key]))
        tally.reasoning = max(tally.reasoning, reasoning)
        for key in _FILE_FIELDS:
            if extra.get(key):
                tally.other += self._vendor.tokens(extra[key])

    def _overhead(self, message: Message, *, texts: bool, answers: int = 0) -> int:
        """What the wire messages cost that *message* becomes."""
        if not self.results_are_messages:
            return self._wire_message(message.role)
        total = answers * self._wire_message(Role.TOOL_RESULT) if answers else 0
        if texts:
            total += self._wire_message(Role.USER if answers else message.role)
        return total

    def _wire_message(self, role: Role) -> int:
        named = self.roles.get(role)
        return self.per_message + (self._word(named) if named else 0)

    def _word(self, word: str) -> int:
        """Tokens of a word that comes again and again, counted once."""
        tokens = self._known.get(word)
        if tokens is None:
            if len(self._known) >= _WORDS:
                self._known.clear()
            tokens = self._known[word] = self._count(word)
        return tokens

    def _name(self, name: str) -> int:
        """Tokens of a speaker's name."""
        return self._count(name)

    def _add(self, block: Block, tally: Tally) -> None:
        count = self._count
        match block:
            case ToolResult():
                tally.answers += 1
                self._add_result(block, tally)
                return
            case Text():
                tally.text += count(block.text)
            case Json():
                tally.text += count(dumps(block.value))
            case ToolCall():
                tally.calls += self._call(block)
            case Thinking():
                tally.reasoning += self._thinking(block)
            case Image():
                tally.images += self.media.image(block)
            case Document():
                tally.documents += self._document(block)
            case Opaque():
                sound = self.media.opaque_media(block.value)
                if sound is not None:
                    tally.documents += sound
                else:
                    tally.other += self._vendor.tokens(block.value)
            case _:
                assert_never(block)
        tally.texts = True

    def _document(self, block: Document) -> int:
        """Tokens of a document: its content in blocks where it has such, and context.

        Anthropic and Bedrock give the model what `context` says.
        """
        if not block.extra:
            return self.media.document(block, self._count)
        beside = block.extra.get("document", block.extra)  # Bedrock's stand one deeper
        if not isinstance(beside, Mapping):
            beside = block.extra
        context, source = beside.get("context"), beside.get("source")
        tokens = self._count(context) if isinstance(context, str) else 0
        inside = source.get("content") if isinstance(source, Mapping) else None
        if inside is None:
            return tokens + self.media.document(block, self._count)
        if isinstance(inside, str):
            tokens += self._count(inside)
        else:
            tokens += self._vendor.tokens({"content": inside})
        return tokens + (self._count(block.title) if block.title else 0)

    def _call(self, block: ToolCall) -> int:
        tokens = self.per_call + self._word(block.name) + self._count(block.text)
        if block.id and self.sends_call_ids:
            tokens += self._count(block.id)
        return tokens

    def _add_result(self, block: ToolResult, tally: Tally) -> None:
        content = block.content
        if len(content) == 1 and type(content[0]) is Text:
            tally.results += self._count(content[0].text) + self.per_result
        else:
            inner = Tally()
            for part in content:
                self._add(part, inner)
            tally.images += inner.images
            tally.documents += inner.documents
            tally.other += inner.other
            tally.results += inner.text + self.per_result
        if block.tool_call_id and self.sends_call_ids:
            tally.results += self._count(block.tool_call_id)
        if block.tool_name:
            tally.results += self._name(block.tool_name)
        if not block.final:
            # On the wire their text begins with a line that says what they are.
            marker = PENDING if block.pending else INTERIM
            said = content[0].text if content and type(content[0]) is Text else ""
            line, _, _ = mark(marker, said).partition("\n")
            tally.results += self._word(f"{line}\n")

    def _thinking(self, block: Thinking) -> int:
        sealed = round(len(block.data) / SEALED_CHARACTERS) if block.data else 0
        return max(self._count(block.text), sealed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
