"""`turnkeep resolve`: give a waiting tool call its result."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from turnkeep.conversation import Conversation
from turnkeep.model import Message

from . import _options as options
from ._files import STDIO, UsageError
from ._guard import guarded
from ._json import dumps
from ._stores import (
    Place,
    is_ours,
    is_store,
    load_file,
    opened,
    refuse_unsaved,
    save_file,
)
from ._terminal import say


@guarded
def resolve(
    place: Place,
    call_id: Annotated[
        str,
        typer.Argument(metavar="CALL_ID", help="The call.", show_default=False),
    ],
    content: Annotated[
        str | None,
        typer.Argument(
            metavar="[RESULT]",
            help="What the tool answered. `-` reads stdin.",
            show_default=False,
        ),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            metavar="ID",
            help="The conversation, in a store.",
            show_default=False,
        ),
    ] = None,
    message_id: Annotated[
        str | None,
        typer.Option(
            "--message",
            metavar="ID",
            help="The message that makes the call, if its id is open several times.",
            show_default=False,
        ),
    ] = None,
    is_error: Annotated[
        bool, typer.Option("--error", help="The tool failed: the result says why.")
    ] = False,
    cancel: Annotated[
        str | None,
        typer.Option(
            "--cancel",
            metavar="REASON",
            help="Close the call without a result.",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Give a waiting tool call its final result. The first one wins.

    For example:

    * `turnkeep resolve session.json call_1 "build finished: 0 errors"`
    * `turnkeep resolve chats.db call_1 - --conversation 42 < result.txt`
    * `turnkeep resolve session.json call_1 --cancel "nobody approved it"`
    """
    if (content is None) == (cancel is None):
        reason = "say the result, or why there is none: RESULT or --cancel REASON"
        raise UsageError(reason, "RESULT")
    if content == STDIO:
        content = sys.stdin.read()
    if is_store(place):
        if conversation is None:
            reason = "say which conversation of the store: --conversation ID"
            raise UsageError(reason, "--conversation")
        with opened(place) as store:
            chat = Conversation.open(store, conversation, create=False, tail=0)
            made = _close(chat, call_id, content, cancel, message_id, is_error)
    else:
        if not is_ours(place):
            refuse_unsaved(place, "written back")
        chat = load_file(place)
        made = _close(chat, call_id, content, cancel, message_id, is_error)
        save_file(chat, place)
    state = chat.call_state(call_id, message_id=message_id).value
    if as_json:
        report = {"call_id": call_id, "state": state, "message_id": made.id}
        print(dumps(report, indent=2).decode(), end="")
        return
    say(f"{call_id} is {state}: message {made.id}")


def _close(
    chat: Conversation,
    call_id: str,
    content: str | None,
    cancel: str | None,
    message_id: str | None,
    is_error: bool,
) -> Message:
    if content is None:
        return chat.cancel(call_id, cancel or "", message_id=message_id)
    return chat.resolve(call_id, content, is_error=is_error, message_id=message_id)
