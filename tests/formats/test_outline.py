"""An outline says what decoding every entry says, in every wire format."""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnkeep
from tests.chats import Entry, call, chats, placeholder, result, say, size, system, user
from tests.formats.outlines import WIRE, ours, said_by_decoding, said_by_outline
from tests.generators import EVERYTHING, attempt, histories, mangled
from tests.paths import read_corpus
from tests.test_turns import in_blocks_of
from turnkeep import FormatError, LargestFirst, OldestTurns
from turnkeep.formats import Format, get_format
from turnkeep.formats._outline import outline_decoded
from turnkeep.model import BRIDGE

every = pytest.mark.parametrize("name", WIRE)
NAMELESS = attrs.evolve(EVERYTHING, ids=False)


def agrees(name: str, entries: list[Any]) -> bool:
    """Check that both ways say the same: the first error, or all columns.

    False where only decoding refuses the entries: depth, which is looked at where it
    is counted or kept.
    """
    fmt = get_format(name)
    for nth, entry in enumerate(entries):
        refused = attempt(fmt.decode, entry, f"$[{nth}]")
        if isinstance(refused, FormatError):
            try:
                fmt.outline(entries)
            except FormatError as error:
                assert str(error) == str(refused)
                return True
            return False
    assert said_by_outline(fmt, entries) == said_by_decoding(fmt, entries)
    return True


@st.composite
def lists(draw: st.DrawFn, name: str) -> list[Any]:
    """Histories of all kinds, with messages of ours and ids strewn in."""
    fmt = get_format(name)
    history = list(draw(histories(draw(st.sampled_from([EVERYTHING, NAMELESS])))))
    for message in draw(st.lists(st.sampled_from(ours()), max_size=2)):
        history.insert(draw(st.integers(0, len(history))), message)
    entries = fmt.encode(history)
    for nth in draw(st.sets(st.integers(0, 7), max_size=3)):
        if nth < len(entries):
            entries[nth] = {**entries[nth], "id": f"m{nth}"}
    for odd in draw(st.lists(st.sampled_from(ODD[name]), max_size=2)):
        at = draw(st.integers(0, len(entries)))
        entries[at:at] = odd
    if draw(st.booleans()):
        entries = json.loads(json.dumps(entries))
    return entries


class Words(str):
    """A text of a caller's own type."""

    __slots__ = ()


MANY = [f"c{nth}" for nth in range(40)]
OURS = f"{BRIDGE}\nSeen:"
OURS_IN_PARTS: list[Any] = [
    {"type": "text", "text": OURS},
    {"type": "text", "text": Words(OURS)},
    {"type": Words("text"), "text": OURS},
    OrderedDict(type="text", text=OURS),
    {"type": "refusal", "refusal": OURS},
]
"""First content parts that begin as messages of ours do."""
CUSTOM: Entry = {"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}
CALL: Entry = {
    "id": "a",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}
CHAT: list[list[dict[str, Any]]] = [
    [{"role": "assistant", "content": None}],
    [{"role": "assistant"}],
    [{"role": "assistant", "content": "x", "reasoning_content": "so"}],
    [{"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": None}]}],
    [{"role": "assistant", "reasoning": "so", "tool_calls": [CALL, CALL]}],
    [{"role": "assistant", "content": "x", "tool_calls": []}],
    [{"role": "assistant", "content": "x", "tool_calls": None, "id": "quiet"}],
    [{"role": "assistant", "content": [{"type": "text", "text": "so"}]}],
    [{"role": "assistant", "content": None, "tool_calls": [CUSTOM], "id": "caller"}],
    [{"role": "developer", "content": "be brief", "name": "boss"}],
    [{"role": "system", "content": [{"type": "text", "text": "be brief"}]}],
    [{"role": "user", "content": [{"type": "text", "text": "hi"}], "id": "own"}],
    *([{"role": "user", "content": [part]}] for part in OURS_IN_PARTS),
    [{"role": "user", "content": OURS}],
    [{"role": "user", "content": Words(OURS)}],
    [{"role": "user", "content": []}],
    [{"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "r"}]}],
    [{"role": "tool", "tool_call_id": "a", "content": "[turnkeep:error]\nno"}],
    [
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": "[turnkeep:interim 6d20911d]\nhalf",
        }
    ],
    [{"role": "tool", "tool_call_id": "a", "content": "r", "name": "f", "id": "got"}],
    [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}],
    [{"role": "function", "name": "f", "content": "r"}],
    [call("a"), placeholder("a")],
    [call("a", "b"), result("a"), placeholder("b"), say(), result("b")],
    [call("a", "a"), result("a"), result("a"), result("a")],
    [call(*MANY), *map(result, MANY)],
    [call(*MANY), *map(result, MANY[:30]), user(), *map(result, MANY[30:])],
]
"""Chat messages that are spelled or paired in another way than most."""

