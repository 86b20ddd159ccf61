"""Random histories that hold everything a history can hold, for property tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from turnkeep.errors import FormatError
from turnkeep.model import (
    Block,
    Content,
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""One transparent pixel."""

PDF = "JVBERi0xLjQKJSBlbXB0eQo="

words: SearchStrategy[str] = st.sampled_from(
    [
        "hello",
        "The project is called Orion.",
        "x = {'a': 1}",
        "línea\nzwei",
        "数据",
        "🙂 fine",
        "<|endoftext|>",
        "0",
    ]
)
"""Texts that every format must carry: not empty, no white space at their ends."""

texts: SearchStrategy[str] = words | st.text(max_size=20)
"""Any text: empty, control characters, and every plane of Unicode."""

names: SearchStrategy[str] = st.sampled_from(["search", "read_file", "build", "f"])
"""Names of tools that every provider takes."""

scalars: SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | words
)

json_values: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abcde"), inner, max_size=3)
    ),
    max_leaves=5,
)

json_objects: SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["path", "query", "depth", "items"]), json_values, max_size=3
)


@attrs.frozen
class Menu:
    """What a generated history may hold."""

    systems: bool = True
    late: bool = True
    """Results that arrive after later messages."""
    reused_ids: bool = True
    pending: bool = True
    """Placeholders and interim answers."""
    open_calls: bool = True
    pictures: bool = True
    documents: bool = True
    thinking: bool = True
    opaque: bool = True
    hosted: bool = True
    """What a provider does itself: its own calls, memories, settings, references."""
    json: bool = True
    errors: bool = True
    odd_text: bool = True
    """Empty and arbitrary text, rather than plain words."""
    host: bool = True
    """Ids, time stamps, pins, counts and other notes of the host."""
    ids: bool = True
    """Ids of calls; without, results are linked by the tool's name."""

    @property
    def text(self) -> SearchStrategy[str]:
        """Texts of messages."""
        return texts if self.odd_text else words


EVERYTHING = Menu()

PLAIN = Menu(
    systems=False,
    late=False,
    reused_ids=False,
    pictures=False,
    documents=False,
    thinking=False,
    opaque=False,
    hosted=False,
    json=False,
    odd_text=False,
    host=False,
    pending=False,
    errors=False,
    open_calls=False,
)
"""What every format can carry: texts, calls and results."""


def pictures() -> SearchStrategy[Image]:
    """Images, inline and by address."""
    return st.sampled_from(
        [
            Image(PNG, "image/png"),
            Image(url="https://example.org/a.png"),
            Image(PNG, "image/png", detail="low"),
        ]
    )


def documents() -> SearchStrategy[Document]:
    """Files: inline, by address, as text."""
    return st.sampled_from(
        [
            Document(PDF, "application/pdf", title="a.pdf"),
            Document(url="https://example.org/a.pdf"),
            Document(text="Plain content.", media_type="text/plain", title="a.txt"),
        ]
    )


def _opaque() -> SearchStrategy[Opaque]:
    value = {"type": "vendor_thing", "value": [1, None, "x"]}
    return st.sampled_from([Opaque(value), Opaque(value, "somewhere")])


def _hosted(kind: str, **keys: Any) -> Opaque:
    """A block of a provider's own doing, of no format's or of Anthropic's."""
    return Opaque({"type": kind, **keys}, "anthropic")


def user_blocks(menu: Menu = EVERYTHING) -> SearchStrategy[list[Block]]:
    """Content of a user message."""
    kinds: list[SearchStrategy[Any]] = [menu.text.map(Text)]
    if menu.pictures:
        kinds.append(pictures())
    if menu.documents:
        kinds.append(documents())
    if menu.opaque:
        kinds.append(_opaque())
    if menu.json:
        kinds.append(json_objects.map(Json))
    if len(kinds) == 1:
        return st.lists(kinds[0], min_size=1, max_size=1)
    return st.lists(st.one_of(kinds), min_size=1, max_size=3)


