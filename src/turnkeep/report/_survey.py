"""A history measured: what stands in it, in which turn and step, at what cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from turnkeep.errors import DuplicateIdError
from turnkeep.formats import Envelope, Format
from turnkeep.index._memory import forgotten_in
from turnkeep.model import Message, Role, ToolCall, ToolResult, as_sent
from turnkeep.plans import Plan
from turnkeep.tokens import Parts, RequestCounter
from turnkeep.tokens._old_thinking import leaves_out_thinking, without_thinking
from turnkeep.turns import USER, Grouping, entry_of

KEEP, EDIT, DROP = "keep", "edit", "drop"
"""What a plan does with a message."""

SPEAKERS = ("system", "user", "assistant", "calls", "results", "media", "overhead")
"""What tokens are spent on, in the order in which bars and tables show it."""


@attrs.frozen
class ToolShare:
    """What one tool spends in one message."""

    name: str
    calls: int = 0
    """Number of calls."""
    results: int = 0
    """Number of results."""
    call_tokens: int = 0
    result_tokens: int = 0


@attrs.frozen
class Entry:
    """One message, measured."""

    index: int
    id: str
    """Its own id, else its index."""
    turn: int
    """Its turn, from 0; the preamble has one of its own where there is one."""
    step: int
    role: Role
    parts: Parts
    tools: tuple[ToolShare, ...]
    text: str
    """The beginning of what it says."""
    pinned: bool = False
    pending: tuple[str, ...] = ()
    """The tools whose calls in it are still open."""
    fate: str = KEEP
    cause: str = ""
    tokens_after: int = 0
    """What it costs in the window."""

    @property
    def tokens(self) -> int:
        """What it costs now."""
        return self.parts.total

    def by_speaker(self) -> dict[str, int]:
        """Its tokens by what they are spent on; the keys are of `SPEAKERS`."""
        parts = self.parts
        own = {
            Role.SYSTEM: "system",
            Role.USER: "user",
            Role.TOOL_RESULT: "results",
        }.get(self.role, "assistant")
        spent = {
            own: parts.text + parts.reasoning + parts.other,
            "calls": parts.calls,
            "media": parts.images + parts.documents,
            "overhead": parts.overhead,
        }
        spent["results"] = spent.get("results", 0) + parts.results
        return {name: spent[name] for name in SPEAKERS if spent.get(name)}


@attrs.frozen
class Survey:
    """A whole history, measured."""

    entries: tuple[Entry, ...]
    counter: RequestCounter = attrs.field(repr=False)
    format: str
    tools: int
    """Tokens of the tool definitions."""
    request: int
    """Tokens a request costs beyond its messages and tools."""
    messages: tuple[Message, ...] = attrs.field(default=(), repr=False, eq=False)
    """What the entries measure, one for one."""

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(e.tokens for e in self.entries) + self.tools + self.request

    @property
    def turns(self) -> int:
        """Number of turns, the preamble not counted."""
        if not self.entries:
            return 0
        return max(e.turn for e in self.entries) + self.first_turn

    @property
    def first_turn(self) -> int:
        """The number of the first turn for people: 0 for a preamble, else 1."""
        opening = [e for e in self.entries if e.turn == 0 and e.role == Role.USER]
        return 1 if opening else 0

    def with_plan(self, plan: Plan) -> Survey:
        """The same history with what *plan* does to each message."""
        # Text that stands beside the list is not the plan's to decide about.
        beside = sum(entry.index < 0 for entry in self.entries)
        decided: list[Entry] = list(self.entries[:beside])
        for entry, decision in zip(self.entries[beside:], plan.decisions, strict=True):
            decided.append(
                attrs.evolve(
                    entry,
                    fate=decision.action,
                    cause=str(decision.cause),
                    tokens_after=decision.tokens_after,
                )
            )
        return attrs.evolve(self, entries=tuple(decided))


def survey(
    envelope: Envelope,
    fmt: Format,
    counter: RequestCounter,
    *,
    tools: Any = None,
    pins: frozenset[int] = frozenset(),
    advance: Callable[[int], None] = lambda _done: None,
) -> Survey:
    """Measure a history; counts every message once, so linear in its text.

    Args:
        envelope:
            The list and what stands around it.
        fmt:
            Its format.
        counter:
            Whose count it is.
        tools:
            Tool definitions that stand outside of the input.
        pins:
            Entries of the list that are pinned, beside those that say so themselves.
        advance:
            Told after each entry of the list how many are done.

    Raises:
        FormatError: An entry is not what its format demands.
        DuplicateIdError: Two entries have the same id.
    """
    messages = list(_decoded(envelope, fmt, advance))
    grouping = Grouping(entry_of(message) for _, _, message in messages)
    forgotten = forgotten_in(grouping)
    pending: dict[int, list[str]] = {}
    for call in grouping.open_calls:
        if call.is_hosted:
            continue
        pending.setdefault(call.message, []).append(call.name)
    entries: list[Entry] = []
    # Thinking that the provider leaves out counts nothing.
    asked = grouping.kinds.rfind(USER) if leaves_out_thinking(counter) else -1
    names: dict[int, dict[str | None, str]] = {}
    for place, (wire, ident, message) in enumerate(messages):
        step = grouping.step_of[place]
        known = names.setdefault(step, {})
        known.update({call.id: call.name for call in message.tool_calls})
        sent = as_sent(message)
        left = without_thinking(sent) if place < asked else sent
        if place in forgotten:
            left = None
        parts = Parts() if left is None else counter.parts(left)
        entries.append(
            Entry(
                index=wire,
                id=ident,
                turn=grouping.turn_of(step),
                step=step,
                role=message.role,
                parts=parts,
                tools=tuple(_tools(sent, parts, known, counter)),
                text=_preview(sent),
                pinned=message.pinned or wire in pins,
                pending=tuple(pending.get(place, ())),
                tokens_after=parts.total,
            )
        )
    given = tools if tools is not None else envelope.tools
    return Survey(
        entries=tuple(entries),
        counter=counter,
        format=fmt.name,
        tools=counter.tools(given),
        request=counter.request(has_tools=bool(given)) if entries else 0,
        messages=tuple(message for _, _, message in messages),
    )


_OPEN = 65_536
"""Calls whose tools are remembered while messages are measured one by one."""


def measured(
    entries: Iterable[Any], fmt: Format, counter: RequestCounter
) -> Iterator[Entry]:
    """Measure messages one by one, holding none; turns and steps stay unknown (-1).

    Raises:
        FormatError: An entry is not what its format demands.
    """
    names: dict[str | None, str] = {}
    for nth, wire in enumerate(entries):
        for decoded in fmt.decode(wire, f"$[{nth}]"):
            message = as_sent(decoded)
            for call in message.tool_calls:
                names.pop(call.id, None)
                names[call.id] = call.name
            while len(names) > _OPEN:
                del names[next(iter(names))]
            parts = counter.parts(message)
            yield Entry(
                index=nth,
                id=id_of(wire) or str(nth),
                turn=-1,
                step=-1,
                role=message.role,
                parts=parts,
                tools=tuple(_tools(message, parts, names, counter)),
                text="",
                pinned=message.pinned,
                tokens_after=parts.total,
            )


def _decoded(
    envelope: Envelope, fmt: Format, advance: Callable[[int], None]
) -> Iterator[tuple[int, str, Message]]:
    """Each logical message with its place in the list and its id."""
    if envelope.system:
        for message in fmt.decode_system(envelope.system):
            yield -1, "system", message
    seen: set[str] = set()
    for nth, entry in enumerate(envelope.entries):
        path = f"{envelope.path}[{nth}]"
        identity = id_of(entry)
        if identity is not None:
            if identity in seen:
                raise DuplicateIdError(identity, path)
            seen.add(identity)
        for message in fmt.decode(entry, path):
            yield nth, str(nth) if identity is None else identity, message
        advance(nth + 1)


def id_of(entry: Any) -> str | None:
    """The id that an entry of the list carries itself."""
    identity = entry.get("id") if isinstance(entry, dict) else None
    return identity if isinstance(identity, str) and identity else None


def _tools(
    message: Message,
    parts: Parts,
    names: dict[str | None, str],
    counter: RequestCounter,
) -> Iterator[ToolShare]:
    """What each tool spends in one message; the shares sum up to its parts."""
    calls = message.tool_calls
    for call, tokens in zip(
        calls, _split(parts.calls, calls, message, counter), strict=True
    ):
        yield ToolShare(call.name, calls=1, call_tokens=tokens)
    results = message.tool_results
    for result, tokens in zip(
        results, _split(parts.results, results, message, counter), strict=True
    ):
        name = result.tool_name or names.get(result.tool_call_id) or "unknown tool"
        yield ToolShare(name, results=1, result_tokens=tokens)


def _split(
    total: int,
    blocks: tuple[ToolCall, ...] | tuple[ToolResult, ...],
    message: Message,
    counter: RequestCounter,
) -> list[int]:
    """*total* shared out among *blocks* as their own counts are to each other."""
    if len(blocks) < 2:
        return [total] * len(blocks)
    alone = [counter.parts(message.evolve(content=(block,))) for block in blocks]
    weights = [parts.calls + parts.results for parts in alone]
    shares = [total * weight // (sum(weights) or 1) for weight in weights]
    shares[0] += total - sum(shares)
    return shares


def _preview(message: Message, limit: int = 200) -> str:
    """The first words of a message, on one line."""
    words = message.text[: 4 * limit].split()
    return " ".join(words)[:limit]
