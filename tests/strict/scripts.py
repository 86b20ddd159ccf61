"""What a model of the strict provider reads, and what it says to that.

A script is called with what a request shows and gives the model's answer. `Rounds`
needs no memory: it reads from the newest results how far its question is, so that chats
may run side by side, be pruned, or go on in another process.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class Call:
    """A tool call; its id is the provider's business unless given."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True)
class Result:
    """The answer to a call, as a request shows it."""

    id: str | None
    text: str
    name: str | None = None


@dataclass(frozen=True)
class Said:
    """One entry of a request, the same for every API."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What a request shows to the model."""

    said: tuple[Said, ...]
    tools: tuple[str, ...] = ()
    """Names of the tools it may call."""

    @property
    def question(self) -> str:
        """The last text of a user."""
        texts = [s.text for s in self.said if s.role == "user" and s.text]
        return texts[-1] if texts else ""

    @property
    def newest_results(self) -> tuple[Result, ...]:
        """The results that came in behind everything else."""
        found: list[Result] = []
        for said in reversed(self.said):
            if said.role == "assistant" or (said.text and said.role == "user"):
                break
            found[:0] = said.results
        return tuple(found)

    @property
    def newest_calls(self) -> tuple[Call, ...]:
        """The calls of the last assistant message that made some."""
        for said in reversed(self.said):
            if said.calls:
                return said.calls
        return ()

    @property
    def text(self) -> str:
        """Everything that can be read in it, in one piece."""
        lines: list[str] = []
        for said in self.said:
            lines += [said.text, *(r.text for r in said.results)]
            lines += [f"{c.name}({dict(c.arguments)})" for c in said.calls]
        return "\n".join(filter(None, lines))


@dataclass(frozen=True)
class Answer:
    """What the model says; text, calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    """Reasoning before it, where the API has a place for it."""

    pause: float = 0.0
    """Seconds between two events of a stream."""


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of an answer."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Seen], Answer | Failure]


@dataclass(frozen=True)
class Rounds:
    """Rounds of parallel calls of one tool for each question, then an answer.

    The tool takes `question`, `round` and `part`, a text and two numbers. The answer of
    question q is `Final answer to <q>.`
    """

    rounds: int = 6
    parallel: int = 2
    tool: str = "lookup"
    thinking: bool = False

    def __call__(self, seen: Seen) -> Answer:
        """The next round, or the answer."""
        question, done = self._so_far(seen)
        if done >= self.rounds or self.tool not in seen.tools:
            return Answer(f"Final answer to {question}.")
        calls = tuple(
            Call(self.tool, {"question": question, "round": done + 1, "part": part})
            for part in range(1, self.parallel + 1)
        )
        thought = f"Round {done + 1} of {question}." if self.thinking else ""
        return Answer(calls=calls, thinking=thought)

    def _so_far(self, seen: Seen) -> tuple[str, int]:
        """The question in short, and the rounds that it has had."""
        newest = seen.newest_calls
        if seen.newest_results and newest and newest[0].name == self.tool:
            arguments = newest[0].arguments
            done = int(arguments.get("round", self.rounds))
            return str(arguments.get("question", "it")), done
        return " ".join(re.findall(r"[\w-]+", seen.question)[:6]), 0


class InTurn:
    """Answers one after the other; what follows the last is the last again."""

    def __init__(self, answers: Iterable[Answer | Failure]) -> None:
        """Keep *answers*."""
        self._answers = list(answers)
        self._next = 0
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Answer | Failure:
        """The next of them."""
        del seen
        with self._lock:
            answer = self._answers[min(self._next, len(self._answers) - 1)]
            self._next += 1
        return answer
