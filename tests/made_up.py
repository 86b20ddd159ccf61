"""A provider that nobody has; with one row of the table, this file is all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnkeep.formats._base import Envelope
from turnkeep.formats._chat._open import open_list
from turnkeep.formats._marks import NEVER, Judgement, Marks
from turnkeep.formats._outline import Outline, outline_decoded
from turnkeep.model import Message, ToolCall
from turnkeep.profiles import Findings, Policy, Profile, Request, Rule
from turnkeep.profiles._base import by_number
from turnkeep.profiles._pairs import Half, PairRules, Said, Spot, check_pairs
from turnkeep.tokens._rules import Rules

_SPEAKERS = ("boss", "human", "robot", "tool")


def _judge(entry: dict[str, Any]) -> Judgement:
    return (2, "by") if "by" in entry else (NEVER, "nobody speaks")


class Acme:
    """`{"by": "robot", "say": "...", "ask": [[ref, tool, {...}]]}`."""

    name = "acme"
    marks = Marks(_judge, lists=("dialogue",))

    def open(self, value: Any) -> Envelope:
        """See `Format.open`."""
        return open_list(value, self.name, key="dialogue")

    def outline(self, entries: Sequence[Any], path: str = "$") -> Outline:
        """See `Format.outline`."""
        return outline_decoded(entries, self.decode, path)

    def decode(self, entry: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode`."""
        del path
        match entry:
            case {"by": "tool"}:
                return (Message.tool_result(entry["ref"], entry["say"], layout="acme"),)
            case {"by": "robot", "ask": calls}:
                asked = tuple(ToolCall(*call) for call in calls)
                return (Message("assistant", asked, layout="acme"),)
            case {"by": "robot"}:
                return (Message.assistant(entry["say"], layout="acme"),)
            case {"by": "boss"}:
                return (Message.system(entry["say"], layout="acme"),)
            case _:
                return (Message.user(entry["say"], layout="acme"),)

    def encode(self, messages: Sequence[Message]) -> list[Any]:
        """See `Format.encode`."""
        return [self._entry(message) for message in messages]

    def _entry(self, message: Message) -> dict[str, Any]:
        for result in message.tool_results:
            return {"by": "tool", "ref": result.tool_call_id, "say": result.text}
        if calls := message.tool_calls:
            asked = [[call.id, call.name, call.arguments] for call in calls]
            return {"by": "robot", "ask": asked}
        speaker = {"system": "boss", "user": "human"}.get(message.role.value, "robot")
        return {"by": speaker, "say": message.text}

    def decode_system(self, system: Any, path: str = "$") -> tuple[Message, ...]:
        """See `Format.decode_system`."""
        del path
        return (Message.system(system),) if system else ()

    def encode_request(
        self, messages: Sequence[Message], tools: Any = None
    ) -> dict[str, Any]:
        """See `Format.encode_request`."""
        return {
            "dialogue": self.encode(messages),
            **({"tools": tools} if tools else {}),
        }

    def losses(self, message: Message) -> list[str]:
        """See `Format.losses`."""
        del message
        return []


class AcmeRules(Rules):
    """A token for whoever speaks."""

    label = "acme"
    source = "made up"
    per_message = 1
    priming = 0


RULES = by_number(
    Rule("AC-01", "Nobody else speaks.", "Name one of the four."),
    Rule("AC-02", "Every call has its result.", "Bring the result back."),
    Rule("AC-03", "Every result has its call.", "Drop the result."),
)
_PAIRS = PairRules(
    reach="behind",
    unanswered=Said("AC-02", "nothing answers {ids}"),
    unknown=Said("AC-03", "nobody asked for {id}"),
)


def check(request: Request, found: Findings) -> None:
    """Who speaks, and what pairs up."""
    spots: list[Spot] = []
    for nth, entry in enumerate(request.entries):
        path, by = request.at(nth), entry.get("by")
        if by not in _SPEAKERS:
            found.add("AC-01", path, f"{by} speaks")
        calls = [Half(call[0], path) for call in entry.get("ask", ())]
        results = [Half(entry["ref"], path)] if by == "tool" else []
        spots.append(Spot(path, str(by), calls, results, only_results=by == "tool"))
    check_pairs(spots, _PAIRS, found)


def profile(model: str | None = None) -> Profile:
    """What it demands."""
    return Profile(
        name="acme",
        title="Acme",
        formats=("acme",),
        list_key="dialogue",
        rules=RULES,
        policy=Policy(),
        check=check,
        model=model,
    )
