"""`turnkeep store`: what is kept where, in and out, and whether it is undamaged."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import typer
from rich.text import Text

from turnkeep.errors import ConflictError
from turnkeep.stores import Info, changes_of, document_of

from . import _options as options
from ._draw import counted, glyphs_for, stdout_console
from ._files import UsageError, check_output, read, write
from ._guard import guarded, plain
from ._help import Command
from ._json import dumps
from ._stores import StoreName, age, is_saved, now, opened, refuse_unsaved
from ._terminal import say

app: typer.Typer = typer.Typer(
    name="store",
    help="Look into a store, move conversations in and out, find damage.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

ConversationId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The conversation.", show_default=False),
]


@app.command("ls", cls=Command)
@guarded
def ls(
    store: StoreName,
    contains: Annotated[
        str, typer.Option("--contains", metavar="TEXT", help="A part of the id.")
    ] = "",
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """List the conversations, the last changed one first.

    For example: `turnkeep store ls chats.db`
    """
    with opened(store) as made:
        found = made.conversations(contains=contains)
    if as_json:
        print(dumps([_report(info) for info in found], indent=2).decode(), end="")
        return
    console = stdout_console()
    for info in found:
        console.print(_line(info), soft_wrap=True)
    if not found:
        console.print(Text("No conversations."))


def _report(info: Info) -> dict[str, Any]:
    return attrs.asdict(
        info, value_serializer=lambda _o, _a, v: getattr(v, "isoformat", lambda: v)()
    )


def _line(info: Info) -> Text:
    calls = f", {info.open_calls} open" if info.open_calls else ""
    return Text.assemble(
        (info.id, "bold"),
        f"  {counted(info.messages, 'message')}, {counted(info.tokens, 'token')}",
        calls,
        (f"  changed {age(info.updated_at, now())} ago", "dim"),
    )


@app.command("show", cls=Command)
@guarded
def show(
    store: StoreName,
    conversation: ConversationId,
    last: Annotated[
        int, typer.Option("--last", "-n", min=1, metavar="N", help="How many messages.")
    ] = 10,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Show the newest messages of a conversation.

    For example: `turnkeep store show chats.db 42 --last 3`
    """
    with opened(store) as made:
        found = made.read_tail(conversation, messages=last)
    if as_json:
        messages = document_of(found)["messages"]
        report = {"id": found.id, "version": found.version, "messages": messages}
        print(dumps(report, indent=2).decode(), end="")
        return
    console = stdout_console()
    glyphs = glyphs_for(console)
    for row in found.rows:
        message = row.message
        calls = ", ".join(f"calls {call.name}" for call in message.tool_calls)
        words = " ".join(f"{message.text} {calls}".split())
        pin = " pinned" if message.pinned else ""
        console.print(
            Text.assemble(
                (message.id or "", "bold"), f" {message.role}{pin} {glyphs.dot} {words}"
            ),
            overflow="ellipsis",
            no_wrap=True,
        )


@app.command("export", cls=Command)
@guarded
def export(
    store: StoreName,
    conversation: ConversationId,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to. `-` is stdout."),
    ] = "-",
    as_json: options.AsJson = False,  # noqa: ARG001 - read by the guard
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Write a conversation as one file, which `Conversation.load` reads.

    For example: `turnkeep store export chats.db 42 -o session.json`
    """
    check_output(output, store)
    with opened(store) as made:
        document = document_of(made.read(conversation))
    write(output, dumps(document))


@app.command("import", cls=Command)
@guarded
def import_(
    store: StoreName,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A saved conversation, as `store export`, `Conversation.save` and "
            "`convert --to turnkeep` write it. `-` reads stdin.",
            show_default=False,
        ),
    ],
    conversation: Annotated[
        str,
        typer.Option(
            "--as", metavar="ID", help="Id of the new conversation.", show_default=False
        ),
    ],
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Take a saved conversation into a store, which is made if it is not there.

    A name without an ending becomes a folder of logs, any other a SQLite file.
    Messages in another format are converted first.

    For example:

    * `turnkeep convert session.json --to turnkeep -o saved.json`
    * `turnkeep store import chats.db saved.json --as 42`
    """
    sources = read(file)
    if len(sources) != 1:
        reason = f"{len(sources)} conversations, one a line: import them one by one"
        raise UsageError(reason, file)
    value = sources[0].value
    if not is_saved(value):
        refuse_unsaved(file, "imported")
    change = changes_of(value)
    with opened(store, create=True) as made:
        try:
            version = made.create(conversation, change)
        except ConflictError:
            reason = f"there is a conversation {conversation!r} already; choose another"
            raise UsageError(reason, "--as") from None
    if as_json:
        report = {
            "id": conversation,
            "version": version,
            "messages": len(change.append),
        }
        print(dumps(report, indent=2).decode(), end="")
        return
    say(f"{conversation}: {counted(len(change.append), 'message')} imported")


@app.command("check", cls=Command)
@guarded
def check(
    store: StoreName,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            metavar="ID",
            help="Only this one. Default: all of them, and the store itself.",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Find damage, and say where it is. Changes nothing.

    What a crash left unfinished, and nobody was told had been written, is named too,
    but is no damage. Exit code 1 if there is any.

    For example: `turnkeep store check chats.db`
    """
    with opened(store) as made:
        damage = made.check(conversation)
    lost = [item for item in damage if not item.recovered]
    if as_json:
        report = {"damaged": bool(lost), "found": plain(damage)}
        print(dumps(report, indent=2).decode(), end="")
    else:
        console = stdout_console()
        for item in damage:
            kind = (
                ("left over", "yellow") if item.recovered else ("damaged", "bold red")
            )
            name = f" {item.conversation}" if item.conversation else ""
            line = Text.assemble(kind, f"{name}: {item.reason} @ {item.where}")
            console.print(line, soft_wrap=True)
        if not lost:
            console.print(Text("No damage."))
    if lost:
        raise typer.Exit(1)
