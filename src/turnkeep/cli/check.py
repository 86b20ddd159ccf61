"""`turnkeep check`: what a provider would refuse about a request, and the way out."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from turnkeep import api
from turnkeep.errors import Violation
from turnkeep.profiles import PROFILES, Profile, get_profile

from . import _options as options
from ._draw import counted, stdout_console
from ._files import UsageError
from ._guard import guarded
from ._histories import ConversationId, read, read_one
from ._json import dumps
from ._request import Request, load

VIOLATIONS = 1
"""Exit code where a rule is broken."""


@guarded
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Message lists or request bodies: JSON or JSON Lines, gzip or not. "
            "`-` reads stdin, `@1` the newest of `turnkeep sessions`.",
            show_default=False,
        ),
    ],
    model: options.Model = None,
    format_name: options.FormatName = None,
    profile_name: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Judge by another provider's rules, such as `alternating/gemma2`.",
            show_default=False,
        ),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original",
            metavar="FILE",
            help="The request it was cut from, for the rules that compare the two.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Report soft rules too, where the evidence differs."
        ),
    ] = False,
    conversation: ConversationId = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Say what a provider would refuse about a request, and what fixes it.

    Each violation has its rule's number, the place, what is wrong, and the provider's
    own error text where it is known. The exit code is 1 when there are any.

    For example:

    * `turnkeep check request.json`
    * `turnkeep check trimmed.json --original request.json --strict`
    """
    if profile_name is not None and profile_name not in PROFILES:
        reason = f"no profile {profile_name!r}; there are {', '.join(PROFILES)}"
        raise UsageError(reason, "--profile")
    before = None if original is None else read_one(original).value
    reports: list[dict[str, Any]] = []
    console = stdout_console()
    broken = 0
    for file in files:
        for source in read(file, conversation):
            request = load(source, format_name, model)
            profile = get_profile(request.format.name, request.model, profile_name)
            found = api.check(
                source.value,
                format=request.read_as,
                model=request.model,
                strict=strict,
                original=before,
                profile=profile,
            )
            broken += len(found)
            if as_json:
                reports.append(_report(request, profile, found))
            else:
                _print(console, request, profile, found)
    if as_json:
        print(
            dumps({"violations": broken, "files": reports}, indent=2).decode(), end=""
        )
    if broken:
        raise typer.Exit(VIOLATIONS)


def _print(
    console: Console, request: Request, profile: Profile, found: list[Violation]
) -> None:
    name = f"{request.source.name}: {profile.title}"
    if request.model:
        name += f", {request.model}"
    if not found:
        console.print(Text(f"{name}: would be accepted"), soft_wrap=True)
        return
    console.print(Text(f"{name}: {counted(len(found), 'violation')}"), soft_wrap=True)
    for violation in found:
        kind = "" if violation.hard else " (soft)"
        head = Text.assemble(
            "\n", (violation.rule, "bold"), f"{kind} at {violation.where}"
        )
        console.print(head, soft_wrap=True)
        console.print(Text(f"  {violation.message}"), soft_wrap=True)
        error = profile.rule(violation.rule).error
        if error is not None:
            said = f"  The provider says: {error}"
            console.print(Text(said, "dim"), soft_wrap=True)


def _report(
    request: Request, profile: Profile, found: list[Violation]
) -> dict[str, Any]:
    return {
        "file": request.source.name,
        "format": request.read_as,
        "profile": profile.name,
        "model": request.model,
        "violations": [
            {
                "rule": violation.rule,
                "where": violation.where,
                "message": violation.message,
                "hard": violation.hard,
                "error": profile.rule(violation.rule).error,
            }
            for violation in found
        ],
    }
