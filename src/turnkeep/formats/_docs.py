"""The manual's page on formats, written by asking the formats themselves.

`python -m turnkeep.formats._docs > docs/reference/formats.md` renews it; a test
compares the two. Nothing in its tables is claimed: each cell is what became of a
message that was encoded and decoded again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs

from turnkeep.model import (
    Document,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from ._base import Format
from ._registry import FORMATS, READ_ONLY, get_format

_HEAD = """\
# Formats

A format is a JSON shape for message lists. It is found out from the shape alone unless
`format=` (or `--format`) names it. What comes in goes out key for key: what turnkeep
does not interpret is carried along, and so is how a thing was spelled.

Keys and types of blocks decide that only one format has. A list of plain roles and
contents belongs to all chat formats alike: then the model's own is taken, else
`openai`. So it is where several formats share the marks and would return the same JSON;
where they would not, that is an error that lists the candidates. Keys of a host's own
(`pinned`, `timestamp`, `kind`, `metadata`, ...) mean nothing outside turnkeep's own
JSON, and new types of items and blocks are carried beside those that are known.

The messages of LangChain (what `messages_to_dict`, `dumpd` and `model_dump` write) and
of Pydantic AI (what `ModelMessagesTypeAdapter` writes) are read and written, and so are
their objects themselves. Those of another library (the AI SDK, Haystack, LlamaIndex,
AutoGen, smolagents, ...) are refused in a sentence that names it, unless `format=` says
what they are; so are the files of programs that are not read (Cline's and Roo Code's,
Continue, Zed, Open WebUI, LangSmith, LangGraph, Langfuse, Strands, Inspect).

A list may hold the objects of an SDK, whole or inside an entry: whatever has
`model_dump` or `to_dict` is read as it would be sent, and the caller's own objects come
back. An edited one is made by the type of what it replaces, else it is a dict.

```{format-list}
```

## What each can carry

Within one format nothing is lost. The tables say what survives a move *into* a format
from another one, or from `Message` objects: **yes**; by a fixed first **line** of text,
where the format has no field for it; **moved** behind the message; or not at all (-).
`convert` reports every loss, and refuses it with `strict=True`.

<!-- Written by `python -m turnkeep.formats._docs`: change the formats instead. -->
"""

_BETWEEN = """
`messages`, a list of `Message` objects, carries everything.
"""

_TAIL = """
## Finding out, and reading files

```{eval-rst}
.. currentmodule:: turnkeep.formats

.. autofunction:: detect

.. autofunction:: get_format

.. autofunction:: open_messages

.. autofunction:: read

.. autofunction:: read_entries
.. autofunction:: parse_json

.. autofunction:: match_format

.. autofunction:: format_of_model

.. autofunction:: read_objects

.. autofunction:: reopen

.. py:data:: turnkeep.FORMATS

   The names of all formats that can be given as *format*.
```

## What a format is made of