OPENAI_ONLY: list[list[Any]] = [
    [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}],
    [{"role": "function", "name": "f", "content": "r"}],
    [{"role": "developer", "content": "be brief", "name": "boss"}],
]


def calling(*names: str, **ids: str) -> Entry:
    """Ollama's message with calls: of *names* alone, or with ids."""
    calls: list[Entry] = [{"function": {"name": n, "arguments": {}}} for n in names]
    calls += [
        {"id": call_id, "function": {"name": name, "arguments": {}}}
        for call_id, name in ids.items()
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def told(name: str, text: str = "r", **keys: Any) -> Entry:
    """Ollama's result of a tool."""
    return {"role": "tool", "content": text, "tool_name": name, **keys}


OLLAMA: list[list[Any]] = [
    [calling("f"), told("f")],
    [calling("f", "g", "f"), told("g"), told("f"), told("f")],
    [calling("f", a="f"), told("f"), told("f", tool_call_id="a")],
    [calling(a="f"), told("f"), told("f")],
    [calling(*MANY), *map(told, MANY)],
    [told("f", "[turnkeep:interim 6d20911d]\nhalf"), told("f", images=[])],
    [{"role": "tool", "content": "r"}],
    [{"role": "assistant", "content": "x", "thinking": "so", "id": "own"}],
    [{"role": "user", "content": "x", "images": None}],
    [{"role": "user", "content": OURS, "name": "u"}],
    [{"role": "user", "thinking": "so", "content": ""}],
]


def item(call_id: str = "a", **keys: Any) -> Entry:
    """A call of the Responses API."""
    fields: Entry = {"type": "function_call", "call_id": call_id, "name": "f"}
    return {**fields, "arguments": "{}", **keys}


def output(call_id: str = "a", said: Any = "r", **keys: Any) -> Entry:
    """Its answer."""
    return {"type": "function_call_output", "call_id": call_id, "output": said, **keys}


RESPONSES: list[list[Any]] = [
    [item(), output()],
    [item(), item("b"), output(), output("b"), item("a", id="i"), output(id="o")],
    [output(said=[{"type": "input_text", "text": "[turnkeep:pending 5db3788d]\nso"}])],
    [output(said=[]), output(said="[turnkeep:interim 6d20911d]\nhalf")],
    [item(type="custom_tool_call", input="x"), output(type="custom_tool_call_output")],
    [{"type": "local_shell_call", "call_id": "s", "action": {}}],
    [{"type": "local_shell_call_output", "id": "s", "output": "r"}],
    [{"type": "reasoning", "summary": [], "encrypted_content": "x", "id": "r"}],
    [{"type": "item_reference", "id": "r"}],
    [{"type": "message", "role": "developer", "content": "x"}],
    [{"role": "user", "content": [{"type": "input_text", "text": OURS}]}],
    [{"role": "user", "content": [{"type": "refusal", "refusal": OURS}]}],
    [{"role": "user", "content": []}],
]


def use(*ids: str, **more: Any) -> list[Entry]:
    """Anthropic's blocks of calls."""
    return [
        {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **more}
        for call_id in ids
    ]


def answer(*ids: str, text: Any = "r") -> list[Entry]:
    """Its blocks of results."""
    return [
        {"type": "tool_result", "tool_use_id": call_id, "content": text}
        for call_id in ids
    ]


def words(text: str = "and?") -> Entry:
    """A block of text, as Anthropic has it."""
    return {"type": "text", "text": text}


def entry(role: str, blocks: Any, **keys: Any) -> Entry:
    """A message of blocks."""
    return {"role": role, "content": blocks, **keys}


claude = partial(entry, "assistant")
asks = partial(entry, "user")
PIXEL = {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}
PENDING = "[turnkeep:pending 02a2e08b]\nstarted"
ANTHROPIC: list[list[Any]] = [
    [claude(use("a", "b")), asks(answer("b", "a"))],
    [claude(use("a", "b")), asks([*answer("a"), words(), *answer("b")], id="own")],
    [claude(use("a")), claude(use("b")), asks(answer("a", "b"))],
    [claude(use("a")), asks([words()]), claude(use("b")), asks(answer("a", "b"))],
    [claude(use("z")), asks("hm"), claude(use("b")), asks([*answer("z", "b"), PIXEL])],
    [claude(use("a", "b")), asks([*answer("a"), *answer("b", text=PENDING)])],
    [claude(use(*MANY)), asks(answer(*MANY))],
    [claude(use("a", "a")), asks(answer("a", "a", "a"))],
    [
        claude([words(), *use("a")]),
        asks([*answer("a", text=[words(PENDING)]), words()]),
    ],
    [claude([{"type": "thinking", "thinking": "so", "signature": "s"}, *use("a")])],
    [claude([{"type": "redacted_thinking", "data": "x"}])],
    [claude([{"type": "server_tool_use", "id": "s", "name": "w", "input": {}}])],
    [asks([PIXEL]), asks([PIXEL, words(OURS)]), asks([words(OURS)]), asks([])],
    [asks([{"type": "odd"}]), asks([*answer("a"), {"type": "odd"}]), asks([*use("a")])],
    [asks(answer("a", text=None)), asks(answer("a", text=[])), asks(answer("q", "r"))],
]


def bedrock(block: Any) -> Any:
    """One of Anthropic's blocks as Bedrock has it."""
    match block.get("type"):
        case "text":
            return {"text": block["text"]}
        case "tool_use":
            fields = {"toolUseId": block["id"], "name": "f", "input": {}}
            return {"toolUse": fields}
        case "tool_result":
            said = block["content"]
            content = said if type(said) is list else [words(said or "")]
            inner = {"toolUseId": block["tool_use_id"]}
            return {"toolResult": {**inner, "content": list(map(bedrock, content))}}
        case "thinking":
            return {"reasoningContent": {"reasoningText": {"text": block["thinking"]}}}
        case _:
            return {"cachePoint": {"type": "default"}}


def in_bedrock(odd: list[Any]) -> list[Any]:
    """Anthropic's messages as Bedrock's."""
    return [
        {**e, "content": [words("x")] if type(e["content"]) is str else e["content"]}
        for e in odd
    ]


BEDROCK: list[list[Any]] = [
    [{**e, "content": list(map(bedrock, e["content"]))} for e in in_bedrock(odd)]
    for odd in ANTHROPIC
] + [
    [claude([{"toolUse": {**bedrock(use("s")[0])["toolUse"], "type": "server"}}])],
    [claude([{"reasoningContent": {"redactedContent": "aGk="}}])],
    [claude([{"reasoningContent": {"else": 1}}]), asks([{"text": "a", "zz": 1}])],
]


def gemini(role: str, *parts: Any, **keys: Any) -> Entry:
    """A content."""
    return {"role": role, "parts": list(parts), **keys}


def invoke(name: str = "f", key: str = "functionCall", **inner: Any) -> Entry:
    """A part that calls."""
    return {key: {"name": name, "args": {}, **inner}}


def respond(name: str = "f", key: str = "functionResponse", **inner: Any) -> Entry:
    """A part that answers."""
    return {key: {"name": name, "response": {"output": "r"}, **inner}}


SPOKEN = {"text": "and?"}
GEMINI: list[list[Any]] = [
    [gemini("model", invoke()), gemini("user", respond())],
    [
        gemini("model", invoke("f"), invoke("g")),
        gemini("user", respond("g"), respond()),
    ],
    [
        gemini("model", invoke(id="a"), invoke()),
        gemini("user", respond(), respond(id="a")),
    ],
    [gemini("model", invoke(id="a")), gemini("function", respond(), respond(), SPOKEN)],
    [gemini("model", *map(invoke, MANY)), gemini("user", *map(respond, MANY), id="i")],
    [gemini("model", {**invoke(), "thoughtSignature": "s"}, {"text": "x"})],
    [gemini("model", {"text": "so", "thought": True}), gemini("model", {"odd": 1})],
    [gemini("model", invoke(key="function_call")), gemini("user", {"odd": 1})],
    [gemini("user", respond(key="function_response"), SPOKEN, respond())],
    [gemini("user", respond(response={"result": PENDING}), respond())],
    [gemini("user", respond(response={"zz": PENDING})), gemini("user", {"text": OURS})],
    [gemini("user", {"text": "so", "thought": True}), gemini("user"), gemini("model")],
    [{"parts": [SPOKEN]}, {"role": None, "parts": [SPOKEN]}, {"role": "user"}],
]

ODD: dict[str, list[list[Any]]] = {
    "openai": [*CHAT, *OPENAI_ONLY],
    "mistral": [odd for odd in CHAT if odd[0]["role"] not in ("developer", "function")],
    "deepseek": [
        *(odd for odd in CHAT if odd[0]["role"] not in ("developer", "function")),
        [{"role": "latest_reminder", "content": "x"}],
    ],
    "ollama": OLLAMA,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
}
"""Neighbours that are spelled or paired in another way than most."""


@every
@given(data=st.data())
def test_an_outline_always_says_what_decoding_says(
    name: str, data: st.DataObject
) -> None:
    """Roles, calls, results, reasoning, summaries, ids, and where each message is."""
    assert agrees(name, data.draw(lists(name)))


@every
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_mangled_is_named_or_left_to_its_depth(
    name: str, data: st.DataObject
) -> None:
    """An outline never raises anything else, and the first error that decoding has."""
    entries = data.draw(lists(name))
    if entries:
        nth = data.draw(st.integers(0, len(entries) - 1))
        inner = ["role", "content", "parts", "type", "tool_calls", "call_id", "id"]
        entries[nth] = data.draw(mangled(st.just(dict(entries[nth])), inner))

    agrees(name, entries)


@pytest.mark.parametrize(
    ("name", "odd"), [(name, odd) for name in WIRE for odd in ODD[name]]
)
def test_odd_entries_are_read_as_decoding_reads_them(name: str, odd: list[Any]) -> None:
    """Each of them amid what is usual, so that it decides alone."""
    usual = get_format(name).encode(
        [m for e in [user(), call("u"), result("u"), say()] for m in OPENAI.decode(e)]
    )

    assert agrees(name, [*usual, *odd, *usual])


OPENAI = get_format("openai")


class Decoding:
    """A format that decodes every entry at once."""

    def __init__(self, fmt: Format) -> None:
        self._fmt = fmt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fmt, name)

    def outline(self, entries: list[Any], path: str = "$") -> Any:
        """See `Format.outline`."""
        return outline_decoded(entries, self._fmt.decode, path)


