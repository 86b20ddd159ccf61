"""A host's list of messages, followed request by request.

The host owns the list; a conversation of ours is made to say what it says, and gives
the window of this one request in the host's own objects. Only what is new since the
last request is read, counted and appended: cut, learning and summaries stay.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import attrs

from turnkeep.api import fit
from turnkeep.conversation import Conversation, Window
from turnkeep.errors import TurnkeepError

from ._options import Options

_TRUSTED_BEFORE: Final = 64
"""Entries from the end within which a host's own object is read again, because hosts
change what they have just made; before them the same object says the same."""

_IDS: Final = ("first", "last", "id", "after")
"""Fields of a saved cut that name messages."""


TRIES: Final = 3
"""How often a request is sent that was too long."""

OPEN: Final = 1_000
"""Requests whose answers are awaited; older ones have been given up."""

K = TypeVar("K")
V = TypeVar("V")


class Open(OrderedDict[K, V]):
    """Requests whose answers are awaited, `OPEN` of them at most."""

    def __setitem__(self, call: K, request: V) -> None:
        """Await the answer of a call; the one that waits longest goes for it."""
        super().__setitem__(call, request)
        while len(self) > OPEN:
            self.popitem(last=False)


@attrs.frozen
class Request:
    """What a host is about to send."""

    messages: Sequence[Any]
    """Its whole list, in its own objects."""

    read: Callable[[Any], Any]
    """From one of them to an entry of the format."""

    make: Callable[[Any], Any]
    """From a new or edited entry of the format to an object of the host's."""

    format: str
    model: str | None = None
    system: str | None = None
    """System text that stands outside of the list; counted, not given back."""

    tools: Any = None
    """Tool definitions in the format's shape; counted."""

    is_pinned: Callable[[Any], bool] | None = None
    """The host's own place for a pin."""


@attrs.frozen
class View:
    """What this one request may hold, and what is to be learned from its answer."""

    messages: list[Any]
    window: Window
    _chat: Conversation

    def observe(self, usage: Any) -> None:
        """Learn from the provider's figures; nothing where it tells none."""
        with suppress(TurnkeepError):
            self._chat.observe(usage, window=self.window)

    def overflowed(self, error: object) -> bool:
        """Whether *error* says that the request was too long, which is learned."""
        return self._chat.observe_overflow(error, window=self.window)


class Follower:
    """One conversation of a host.

    Args:
        options:
            What requests are fitted by.
        state:
            What `state` of an earlier follower of the same conversation said, in
            whichever process; used where the list still begins as it did then.
    """

    def __init__(self, options: Options, state: Any = None) -> None:
        """Nothing is followed yet."""
        self._options = options
        self._state = state
        self._known: list[tuple[Any, Any]] = []
        self._lock = threading.RLock()
        self.chat: Conversation = Conversation()

    def view(self, request: Request) -> View:
        """The window for a request. Costs what is new, and a look at the list."""
        with self._lock:
            entries = self._follow(request)
            window = self.chat.fit()
            return View(_given(request, entries, window), window, self.chat)

    async def aview(self, request: Request) -> View:
        """The same without blocking the event loop while a summariser runs."""
        with self._lock:
            entries = self._follow(request)
        window = await self.chat.afit()
        return View(_given(request, entries, window), window, self.chat)

    @property
    def state(self) -> dict[str, Any]:
        """The cut and what was learned, as small JSON for the host to keep."""
        with self._lock:
            document = self.chat.to_json()
            places = {m["id"]: nth for nth, m in enumerate(document["messages"])}
            said = [entry for _, entry in self._known]
            made: dict[str, Any] = {"entries": len(said), "print": key_of(said)}
            if "cut" in document:
                made["cut"] = _renamed(document["cut"], places)
            if "learned" in document:
                made["learned"] = document["learned"]
            return made

    def _follow(self, request: Request) -> list[Any]:
        """Make the conversation say what the host's list says; its entries."""
        entries = self._read(request)
        model = self._options.model or request.model
        if self.chat.format != request.format or not self._known:
            options = self._options.conversation(model)
            self.chat = Conversation(format=request.format, **options)
        elif self.chat.model != model:
            self.chat.model = model
        self._sync(request, entries)
        if self._state is not None:
            self._resume(request, entries)
        self._known = list(zip(request.messages, entries, strict=True))
        return entries

    def _sync(self, request: Request, entries: list[Any]) -> None:
        before = self._before(entries)
        if before is not None:
            self.chat.sync(before, tools=request.tools, system=request.system)
        self.chat.sync(entries, tools=request.tools, system=request.system)
        self._pin(request)

    def _before(self, entries: list[Any]) -> list[Any] | None:
        """What the list said before placeholders in it were answered, if they were.

        The host may have answered them after the model's last answer, which then has
        not seen them: the conversation is told of the rest first.
        """
        before = [entry for _, entry in self._known]
        answered = [
            (old, new)
            for old, new in zip(before, entries, strict=False)
            if old is not new and old != new
        ]
        if (
            not answered
            or len(entries) <= len(before)
            or not all(map(_is_answer, *zip(*answered, strict=True)))
        ):
            return None
        return [*before, *entries[len(before) :]]

    def _read(self, request: Request) -> list[Any]:
        """The entries; the host's same object, unless new, is read as it was."""
        trusted = min(len(self._known), len(request.messages)) - _TRUSTED_BEFORE
        return [
            self._known[nth][1]
            if nth < trusted and self._known[nth][0] is own
            else request.read(own)
            for nth, own in enumerate(request.messages)
        ]

    def _pin(self, request: Request) -> None:
        """Pin what the host, or its user, says is pinned."""
        asked = [p for p in (request.is_pinned, self._options.pinned) if p is not None]
        if not asked:
            return
        wanted = {
            self.chat._ids_at(nth)[-1]  # noqa: SLF001 - ours
            for nth, own in enumerate(request.messages)
            if any(pinned(own) for pinned in asked)
        }
        here = {m.id for m in self.chat.pinned if m.id is not None}
        for message in sorted(wanted - here):
            self.chat.pin(message)
        # A placeholder that was answered, or a mark that was taken away.
        for message in sorted(here - wanted):
            self.chat.unpin(message)

    def _resume(self, request: Request, entries: list[Any]) -> None:
        """Go on with the cut of another process, where the list is the one it knew."""
        state, self._state = self._state, None
        # A state that was damaged on its way costs a new cut, not the request.
        with suppress(TurnkeepError, LookupError, TypeError):
            length = state["entries"]
            if key_of(entries[:length]) != state["print"]:
                return
            document = self.chat.to_json()
            if "learned" in state:
                document["learned"] = state["learned"]
            if "cut" in state:
                ids = [message["id"] for message in document["messages"]]
                document["cut"] = _renamed(state["cut"], dict(enumerate(ids)))
            options = self._options.conversation(self.chat.model)
            self.chat = Conversation.from_json(document, **options)
            self._sync(request, entries)


