from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from turnkeep.model import Json, Message, Text, ToolCall, ToolResult

from ._dates import dates_in, month_named, terms_of_date
from ._referents import ByObject

_WORD = re.compile(r"[^\W_]+")
_ORDINAL = re.compile(r"(\d{1,2})(?:[snrt][tdh])")
_JOINED = re.compile(r"[a-z0-9]+|[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")

STOP = frozenset(
    """
    a about above after again all am an and any are as at be because been before being
    below between both but by can could did do does doing don down during each few for
    from further had has have having he her here hers him his how i if in into is isn it
    its itself just let like ll me more most my no nor not now of off on once only or
    other our ours out over own please re s same she should so some such t than thank
    thanks that the their theirs them then there these they this those through to too
    under until up us ve very was we were what when where which while who whom why will
    with would yes you your yours
    """.split()  # noqa: SIM905 - a list of 150 strings is harder to read
)
"""English function words and courtesies. Other languages lose nothing by it: BM25
already gives little weight to what stands everywhere."""


def stem(word: str) -> str:
    """*word* without its commonest English endings.

    Light on purpose: it joins plurals and verb forms, not derivations. What is taken
    off is the same for the question and the history, so a wrong stem does little harm.

    >>> [stem(word) for word in ("flights", "cities", "booked", "booking", "pass")]
    ['flight', 'city', 'book', 'book', 'pass']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for end in ("ing", "ed"):
        if len(word) > len(end) + 2 and word.endswith(end):
            word = word[: -len(end)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word


def terms_in(text: str) -> Iterator[str]:
    """The index terms of a text: words, lower case, stemmed, without stop words.

    Identifiers are indexed by their parts as well, months by their full names, dates
    by what they say however they are written. Linear in the length.

    >>> list(terms_in("Please cancel the flights of user_id mia_li in Sept"))
    ['cancel', 'flight', 'user', 'id', 'mia', 'li', 'september']
    """
    for word in _WORD.findall(text):
        yield from _terms_of_word(word)
    yield from dates_in(text)


@lru_cache(maxsize=1 << 15)
def _terms_of_word(word: str) -> tuple[str, ...]:
    """The terms of one word; texts repeat their words, so most are known."""
    lower = word.lower()
    if lower in STOP:
        return ()
    month = month_named(lower)
    if month is not None:
        return (month,)
    if (day := _ORDINAL.fullmatch(lower)) is not None:
        return (day[1],)
    terms = [stem(lower)]
    if lower != word and not word.isupper() and not word.istitle():
        terms += (
            stem(part.lower())
            for part in _JOINED.findall(word)
            if 2 < len(part) < len(word)
        )
    return tuple(terms)


def _terms(message: Message) -> dict[str, int]:
    counts: dict[str, int] = {}
    for term in _all(message):
        counts[term] = counts.get(term, 0) + 1
    return counts


def _all(message: Message) -> Iterator[str]:
    # Who speaks and when are words too: "what did the user say in May?"
    yield message.role.value
    name = message.extra.get("name")
    if isinstance(name, str):
        yield from terms_in(name)
    if (at := message.timestamp) is not None:
        yield from terms_of_date(at.month, at.day, at.year)
    yield from terms_said(message)


def terms_said(message: Message) -> Iterator[str]:
    """The index terms of what a message says, calls and results included."""
    for block in message.content:
        match block:
            case Text():
                yield from terms_in(block.text)
            case ToolCall():
                yield from terms_in(block.name)
                yield from terms_in(block.text)
            case ToolResult():
                yield from terms_in(block.text)
            case Json():
                yield from terms_in(Message.user([block]).text)
            case _:
                pass


_CACHE: ByObject[dict[str, int]] = ByObject(_terms)


def terms_of(message: Message) -> dict[str, int]:
    """How often each index term stands in a message; found once a message object."""
    return _CACHE.get(message)
