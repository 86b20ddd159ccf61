from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from turnkeep.errors import FormatError

from ._sessions._chat_talk import ChatTalk, image_part, text_part
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._values import json_or_value, kind_of, objects
from ._shape import as_array, as_object, as_text, compact, json_type

NAME: Final = "otel-genai"

_INPUT: Final = "gen_ai.input.messages"
_OUTPUT: Final = "gen_ai.output.messages"
_SYSTEM: Final = "gen_ai.system_instructions"
_TOOLS: Final = "gen_ai.tool.definitions"
_MODEL: Final = "gen_ai.request.model"
_SPEAKERS: Final = frozenset({"user", "assistant", "system", "developer", "tool"})
_PARTS: Final = {
    "text": "content",
    "reasoning": "content",
    "tool_call": None,
    "tool_call_response": None,
    "server_tool_call": None,
    "server_tool_call_response": None,
    "blob": "content",
    "file": "file_id",
    "uri": "uri",
}
"""The types of parts, and the key that tells them from others' of that name."""

_EXPORTS: Final = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")
_NESTS: Final = (
    *_EXPORTS,
    "scopeSpans",
    "scopeLogs",
    "scope_spans",
    "scope_logs",
    "spans",
    "logRecords",
    "log_records",
    "events",
)
"""Keys under which exports hold spans and records, and spans their events."""

_DEPTH: Final = 12
_LOOKED_AT: Final = 20
"""How deep, and how far in each list, an object is looked into for its marks."""

_FOREIGN: Final = ("tool-", "dynamic-tool", "step-", "source-", "data-")
"""How the types of the AI SDK's parts begin."""


def _span(span: dict[Any, Any]) -> str | None:
    """It has an attribute `gen_ai.input.messages`, or what was said to them."""
    found = next(_carriers(span, "$", most=_LOOKED_AT), None)
    if found is None:
        return None
    return f"the attribute {_INPUT if _INPUT in found.attributes else _OUTPUT!r}"


def _line(entry: dict[Any, Any]) -> str | None:
    """A span, a line of an export, or a message made of our parts."""
    if _is_message(entry):
        return "parts with a type and a content"
    export = next((key for key in _EXPORTS if key in entry), None)
    if export is not None:
        return f"an export with {export!r}"
    attributes = _attributes(entry)
    if attributes is None or attributes.keys().isdisjoint((_INPUT, _OUTPUT)):
        return None
    return f"the attribute {_INPUT if _INPUT in attributes else _OUTPUT!r}"


class OtelGenai(SessionFormat):
    """Messages as OpenTelemetry's `gen_ai` conventions have them.

    A span, its attributes, a list of spans, an export of them (`resourceSpans`,
    `resourceLogs`), or the bare messages. Each span repeats the history; the last one
    with its output is what was said. Attributes that are JSON in a text are read; where
    a limit cut one off, that is an error.
    """

    name = NAME
    marks = marks_of(_line, _span)
    wire = "openai"
    files = "spans with `gen_ai.input.messages`, or the messages alone"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        if not isinstance(value, (dict, list, tuple)):
            reason = f"expected a span or its messages, got {json_type(value)}"
            raise FormatError(reason, "$")
        found = list(_carriers(value, "$"))
        asked = [one for one in found if _INPUT in one.attributes] or found
        if not asked and isinstance(value, (list, tuple)):
            return _session({_INPUT: value}, lambda _: "$", notes)
        if not asked:
            reason = f"expected a span with {_INPUT!r}"
            raise FormatError(reason, "$")
        last = max(reversed(asked), key=lambda one: one.start)
        for one in asked:
            if one is not last:
                ours = one.conversation == last.conversation
                why = "its messages stand in the last one"
                notes.left_out(f"span | {why if ours else 'of another conversation'}")
        return _session(last.attributes, last.path_of, notes)


@attrs.frozen
class _Carrier:
    """What holds messages: a span, an event of one, or a record of a log."""

    attributes: Mapping[str, Any]
    path: str
    start: tuple[int, str]
    """When it began, to compare by."""

    @property
    def conversation(self) -> Any:
        """The id of its conversation; none where it has none."""
        return self.attributes.get("gen_ai.conversation.id")

    def path_of(self, key: str) -> str:
        return f"{self.path}[{key!r}]"


def _carriers(
    value: Any, path: str, *, most: int | None = None, depth: int = 0
) -> Iterator[_Carrier]:
    """What holds messages in *value*, in its order.

    Args:
        value:
            A span or an export of them, or a list of either.
        path:
            Its path.
        most:
            How many elements of each list are looked at; without it all.
        depth:
            How deep it lies.
    """
    if depth > _DEPTH:
        return
    if isinstance(value, (list, tuple)):
        for nth, item in enumerate(value[:most]):
            where = f"{path}[{nth}]"
            yield from _carriers(item, where, most=most, depth=depth + 1)
    if not isinstance(value, dict):
        return
    found = _attributes(value)
    if found is not None and not found.keys().isdisjoint((_INPUT, _OUTPUT)):
        where = path if found is value else f"{path}.attributes"
        yield _Carrier(found, where, _start(value))
    for key in _NESTS:
        if isinstance(inner := value.get(key), (list, tuple)):
            where = f"{path}.{key}"
            yield from _carriers(inner, where, most=most, depth=depth + 1)


