from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnkeep.policy import Policy

from .. import _models
from .._base import Findings, Profile, Request, describe
from .._pairs import Half, PairRules, Said, Spot, check_pairs
from .._shared import Seals, bad_role, filled, items, key_of, role_of
from ._rules import RULES

_DATA = {
    "text": "text",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "functionResponse": "functionResponse",
    "function_response": "functionResponse",
    "fileData": "fileData",
    "file_data": "fileData",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
    "toolCall": "toolCall",
    "tool_call": "toolCall",
    "toolResponse": "toolResponse",
    "tool_response": "toolResponse",
}
_ABOUT = (
    "thought",
    "thoughtSignature",
    "thought_signature",
    "videoMetadata",
    "video_metadata",
    "mediaResolution",
    "media_resolution",
    "partMetadata",
    "part_metadata",
)
"""Fields of a part that say something about its data."""


def data_of(part: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The data fields of a part by their camel-case names.

    Beside data that we know, what we do not know says something about it; alone it is
    data.
    """
    found = [(key, value) for key, value in part.items() if value is not None]
    known = [(_DATA[key], value) for key, value in found if key in _DATA]
    return known or [(key, value) for key, value in found if key not in _ABOUT]


def signature_of(part: Mapping[str, Any]) -> Any:
    """The signature on a part, however it is spelled."""
    return part.get("thoughtSignature", part.get("thought_signature"))


def parts_with(entry: Any, field: str) -> list[tuple[int, Mapping[str, Any], Any]]:
    """The parts of a content that hold *field*: place, part and value."""
    parts = entry.get("parts") if isinstance(entry, Mapping) else None
    return [
        (nth, part, value)
        for nth, part in items(parts)
        for name, value in data_of(part)
        if name == field
    ]


def _speaker(entry: Any) -> str | None:
    if isinstance(entry, Mapping) and entry.get("role") is None:
        return "user"
    return role_of(entry)


def check(request: Request, found: Findings) -> None:
    """Check a request for Gemini's generateContent; linear in its size."""
    if not request.entries:
        found.add("GE-01", request.path, "there are no contents")
        return
    for nth, entry in enumerate(request.entries):
        if _speaker(entry) not in ("user", "model"):
            found.add("GE-02", request.at(nth), bad_role(entry))
        if isinstance(entry, Mapping):
            _check_parts(entry.get("parts"), f"{request.at(nth)}.parts", found)
            if entry.get("role") is None and parts_with(entry, "functionCall"):
                what = "a function call stands in a content without a role"
                found.add("GE-02", request.at(nth), what)
    _check_order(request, found)
    _check_signatures(request, found)
    _check_end(request, found)
    _check_cached(request, found)
    system = request.setting("systemInstruction", "system_instruction")
    parts = system.get("parts") if isinstance(system, Mapping) else None
    for nth, part in items(parts):
        if any(name != "text" for name, _ in data_of(part)):
            where = f"$.systemInstruction.parts[{nth}]"
            found.add("GE-s4", where, "the part is not text")


_CACHED = (
    ("systemInstruction", "system_instruction"),
    ("tools",),
    ("toolConfig", "tool_config"),
)


def _check_cached(request: Request, found: Findings) -> None:
    if request.setting("cachedContent", "cached_content") is None:
        return
    for names in _CACHED:
        if request.setting(*names):
            what = f"{names[0]} is sent beside cachedContent"
            found.add("GE-13", f"$.{names[0]}", what)


def _check_parts(parts: Any, where: str, found: Findings) -> None:
    if not isinstance(parts, (list, tuple)) or not parts:
        found.add("GE-03", where, f"parts is {describe(parts)}")
        return
    for nth, part in enumerate(parts):
        path = f"{where}[{nth}]"
        if not isinstance(part, Mapping):
            found.add("GE-04", path, f"the part is {describe(part)}, not an object")
            continue
        data = data_of(part)
        if len(data) != 1:
            names = ", ".join(name for name, _ in data) or "nothing"
            found.add("GE-04", path, f"the part holds {names}")
        for name, value in data:
            if name == "text" and not isinstance(value, str):
                found.add("GE-04", path, f"the text is {describe(value)}")
            elif name == "text" and value == "" and not filled(signature_of(part)):
                found.add("GE-04", path, "the text is empty")
            elif name == "functionCall":
                _check_function(value, "args", "GE-09", path, found)
            elif name == "functionResponse":
                _check_function(value, "response", "GE-08", path, found)


def _check_function(
    value: Any, field: str, number: str, path: str, found: Findings
) -> None:
    value = value if isinstance(value, Mapping) else {}
    if not filled(value.get("name")):
        found.add(number, path, f"its name is {describe(value.get('name'))}")
    inner = value.get(field)
    if not isinstance(inner, Mapping) and not (field == "args" and inner is None):
        found.add(number, path, f"its {field} is {describe(inner)}")


_PAIRS = PairRules(
    reach="next",
    by_number=True,
    stray=Said("GE-06", "the function response does not stand right behind a call"),
    unanswered=(
        _UNEQUAL := Said(
            "GE-07", "{calls} function calls have {results} responses behind them"
        )
    ),
    surplus=_UNEQUAL,
    at_end=Said("GE-s1", "the list ends on {calls} function calls"),
    differ=Said("GE-s2", "names or ids differ from the calls'"),
)


def _check_order(request: Request, found: Findings) -> None:
    """GE-05 to GE-07, GE-s1 to GE-s3: call turns and response turns."""
    previous = None
    spots: list[Spot] = []
    for nth, entry in enumerate(request.entries):
        calls = parts_with(entry, "functionCall")
        responses = parts_with(entry, "functionResponse")
        path = request.at(nth)
        spots.append(
            Spot(path, "a content", _halves(calls, path), _halves(responses, path))
        )
        if calls and nth == 0:
            found.add("GE-05", path, "the list starts with a function call")
        elif calls and _speaker(previous) != "user":
            what = "the function call stands behind a model turn"
            found.add("GE-05", path, what)
        if responses and parts_with(entry, "text"):
            found.add("GE-s3", path, "text stands beside a function response")
        previous = entry
    check_pairs(spots, _PAIRS, found)


def _halves(
    parts: Sequence[tuple[int, Mapping[str, Any], Any]], path: str
) -> list[Half]:
    """Calls or responses by name and id; neither decides, the number does."""
    return [
        Half(
            f"{value.get('name')}\n{value.get('id')}"
            if isinstance(value, Mapping)
            else "",
            path,
        )
        for _, _, value in parts
    ]


def current_turn(entries: Sequence[Any]) -> int:
    """Where the current turn starts: the last user content without responses."""
    for nth in range(len(entries) - 1, -1, -1):
        if _speaker(entries[nth]) == "user" and not parts_with(
            entries[nth], "functionResponse"
        ):
            return nth
    return 0


def _check_signatures(request: Request, found: Findings) -> None:
    demands = _models.demands_signatures(request.model)
    if demands is False:
        return
    for nth in range(current_turn(request.entries), len(request.entries)):
        for place, part, value in parts_with(request.entries[nth], "functionCall")[:1]:
            if filled(signature_of(part)):
                continue
            name = value.get("name") if isinstance(value, Mapping) else None
            what = f"the call of {describe(name)} has no thoughtSignature"
            where = f"{request.at(nth)}.parts[{place}]"
            found.add("GE-11" if demands else "GE-s6", where, what)


def _check_end(request: Request, found: Findings) -> None:
    nth = len(request.entries) - 1
    if _speaker(request.entries[nth]) != "model":
        return
    path = request.at(nth)
    if nth == 0:
        found.add("GE-12", path, "the only content is a model turn")
    elif _models.refuses_model_turn_last(request.model):
        what = f"the list ends on a model turn, and {request.model} refuses that"
        found.add("GE-12", path, what)
    else:
        found.add("GE-s5", path, "the list ends on a model turn")


def _signed_calls(request: Request) -> Iterator[tuple[str, Any, Any]]:
    for nth, entry in enumerate(request.entries):
        for place, part, value in parts_with(entry, "functionCall"):
            yield f"{request.at(nth)}.parts[{place}]", value, signature_of(part)


def check_edit(request: Request, before: Request, found: Findings) -> None:
    """GX-01: compare a trimmed request with the one *before* it; linear in both."""
    seals = Seals((key_of(call), sign) for _, call, sign in _signed_calls(before))
    for path, call, signature in _signed_calls(request):
        if seals.broken(key_of(call), signature):
            name = call.get("name") if isinstance(call, Mapping) else None
            state = "changed" if signature is not None else "removed"
            what = f"the thoughtSignature of the call of {describe(name)} was {state}"
            found.add("GX-01", path, what)


_TRIMS = (
    (
        "A history must not start with a function call, and calls and responses must "
        "stand side by side, in equal numbers (GE-05, GE-06, GE-07). turnkeep moves a "
        "call turn and its responses as one step, and never drops the question that a "
        "kept call follows."
    ),
    (
        "Gemini 3 demands the signatures of the current turn (GE-11). turnkeep keeps "
        "every signature on its part, unchanged (GX-01)."
    ),
    (
        "Emptied contents are refused (GE-03, GE-04). turnkeep removes them whole; an "
        "empty text that carries a signature stays."
    ),
    "Gemini 3.6 refuses a list that ends on a model turn (GE-12). The question stays.",
)


def profile(model: str | None = None) -> Profile:
    """The profile of Gemini's API, for *model* where it is known."""
    return Profile(
        name="gemini",
        title="Google Gemini generateContent",
        formats=("gemini",),
        list_key="contents",
        rules=RULES,
        policy=Policy(
            results="after-call",
            joins_results=True,
            opens_with="no-call",
            ends_with_user=_models.refuses_model_turn_last(model) is not False,
            signed_calls=_models.demands_signatures(model) is not False,
            system_places="outside",
            call_after_assistant_ok=False,
            empty_refused=frozenset({"user", "assistant"}),
            text_refused="empty",
        ),
        check=check,
        check_edit=check_edit,
        model=model,
        trims=_TRIMS,
    )
