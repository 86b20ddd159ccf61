from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from turnkeep.errors import FormatError
from turnkeep.model import (
    DISPLAY_KINDS,
    EMPTY,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    thaw,
)
from turnkeep.model._layout import NO_LAYOUT, Layout, layout_text

from .._base import Envelope, is_own
from .._blocks import BlockFormat, write_texts
from .._body import open_body
from .._ids import calls_before
from .._joins import answers, change_sides, joins_foreign, shares_entry
from .._losses import flat_blocks, host_losses, key_losses, opaque_losses
from .._marks import Marks
from .._shape import as_array, json_type
from .._wire import (
    argument_losses,
    has_no_source,
    need,
    rest,
    results_first,
    weave,
)
from ._decode import NAME, decode_part
from ._encode import PartWriter, is_sendable
from ._judge import judge_content
from ._outline import GeminiReader

_ROLES: Final = {"user": Role.USER, "model": Role.ASSISTANT, "function": Role.USER}
_MODEL: Final = frozenset({Role.ASSISTANT, Role.TOOL_CALL})
UNSIGNED: Final = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What a call carries that Gemini did not make: the escape value of Google's documents
(https://ai.google.dev/gemini-api/docs/thought-signatures), as the bytes field it is."""

# Letters in the layout: how the entry as a whole was spelled.
_NO_ROLE, _NULL_ROLE, _FUNCTION = "r", "n", "f"
_NO_PARTS, _NULL_PARTS = "p", "q"
_PLAIN = "t"


class Gemini(BlockFormat):
    """Gemini `generateContent`: contents of role `user` or `model`, made of parts.

    Calls may come without ids; then results are linked by the tool's name. camelCase
    (REST) and snake_case (Python SDK) are both read and written back as they came.
    """

    name = NAME
    list_key = "contents"
    marks = Marks(judge_content, lists=("contents",), body={"contents": 2})
    roles = _ROLES
    usual_roles = frozenset({"user", "model"})
    content_key = "parts"
    entry_name = "a content"
    reader = GeminiReader

    def open(self, value: Any) -> Envelope:
        """A list of contents, or a body with `contents` and `systemInstruction`."""
        return open_body(
            value,
            "contents",
            system=("systemInstruction", "system_instruction"),
            kept=("cachedContent", "cached_content"),
        )

    def read_role(self, entry: dict[str, Any], path: str) -> tuple[str, str]:
        """See `BlockFormat.read_role`; a content without one is the user's."""
        role = entry.get("role")
        if role is None:
            return "user", _NULL_ROLE if "role" in entry else _NO_ROLE
        if not isinstance(role, str) or role not in _ROLES:
            shown = repr(role) if isinstance(role, str) else "of wrong type"
            reason = f"unknown role {shown} (expected user or model)"
            raise FormatError(reason, f"{path}.role")
        return role, _FUNCTION if role == "function" else ""

    def read_content(self, entry: dict[str, Any], path: str) -> tuple[Any, str]:
        """See `BlockFormat.read_content`; there may be no parts."""
        del path
        parts = entry.get("parts")
        if parts is None:
            return (), _NULL_PARTS if "parts" in entry else _NO_PARTS
        return parts, ""

    def read_block(self, block: Any, path: str, role: str) -> tuple[Block, str]:
        """See `BlockFormat.read_block`."""
        return decode_part(block, path, role)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`.

        Results that follow each other become one content (GE-06, GE-07), and so do
        entries of the model (GE-05), unless all of them came from the wire. Names of
        tools are looked up for results that do not know theirs (GE-08), and calls that
        Gemini did not make carry its escape signature (GE-11).
        """
        names: dict[str, str] = {}
        exact = PartWriter(names, own=True, exact=True)
        ours = PartWriter(names, own=True, exact=False)
        foreign = PartWriter(names, own=False, exact=False)
        entries: list[Any] = []
        before: Message | None = None
        unjoined = True
        for message in messages:
            if (
                unjoined
                and message.layout == NAME
                and not message.extra
                and message.kind is None
                and (texts := write_texts(message.content))
            ):
                # The common case, as in decoding, behind nothing of another origin.
                role = "model" if message.role in _MODEL else "user"
                entries.append({"role": role, "parts": texts})
                before = message
                continue
            if message.kind in DISPLAY_KINDS:
                continue
            layout = Layout.of(message.layout, NAME)
            own = is_own(message, NAME)
            extra = message.extra if own else EMPTY
            joins = joins_foreign(before, message, NAME)
            if layout is NO_LAYOUT:
                writer = ours if own else foreign
                parts = writer.write(results_first(message))
                if not parts and message.content:
                    continue
                parts = parts or [{"text": ""}]
                if not (joins and _has_call(entries[-1])):
                    _sign(parts)
            else:
                parts = exact.write(message.content, layout.codes)
            if layout.joined and shares_entry(before, extra):
                last = entries[-1]
                last["parts"] = weave(last["parts"], parts, layout.positions)
            elif joins:
                entries[-1]["parts"] = [*(entries[-1].get("parts") or ()), *parts]
            else:
                entries.append(_entry(message, parts, layout.flag))
                if extra:
                    entries[-1] |= thaw(extra)
            before = message
            unjoined = layout is not NO_LAYOUT
        return entries

    def stands_apart(self, before: Message, after: Message) -> bool:
        """See `Piecewise.stands_apart`."""
        return not answers(after) and change_sides(before, after)

    def stands_beside(self, message: Message) -> bool:
        """See `Piecewise.stands_beside`; all do (GE-02)."""
        del message
        return True

    def encode_piece(
        self, messages: Sequence[Message], earlier: Sequence[Message]
    ) -> list[Any] | None:
        """See `Piecewise.encode_piece`; none for late results."""
        if calls_before(messages, earlier):
            return None
        return self.encode(messages)

    def decode_system(
        self, system: Any, path: str = "$.systemInstruction"
    ) -> tuple[Message, ...]:
        """A content, or plain text as the SDK takes it, as one system message."""
        if isinstance(system, str):
            layout = f"{NAME}:{_PLAIN}"
            return (Message(Role.SYSTEM, (Text(system),), layout=layout),)
        if not isinstance(system, dict):
            reason = f"expected text or a content with 'parts', got {json_type(system)}"
            raise FormatError(reason, path)
        where = f"{path}.parts"
        parts = as_array(
            need(system, "parts", object, "an array", path), "parts", where
        )
        pairs = [
            decode_part(part, f"{where}[{nth}]", "system")
            for nth, part in enumerate(parts)
        ]
        layout = layout_text(NAME, [code for _, code in pairs])
        blocks = tuple(block for block, _ in pairs)
        extra = rest(system, frozenset({"parts"}), path)
        return (Message(Role.SYSTEM, blocks, extra=extra, layout=layout),)

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """A body; system messages become `systemInstruction`, wherever they stood.

        Contents have no role for them (GE-02).
        """
        sent = [m for m in messages if m.kind not in DISPLAY_KINDS]
        system = [m for m in sent if m.role is Role.SYSTEM]
        body: dict[str, Any] = {"systemInstruction": _system(system)} if system else {}
        body["contents"] = self.encode([m for m in sent if m.role is not Role.SYSTEM])
        if tools is not None:
            body["tools"] = tools
        return body

    def losses(self, message: Message) -> list[str]:
        """Others' reasoning and opaque blocks, arguments that are no object."""
        own = is_own(message, NAME)
        lost = [
            *host_losses(message),
            *key_losses(message, NAME),
            *opaque_losses(message, NAME),
            *argument_losses(message),
        ]
        for block in flat_blocks(message.content):
            if isinstance(block, Opaque):
                if block.format is None and not is_sendable(block):
                    lost.append("a block that is none of Gemini")
            elif isinstance(block, Thinking):
                if not own or (block.data is not None and not block.text):
                    lost.append("reasoning that Gemini did not write")
            elif (
                isinstance(block, (Image, Document))
                and not own
                and has_no_source(block)
            ):
                lost.append("a file id of another provider")
        return lost


def _entry(message: Message, parts: list[Any], flag: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": "model" if message.role in _MODEL else "user"}
    if _NO_ROLE in flag:
        del entry["role"]
    elif _NULL_ROLE in flag:
        entry["role"] = None
    elif _FUNCTION in flag:
        entry["role"] = "function"
    if parts or not (_NO_PARTS in flag or _NULL_PARTS in flag):
        entry["parts"] = parts
    elif _NULL_PARTS in flag:
        entry["parts"] = None
    return entry


def _has_call(entry: dict[str, Any]) -> bool:
    return any("functionCall" in part for part in entry.get("parts") or ())


def _sign(parts: list[dict[str, Any]]) -> None:
    """Give the first call of a message that Gemini did not write its escape signature.

    Gemini 3 asks for one in the current turn (GE-11); other models take it (recorded
    requests of pydantic-ai to Gemini 2 and 3 carry it).
    """
    for part in parts:
        if "functionCall" in part:
            part.setdefault("thoughtSignature", UNSIGNED)
            return


def _system(messages: Sequence[Message]) -> Any:
    first = messages[0]
    layout = Layout.of(first.layout, NAME)
    if len(messages) == 1 and _PLAIN in layout.flag:
        return first.text
    parts: list[Any] = []
    for message in messages:
        layout = Layout.of(message.layout, NAME)
        own = is_own(message, NAME)
        writer = PartWriter({}, own=own, exact=layout is not NO_LAYOUT)
        parts += writer.write(message.content, layout.codes)
    system: dict[str, Any] = {"parts": parts}
    if is_own(first, NAME):
        system |= thaw(first.extra)
    return system
