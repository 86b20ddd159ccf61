"""`turnkeep sessions`: the sessions that lie on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import attrs
import typer
from rich.text import Text

from turnkeep.errors import TurnkeepError
from turnkeep.model import Role

from . import _options as options
from ._draw import Glyphs, counted, fit_text, glyphs_for, stdout_console
from ._files import UsageError
from ._guard import guarded
from ._request import opened
from ._session_files import Found, find_sessions
from ._stores import age, now

_QUESTION = 200
"""Characters of the newest question that are given."""


@guarded
def sessions(
    program: Annotated[
        list[str] | None,
        typer.Option(
            "--program",
            "-p",
            metavar="NAME",
            help="Only sessions of this program: claude-code, codex, gemini-cli or "
            "opencode. Repeatable; their numbers stay.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top", min=1, metavar="N", help="Sessions to list at most, newest first."
        ),
    ] = 20,
    subagents: Annotated[
        bool,
        typer.Option(
            "--subagents", help="List subagents' own sessions too, without a number."
        ),
    ] = False,
    model: options.Model = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """List the sessions that programs left on this machine, newest first.

    Of Claude Code, Codex, Gemini CLI and opencode, in the homes that they use
    (`CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`, `XDG_DATA_HOME`). Tokens are
    those of what the program would send next. Nothing is changed. `show`, `report`,
    `replay`, `count` and `check` take the number of a session, as in `@1`.

    For example:

    * `turnkeep sessions`
    * `turnkeep show @1 --max-tokens 100k`
    """
    _check(program)
    numbers = {id_of(one): nth for nth, one in enumerate(find_sessions(), 1)}
    found = [
        one
        for one in find_sessions(subagents=subagents)
        if not program or one.program in program
    ]
    listed = [Listed.of(one, numbers.get(id_of(one)), model) for one in found[:top]]
    if as_json:
        # As escapes, so that nothing of a file reaches a terminal as it is.
        report = {"total": len(found), "sessions": [one.figures() for one in listed]}
        print(json.dumps(report, indent=2))
        return
    console = stdout_console()
    for line in _lines(listed, len(found), console.width, glyphs_for(console)):
        console.print(line, overflow="crop", no_wrap=True)


_PROGRAMS = ("claude-code", "codex", "gemini-cli", "opencode")


def _check(programs: list[str] | None) -> None:
    for name in programs or ():
        if name not in _PROGRAMS:
            reason = f"no program {name!r}; there are {', '.join(_PROGRAMS)}"
            raise UsageError(reason, "--program")


def id_of(found: Found) -> tuple[str, str | None]:
    """What tells one session from all others."""
    return str(found.path), found.id


@attrs.frozen
class Listed:
    """A session with what it holds."""

    found: Found
    number: int | None
    """What `@` takes; none for a subagent's."""
    size: int | None = None
    """Bytes of the file; in a database, of the session alone."""
    tokens: int | None = None
    messages: int | None = None
    exact: bool = False
    model: str | None = None
    question: str = ""
    """The beginning of what was asked last."""
    error: str | None = None
    """Why it cannot be read."""

    @classmethod
    def of(cls, found: Found, number: int | None, model: str | None) -> Listed:
        """Read and count a session; where that fails, say why."""
        source = None
        try:
            source = found.read()
            request = opened(source, None, model)
            survey = request.survey()
        except TurnkeepError as error:
            size = None if source is None else source.size
            return cls(found, number, size, error=str(error))
        asked = [e.text for e in survey.entries if e.role == Role.USER and e.text]
        return cls(
            found,
            number,
            source.size,
            survey.total,
            len(survey.entries),
            survey.counter.exact,
            request.model,
            _one_line(asked[-1]) if asked else "",
        )

    def figures(self) -> dict[str, Any]:
        """For programs."""
        found = self.found
        return {
            "number": self.number,
            "program": found.program,
            "path": str(found.path),
            "id": found.id,
            "project": found.project,
            "title": found.title,
            "updated": found.updated.isoformat(),
            "bytes": self.size,
            "messages": self.messages,
            "tokens": self.tokens,
            "exact": self.exact,
            "model": self.model,
            "question": self.question,
            "subagent": found.is_subagent,
            "error": self.error,
        }


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:_QUESTION]


def _lines(
    listed: list[Listed], total: int, width: int, glyphs: Glyphs
) -> Iterator[Text]:
    if not listed:
        yield Text("no sessions of Claude Code, Codex, Gemini CLI or opencode here")
        return
    today = now()
    yield Text(
        f"{'':>4} {'last written':>14} {'program':<11} {'size':>8} {'tokens':>9}  "
        "project, newest question",
        "bold",
    )
    for one in listed:
        number = "" if one.number is None else f"@{one.number}"
        tokens = "-" if one.tokens is None else f"{one.tokens:,}"
        head = (
            f"{number:>4} {age(one.found.updated, today):>14} "
            f"{one.found.program:<11} {_size(one.size):>8} {tokens:>9}  "
        )
        said = one.error or one.question or one.found.title
        place = fit_text(_tail(one.found.project), 24, glyphs)
        line = fit_text(f"{place}  {said}", max(width - len(head), 10), glyphs)
        yield Text.assemble(head, (line, "red" if one.error else "dim"))
    if total > len(listed):
        more = counted(total - len(listed), "older session")
        yield Text(f"{glyphs.ellipsis} {more}; --top lists more", "dim")


def _tail(project: str) -> str:
    """The end of a folder's name, which tells it from its neighbours."""
    return re.split(r"[/\\]", project.rstrip("/\\"))[-1]


def _size(size: int | None) -> str:
    """Bytes as people read them.

    >>> _size(512), _size(20_480), _size(3_145_728)
    ('512 B', '20.5 kB', '3.1 MB')
    """
    if size is None:
        return "-"
    if size < 1_000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1_000:.1f} kB"
    return f"{size / 1_000_000:.1f} MB"