def _attributes(span: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The attributes of a span, from an object or OTLP's list of keys and values."""
    if _INPUT in span or _OUTPUT in span:
        return span
    found = span.get("attributes")
    if isinstance(found, dict):
        return found
    if isinstance(found, (list, tuple)):
        return {
            item["key"]: _otlp(item.get("value"))
            for item in found
            if isinstance(item, dict) and isinstance(item.get("key"), str)
        }
    return None


def _otlp(value: Any) -> Any:
    """A value as OTLP's JSON wraps it."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "arrayValue" and isinstance(inner, dict):
        return [_otlp(item) for item in inner.get("values") or ()]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return {
            item["key"]: _otlp(item.get("value"))
            for item in inner.get("values") or ()
            if isinstance(item, dict) and isinstance(item.get("key"), str)
        }
    return inner


def _start(span: Any) -> tuple[int, str]:
    """When a span began, to compare by; nanoseconds are text in OTLP's JSON."""
    for key in ("startTimeUnixNano", "timeUnixNano", "start_time", "startTime"):
        found = span.get(key)
        if isinstance(found, (str, int, float)):
            text = str(found)
            return len(text), text
    return 0, ""


def _is_message(entry: Mapping[str, Any]) -> bool:
    """A role, and parts of which one at least is ours and none another's."""
    parts = entry.get("parts")
    if not isinstance(entry.get("role"), str) or not isinstance(parts, (list, tuple)):
        return False
    found = [_is_part(part) for part in parts if isinstance(part, dict)]
    return any(found) and False not in found


def _is_part(part: dict[str, Any]) -> bool | None:
    """Whether a part is ours; none where its type is nobody's that we know."""
    kind = kind_of(part)
    if kind in _PARTS:
        return _PARTS[kind] is None or _PARTS[kind] in part
    return False if kind.startswith(_FOREIGN) else None


def _session(
    found: Mapping[str, Any], path_of: Callable[[str], str], notes: Notes
) -> Session:
    talk = ChatTalk()
    where = path_of(_SYSTEM)
    system = json_or_value(found.get(_SYSTEM), _SYSTEM, where)
    for part, at in objects(system, "system instructions", where):
        talk.system(as_text(part.get("content"), "content", f"{at}.content"))
    for key in (_INPUT, _OUTPUT):
        where = path_of(key)
        messages = json_or_value(found.get(key), key, where)
        for message, at in objects(messages, "messages", where):
            _message(message, at, talk, notes)
    model = found.get(_MODEL)
    where = path_of(_TOOLS)
    tools = json_or_value(found.get(_TOOLS), _TOOLS, where)
    session = Session(talk.entries, model=model if isinstance(model, str) else None)
    defined = [_tool(tool) for tool, _ in objects(tools, "tools", where)]
    if not defined:
        return session
    return attrs.evolve(
        session,
        tools=defined,
        is_body=True,
        replace=lambda made: {"messages": made, "tools": defined},
    )


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A definition as chat requests have it."""
    if "function" in tool:
        return tool
    function = {key: v for key, v in tool.items() if key != "type"}
    return {"type": "function", "function": function}


def _message(message: dict[str, Any], path: str, talk: ChatTalk, notes: Notes) -> None:
    role = message.get("role")
    if not isinstance(role, str) or role not in _SPEAKERS:
        reason = f"unknown role {role!r} (expected {', '.join(sorted(_SPEAKERS))})"
        raise FormatError(reason, f"{path}.role")
    where = f"{path}.parts"
    parts = as_array(message.get("parts"), "parts", where)
    said: list[Any] = []
    for nth, part in enumerate(parts):
        at = f"{where}[{nth}]"
        as_object(part, "a part", at)
        kind = kind_of(part)
        if kind == "tool_call":
            talk.says(said)
            said = []
            name = as_text(part.get("name"), "name", f"{at}.name")
            talk.call(part.get("id"), name, part.get("arguments"))
        elif kind == "tool_call_response":
            answer = part.get("response", part.get("result"))
            talk.result(
                _id_of(part, talk),
                answer if isinstance(answer, str) else compact(answer),
            )
        elif kind == "reasoning":
            talk.thinks(as_text(part.get("content"), "content", f"{at}.content"))
        else:
            said += _content(part, at, notes)
    if role == "assistant":
        talk.says(said)
    elif role in {"system", "developer"}:
        for part in said:
            talk.system(part.get("text", ""))
    else:
        talk.user(said)


def _id_of(part: Mapping[str, Any], talk: ChatTalk) -> str:
    found = part.get("id")
    if isinstance(found, str) and found:
        return found
    return talk.waiting[0] if talk.waiting else "unknown_call"


def _content(part: dict[str, Any], path: str, notes: Notes) -> Iterator[Any]:
    kind = kind_of(part)
    modality = part.get("modality")
    if kind == "text":
        yield text_part(as_text(part.get("content"), "content", f"{path}.content"))
    elif kind == "blob" and modality == "image":
        data = as_text(part.get("content"), "content", f"{path}.content")
        yield image_part(f"data:{part.get('mime_type') or 'image/png'};base64,{data}")
    elif kind == "uri" and modality == "image":
        yield image_part(as_text(part.get("uri"), "uri", f"{path}.uri"))
    else:
        notes.left_out(f"part of type {_named(kind, modality)}")


def _named(kind: Any, modality: Any) -> str:
    words = [word for word in (kind, modality) if isinstance(word, str)]
    return " ".join(words)[:40] or "nothing"