```{eval-rst}
.. autoclass:: Format()
   :members:

.. autoclass:: Envelope()
   :members:

.. autoclass:: Detection()
   :members:

.. autoclass:: Match()
   :members:

.. autoclass:: Marks()
   :members:

.. autoclass:: Reading()
   :members:

.. autoclass:: Line()
   :members:

.. autoclass:: Loss()
   :members:

.. autofunction:: decode_entries

.. autofunction:: origin_of

.. autofunction:: layout_of

.. autofunction:: is_own

.. py:data:: turnkeep.formats.Judgement

   A format's verdict on an entry: a number, larger for a closer match, and a sentence.
```
"""

_PNG = "iVBORw0KGgoAAAANSUhEUg=="
_WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_CALLS = (ToolCall("call_1", "f", {"x": 1}), ToolCall("call_2", "g", '{"x":  1.0}'))


@attrs.frozen
class _Feature:
    """Something a history may hold, and how to see whether it is still there."""

    name: str
    history: Sequence[Message]
    survives: Callable[[Sequence[Message]], bool]


def _blocks(messages: Sequence[Message], kind: type) -> list[Any]:
    return [
        block
        for message in messages
        for part in message.content
        for block in (part.content if isinstance(part, ToolResult) else (part,))
        if isinstance(block, kind)
    ]


def _result(content: Any = "done", **flags: Any) -> list[Message]:
    call = ToolCall("call_1", "f", {"x": 1})
    return [
        Message.user("do it"),
        Message.assistant(tool_calls=[call]),
        Message.tool_result("call_1", content, tool_name="f", **flags),
    ]


def _results(messages: Sequence[Message]) -> list[ToolResult]:
    return [result for message in messages for result in message.tool_results]


def _noted(**fields: Any) -> tuple[list[Message], Callable[[Sequence[Message]], bool]]:
    made = [Message.user("hi", **fields)]
    (key,) = fields
    return made, lambda found: any(getattr(m, key) == fields[key] for m in found)


_TALK = (
    _Feature(
        "system messages anywhere",
        [Message.user("a"), Message.system("s"), Message.user("b")],
        lambda found: [m.role.value for m in found] == ["user", "system", "user"],
    ),
    _Feature(
        "parallel calls",
        [Message.user("a"), Message.assistant(tool_calls=_CALLS)],
        lambda found: sum(len(m.tool_calls) for m in found) == 2,
    ),
    _Feature(
        "ids of calls",
        [Message.user("a"), Message.assistant(tool_calls=_CALLS)],
        lambda found: (
            [c.id for m in found for c in m.tool_calls] == ["call_1", "call_2"]
        ),
    ),
    _Feature(
        "arguments byte for byte",
        [Message.user("a"), Message.assistant(tool_calls=_CALLS)],
        lambda found: '{"x":  1.0}' in [c.text for m in found for c in m.tool_calls],
    ),
    _Feature(
        "the tool's name on results",
        _result(),
        lambda found: [r.tool_name for r in _results(found)] == ["f"],
    ),
    _Feature(
        "failed results",
        _result("boom", is_error=True),
        lambda found: (
            [(r.is_error, r.text) for r in _results(found)] == [(True, "boom")]
        ),
    ),
    _Feature(
        "pending results",
        _result("started", pending=True),
        lambda found: (
            [(r.pending, r.text) for r in _results(found)] == [(True, "started")]
        ),
    ),
    _Feature(
        "reasoning",
        [Message.user("a"), Message.assistant([Thinking("hm"), Text("b")])],
        lambda found: [b.text for b in _blocks(found, Thinking)] == ["hm"],
    ),
)

_CONTENT = (
    _Feature(
        "images",
        [Message.user([Text("see"), Image(_PNG, "image/png")])],
        lambda found: [b.data for b in _blocks(found, Image)] == [_PNG],
    ),
    _Feature(
        "images by address",
        [Message.user([Text("see"), Image(url="https://e.org/a.png")])],
        lambda found: [b.url for b in _blocks(found, Image)] == ["https://e.org/a.png"],
    ),
    _Feature(
        "images in results",
        _result([Text("see"), Image(_PNG, "image/png")]),
        lambda found: [b.data for b in _blocks(found, Image)] == [_PNG],
    ),
    _Feature(
        "files",
        [Message.user([Text("see"), Document("JVBERi0x", "application/pdf")])],
        lambda found: [b.data for b in _blocks(found, Document)] == ["JVBERi0x"],
    ),
    _Feature(
        "structured content",
        [Message.user([Json({"a": 1})])],
        lambda found: [b.value for b in _blocks(found, Json)] == [{"a": 1}],
    ),
)

_NOTES = (
    _Feature("message ids", *_noted(id="m-1")),
    _Feature("time stamps", *_noted(timestamp=_WHEN)),
    _Feature("token counts", *_noted(token_count=7)),
    _Feature("pins", *_noted(pinned=True)),
    _Feature("priorities", *_noted(priority=3)),
    _Feature("metadata", *_noted(metadata={"a": 1})),
    _Feature("kinds", *_noted(kind="context_checkpoint")),
)


def _cell(fmt: Format, feature: _Feature) -> str:
    entries = fmt.encode(feature.history)
    found = [message for entry in entries for message in fmt.decode(entry)]
    if not feature.survives(found):
        return "-"
    written = json.dumps(entries)
    if "[turnkeep:bridge " in written:
        return "moved"
    return "line" if "[turnkeep:" in written else "yes"


def _table(title: str, features: Sequence[_Feature], names: Sequence[str]) -> str:
    head = ["format", *(feature.name for feature in features)]
    rows = [
        [f"`{name}`", *(_cell(get_format(name), feature) for feature in features)]
        for name in names
    ]
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"\n### {title}\n\n{body}\n"


_SESSIONS = """
## Sessions of other programs

These are only read: session files are written by the program they belong to. What you
get is what that program would send next, in the format of the provider that it speaks
to; `Envelope.notes`, and stderr on the command line, say what was left out.
[Look at a session you have](../how-to/look-at-a-session.md) shows how.

| format | its files | given as |
| --- | --- | --- |
"""


def _session_row(name: str) -> str:
    fmt: Any = get_format(name)
    wire = getattr(fmt, "wire", None)
    given = (
        "its own lines, Anthropic's messages inside" if wire is None else f"`{wire}`"
    )
    if name in _MANY:
        given = "the format of the body or answer inside"
    return f"| `{name}` | {fmt.files} | {given} |\n"


_MANY = frozenset({"batch", "response"})
"""Sessions that may be in any provider's format."""


def page() -> str:
    """The page as Markdown."""
    sessions = [name for name in FORMATS if name in READ_ONLY]
    names = [name for name in FORMATS if name not in {*sessions, "messages"}]
    return "".join(
        [
            _HEAD,
            _table("Calls, results and reasoning", _TALK, names),
            _table("Content", _CONTENT, names),
            _table("Notes of the host", _NOTES, names),
            _BETWEEN,
            _SESSIONS,
            *map(_session_row, sessions),
            _TAIL,
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(page())