def outcome(entries: list[Any], name: str, options: dict[str, Any]) -> object:
    """Everything that a plan says, and the window; or the error's words."""
    try:
        plan = turnkeep.plan(entries, format=name, **options)
    except turnkeep.TurnkeepError as error:
        return type(error), str(error)
    window = turnkeep.fit(entries, format=name, **options)
    assert window == plan.apply(entries)
    shown = str(plan), plan.runs, plan.order, plan.moved, plan.warnings
    return shown, plan.tokens, plan.tokens_before, window


def check_outcomes(name: str, entries: list[Any], options: dict[str, Any]) -> None:
    """Check that plans are the same, whether an outline was read or all decoded."""
    quick = outcome(entries, name, options)
    with pytest.MonkeyPatch.context() as patch:
        decoding = Decoding(get_format(name))
        patch.setattr("turnkeep.formats._opening.get_format", lambda _name: decoding)
        ordinary = outcome(entries, name, options)

    assert quick == ordinary


wishes: dict[str, Any] = {
    "pending": st.sampled_from([None, ()]),
    "drop_system": st.booleans(),
    "on_invalid": st.sampled_from(["repair", "raise", "keep"]),
    "open_calls": st.sampled_from(["stand-in", "keep", "raise"]),
    "strategy": st.sampled_from([OldestTurns(), LargestFirst()]),
}


