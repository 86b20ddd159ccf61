"""What following a host's list costs, beside taking the whole list anew.

``pytest benchmarks/bench_sync.py`` prints a row for each thing that a host may have
done to a list of 50,000 messages. Times never fail a run.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, Final

from benchmarks._tools import promise
from turnkeep import Budget, Conversation, Synced

LENGTH: Final = 50_000
ROUNDS: Final = 5

Entries = list[dict[str, Any]]


def chat_of(turns: int) -> Entries:
    """Questions with a tool round each: five messages a turn."""
    entries: Entries = []
    for nth in range(turns):
        call = {"name": "look", "arguments": f'{{"page": {nth}}}'}
        made = {"id": f"call_{nth}", "type": "function", "function": call}
        entries += [
            {"role": "user", "content": f"What does page {nth} say?"},
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": f"call_{nth}", "content": f"page {nth}"},
            {"role": "assistant", "content": f"It says: page {nth}."},
            {"role": "user", "content": "Thank you."},
        ]
    return entries


class Host:
    """A list, and a conversation that follows it."""

    def __init__(self) -> None:
        """Both as long as it gets, and known to each other."""
        self.entries = chat_of(LENGTH // 5)
        self.chat = Conversation(model="gpt-4o", budget=Budget(8_000, target=0.6))
        self.chat.sync(self.entries)
        self.chat.fit()

    def timed(self, work: Callable[[], object]) -> float:
        """Milliseconds of processor time."""
        begun = process_time()
        work()
        return (process_time() - begun) * 1e3

    def sync(self, entries: Entries, **how: Any) -> Synced:
        """Follow, and see that it was right."""
        done = self.chat.sync(entries, **how)
        assert len(self.chat) == len(entries)
        return done


def _same(host: Host, nth: int) -> Callable[[], object]:
    del nth
    return lambda: host.sync(host.entries)


def _two_new(host: Host, nth: int) -> Callable[[], object]:
    host.entries += [
        {"role": "user", "content": f"And {nth}?"},
        {"role": "assistant", "content": f"And {nth}."},
    ]
    return lambda: host.sync(host.entries)


def _in_place(host: Host, nth: int) -> Callable[[], object]:
    host.entries[-1]["content"] = f"Thank you, {nth}."
    return lambda: host.sync(host.entries)


def _copies(host: Host, nth: int) -> Callable[[], object]:
    del nth
    copies = [copy.copy(entry) for entry in host.entries]
    return lambda: host.sync(copies)


def _from_json(host: Host, nth: int) -> Callable[[], object]:
    del nth
    loaded = json.loads(json.dumps(host.entries))
    return lambda: host.sync(loaded)


def _deep(host: Host, nth: int) -> Callable[[], object]:
    del nth
    host.sync(host.entries)
    return lambda: host.sync(host.entries, deep=True)


def _apply(host: Host, nth: int) -> Callable[[], object]:
    del nth
    host.sync(host.entries)
    window = host.chat.fit()
    return lambda: window.apply(host.entries)


def _branch(host: Host, nth: int) -> Callable[[], object]:
    host.entries[-3:] = [{"role": "user", "content": f"Another way: {nth}"}]
    return lambda: host.sync(host.entries)


def _head(host: Host, nth: int) -> Callable[[], object]:
    del nth
    del host.entries[:5]
    return lambda: host.sync(host.entries)


def _refeed(host: Host, nth: int) -> Callable[[], object]:
    del nth
    return lambda: Conversation.from_messages(host.entries, model="gpt-4o").fit(8_000)


ROWS: Final[dict[str, tuple[Callable[[Host, int], Callable[[], object]], float]]] = {
    "nothing new": (_same, 2),
    "two new": (_two_new, 2),
    "last message changed in place": (_in_place, 2),
    "equal copies": (_copies, 20),
    "fresh JSON": (_from_json, 20),
    "deep=True": (_deep, 20),
    "apply": (_apply, 2),
    "branch, three gone": (_branch, 20),
    "head gone": (_head, 200),
    "everything fed anew, and fitted": (_refeed, 2_000),
}
"""What a host does, and the milliseconds that following it may take."""


def bench_sync() -> None:
    """Each after the other, on one list; the middle of a few rounds."""
    host = Host()
    for name, (prepare, bound) in ROWS.items():
        times = [host.timed(prepare(host, nth)) for nth in range(ROUNDS)]
        promise(f"sync of {LENGTH:,}: {name}", bound, median(times), "ms")
