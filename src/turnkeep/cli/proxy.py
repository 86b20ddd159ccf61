"""`turnkeep proxy`: keep programs inside a budget that know nothing of it."""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from . import _options as options
from ._files import UsageError
from ._guard import guarded
from ._help import Command
from ._stores import opened

if TYPE_CHECKING:
    from turnkeep.proxy import Settings

app: typer.Typer = typer.Typer(
    name="proxy",
    help="Keep programs whose code cannot be changed inside a token budget.",
    invoke_without_command=True,
    epilog="Example: `turnkeep proxy run --budget 60k -- claude`",
)


class OnOverflow(StrEnum):
    """What becomes of a request where what must stay does not fit."""

    SHORTEN = "shorten"
    REFUSE = "refuse"
    SEND = "send"


class CacheMarks(StrEnum):
    """Whose marks of the provider's cache are sent."""

    KEEP = "keep"
    PLACE = "place"


Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="[MODELS=]TOKENS",
        help="Tokens of a request, such as 60k, or for models by a pattern "
        "(`claude-*=150k`). Repeatable. Default: each model's context window.",
        show_default=False,
    ),
]
Upstreams = Annotated[
    list[str] | None,
    typer.Option(
        "--upstream",
        metavar="[/PATH=]URL",
        help="Where requests go, all of them or those whose path begins so. "
        "Repeatable. Default: /anthropic, /openai and /gemini to their providers.",
        show_default=False,
    ),
]
Target = Annotated[
    float | None,
    typer.Option(
        "--target",
        min=0.05,
        max=1.0,
        metavar="SHARE",
        help="How deep a prune goes. Default: 0.6",
        show_default=False,
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="What goes first. Default: agent",
        show_default=False,
    ),
]
Reserve = Annotated[
    int | None,
    typer.Option(
        "--reserve",
        min=0,
        metavar="TOKENS",
        help="Tokens of each budget that stay free.",
        show_default=False,
    ),
]
PinLeading = Annotated[
    bool | None,
    typer.Option(
        "--pin-leading/--no-pin-leading",
        help="Whether what programs send before the first question stays. Default: yes",
        show_default=False,
    ),
]
Repair = Annotated[
    bool | None,
    typer.Option(
        "--repair/--no-repair",
        help="Whether what a program sends broken is mended. Default: yes",
        show_default=False,
    ),
]
Overflow = Annotated[
    OnOverflow | None,
    typer.Option(
        "--on-overflow",
        help="Where what must stay does not fit: results are shortened, the program is "
        "refused, or it is sent. Default: shorten",
        show_default=False,
    ),
]
Marks = Annotated[
    CacheMarks | None,
    typer.Option(
        "--cache-marks",
        help="Whose marks of the provider's cache are sent: the program's own, or "
        "ours. Default: keep",
        show_default=False,
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="Keeps where sessions were cut, in figures, for restarts and other "
        "workers: a SQLite file, a folder, or `postgresql://user@host/name`.",
        show_default=False,
    ),
]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="The key by which sessions are found in the store; made where it is "
        "missing. The same for all workers.",
        show_default=False,
    ),
]
Log = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Gets one JSON line a request, without contents.",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="TOML with the same settings, and `pins`, `exclude`, `hosts`.",
        show_default=False,
    ),
]