@every
@settings(max_examples=40)
@given(data=st.data(), tokens=st.integers(20, 400), block=st.integers(1, 9))
def test_plans_never_tell_how_a_list_was_read(
    name: str, data: st.DataObject, tokens: int, block: int
) -> None:
    """The same decisions, windows, warnings and errors either way."""
    entries = data.draw(lists(name))
    options: Entry = data.draw(st.fixed_dictionaries({}, optional=wishes))
    if data.draw(st.booleans()):
        options["token_counter"] = lambda _entry: 15
    is_pinning: bool = data.draw(st.booleans())
    if entries and is_pinning:
        options["pinned"] = [data.draw(st.integers(0, len(entries) - 1))]

    with in_blocks_of(block):
        check_outcomes(name, entries, {"max_tokens": tokens, **options})


@given(
    st.lists(chats(broken=True), min_size=1, max_size=3),
    st.data(),
    st.integers(20, 600),
    st.integers(1, 9),
)
def test_plans_never_tell_how_a_muddled_chat_was_read(
    parts: list[list[Entry]], data: st.DataObject, tokens: int, block: int
) -> None:
    """Late, reused, second and orphaned results, and ids of their own."""
    chat = [
        {k: v for k, v in entry.items() if k != "id"}
        for part in parts
        for entry in part
    ]
    for odd in data.draw(st.lists(st.sampled_from(ODD["openai"]), max_size=2)):
        at = data.draw(st.integers(0, len(chat)))
        chat[at:at] = odd
    for nth in data.draw(st.sets(st.integers(0, len(chat) - 1), max_size=4)):
        chat[nth] = {**chat[nth], "id": f"m{nth % 7}"}
    more = {
        "pinned": st.lists(st.integers(0, len(chat) - 1), max_size=2),
        "pin_scope": st.sampled_from(["turn", "step"]),
        "pending": st.sampled_from([None, (), "a"]),
    }
    options = data.draw(st.fixed_dictionaries({}, optional={**wishes, **more}))

    with in_blocks_of(block):
        check_outcomes(
            "openai", chat, {"max_tokens": tokens, "token_counter": size, **options}
        )


