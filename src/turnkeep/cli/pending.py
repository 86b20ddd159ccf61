"""`turnkeep pending`: which tool calls are waited for, since when, for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import attrs
import typer
from rich.console import Console
from rich.text import Text

from turnkeep.conversation import Conversation, PendingCall
from turnkeep.model import thaw

from . import _options as options
from ._draw import Glyphs, glyphs_for, stdout_console
from ._guard import guarded
from ._json import dumps
from ._stores import Place, age, is_store, load_file, now, opened


@attrs.frozen
class Waiting:
    """A call that is waited for, and where."""

    conversation: str | None
    """Its id in a store; none in a file."""
    call: PendingCall


@guarded
def pending(
    place: Place,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            metavar="ID",
            help="Only this conversation of the store. Default: all of them.",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """List the tool calls that are waited for, with age and deadline.

    For example:

    * `turnkeep pending session.json`
    * `turnkeep pending chats.db --json`
    """
    waiting = list(_waiting(place, conversation))
    if as_json:
        report = {"pending": [_report(item) for item in waiting]}
        print(dumps(report, indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for item in waiting:
        _print_one(console, glyphs, item)
    if not waiting:
        console.print(Text("No call is waited for."))


def _waiting(place: str, conversation: str | None) -> Iterator[Waiting]:
    if not is_store(place):
        for call in load_file(place).pending:
            yield Waiting(None, call)
        return
    with opened(place) as store:
        names = [conversation]
        if conversation is None:
            found = store.conversations()
            names = [info.id for info in found if info.open_calls]
        for name in names:
            if name is None:  # pragma: no cover - for the type checker
                continue
            # Open calls are in every tail, however short.
            chat = Conversation.open(store, name, create=False, tail=0)
            for call in chat.pending:
                yield Waiting(name, call)


def _report(item: Waiting) -> dict[str, Any]:
    call = item.call
    report: dict[str, Any] = {
        "id": call.id,
        "name": call.name,
        "state": call.state.value,
        "message_id": call.message_id,
        "since": call.since.isoformat() if call.since else None,
        "expires_at": call.expires_at.isoformat() if call.expires_at else None,
        "waits_for": thaw(call.waits_for),
    }
    if item.conversation is not None:
        report["conversation"] = item.conversation
    return report


def _print_one(console: Console, glyphs: Glyphs, item: Waiting) -> None:
    call, moment = item.call, now()
    line = Text.assemble((call.id, "bold"), f" {glyphs.dot} {call.name}")
    line.append(f" {glyphs.dot} {call.state.value} for {age(call.since, moment)}")
    if call.expires_at is not None:
        left = age(call.expires_at, moment)
        if call.expires_at <= moment:
            line.append(f" {glyphs.dot} expired {left} ago", "red")
        else:
            line.append(f" {glyphs.dot} expires in {left}")
    if call.waits_for:
        facts = ", ".join(f"{key}: {value}" for key, value in call.waits_for.items())
        line.append(f" {glyphs.dot} waits for {facts}")
    where = f"  in {call.message_id}"
    if item.conversation is not None:
        where += f" of {item.conversation}"
    line.append(where, "dim")
    console.print(line, soft_wrap=True)
