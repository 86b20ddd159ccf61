"""Serving, and running a program behind the proxy."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Final, Self

import attrs
import uvicorn
from starlette.applications import Starlette

from ._app import create_app
from ._protocol import Protocol
from ._settings import PROVIDERS, Settings

_VARIABLES: Final = (
    ("ANTHROPIC_BASE_URL", "/anthropic", ""),
    ("OPENAI_BASE_URL", "/openai", "/v1"),
    ("OPENAI_API_BASE", "/openai", "/v1"),
    ("GOOGLE_GEMINI_BASE_URL", "/gemini", ""),
)
"""What programs read, the beginning of the path, and what they expect behind it."""

_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")


def _config(app: Any, settings: Settings, host: str, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,  # keys stand in URLs
        log_level="critical",  # what upstreams break off is told by the metrics
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        http=Protocol,
        h11_max_incomplete_event_size=settings.max_header,
        timeout_keep_alive=ceil(settings.slow),
        timeout_graceful_shutdown=5,
        lifespan="on",
    )


def check_address(settings: Settings, host: str) -> None:
    """Refuse to listen where others can connect without showing a token.

    Raises:
        ValueError: They could.
    """
    if host not in _LOCAL and not settings.token:
        msg = (
            f"listening on {host} lets others in: give a token, and put TLS in front "
            "of it; or listen on 127.0.0.1"
        )
        raise ValueError(msg)


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        """*ready* is set then."""
        super().__init__(config)
        self._is_ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._is_ready.set()


class Running:
    """A proxy that runs beside the program, from `with` to the end of it.

    >>> with Running(Settings()) as proxy:
    ...     proxy.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self, settings: Settings, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        """On *port*, or on one that is free."""
        check_address(settings, host)
        self.settings = settings
        self.app: Starlette = create_app(settings)
        self._host = host
        self._ready = threading.Event()
        config = _config(self.app, settings, host, port)
        self._server = _Server(config, self._ready)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._error: BaseException | None = None

    def _serve(self) -> None:
        try:
            self._server.run()
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._error = error
        finally:
            self._ready.set()

    def __enter__(self) -> Self:
        """Start; returns when it listens.

        Raises:
            OSError: It cannot listen there.
        """
        self._thread.start()
        self._ready.wait()
        if not self._server.started:
            reason = f"cannot listen on {self._host}"
            raise OSError(reason) from self._error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; answers that are on their way have five seconds."""
        self._server.should_exit = True
        self._thread.join(15)

    @property
    def port(self) -> int:
        """Where it listens."""
        sockets = self._server.servers[0].sockets
        port: int = sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        """The address of its page, good for one visit."""
        return f"{self.url}/turnkeep/?key={self.app.state.proxy.page.key}"

    def line(self) -> str:
        """What it did, in one line."""
        text: str = self.app.state.proxy.told.line()
        return text


def serve(settings: Settings, *, host: str = "127.0.0.1", port: int = 8787) -> None:
    """Serve until the process is told to stop (Ctrl-C, SIGTERM); in the main thread.

    Raises:
        OSError: It cannot listen there.
        ValueError: Others could connect, and there is no token.
    """
    check_address(settings, host)
    app = create_app(settings)
    key = app.state.proxy.page.key
    _say(f"turnkeep: http://{host}:{port}/turnkeep/?key={key}")
    server = uvicorn.Server(_config(app, settings, host, port))
    with _told_once():
        server.run()
    if not server.started:
        reason = f"cannot listen on {host}:{port}"
        raise OSError(reason)
    _say(app.state.proxy.told.line())


@contextmanager
def _told_once() -> Iterator[None]:
    """Take a signal to stop as said when the server has stopped for it.

    It passes signals on when it is done, to whoever heard them before.
    """
    heard = {one: signal.signal(one, signal.SIG_IGN) for one in _STOPS}
    try:
        yield
    finally:
        for one, handler in heard.items():
            signal.signal(one, handler)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def run_program(
    command: Sequence[str],
    settings: Settings,
    *,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run a program behind a proxy of its own; returns its exit code.

    The program has the terminal as it is. It is told where to send its requests by the
    variables that it reads, and Codex by its options. Where such a variable is set
    already, its value becomes the upstream.

    Args:
        command:
            The program and its arguments.
        settings:
            Upstreams are those of *settings* unless they are the usual ones and the
            environment names others.
        environment:
            Instead of this process's own.

    Raises:
        OSError: The program cannot be started, or no port is free.
    """
    given = dict(os.environ if environment is None else environment)
    settings = attrs.evolve(settings, upstreams=_upstreams(settings, given))
    with Running(settings) as proxy:
        told = environment_of(command, proxy.url, settings, given)
        done = subprocess.run(  # noqa: S603 - what the user asked for
            [*command_of(command, proxy.url, settings)], env=told, check=False
        )
        line = proxy.line()
    _say(line)
    return done.returncode


def _upstreams(settings: Settings, given: Mapping[str, str]) -> dict[str, str]:
    """The upstreams, and those that the environment names."""
    made = dict(settings.upstreams)
    for name, prefix, tail in _VARIABLES:
        url = given.get(name)
        if url and made.get(prefix) == PROVIDERS.get(prefix):
            made[prefix] = url.rstrip("/").removesuffix(tail)
    return made


def environment_of(
    command: Sequence[str],
    url: str,
    settings: Settings,
    given: Mapping[str, str],
) -> dict[str, str]:
    """The environment of a program."""
    told = dict(given)
    whole = "" in settings.upstreams
    for name, prefix, tail in _VARIABLES:
        if prefix in settings.upstreams:
            told[name] = f"{url}{prefix}{tail}"
        elif whole:
            told[name] = f"{url}{tail}"
    # Behind another address Claude Code leaves tool search off unless told.
    told.setdefault("ENABLE_TOOL_SEARCH", "true")
    local = "127.0.0.1,localhost"
    for name in ("NO_PROXY", "no_proxy"):
        told[name] = f"{told[name]},{local}" if told.get(name) else local
    return told | _gemini(command, told)


def _gemini(command: Sequence[str], told: Mapping[str, str]) -> dict[str, str]:
    """What lets Gemini CLI use its key behind another address.

    Where no way to authenticate is configured it takes one for gateways there, which it
    then refuses. Its system's defaults come before nothing that is configured. It reads
    them only from a folder that nobody else may write, so not from a temporary one.
    """
    name = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
    home = told.get("HOME")
    if PurePath(command[0]).stem != "gemini" or name in told or not home:
        return {}
    if "GEMINI_API_KEY" not in told:
        return {}
    state = Path(told.get("XDG_STATE_HOME") or Path(home) / ".local" / "state")
    path = state / "turnkeep" / "gemini-cli-defaults.json"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    auth = {"selectedType": "gemini-api-key"}
    path.write_text(json.dumps({"security": {"auth": auth}}))
    return {name: str(path)}


def command_of(command: Sequence[str], url: str, settings: Settings) -> list[str]:
    """The command, with options where its program reads no variable."""
    program, *rest = command
    if PurePath(program).stem != "codex":
        return [program, *rest]
    prefix = "/openai" if "/openai" in settings.upstreams else ""
    provider = (
        f'{{name="turnkeep",base_url="{url}{prefix}/v1",wire_api="responses",'
        'env_key="OPENAI_API_KEY"}'
    )
    options = [
        "-c",
        "model_provider=turnkeep",
        "-c",
        f"model_providers.turnkeep={provider}",
    ]
    return [program, *options, *rest]