def _is_answer(old: Any, new: Any) -> bool:
    """Whether both are results of the same calls."""
    answered = _answered(old)
    return bool(answered) and answered == _answered(new)


def _answered(entry: Any) -> list[Any]:
    """Ids of the calls that an entry answers; their names where there are no ids."""
    call = entry.get("tool_call_id") or entry.get("call_id")
    if call is not None:
        return [call]
    parts = [p for p in entry.get("parts") or () if "functionResponse" in p]
    blocks = [b for b in _list(entry.get("content")) if "toolResult" in b]
    return [part["functionResponse"].get("name") for part in parts] + [
        block["toolResult"].get("toolUseId") for block in blocks
    ]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _given(request: Request, entries: list[Any], window: Window) -> list[Any]:
    """The window in the host's own objects, new ones only where it is new."""
    return _own(request, entries, window.apply(entries))


def _own(request: Request, entries: list[Any], given: Any) -> list[Any]:
    own = {id(e): o for e, o in zip(entries, request.messages, strict=True)}
    return [own[id(e)] if id(e) in own else request.make(e) for e in given]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _renamed(value: Any, names: Mapping[Any, Any]) -> Any:
    """A saved cut whose messages have other names; plain lists and dicts."""
    if isinstance(value, list | tuple):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, Mapping):
        return value
    made = {}
    for key, inner in value.items():
        if key == "content":
            made[key] = json.loads(json.dumps(inner))
        elif key in _IDS:
            made[key] = None if inner is None else names[inner]
        else:
            made[key] = _renamed(inner, names)
    return made


class Followers:
    """Many conversations by key; the least recently used goes.

    Args:
        options:
            What requests are fitted by.
        states:
            Where each conversation's state is kept between processes: any mutable
            mapping, such as `shelve.open(...)`; in memory alone unless given.
        limit:
            How many are kept in memory.
    """

    def __init__(
        self,
        options: Options,
        states: MutableMapping[str, Any] | None = None,
        limit: int = 1_000,
    ) -> None:
        """None are followed yet."""
        self._options = options
        self._states = states
        self._limit = limit
        self._followers: OrderedDict[str, Follower] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, state: Any = None) -> Follower:
        """The conversation of a key; one that goes on from *state* if there is none."""
        with self._lock:
            follower = self._followers.pop(key, None)
            if follower is None:
                if state is None and self._states is not None:
                    state = self._states.get(key)
                follower = Follower(self._options, state)
            self._followers[key] = follower
            while len(self._followers) > self._limit:
                self._followers.popitem(last=False)
            return follower

    def save(self, key: str, follower: Follower) -> None:
        """Keep a conversation's state, where there is a place for it."""
        if self._states is not None:
            self._states[key] = follower.state


def fitted(request: Request, options: Options) -> list[Any]:
    """What fits of a list that nobody follows; costs a look at the whole of it.

    With a target below 1 the cut depends on the list alone, so that lists which only
    grow begin with the same messages.
    """
    entries = [request.read(own) for own in request.messages]
    asked = [p for p in (request.is_pinned, options.pinned) if p is not None]
    pinned = [
        nth
        for nth, own in enumerate(request.messages)
        if any(pinned(own) for pinned in asked)
    ]
    given = fit(
        entries,
        budget=options.budget,
        model=options.model or request.model,
        format=request.format,
        strategy=options.strategy,
        tools=request.tools,
        system=request.system,
        pinned=pinned,
    )
    return _own(request, entries, given)


def usage_of(read: int, written: int, cached: int = 0) -> dict[str, Any]:
    """What a host tells of an answer, for `View.observe`.

    Args:
        read:
            All input tokens, those from the provider's cache among them.
        written:
            Output tokens.
        cached:
            Input tokens that came from the cache.
    """
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written,
    }


def key_of(*parts: Any) -> str:
    """A key for a conversation that its host gives none: by how it begins."""
    return hashlib.sha256(_text(parts).encode(errors="replace")).hexdigest()[:32]
