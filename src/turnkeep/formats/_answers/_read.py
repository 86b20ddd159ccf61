"""Which shape an answer has, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import attrs

from turnkeep.errors import CutOffError, FormatError
from turnkeep.model import Message, Text, Thinking
from turnkeep.model._checks import quoted
from turnkeep.providers import PROVIDERS, format_of_model, load

from .._detect import match_format
from .._objects import read_object
from .._registry import get_format
from ._base import AnswerShape

_OWN_MARK: Final = 3
"""The score of an entry that has what only one format has."""

_WRAPPED: Final = ("chunk", "data")
"""Where the events of some clients keep the chunk that came."""

_KEEP_ALIVE: Final = "ping"


@cache
def _shapes() -> dict[str, tuple[AnswerShape, tuple[str, ...]]]:
    """Each shape, with the formats of the providers that answer in it."""
    formats: dict[str, list[str]] = {}
    for row in PROVIDERS.values():
        formats.setdefault(row.answers, []).append(row.name)
    return {place: (load(place)(), tuple(names)) for place, names in formats.items()}


def is_whole(response: Any) -> bool:
    """Whether *response* is an answer, not the chunks of one.

    The models of most clients can be iterated over too, but say what they are as JSON.
    """
    return isinstance(response, Mapping) or hasattr(type(response), "model_dump")


@attrs.frozen
class Answer:
    """What a provider answered."""

    messages: tuple[Message, ...]
    """Its messages; none where it says nothing that could be sent back."""

    usage: dict[str, Any] | None
    """The whole of it, where it tells its usage."""


def answer_of(response: Any, preferred: str) -> Answer:
    """What stands in a whole answer, read by the format of the provider it is from.

    Args:
        response:
            An object of a client, or JSON.
        preferred:
            The format to read it by, where the answer could be of several.

    Raises:
        FormatError: It is no answer, or a malformed one, with its path.
        CutOffError: The token limit cut off the arguments of a call.
        TypeError: It is nothing that could be an answer.
    """
    read = read_object(response)
    if not isinstance(read, Mapping):
        msg = f"an answer of a provider expected, not {quoted(response)}"
        raise TypeError(msg)
    known = (one for one in _shapes().values() if one[0].is_answer(read))
    shape, formats = next(known, (None, ()))
    if shape is None:
        raise _no_answer(read)
    found = shape.take(read)
    if found.cut_off:
        what = "a call that is not whole"
        raise CutOffError(what, found.entries[0][0], found.cut_off)
    entries = [entry for _, entry in found.entries]
    if not entries:
        return Answer((), found.usage)
    fmt = get_format(_format_of(entries, formats, preferred, found.model))
    messages = tuple(
        message for path, entry in found.entries for message in fmt.decode(entry, path)
    )
    says = any(map(_says_something, messages))
    return Answer(messages if says else (), found.usage)


def _says_something(message: Message) -> bool:
    """Whether it is more than reasoning: providers refuse that alone."""
    return any(
        bool(block.text) if isinstance(block, Text) else not isinstance(block, Thinking)
        for block in message.content
    )


def _no_answer(read: Mapping[str, Any]) -> FormatError:
    if (error := read.get("error")) is not None:
        said = error.get("message", error) if isinstance(error, Mapping) else error
        return FormatError(f"an error is no answer: {said}", "$.error")
    if hasattr(read.get("stream"), "__iter__"):
        reason = 'a stream stands in the answer: pass response["stream"]'
        return FormatError(reason, "$.stream")
    keys = ", ".join(map(str, read)) or "(none)"
    reason = f"no answer of any provider: an object with the keys {keys}"
    return FormatError(reason, "$")


def _format_of(
    entries: Sequence[dict[str, Any]],
    formats: Sequence[str],
    preferred: str,
    model: str | None,
) -> str:
    """Which of the *formats* that share a shape the answer is in."""
    if len(formats) == 1:
        return formats[0]
    scores = {name: match_format(entries, name).score for name in formats}
    able = [name for name in formats if scores[name]] or list(formats)
    # Calls look the same everywhere; what else is there may be of one alone.
    bare = [{k: v for k, v in e.items() if k != "tool_calls"} for e in entries]
    marked = {name: match_format(bare, name).score for name in able}
    wanted = (preferred, None if model is None else format_of_model(model))
    for name in wanted:
        if name not in able:
            continue
        if marked[name] > 1 or _OWN_MARK not in marked.values():
            return name
    return max(able, key=marked.__getitem__)


def join_chunks(chunks: Sequence[Any]) -> dict[str, Any] | None:
    """The answer that came in *chunks*, as it would have come whole.

    None where nothing came but keep-alive lines.

    Raises:
        FormatError: The chunks are of no provider, or say that there was an error.
    """
    read = list(_read_chunks(chunks))
    for shape, _ in _shapes().values():
        if any(map(shape.is_chunk, read)):
            return shape.join(read)
    for nth, chunk in enumerate(read):
        if chunk.get("error") is not None:
            raise _no_answer(chunk)
        if chunk and chunk.get("type") != _KEEP_ALIVE:
            keys = ", ".join(map(str, chunk))
            reason = f"no chunk of any provider: an object with the keys {keys}"
            raise FormatError(reason, f"$[{nth}]")
    return None


def _read_chunks(chunks: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for nth, given in enumerate(chunks):
        chunk = given
        if not isinstance(chunk, Mapping):
            inner = (getattr(chunk, key, None) for key in _WRAPPED)
            chunk = next((one for one in inner if one is not None), chunk)
            # Some clients retell after each chunk all that has come so far.
            if hasattr(chunk, "snapshot"):
                continue
        read = read_object(chunk, f"$[{nth}]")
        if not isinstance(read, Mapping):
            reason = f"a chunk of a stream expected, not {type(given).__name__}"
            raise FormatError(reason, f"$[{nth}]")
        inner = (read.get(key) for key in _WRAPPED)
        yield next((one for one in inner if isinstance(one, Mapping)), read)
