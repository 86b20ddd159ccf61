"""Entries for outlines, and what decoding every entry says of a list."""

from __future__ import annotations

from typing import Any

from tests.generators import decoded
from turnkeep.formats import Format
from turnkeep.formats._outline import own_id
from turnkeep.model import BRIDGE, INTERIM, PENDING, SUMMARY, Message, mark
from turnkeep.turns import MANY_CALLS, MANY_RESULTS, code_of, entry_of, link_id, thinks

WIRE = (
    "openai",
    "mistral",
    "deepseek",
    "ollama",
    "openai-responses",
    "anthropic",
    "gemini",
    "bedrock",
)
"""Formats of providers."""


def said_by_decoding(fmt: Format, entries: list[Any]) -> dict[str, Any]:
    """What an outline must say, found by decoding everything."""
    wire: list[int] = []
    messages: list[Message] = []
    for nth, entry in enumerate(entries):
        for message in fmt.decode(entry, f"$[{nth}]"):
            wire.append(nth)
            messages.append(message)
    rows = list(map(entry_of, messages))
    codes = list(map(code_of, rows))
    pairs = list(zip(codes, rows, strict=True))
    return {
        "codes": codes,
        "calls": [link_id(k) for c, r in pairs if c != MANY_CALLS for k in r.calls],
        "results": [
            link_id(a) for c, r in pairs if c != MANY_RESULTS for a in r.results
        ],
        "many": {
            n: list(r.results) for n, (c, r) in enumerate(pairs) if c == MANY_RESULTS
        },
        "keys": {n: list(row.calls) for n, row in enumerate(rows) if row.calls},
        "summaries": [n for n, row in enumerate(rows) if row.is_summary],
        "reasoning": [n for n, message in enumerate(messages) if thinks(message)],
        "wire": wire,
        "ids": {
            nth: identity
            for nth, entry in enumerate(entries)
            if isinstance(identity := own_id(entry), str)
        },
    }


def said_by_outline(fmt: Format, entries: list[Any]) -> dict[str, Any]:
    """The same, read."""
    found = fmt.outline(entries)
    columns = found.columns
    assert columns is not None
    everything = decoded(fmt.decode, entries)
    assert all(everything[n] == message for n, message in found.messages.items())
    places = [n for n, code in enumerate(columns.codes) if code % 8 == 2 and code > 2]
    return {
        "codes": list(columns.codes),
        "calls": columns.call_ids,
        "results": columns.result_ids,
        "many": {n: list(answers) for n, answers in columns.answers.items()},
        "keys": {n: columns.keys_of(n) for n in places},
        "summaries": list(columns.summaries),
        "reasoning": list(found.reasoning),
        "wire": list(found.wire),
        "ids": {
            nth: identity
            for nth, identity in zip(found.id_at, found.ids, strict=True)
            if isinstance(identity, str)
        },
    }


MARKED = [
    mark(BRIDGE, "Seen:"),
    mark(SUMMARY, "Before:"),
    mark(PENDING, "started"),
    mark(INTERIM, "half"),
    "[turnkeep:error]\nno",
    "[turnkeep:",
]
"""Texts that begin as messages of ours do, not all of them are."""


def ours() -> list[Message]:
    """Messages that say such texts, whoever says them."""
    made = [
        say(text)
        for text in MARKED
        for say in (Message.user, Message.assistant, Message.system)
    ]
    return made + [Message.tool_result("a", text, tool_name="f") for text in MARKED]
