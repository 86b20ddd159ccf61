"""One conversation a session: who asks, and how their list begins."""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

import attrs

from turnkeep.conversation import Conversation, Window
from turnkeep.conversation._track import Cutting
from turnkeep.providers import parse_model

_CREDENTIALS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_NAMES: Final = ("x-claude-code-session-id", "session-id", "session_id")
_LISTS: Final = ("messages", "input", "contents")
_UNSAID: Final = frozenset({"cache_control", "cachePoint", "prompt_cache_breakpoint"})
"""Keys that say nothing to the model, and move from request to request."""


@attrs.frozen
class Note:
    """One request, in figures."""

    time: float
    """Seconds since the epoch."""
    before: int
    """Tokens of the whole history."""
    tokens: int
    """Tokens of the window, as the provider is expected to count them."""
    limit: int
    dropped: int
    edited: int
    added: int
    goes_on: bool
    """Whether it begins with all that was sent before, as caches ask for."""

    @classmethod
    def of(cls, window: Window, before: int, *, goes_on: bool, limit: int) -> Note:
        """What is noted of a window."""
        plan = window.plan
        return cls(
            time.time(),
            before,
            window.expected,
            limit,
            len(plan.dropped),
            len(plan.edited),
            len(plan.inserted),
            goes_on,
        )


@attrs.define(eq=False)
class Session:
    """One program's conversation, and what has become of its requests."""

    key: str
    """Its name in a store: a keyed hash."""
    id: str
    """A name for people: tells nothing of what it was made from."""
    model: str
    format: str
    chat: Conversation
    lock: Lock = attrs.field(factory=Lock)
    """Held while a request is fitted: one after the other."""
    used: float = 0.0
    requests: int = 0
    pruned: int = 0
    tokens: int = 0
    """Tokens of the last window."""
    saved: int = 0
    """Tokens that were left out of all windows so far."""
    read: int = 0
    """Input tokens that the provider said it read, and of those..."""
    cached: int = 0
    """... what came from its cache, and ..."""
    written: int = 0
    """... what was written to it."""
    plan: Any = None
    """The last plan that left something out."""
    answer: int = 0
    """The most tokens that a request left to the answer."""
    sent: list[Any] = attrs.field(factory=list, repr=False)
    """The entries of the last request."""
    clean: int | None = None
    """How many entries of the program's list are known to need no mending."""
    track: tuple[Cutting, ...] = ()
    """Where it was cut."""
    notes: deque[Note] = attrs.field(factory=lambda: deque(maxlen=200), repr=False)
    """The newest requests."""


class Sessions:
    """Sessions by a keyed hash: two users, or two beginnings, never share one."""

    def __init__(
        self,
        limit: int,
        idle: float,
        secret: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """None yet; the key is *secret*, or is made here and never leaves."""
        self._key = secret or secrets.token_bytes(32)
        self._limit, self._idle, self._clock = limit, idle, clock
        self._lock = Lock()
        self._kept: OrderedDict[str, Session] = OrderedDict()

    def find(
        self, name: str, model: str, form: str, make: Callable[[], Conversation]
    ) -> Session:
        """The session of that name, made on first use; the oldest go for it."""
        now = self._clock()
        with self._lock:
            session = self._kept.get(name)
            if session is None:
                session = Session(name, name[:12], model, form, make())
                self._kept[name] = session
            self._kept.move_to_end(name)
            session.used = now
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
            for other in [
                n for n, s in self._kept.items() if now - s.used > self._idle
            ]:
                del self._kept[other]
        return session

    def name_of(
        self,
        place: Sequence[str | None],
        model: str,
        headers: Any,
        body: Mapping[str, Any],
    ) -> str:
        """Which session a request belongs to. Costs its beginning.

        Made of the credential, the upstream, the format, the model's family, the
        session that the program names, and how the list begins: programs give their
        subagents the same name.
        """
        named = next((v for n in _NAMES if (v := headers.get(n))), None)
        if named is None:
            named = _named_in(body)
        parts: list[Any] = [
            [headers.get(name) for name in _CREDENTIALS],
            place,
            _family(model),
            bool(body.get("tools")),
            named,
            _first_question(body),
        ]
        if named is None:
            keys = ("system", "instructions", "systemInstruction", "tools")
            parts.append([_said(body.get(key)) for key in keys])
        text = json.dumps(parts, sort_keys=True, default=str)
        return hmac.new(self._key, text.encode(errors="replace"), "sha256").hexdigest()

    def all(self) -> list[Session]:
        """Those that are there, the one used last first."""
        with self._lock:
            return list(reversed(self._kept.values()))

    def __len__(self) -> int:
        """How many there are."""
        with self._lock:
            return len(self._kept)


def _family(model: str) -> list[Any]:
    """What models have in common that a program changes between: no version, no date.

    >>> _family("claude-opus-4-6") == _family("claude-opus-4-1-20250805")
    True
    >>> _family("claude-opus-4-6") == _family("claude-haiku-4-5")
    False
    """
    name = parse_model(model)
    return [name.maker or name.bare, name.tier]


def _named_in(body: Mapping[str, Any]) -> Any:
    """A session's name in the body, as some clients give it."""
    metadata = body.get("metadata")
    named = body.get("prompt_cache_key")
    if named is None and isinstance(metadata, Mapping):
        named = metadata.get("user_id")
    return named if isinstance(named, str) else None


def _first_question(body: Mapping[str, Any]) -> Any:
    """What the user said first, without what says nothing to the model."""
    entries = next((v for k in _LISTS if isinstance(v := body.get(k), list)), [])
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("role", "user") == "user":
            return _said(entry)
    return None


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _said(v) for k, v in value.items() if k not in _UNSAID}
    if isinstance(value, list):
        return [_said(item) for item in value]
    return value
