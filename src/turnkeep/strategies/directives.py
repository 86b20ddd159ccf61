"""Standing instructions in what users say, proposed as pins; nothing is pinned here.

A window keeps none of the constraints that were stated long ago; pinning keeps them
all. Whoever wants that without marking messages by hand shows these proposals to a
person (or takes them as they are) and pins what is confirmed:

```python
for proposal in directives(chat.messages, available=8_000, count=count):
    chat.pin(proposal.id)
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import attrs

from turnkeep.budgets import share_of
from turnkeep.model import Message, Role, Text

# A rule says how things are to be done from now on. Each pattern is one way of saying
# that; a request for one thing ("please add a test") is none of them.
_LEAD = r"(?:^|[.!?:;\n]\s*|\b(?:and|but|also|so|ok|okay|please|,)\s+)"
_RULES = re.compile(
    rf"""
    \b(?:from[ ]now[ ]on|going[ ]forward|henceforth)\b
    | \bfor[ ]the[ ]rest[ ]of[ ](?:this|the|our)[ ]
      (?:chat|conversation|session|project|time)\b
    | {_LEAD}(?:remember|keep[ ]in[ ]mind|bear[ ]in[ ]mind|note)(?:\s+that\b|\s*:)
    | {_LEAD}(?:always|never)\s+(?!mind\b|an?\b|the\b|be+n?\b|had\b)[a-z]+
    | \bmust[ ](?:always|never)\b
    | \byou[ ](?:must|should|shall|may|can)[ ](?:always|never|only|not[ ]ever)\b
    | \b(?:make[ ]sure|be[ ]sure|ensure)\b[^.!?\n]{{0,40}}
      \b(?:always|never|every|each)\b
    | \b(?:do[ ]not|don't|dont)[ ](?:ever|at[ ]any[ ](?:time|point))\b
    | \b(?:do[ ]not|don't|dont)[ ][^.!?\n]{{1,80}}
      \b(?:without[ ](?:asking|my|first)|unless[ ](?:i|you|we|asked|told))\b
    | \b(?:every[ ]time|whenever|each[ ]time)[ ](?:you|i|we)\b
    | \b(?:my|our)[ ](?:preference|rule|convention|policy)[ ]is\b
    | \bi(?:'d|[ ]would)?[ ](?:always[ ])?prefer[ ](?:that[ ])?
      (?:you|all|every|answers)\b
    | \b(?:use|write|answer|reply|respond|speak|format)\b[^.!?\n]{{0,40}}
      \b(?:always|only[ ]in|in[ ]all|for[ ]all|from[ ]here)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ASKS = re.compile(
    r"^(?:why|what|who|when|where|how|is|are|does|do you|did|can|could|would|will)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?![\s\n])[^.!?\n]*)*[.!?]*")
_FENCED = re.compile(r"```.*?(?:```|\Z)|<([a-z_-]+)>.*?</\1>", re.DOTALL)
_LONGEST = 400
"""Characters of a sentence; more is a pasted text rather than an instruction."""


@attrs.frozen
class Proposal:
    """A user message that seems to hold a standing instruction."""

    index: int
    """Its place in the history."""
    id: str
    """Its id, or its index as text."""
    sentences: tuple[str, ...]
    """What reads like an instruction, as it was said."""
    tokens: int
    """Tokens that pinning the message would hold."""


def directives(
    messages: Sequence[Message],
    *,
    available: int,
    count: Callable[[Message], int],
    share: float = 0.1,
) -> tuple[Proposal, ...]:
    """User messages worth pinning, oldest first, within a share of the budget.

    Looks at the text of user messages that are not pinned yet, outside code blocks and
    tagged passages. Where the share does not take them all, the newest are proposed:
    later instructions replace earlier ones. Linear in the text of user messages.

    Args:
        messages:
            The history.
        available:
            Tokens the budget leaves for messages.
        count:
            Tokens of a message.
        share:
            Share of *available* that all proposals together may hold.

    Raises:
        ValueError: The share is not between 0 and 1.
    """
    if not 0 < share <= 1:
        msg = f"share must be greater than 0 and at most 1, not {share!r}"
        raise ValueError(msg)
    room = share_of(available, share)
    found: list[Proposal] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role != Role.USER or message.pinned or message.kind is not None:
            continue
        sentences = tuple(_instructions(message))
        if sentences:
            tokens = count(message)
            if tokens <= room:
                room -= tokens
                name = str(index) if message.id is None else message.id
                found.append(Proposal(index, name, sentences, tokens))
    return tuple(reversed(found))


def _instructions(message: Message) -> Iterator[str]:
    """The sentences of a message that read like standing instructions."""
    for block in message.content:
        if isinstance(block, Text):
            for match in _SENTENCE.finditer(_FENCED.sub("\n", block.text)):
                sentence = match.group().strip()
                if reads_like_a_rule(sentence):
                    yield sentence


def reads_like_a_rule(sentence: str) -> bool:
    """Whether a sentence says how things are to be done from now on.

    >>> reads_like_a_rule("Never push to main without asking me.")
    True
    >>> reads_like_a_rule("Please add a test for that.")
    False
    """
    if not 8 <= len(sentence) <= _LONGEST or sentence.endswith("?"):
        return False
    return _RULES.search(sentence) is not None and _ASKS.match(sentence) is None
