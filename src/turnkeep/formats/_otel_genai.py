from __future__ import annotations

from collections.abc import Iterator, Mapping
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

_FOREIGN: Final = ("tool-", "dynamic-tool", "step-", "source-", "data-")
"""How the types of the AI SDK's parts begin."""


def _span(span: dict[Any, Any]) -> str | None:
    """It has an attribute `gen_ai.input.messages`, or what was said to them."""
    found = _attributes(span)
    if found is None or found.keys().isdisjoint((_INPUT, _OUTPUT)):
        return None
    return f"the attribute {_INPUT if _INPUT in found else _OUTPUT!r}"


def _line(entry: dict[Any, Any]) -> str | None:
    """A span, or a message made of its parts."""
    if _is_message(entry):
        return "parts with a type and a content"
    return _span(entry)


class OtelGenai(SessionFormat):
    """Messages as OpenTelemetry's `gen_ai` conventions have them.

    A span, its attributes, a list of spans, or the bare messages. Each span repeats the
    history; the last one with its output is what was said. Attributes that are JSON in
    a text are read; where a limit cut one off, that is an error.
    """

    name = NAME
    marks = marks_of(_line, _span)
    wire = "openai"
    files = "spans with `gen_ai.input.messages`, or the messages alone"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        found: Mapping[str, Any]
        path = "$"
        if isinstance(value, dict):
            found = _attributes(value) or {}
        elif isinstance(value, (list, tuple)):
            spans = [
                (nth, attributes)
                for nth, entry in enumerate(value)
                if isinstance(entry, dict)
                and (attributes := _attributes(entry)) is not None
                and _INPUT in attributes
            ]
            if spans:
                nth, found = max(
                    spans, key=lambda span: (_start(value[span[0]]), span[0])
                )
                path = f"$[{nth}]"
                notes.left_out(
                    "span | its messages stand in the last one", len(spans) - 1
                )
            else:
                found = {_INPUT: value}
        else:
            reason = f"expected a span or its messages, got {json_type(value)}"
            raise FormatError(reason, "$")
        if found.keys().isdisjoint((_INPUT, _OUTPUT)):
            reason = f"expected a span with {_INPUT!r}"
            raise FormatError(reason, path)
        return _session(found, path, notes)


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
    for key in ("startTimeUnixNano", "start_time", "startTime"):
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


def _session(found: Mapping[str, Any], path: str, notes: Notes) -> Session:
    talk = ChatTalk()
    place = f"{path}.attributes" if _INPUT not in found else path
    where = f"{place}[{_SYSTEM!r}]"
    system = json_or_value(found.get(_SYSTEM), _SYSTEM, where)
    for part, at in objects(system, "system instructions", where):
        talk.system(as_text(part.get("content"), "content", f"{at}.content"))
    for key in (_INPUT, _OUTPUT):
        where = f"{place}[{key!r}]"
        messages = json_or_value(found.get(key), key, where)
        for message, at in objects(messages, "messages", where):
            _message(message, at, talk, notes)
    model = found.get(_MODEL)
    tools = json_or_value(found.get(_TOOLS), _TOOLS, f"{place}[{_TOOLS!r}]")
    session = Session(talk.entries, model=model if isinstance(model, str) else None)
    defined = [_tool(tool) for tool, _ in objects(tools, "tools", place)]
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