def result_content(menu: Menu = EVERYTHING) -> SearchStrategy[list[Content]]:
    """Content of a tool result."""
    kinds: list[SearchStrategy[Any]] = [menu.text.map(Text)]
    if menu.pictures:
        kinds.append(pictures())
    if menu.json:
        kinds.append(json_objects.map(Json))
    least = 0 if menu.odd_text else 1
    most = 1 if len(kinds) == 1 else 2
    return st.lists(st.one_of(kinds), min_size=least, max_size=most)


class _Story:
    """Writes one history, and keeps the calls that nobody answered yet."""

    def __init__(self, draw: DrawFn, menu: Menu) -> None:
        self.draw = draw
        self.menu = menu
        self.messages: list[Message] = []
        self.open: list[ToolCall] = []
        self.served: list[str] = []
        """The provider's own calls that it has not answered."""
        self.count = 0

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def add(self, role: Role, blocks: list[Block]) -> None:
        fields: dict[str, Any] = {}
        if self.menu.host and self.chance(3):
            fields = self._notes()
        self.messages.append(Message(role, blocks, **fields))

    def _notes(self) -> dict[str, Any]:
        nth = len(self.messages)
        return {
            "id": f"m{nth}",
            "timestamp": datetime(2026, 1, 2, 3, tzinfo=UTC) + timedelta(seconds=nth),
            "pinned": self.draw(st.booleans()),
            "token_count": self.draw(st.none() | st.integers(0, 99)),
            "priority": self.draw(st.none() | st.integers(0, 9)),
            "metadata": self.draw(json_objects),
        }

    def say(self) -> None:
        choices = ["user", "user", "assistant", "calls", "calls"]
        if self.menu.systems:
            choices.append("system")
        if self.menu.late and self.open:
            choices.append("late")
        if self.menu.hosted:
            choices += ["serve", "host"]
        getattr(self, self.draw(st.sampled_from(choices)))()

    def system(self) -> None:
        self.add(Role.SYSTEM, [Text(self.draw(self.menu.text))])

    def user(self) -> None:
        self.add(Role.USER, self.draw(user_blocks(self.menu)))

    def assistant(self) -> None:
        blocks: list[Block] = [*self._thinking(), Text(self.draw(self.menu.text))]
        self.add(Role.ASSISTANT, blocks)

    def serve(self) -> None:
        """The provider answers what waits, and calls anew: some of it for later."""
        blocks: list[Block] = [
            _hosted("web_search_tool_result", tool_use_id=call_id)
            for call_id in self.served
        ]
        self.served.clear()
        self.count += 1
        call_id = f"srvtoolu_{self.count}"
        blocks.append(_hosted("server_tool_use", id=call_id, name="web_search"))
        if self.chance(3):
            self.served.append(call_id)
        else:
            blocks.append(_hosted("web_search_tool_result", tool_use_id=call_id))
        if self.chance(2):
            blocks.append(Text(self.draw(words)))
        self.add(Role.ASSISTANT, blocks)

    def host(self) -> None:
        """A memory, a setting or a reference."""
        self.count += 1
        what = self.draw(st.sampled_from(["memory", "signed", "item", "set", "refer"]))
        match what:
            case "memory" | "signed":
                seal = {"signature": "QUJD"} if what == "signed" else {}
                block = _hosted("compaction", content=self.draw(words), **seal)
                self.add(Role.ASSISTANT, [block, Text(self.draw(words))])
            case "item":
                self.add(Role.ASSISTANT, [_hosted("compaction", encrypted_content="E")])
            case "set":
                self.add(Role.SYSTEM, [_hosted("tool_addition", tool={"name": "g"})])
            case _:
                self.add(
                    Role.ASSISTANT, [_hosted("item_reference", id=f"msg_{self.count}")]
                )

    def _thinking(self) -> list[Block]:
        if not self.menu.thinking or not self.chance(3):
            return []
        text = self.draw(words)
        kinds = [Thinking(text), Thinking(text, "c2ln"), Thinking(data="ZW5j")]
        return [self.draw(st.sampled_from(kinds))]

    def calls(self) -> None:
        # No provider takes an id twice in one message: only earlier ones come again.
        earlier = list(range(1, self.count + 1))
        made = [self._call(earlier) for _ in range(self.draw(st.integers(1, 3)))]
        said = [Text(self.draw(words))] if self.chance(2) else []
        self.add(Role.ASSISTANT, [*self._thinking(), *said, *made])
        waiting = list(made)
        if self.chance(2):
            waiting.reverse()
        for call in waiting:
            if self.menu.open_calls and self.chance(4):
                self.open.append(call)
            else:
                self.answer(call)

    def _call(self, earlier: list[int]) -> ToolCall:
        self.count += 1
        number = self.count
        if self.menu.reused_ids and self.chance(6) and earlier:
            number = earlier.pop(self.draw(st.integers(0, len(earlier) - 1)))
        arguments: Any = self.draw(json_objects)
        if self.chance(3):
            arguments = '{"path":  "a.py", "n": 1.0}'
        identity = f"call_{number}" if self.menu.ids else None
        return ToolCall(identity, self.draw(names), arguments)

    def answer(self, call: ToolCall) -> None:
        flags: dict[str, Any] = {}
        if self.menu.pending and self.chance(5):
            flags = {self.draw(st.sampled_from(["pending", "interim"])): True}
            self.open.append(call)
        elif self.menu.errors and self.chance(5):
            flags = {"is_error": True}
        content = self.draw(result_content(self.menu))
        named = call.name if not self.menu.ids or self.chance(2) else None
        result = ToolResult(call.id, content, tool_name=named, **flags)
        self.add(Role.TOOL_RESULT, [result])

    def late(self) -> None:
        call = self.open.pop(self.draw(st.integers(0, len(self.open) - 1)))
        self.answer(call)