@pytest.mark.parametrize(
    "calls",
    [
        [{"id": "a"}],
        [{"id": "a", "function": "f"}],
        [{"id": "a", "type": "function", "function": {"name": 7}}],
        [{"id": "a", "type": "custom", "custom": None}],
    ],
)
def test_a_malformed_call_is_named_when_it_is_open(calls: Any) -> None:
    """Its name is asked for while columns are grouped: too early for an error."""
    chat = [user(), {"role": "assistant", "content": "", "tool_calls": calls}, user()]

    with pytest.raises(FormatError, match=r"@ \$\[1\]\.tool_calls\[0\]"):
        turnkeep.fit(chat, 1_000, format="openai", token_counter=lambda _: 1)


USUAL: dict[str, list[Any]] = {
    **{
        name: [system(), user(), call("a", "b"), result("a"), result("b"), say()]
        for name in ("openai", "mistral", "deepseek")
    },
    "ollama": [system(), user(), *OLLAMA[0], *OLLAMA[1], say()],
    "openai-responses": [system(), user(), item(), output(), item("b"), output("b")],
    "anthropic": [
        asks("go on"),
        claude([words(), *use("a", "b")]),
        asks([*answer("a", "b"), words()]),
        claude([words()]),
    ],
    "gemini": [
        gemini("user", SPOKEN),
        gemini("model", SPOKEN, invoke(), invoke("g")),
        gemini("user", respond(), respond("g"), SPOKEN),
    ],
}
USUAL["bedrock"] = [
    {**e, "content": list(map(bedrock, e["content"]))}
    for e in in_bedrock(USUAL["anthropic"])
]


@every
def test_what_is_usual_is_never_decoded(name: str) -> None:
    """Nor is anything beside what is odd: decoding all would be correct, and slow."""
    odd = ODD[name][-1]
    fmt = get_format(name)

    usual = fmt.outline(USUAL[name] * 300)
    mixed = fmt.outline([*USUAL[name] * 2, *odd, *USUAL[name] * 2])

    assert usual.messages == {}
    assert len(mixed.messages) <= len(fmt.outline(odd).wire)


