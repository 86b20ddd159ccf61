"""What every host goes through, and what a host must offer for that.

A rule is pinned in the first turn. Three questions follow, of six rounds of two
parallel calls each, whose results have 3.7 kB. The provider's context holds 12,500
tokens, at four characters a token: without us, the second question is the last.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from tests.strict.provider import StrictProvider
from tests.strict.scripts import Answer, Call, Rounds, Seen
from turnkeep import Budget

RULE: Final = "Rule R-77: answers end with the word Amen."
LIMIT: Final = 12_500
BUDGET: Final = Budget(12_000, reserve=500, target=0.6)
QUESTIONS: Final = ("What of Orion?", "What of Lyra?", "What of Cygnus?")
ROUNDS: Final = 6
PARALLEL: Final = 2
DEPLOY: Final = "Deploy it."
"""What needs an approval that comes late."""

SYSTEM: Final = "You look things up before you answer."

Mode = Literal["sync", "async"]


def script(seen: Seen) -> Answer:
    """A rule is noted, a question is looked up."""
    if seen.question.startswith("Rule"):
        return Answer("Noted.")
    if seen.question == DEPLOY and not seen.newest_results:
        return Answer(calls=(Call("approve", {"what": "the deployment"}),))
    return Rounds(ROUNDS, PARALLEL)(seen)


def found(question: str, round: int, part: int) -> str:  # noqa: A002 - what models call it
    """What the tool says: 3.7 kB that no other call says."""
    dice = random.Random(f"{question} {round} {part}")
    mark = f"[{question} round {round} part {part}]"
    words = []
    size = len(mark)
    while size < 3_690:
        word = dice.choice(WORDS)
        words.append(word)
        size += len(word) + 1
    return f"{mark} {' '.join(words)}"


WORDS: Final = ("sun", "is", "far", "and", "we", "see", "it", "in", "the", "sky", "at")


@dataclass(frozen=True)
class Setup:
    """How a chat is set up."""

    provider: StrictProvider
    kept: bool = True
    """Whether with us."""

    streamed: bool = False
    mode: Mode = "sync"
    budget: Budget = BUDGET
    options: dict[str, Any] = field(default_factory=dict)
    """More for the integration: `summarizer`, `on_prune`."""

    system: str = SYSTEM
    model: str = "gpt-4o"
    key: str = "one"
    """Which chat."""


class Chat(Protocol):
    """A chat of a host's, with the tool `lookup`."""

    def ask(self, text: str, *, pinned: bool = False) -> str:
        """Ask, let the host run its tools, and give the answer."""
        ...

    def history(self) -> str:
        """All that the host holds of it, as one text."""
        ...

    def resumed(self) -> Chat:
        """The same chat as another process would go on with it."""
        ...

    def usage(self) -> int:
        """Input tokens that we have been told of."""
        ...

    def resolve(self, text: str) -> None:
        """Answer the approval that is open."""
        ...


class Host(Protocol):
    """A host's adapter for the contract."""

    name: str
    modes: tuple[Mode, ...]
    leaves_open: bool
    """Whether a chat goes on while a call waits for its answer."""

    shows_open: bool
    """Whether the host's requests show such a call."""

    def start(self, setup: Setup) -> Chat:
        """A new chat."""
        ...


HOSTS: Final = {
    "litellm": "litellm",
    "openai_agents": "agents",
    "google_adk": "google.adk",
    "strands": "strands",
    "langchain": "langchain",
    "pydantic_ai": "pydantic_ai",
    "agent_framework": "agent_framework",
}
"""Our name of a host, and its package."""


def is_there(package: str) -> bool:
    """Whether a package is installed here."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def installed() -> list[str]:
    """The hosts that are here, and have an adapter."""
    there = []
    for name, package in HOSTS.items():
        own = importlib.util.find_spec(f"tests.hosts.host_{name}")
        if own is not None and is_there(package):
            there.append(name)
    return there


def host_of(name: str) -> Host:
    """A host's adapter."""
    module = importlib.import_module(f"tests.hosts.host_{name}")
    make: Callable[[], Host] = module.make_host
    return make()
