"""What histories spend by role and by tool, summed up message by message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import attrs

from turnkeep.report._survey import SPEAKERS, Entry, Survey


@attrs.frozen
class Share:
    """One line of the table."""

    name: str
    tokens: int
    kind: str
    """Whose colour its bar has."""

    note: str = ""
    count: int = 1
    """How many messages or calls it sums up."""


@attrs.define
class Sums:
    """Sums that grow with the number of tools alone, however long a history is."""

    speakers: dict[str, int] = attrs.field(
        factory=lambda: dict.fromkeys(SPEAKERS, 0), init=False
    )
    tools: dict[str, list[int]] = attrs.field(factory=dict, init=False)
    """Of each tool: its calls, their tokens, and those of its results."""

    messages: int = attrs.field(default=0, init=False)
    spent: int = attrs.field(default=0, init=False)
    """Tokens of the messages."""

    definitions: int = 0
    """Tokens of tool definitions."""

    request: int = 0
    """Tokens a request costs beyond its messages and tools."""

    @classmethod
    def of(cls, survey: Survey) -> Self:
        """Those of a whole history."""
        sums = cls(survey.tools, survey.request)
        sums.add(survey.entries)
        return sums

    @property
    def total(self) -> int:
        """Tokens of everything."""
        return self.spent + self.definitions + self.request

    def add(self, entries: Iterable[Entry]) -> None:
        """Take messages in; linear in their number, holds none."""
        for entry in entries:
            self.messages += 1
            self.spent += entry.tokens
            for kind, spent in entry.by_speaker().items():
                self.speakers[kind] += spent
            for share in entry.tools:
                sums = self.tools.setdefault(share.name, [0, 0, 0])
                sums[0] += share.calls
                sums[1] += share.call_tokens
                sums[2] += share.result_tokens

    def by_role(self) -> list[Share]:
        """Who spends what; tool definitions and overhead apart."""
        tokens = {**self.speakers}
        tokens["overhead"] += self.request
        shares = [Share(kind, spent, kind) for kind, spent in tokens.items() if spent]
        if self.definitions:
            shares.append(Share("tool definitions", self.definitions, "tools"))
        return shares

    def by_tool(self) -> list[Share]:
        """Each tool's calls and results; what is no tool's is summed up in one line."""
        shares = [
            Share(
                name,
                in_calls + in_results,
                "results" if in_results >= in_calls else "calls",
                f"{number:,} {'call' if number == 1 else 'calls'}: "
                f"{in_calls:,} in, {in_results:,} out",
                number,
            )
            for name, (number, in_calls, in_results) in self.tools.items()
        ]
        rest = self.spent - sum(share.tokens for share in shares)
        return [*shares, Share("no tool", rest, "user", "text and overhead")]

    def around(self) -> list[Share]:
        """What no message spends."""
        found = (("tool definitions", self.definitions), ("request", self.request))
        return [Share(name, spent, "overhead") for name, spent in found if spent]
