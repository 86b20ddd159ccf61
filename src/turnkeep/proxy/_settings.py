"""What a proxy is started with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import attrs

from turnkeep.budgets import Budget
from turnkeep.engine import CACHE_MARKS, CacheMarking, Overflow, check_choice
from turnkeep.stores import Store
from turnkeep.strategies import strategy_of

PROVIDERS: Final[Mapping[str, str]] = {
    "/anthropic": "https://api.anthropic.com",
    "/openai": "https://api.openai.com",
    "/gemini": "https://generativelanguage.googleapis.com",
}
"""Where requests go unless upstreams are named, by the beginning of their path."""

OnOverflow = Literal["shorten", "refuse", "send"]

_SECRET: Final = 16
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1", "[::1]")


def _upstreams(value: Mapping[str, str]) -> dict[str, str]:
    made = {}
    for prefix, url in value.items():
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            msg = f"an upstream is an http or https URL, not {url!r}"
            raise ValueError(msg)
        if parts.query or parts.fragment or parts.username or parts.password:
            msg = f"an upstream has no user, query or fragment: {parts.hostname}"
            raise ValueError(msg)
        prefix = prefix.rstrip("/")  # noqa: PLW2901
        if prefix and not prefix.startswith("/"):
            msg = f"the beginning of a path starts with '/', not {prefix!r}"
            raise ValueError(msg)
        if prefix == "/turnkeep":
            msg = "the path /turnkeep is the proxy's own page"
            raise ValueError(msg)
        made[prefix] = url.rstrip("/")
    # The longest first, so that the first that fits is the one that is meant.
    return dict(sorted(made.items(), key=lambda item: -len(item[0])))


def _patterns(values: Sequence[str]) -> tuple[str, ...]:
    for value in values:
        try:
            re.compile(value)
        except (TypeError, re.error) as error:
            msg = f"a pin is a regular expression, not {value!r}: {error}"
            raise ValueError(msg) from None
    return tuple(values)


@attrs.frozen(kw_only=True)
class Settings:
    """How a proxy keeps its budgets, and where it sends what it keeps.

    Everything is fixed at the start: nothing in a request names another upstream.

    Raises:
        ValueError: A value is out of range.
        StrategyError: There is no such strategy.
    """

    upstreams: Mapping[str, str] = attrs.field(
        factory=lambda: dict(PROVIDERS), converter=_upstreams
    )
    """URLs by the beginning of the path; `""` takes what no other takes."""
    budgets: Sequence[tuple[str, int]] = ()
    """Tokens by a pattern for the model's name (`"claude-*"`, `"*"`); the first that
    matches. None does: the model's context window less the answer's `max_tokens`."""
    reserve: int = 0
    """Tokens of each budget that are kept free."""
    target: float = 0.6
    """How deep a prune goes, as a share of what is available."""
    strategy: str = "agent"
    """What goes first, as the command line takes it."""
    pin_leading: bool = True
    """Whether what programs send as user messages of the first turn stays: rules of the
    project, notes on the environment."""
    pins: Sequence[str] = attrs.field(default=(), converter=_patterns)
    """Regular expressions: a message in which one is found stays."""
    exclude: Sequence[str] = ()
    """Patterns of models whose requests pass as they are."""
    on_overflow: OnOverflow = attrs.field(default="shorten")
    """What becomes of a request where what must stay does not fit: results are
    `"shorten"`ed and only then it is refused, it is `"refuse"`d at once, or it is
    `"send"` too long."""
    cache_marks: CacheMarking = "keep"
    """`"keep"` the program's own marks of the provider's cache, or `"place"` ours."""
    repair: bool = True
    """Whether what a program sends broken is mended."""
    store: Store | None = None
    """Where it is kept how sessions were cut, in figures: a proxy that is started
    again, and several of them, go on with the same beginnings. Needs *secret*."""
    secret: bytes | None = attrs.field(default=None, repr=False)
    """The key of the hash that tells sessions apart, the same for all proxies with the
    same store; none: one that nobody knows. 16 bytes at least."""
    log: str | None = None
    """A file that gets one JSON line a request, without contents."""
    token: str | None = attrs.field(default=None, repr=False)
    """What clients have to show, in `x-turnkeep-token` or as the first part of their
    path (`/~TOKEN/...`). Needed wherever others than this machine can connect."""
    hosts: Sequence[str] = ()
    """Names that clients may call it by, beside those of this machine."""
    sessions: int = attrs.field(default=256, validator=attrs.validators.ge(1))
    """How many are kept in memory; the one not asked for longest goes."""
    idle: float = attrs.field(default=6 * 3600.0, validator=attrs.validators.gt(0))
    """Seconds after which a session is forgotten."""
    max_body: int = attrs.field(default=64 * 2**20, validator=attrs.validators.ge(1))
    """Bytes of a request's body, unpacked."""
    max_header: int = attrs.field(default=64 * 2**10, validator=attrs.validators.ge(1))
    """Bytes of a request's headers."""
    slow: float = attrs.field(default=60.0, validator=attrs.validators.gt(0))
    """Seconds that a client may take for the next part of a body."""
    patience: float = attrs.field(default=900.0, validator=attrs.validators.gt(0))
    """Seconds that an upstream may take for the next part of an answer."""

    def __attrs_post_init__(self) -> None:
        """Check what types do not say."""
        check_choice("on_overflow", self.on_overflow, ("shorten", "refuse", "send"))
        check_choice("cache_marks", self.cache_marks, CACHE_MARKS)
        if self.store is not None and self.secret is None:
            msg = "a store needs a secret: sessions are found by a hash with that key"
            raise ValueError(msg)
        if self.secret is not None and len(self.secret) < _SECRET:
            msg = f"a secret has {_SECRET} bytes at least, not {len(self.secret)}"
            raise ValueError(msg)
        strategy_of(self.strategy)
        for _, tokens in self.budgets:
            Budget(tokens, reserve=self.reserve, target=self.target)

    def route(self, path: str) -> tuple[str, str] | None:
        """The upstream of *path*, and what is asked of it; none where nobody takes it.

        >>> Settings(upstreams={"/a": "https://a.test/x"}).route("/a/v1/messages")
        ('https://a.test/x', '/v1/messages')
        """
        for prefix, url in self.upstreams.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                return url, path[len(prefix) :]
        return None

    @property
    def overflow(self) -> Overflow:
        """The same in the word of `turnkeep.fit`."""
        return "raise" if self.on_overflow == "refuse" else self.on_overflow

    def budget(self, model: str, answer: int = 0) -> Budget | None:
        """What a request of *model* may hold; none where nothing is known of it.

        Args:
            model: As the request names it.
            answer: Tokens that the request leaves to the answer; they count where the
                budget is the model's own.
        """
        for pattern, tokens in self.budgets:
            if fnmatchcase(model, pattern):
                return Budget(tokens, reserve=self.reserve, target=self.target)
        try:
            whole = Budget.for_model(model, reserve=self.reserve or answer or None)
        except ValueError:
            return None
        return attrs.evolve(whole, target=self.target)

    def passes(self, model: str) -> bool:
        """Whether requests of *model* are left alone."""
        return any(fnmatchcase(model, pattern) for pattern in self.exclude)

    def knows(self, host: str) -> bool:
        """Whether a client may call the proxy by this name."""
        name = host.rpartition(":")[0] if _has_port(host) else host
        return name.lower() in (*_LOOPBACK, *(h.lower() for h in self.hosts))


def answer_of(body: Mapping[str, Any]) -> int | None:
    """The tokens that a body leaves to the answer, where it says so."""
    inner = body.get("generationConfig") or body.get("inferenceConfig") or {}
    for where, key in (
        (body, "max_tokens"),
        (body, "max_completion_tokens"),
        (body, "max_output_tokens"),
        (inner, "maxOutputTokens"),
        (inner, "maxTokens"),
    ):
        value = where.get(key) if isinstance(where, Mapping) else None
        if type(value) is int and value > 0:
            return value
    return None


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")