@st.composite
def histories(
    draw: DrawFn, menu: Menu = EVERYTHING, *, most: int = 8
) -> tuple[Message, ...]:
    """Histories: turns, parallel calls, late results, reused ids, pending and the rest.

    Args:
        draw:
            From Hypothesis.
        menu:
            What may occur.
        most:
            How many things are said at most; each may be several messages.
    """
    story = _Story(draw, menu)
    for _ in range(draw(st.integers(0, most))):
        story.say()
    return tuple(story.messages)


def mangled(
    values: SearchStrategy[dict[str, Any]], keys: list[str]
) -> SearchStrategy[dict[str, Any]]:
    """JSON objects with a few keys changed to something else, dropped or added."""
    junk: SearchStrategy[Any] = json_values | st.sampled_from(["", [], {}, None, 0])

    def change(value: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
        return {**value, **changes}

    def drop(value: dict[str, Any], gone: set[str]) -> dict[str, Any]:
        return {key: v for key, v in value.items() if key not in gone}

    changes = st.dictionaries(st.sampled_from([*keys, "zz"]), junk, max_size=2)
    gone = st.sets(st.sampled_from(keys), max_size=1)
    return st.builds(drop, st.builds(change, values, changes), gone)


def attempt(
    decode: Callable[[Any, str], tuple[Message, ...]], entry: Any, path: str
) -> tuple[Message, ...] | FormatError:
    """The messages of *entry*, or the error that refuses it."""
    try:
        return decode(entry, path)
    except FormatError as error:
        return error


def decoded(
    decode: Callable[[Any, str], tuple[Message, ...]], entries: list[Any]
) -> list[Message]:
    """All messages of *entries*."""
    return [
        message
        for nth, entry in enumerate(entries)
        for message in decode(entry, f"$[{nth}]")
    ]


def unchecked(value: Any, **fields: Any) -> Any:
    """*value* with fields that no caller can give it: what a fault of ours might."""
    for name, given in fields.items():
        object.__setattr__(value, name, given)
    return value