SHALLOW: dict[str, list[Any]] = {
    **{
        name: [
            {"role": "assistant", "content": 7},
            {"role": "system", "content": 7},
            {"role": "tool", "tool_call_id": "a", "content": 7},
            {"role": "assistant", "content": "x", "tool_calls": [{"id": 7}] * 40},
            {"role": "assistant", "content": "x", "tool_calls": 0},
            {"role": "assistant", "content": "x", "tool_calls": [7]},
            {"role": "user", "content": 7},
            {"role": "tool", "tool_call_id": 7, "content": "x"},
        ]
        for name in ("openai", "mistral", "deepseek")
    },
    "ollama": [
        {"role": "assistant", "content": ["x"]},
        {"role": "user", "content": 7, "name": "u"},
        {"role": "user", "content": "x", "images": 0},
        {"role": "assistant", "content": "x", "thinking": 7},
        {"role": "assistant", "content": "x", "tool_calls": [{"function": {}}]},
        {"role": "tool", "content": "x", "tool_name": 7},
    ],
    "openai-responses": [
        {"role": "user", "content": 7},
        {"role": "user"},
        {"type": None, "role": "user", "content": "x"},
        {"type": 7},
        item(call_id=7),  # type: ignore[arg-type] # that is the point
        item(name=None),
        output(said=7),
        {"type": "reasoning", "summary": 7},
    ],
    "anthropic": [
        {"role": "user"},
        asks(7),
        asks([7]),
        asks(["x"]),
        asks([{"type": 7}]),
        asks([{"type": "text"}]),
        asks([{"type": "text", "text": 7}, PIXEL]),
        asks(answer(7)),  # type: ignore[arg-type] # that is the point
        claude(use(7, "a")),  # type: ignore[arg-type] # that is the point
    ],
    "gemini": [
        {"role": "user", "parts": 7},
        gemini("user", 7),
        gemini("user", "x"),
        gemini("model", "x", SPOKEN),
        gemini("user", {"text": 7}),
        gemini("model", {"text": 7}),
        gemini("model", {"text": "x", "functionCall": {"name": "f"}}),
        gemini("model", invoke(7)),  # type: ignore[arg-type] # that is the point
        gemini("user", respond(id=7), SPOKEN),
    ],
    "bedrock": [
        asks("x"),
        asks([7]),
        asks([{}]),
        asks(["x"]),
        asks([{"text": "x"}, "x"]),
        claude(["x", {"text": "x"}]),
        asks([{"text": 7}]),
        asks([{"text": "x", "image": {}}]),
        asks([{"toolResult": {"toolUseId": "a"}}]),
        claude([{"toolUse": {"toolUseId": 7}}]),
    ],
}
"""What is no message, seen without looking deep."""


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (name, wrong)
        for name in WIRE
        for wrong in [*SHALLOW[name], {"role": "nobody", "content": "x"}, [], None]
    ],
)
@pytest.mark.parametrize("depth", [2, 20])
def test_what_is_malformed_is_always_named(name: str, wrong: Any, depth: int) -> None:
    """Even where it will be dropped; an earlier one before a later one."""
    entries = [*USUAL[name] * depth, wrong, *USUAL[name] * depth, None]
    fmt = get_format(name)
    refused = attempt(fmt.decode, wrong, f"$[{depth * len(USUAL[name])}]")
    assert isinstance(refused, FormatError)

    with pytest.raises(FormatError) as caught:
        turnkeep.fit(entries, 200, format=name)

    assert str(caught.value) == str(refused)


@every
def test_ids_are_unique_in_every_format(name: str) -> None:
    """Those of odd entries, too, and of what is dropped."""
    odd = dict(ODD[name][0][0])
    entries = [{**USUAL[name][0], "id": "x"}, *USUAL[name] * 9, {**odd, "id": "x"}]

    with pytest.raises(turnkeep.DuplicateIdError, match="x"):
        turnkeep.fit(entries, 100, format=name)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name", ["openai", "openai-responses", "anthropic", "gemini", "bedrock"]
)
def test_recorded_lists(name: str) -> None:
    """Every one of them, and few of their entries are odd."""
    fmt = get_format(name)
    total = odd = 0
    for row in read_corpus(name):
        entries = list(fmt.open(row["body"]).entries)
        assert agrees(name, entries)
        with contextlib.suppress(FormatError):
            odd += len(fmt.outline(entries).messages)
            total += len(entries)
    assert odd * 8 < total
