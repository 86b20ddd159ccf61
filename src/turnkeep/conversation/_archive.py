"""What windows left out of a conversation, for the model to search and to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from turnkeep.model import Message
from turnkeep.strategies._reading import (
    CannotReadError,
    Reader,
    Request,
    quoted,
    request_of,
)
from turnkeep.strategies._reading_tool import reading_tool
from turnkeep.strategies._transcript import heading_of, spoken

TOOL: Final = "read_archive"
_DESCRIPTION: Final = (
    "Searches and reads earlier messages of this conversation that are not in front of "
    "you any more: what was said, tool calls and their results. Search by words first; "
    "each line found names its message. Answers are short: ask for the lines you need, "
    "or go on part after part."
)
_REFERENCE: Final = (
    "The id of a message, such as msg-12. Unless given, all earlier messages."
)


def archive_tool(format_name: str) -> dict[str, Any]:
    """The tool's definition, in the shape of requests in that format.

    Raises:
        ValueError: Requests in that format have no tools.
    """
    return reading_tool(TOOL, _DESCRIPTION, _REFERENCE, format_name, needed=False)


def read_archive(
    arguments: Any,
    messages: Sequence[Message],
    limit: int,
    measure: Callable[[str], int],
) -> str:
    """The answer to a call of that tool about *messages*, of at most *limit* tokens.

    Costs the messages.
    """
    try:
        request = request_of(arguments)
        if not messages:
            return "Nothing has been left out of this conversation."
        return _reader(request, messages, limit, measure).answer(request)
    except CannotReadError as error:
        return str(error)


def _reader(
    request: Request,
    messages: Sequence[Message],
    limit: int,
    measure: Callable[[str], int],
) -> Reader:
    if request.reference:
        for message, said in spoken(messages):
            if message.id == request.reference:
                return Reader(quoted(message.id)[1:-1], said, limit, measure)
        reason = (
            f"There is no message {quoted(request.reference)} in the archive of this "
            "conversation."
        )
        raise CannotReadError(reason)
    blocks: list[str] = []
    headings: list[str] = []
    for message, said in spoken(messages):
        block = f"[{heading_of(message)}]\n{said}\n\n"
        blocks.append(block)
        heading = quoted(heading_of(message))[1:-1]
        headings += [heading] * len(block.splitlines())
    return Reader("the archive", "".join(blocks), limit, measure, headings)