@app.callback()
@guarded
def proxy(
    context: typer.Context,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Where it listens.")
    ] = 8787,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="The address; others need --token."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="TURNKEEP_PROXY_TOKEN",
            metavar="TEXT",
            help="What clients have to show, as /~TEXT/ in front of their path.",
            show_default=False,
        ),
    ] = None,
    budget: Budgets = None,
    reserve: Reserve = None,
    target: Target = None,
    strategy: Strategy = None,
    upstream: Upstreams = None,
    pin_leading: PinLeading = None,
    on_overflow: Overflow = None,
    repair: Repair = None,
    cache_marks: Marks = None,
    store: StorePlace = None,
    secret_file: SecretFile = None,
    log: Log = None,
    config: Config = None,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Fit the requests that pass through, and relay the answers as they arrive.

    Point a program's base URL here: `http://127.0.0.1:8787/anthropic`, `/openai/v1`,
    `/gemini`. `turnkeep proxy run -- PROGRAM` does that for you.
    """
    if context.invoked_subcommand is not None:
        return
    made = _settings(
        config,
        budgets=budget,
        reserve=reserve,
        target=target,
        strategy=strategy,
        upstreams=upstream,
        pin_leading=pin_leading,
        on_overflow=on_overflow,
        repair=repair,
        cache_marks=cache_marks,
        log=log,
        token=token,
    )
    from turnkeep.proxy import serve  # noqa: PLC0415 - an extra

    with _stored(made, store, secret_file) as settings:
        try:
            serve(settings, host=host, port=port)
        except ValueError as error:
            raise UsageError(str(error), "--host") from None
        except OSError as error:
            raise UsageError(str(error.strerror or error), f"--port {port}") from None


@app.command(cls=Command, context_settings={"allow_interspersed_args": False})
@guarded
def run(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- PROGRAM [ARGUMENTS]", help="The program.", show_default=False
        ),
    ],
    budget: Budgets = None,
    reserve: Reserve = None,
    target: Target = None,
    strategy: Strategy = None,
    upstream: Upstreams = None,
    pin_leading: PinLeading = None,
    on_overflow: Overflow = None,
    repair: Repair = None,
    cache_marks: Marks = None,
    store: StorePlace = None,
    secret_file: SecretFile = None,
    log: Log = None,
    config: Config = None,
    debug: options.Debug = False,  # noqa: ARG001 - read by the guard
) -> None:
    """Run a program behind a proxy of its own, on a free port.

    Claude Code, Codex, opencode, Gemini CLI and whatever reads ANTHROPIC_BASE_URL,
    OPENAI_BASE_URL or GOOGLE_GEMINI_BASE_URL. Exits as the program does.
    """
    made = _settings(
        config,
        budgets=budget,
        reserve=reserve,
        target=target,
        strategy=strategy,
        upstreams=upstream,
        pin_leading=pin_leading,
        on_overflow=on_overflow,
        repair=repair,
        cache_marks=cache_marks,
        log=log,
    )
    from turnkeep.proxy import run_program  # noqa: PLC0415 - an extra

    with _stored(made, store, secret_file) as settings:
        try:
            code = run_program(command, settings)
        except OSError as error:
            msg = f"cannot be run: {error.strerror or error}"
            raise UsageError(msg, command[0]) from None
    raise typer.Exit(code)


@contextmanager
def _stored(
    settings: Settings, store: str | None, secret_file: Path | None
) -> Iterator[Settings]:
    """The settings with their store, while it is open."""
    if store is None:
        yield settings
        return
    with opened(store, create=True) as made:
        try:
            secret = _secret(secret_file or _usual_secret())
            yield attrs.evolve(settings, store=made, secret=secret)
        except ValueError as error:
            raise UsageError(str(error), "--secret-file") from None


def _usual_secret() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "turnkeep" / "proxy-secret"


def _secret(path: Path) -> bytes:
    """The bytes of a file for its owner alone; made where it is missing.

    Raises:
        UsageError: It cannot be read or made, or others can read it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            new = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(new, "wb") as file:
                file.write(secrets.token_bytes(32))
        if os.name == "posix" and path.stat().st_mode & 0o077:
            msg = f"others can read it: chmod 600 {path}"
            raise UsageError(msg, str(path))
        return path.read_bytes()
    except OSError as error:
        raise UsageError(str(error.strerror), str(path)) from None


def _settings(config: Path | None, **given: Any) -> Settings:
    """What the file says, and what the command line says instead.

    Raises:
        UsageError: A value is none that is known, or the extra is missing.
    """
    try:
        from turnkeep.proxy import Settings  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        msg = f"the proxy needs {error.name}: pip install 'turnkeep[proxy]'"
        raise UsageError(msg, "turnkeep proxy") from None
    made = {} if config is None else _from_file(config)
    told = {key: value for key, value in given.items() if value is not None}
    made |= told
    if isinstance(made.get("budgets"), list):
        made["budgets"] = [_budget(one) for one in made["budgets"]]
    elif isinstance(made.get("budgets"), dict):
        made["budgets"] = [(k, _tokens(v)) for k, v in made["budgets"].items()]
    if isinstance(made.get("upstreams"), list):
        made["upstreams"] = dict(_upstream(one) for one in made["upstreams"])
    for name, value in made.items():
        if isinstance(value, StrEnum):
            made[name] = value.value
    if "log" in made:
        made["log"] = str(made["log"])
    try:
        return Settings(**made)
    except (TypeError, ValueError) as error:
        reason = str(error).replace("Settings.__init__() ", "")
        raise UsageError(reason, "settings") from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise UsageError(reason, str(path)) from None
    except ValueError as error:
        reason = f"no TOML: {error}"
        raise UsageError(reason, str(path)) from None


def _budget(text: str) -> tuple[str, int]:
    """A pattern for models, and tokens.

    >>> _budget("claude-*=150k")
    ('claude-*', 150000)
    """
    pattern, _, tokens = text.rpartition("=")
    return pattern or "*", _tokens(tokens)


def _tokens(text: str | int) -> int:
    tokens = options.parse_tokens(text)
    if tokens < 1:
        msg = f"a budget is a number of tokens, such as 60k, not {text!r}"
        raise UsageError(msg, "--budget")
    return tokens


def _upstream(text: str) -> tuple[str, str]:
    """The beginning of a path, and a URL.

    >>> _upstream("/a=https://a.test")
    ('/a', 'https://a.test')
    """
    if text.startswith("/"):
        prefix, _, url = text.partition("=")
        return prefix, url
    return "", text
