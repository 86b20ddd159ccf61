"""What chat formats and Responses make of messages of other origin, and of edits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.generators import PDF, PNG, decoded
from turnkeep.errors import FormatError
from turnkeep.formats import Format, get_format, match_format
from turnkeep.formats._base import is_own, layout_of, origin_of
from turnkeep.formats._ids import with_call_ids
from turnkeep.model import (
    Block,
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

OPENAI = get_format("openai")
RESPONSES = get_format("openai-responses")
DEEPSEEK = get_format("deepseek")
MISTRAL = get_format("mistral")
OLLAMA = get_format("ollama")
CHATS = [OPENAI, DEEPSEEK, MISTRAL]
ALL = [*CHATS, OLLAMA, RESPONSES]

chats = pytest.mark.parametrize("fmt", CHATS, ids=lambda fmt: fmt.name)
every = pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)


def asked(*calls: ToolCall, text: str = "") -> Message:
    """An assistant message that makes *calls*."""
    return Message.assistant(text, tool_calls=calls)


def result_of(entry: dict[str, Any]) -> Any:
    """What a result says, in any of these formats."""
    return entry["output"] if "output" in entry else entry["content"]


# origin


def test_origin_is_the_first_word_of_the_layout() -> None:
    """The rest is the format's own business."""
    made = Message.user("hi", layout="openai:list")

    assert origin_of(made) == "openai"
    assert layout_of(made, "openai") == "list"
    assert is_own(made, "openai")
    assert not is_own(made, "openai-responses")
    assert layout_of(made, "anthropic") == layout_of(Message.user(""), "openai") == ""
    assert origin_of(Message.user("hi")) is None


@chats
def test_editing_keeps_the_keys_of_the_format(fmt: Format) -> None:
    """A cleared result is still that tool's, with its cache mark and name."""
    entry = {
        "role": "tool",
        "tool_call_id": "c",
        "name": "f",
        "content": [{"type": "text", "text": "long"}],
        "cache_control": {"type": "ephemeral"},
    }
    (message,) = fmt.decode(entry)
    cleared = message.evolve(content=(ToolResult("c", "short", tool_name="f"),))

    assert fmt.encode([cleared]) == [{**entry, "content": "short"}]


@every
def test_keys_of_another_format_are_not_sent(fmt: Format) -> None:
    """They would be refused; that they are lost is said."""
    block = Text("hi", extra={"cache_control": {}})  # type: ignore[arg-type]
    made = Message.user([block], extra={"zz": 1}, layout="elsewhere:x")

    assert fmt.encode([made]) == [{"role": "user", "content": "hi"}]
    assert fmt.losses(made) == ["keys of elsewhere: cache_control, zz"]


@every
def test_own_keys_of_the_caller_are_sent(fmt: Format) -> None:
    """A message made in Python may carry what its provider knows and we do not."""
    made = Message.user("hi", extra={"zz": 1})

    assert fmt.encode([made]) == [{"role": "user", "content": "hi", "zz": 1}]


def test_developer_is_a_system_message_that_keeps_its_name() -> None:
    """OpenAI and Responses know the role; the others say system."""
    (made,) = OPENAI.decode({"role": "developer", "content": "be brief"})

    assert made.role is Role.SYSTEM
    assert RESPONSES.encode([made])[0]["role"] == "developer"
    assert MISTRAL.encode([made])[0]["role"] == "system"
    assert DEEPSEEK.encode([made]) == [{"role": "system", "content": "be brief"}]
    again = OPENAI.encode([made.evolve(content=(Text("be"),))])
    assert again == [{"role": "developer", "content": "be"}]


# calls and results


@every
def test_assistant_messages_with_calls_become_one(fmt: Format) -> None:
    """One call a message, or one item: nothing may part calls from results."""
    history = [
        Message.assistant([Thinking("hm")]),
        Message.assistant("let me look"),
        Message(Role.TOOL_CALL, [ToolCall("a", "f", {"x": 1})]),
        Message(Role.TOOL_CALL, [ToolCall("b", "g", "{}")]),
        Message.tool_result("a", "1"),
        Message.tool_result("b", "2"),
    ]

    entries = fmt.encode(history)

    if fmt is RESPONSES:
        assert [e.get("type", "message") for e in entries] == [
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
        ]
    else:
        assert [e["role"] for e in entries] == ["assistant", "tool", "tool"]
        assert len(entries[0]["tool_calls"]) == 2


@every
def test_assistant_messages_without_calls_stay_apart(fmt: Format) -> None:
    """Nothing demands that they be joined."""
    entries = fmt.encode([Message.assistant("a"), Message.assistant("b")])

    assert [entry["content"] for entry in entries] == ["a", "b"]


def test_joined_messages_keep_the_callers_keys() -> None:
    """Those of the first win."""
    history = [
        Message.assistant("a", extra={"name": "ann"}),
        Message(Role.TOOL_CALL, [ToolCall("a", "f")], extra={"name": "bob", "zz": 1}),
    ]

    (entry,) = OPENAI.encode(history)

    assert entry["name"] == "ann"
    assert entry["zz"] == 1


@every
def test_results_say_what_they_are_in_a_first_line(fmt: Format) -> None:
    """No flag exists for pending, interim and failed results: a fixed line says it."""
    history = [
        asked(ToolCall("a", "f"), ToolCall("b", "g"), ToolCall("c", "h")),
        Message.tool_result("a", "started", pending=True),
        Message.tool_result("b", [Json({"n": 1})], interim=True),
        Message.tool_result("c", "boom", is_error=True),
    ]

    entries = fmt.encode(history)

    said = [result_of(entry) for entry in entries[-3:]]
    assert said == [
        "[turnkeep:pending 02a2e08b]\nstarted",
        '[turnkeep:interim 867a71a8]\n{"n": 1}',
        "[turnkeep:error]\nboom",
    ]
    results = [m.tool_results[0] for m in decoded(fmt.decode, entries[-3:])]
    assert [r.text for r in results] == ["started", '{"n": 1}', "boom"]
    assert [r.pending for r in results] == [True, False, False]
    assert [r.interim for r in results] == [False, True, False]
    assert [r.is_error for r in results] == [False, False, True]


@every
def test_a_tools_own_error_text_needs_no_line(fmt: Format) -> None:
    """`tool error: ...` is understood both ways, and stays as it is."""
    made = Message.tool_result("c", "tool error: no such file", is_error=True)

    (entry,) = fmt.encode([made])

    assert result_of(entry) == "tool error: no such file"
    assert fmt.decode(entry)[0].tool_results[0].is_error


@every
def test_a_pending_result_without_text_gets_its_line(fmt: Format) -> None:
    """Even beside an image."""
    history = [
        asked(ToolCall("a", "f")),
        Message.tool_result("a", (), pending=True),
        Message.tool_result("a", [Image(PNG)], pending=True, layout=fmt.name),
    ]

    entries = fmt.encode(history)

    results = [m.tool_results for m in decoded(fmt.decode, entries)]
    assert [r[0].pending for r in results if r] == [True, True]


@chats
def test_images_of_a_result_go_behind_it(fmt: Format) -> None:
    """Only user messages may show them, and nothing may part the results."""
    history = [
        asked(ToolCall("a", "f"), ToolCall("b", "f")),
        Message.tool_result("a", [Text("see"), Image(PNG, "image/png")]),
        Message.tool_result("b", [Image(url="https://e.org/b.png")]),
        Message.user("and?"),
    ]

    entries = fmt.encode(history)

    assert [e["role"] for e in entries] == ["assistant", "tool", "tool", "user", "user"]
    assert entries[1]["content"] == "see"
    assert entries[2]["content"] == "[shown in the next user message]"
    parts = entries[3]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"] * 2
    assert parts[0]["text"] == "[turnkeep:bridge d9b731da]\nShown by the tool result a:"
    assert fmt.decode(entries[3])[0].kind == "bridge"
    assert fmt.losses(history[1]) == [
        "an image or file inside a tool result (it moves behind it)"
    ]


@chats
def test_images_move_behind_the_last_result(fmt: Format) -> None:
    """Also at the end of the list, and before the next answer."""
    shown = Message.tool_result("a", [Image(PNG)])

    assert fmt.encode([shown])[-1]["role"] == "user"
    roles = [e["role"] for e in fmt.encode([shown, asked(text="ok")])]
    assert roles == ["tool", "user", "assistant"]


def test_images_stay_where_the_format_has_room() -> None:
    """Responses and Ollama take them in results."""
    shown = Message.tool_result("a", [Text("see"), Image(PNG, "image/png")])

    (item,) = RESPONSES.encode([shown])
    (entry,) = OLLAMA.encode([shown])

    assert [part["type"] for part in item["output"]] == ["input_text", "input_image"]
    assert entry["images"] == [PNG]
    assert RESPONSES.losses(shown) == OLLAMA.losses(Message.user([Image(PNG)])) == []


def test_calls_without_ids_get_some() -> None:
    """A result belongs to the nearest message with an open call of that tool."""
    history = [
        asked(ToolCall(None, "f"), ToolCall(None, "g"), ToolCall(None, "f")),
        Message.tool_result(None, "1", tool_name="f"),
        Message.tool_result(None, "2", tool_name="f", pending=True),
        Message.tool_result(None, "3", tool_name="g"),
        Message.tool_result(None, "4", tool_name="f"),
        Message.tool_result(None, "5", tool_name="nobody"),
        asked(ToolCall("call_1", "f")),
    ]

    entries = OPENAI.encode(history)

    made = [call["id"] for call in entries[0]["tool_calls"]]
    assert made == ["call_2", "call_3", "call_4"]
    answered = [entry.get("tool_call_id") for entry in entries[1:5]]
    assert answered == ["call_2", "call_4", "call_3", "call_4"]
    assert entries[5] == {"role": "function", "content": "5", "name": "nobody"}


def test_ids_are_only_made_where_they_are_missing() -> None:
    """The list itself comes back when there is nothing to do."""
    history = [asked(ToolCall("a", "f")), Message.tool_result("a", "1")]
    nameless = [asked(ToolCall(None, "f", "{}"))]

    assert with_call_ids(history, lambda _: True) is history
    assert with_call_ids(nameless, lambda _: False) is nameless


def test_legacy_calls_stay_legacy() -> None:
    """`function_call` and its function message have no ids, and get none."""
    entries = [
        {"role": "assistant", "content": None, "function_call": {"name": "f"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    messages = decoded(OPENAI.decode, entries)

    assert messages[0].tool_calls == (ToolCall(None, "f"),)
    assert messages[1].tool_results[0].tool_name == "f"
    assert OPENAI.encode(messages) == entries
    moved = MISTRAL.encode(messages)
    assert moved[0]["tool_calls"][0]["id"] == moved[1]["tool_call_id"] == "call_1"


def test_custom_calls_keep_their_text_or_are_wrapped() -> None:
    """OpenAI's two formats know them; elsewhere the text becomes an argument."""
    entry = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "custom", "custom": {"name": "run", "input": "1 + 1"}}
        ],
    }
    history = [*OPENAI.decode(entry), Message.tool_result("c", "2")]

    call, output = RESPONSES.encode(history)
    assert call["type"] == "custom_tool_call"
    assert call["input"] == "1 + 1"
    assert output == {"type": "custom_tool_call_output", "call_id": "c", "output": "2"}
    made = DEEPSEEK.encode(history)[0]["tool_calls"][0]
    assert made["function"] == {"name": "run", "arguments": '{"input":"1 + 1"}'}
    assert OPENAI.encode(decoded(RESPONSES.decode, [call])) == [entry]


def test_ollama_takes_objects_only() -> None:
    """Arguments that are no object are wrapped; text that is one is parsed."""
    history = [
        asked(ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "[1]")),
        Message.tool_result("b", "2"),
        Message.tool_result("a", "1"),
    ]

    entries = OLLAMA.encode(history)

    calls = [call["function"] for call in entries[0]["tool_calls"]]
    assert calls[0] == {"name": "f", "arguments": {"x": 1}}
    assert calls[1] == {"name": "g", "arguments": {"input": [1]}}
    # Results stand in the order of the calls; their tools' names link them.
    assert [(e["tool_name"], e["content"]) for e in entries[1:]] == [
        ("f", "1"),
        ("g", "2"),
    ]
    assert "id" not in entries[0]["tool_calls"][0]


def test_ollama_names_ids_where_names_do_not_do() -> None:
    """Two open calls of one tool: only ids tell which was answered."""
    history = [
        asked(ToolCall("a", "f"), ToolCall("b", "f"), ToolCall("c", "g")),
        Message.tool_result("b", "2"),
        Message.tool_result("c", "3"),
    ]

    entries = OLLAMA.encode(history)

    assert [call.get("id") for call in entries[0]["tool_calls"]] == ["a", "b", None]
    assert entries[1]["tool_call_id"] == "b"
    assert "tool_call_id" not in entries[2]


# texts, reasoning, files


@chats
def test_reasoning_goes_where_the_dialect_has_it(fmt: Format) -> None:
    """DeepSeek has a key, Mistral a chunk, OpenAI nothing."""
    made = Message.assistant([Thinking("hm", "sig"), Text("yes")])

    (entry,) = fmt.encode([made])

    if fmt is OPENAI:
        assert entry == {"role": "assistant", "content": "yes"}
        assert "reasoning" in fmt.losses(made)
    elif fmt is DEEPSEEK:
        assert entry["reasoning_content"] == "hm"
    else:
        assert entry["content"][0]["thinking"] == [{"type": "text", "text": "hm"}]
    assert "the seal or ciphertext of reasoning" in fmt.losses(made)


def test_reasoning_goes_to_ollama_and_not_to_responses() -> None:
    """Responses takes back only what it made."""
    made = Message.assistant([Thinking("hm", data="x"), Text("yes")])

    assert OLLAMA.encode([made])[0]["thinking"] == "hm"
    assert OLLAMA.losses(made) == ["the seal or ciphertext of reasoning"]
    assert RESPONSES.encode([made]) == [{"role": "assistant", "content": "yes"}]
    assert RESPONSES.losses(made)


def test_reasoning_comes_back_under_its_own_key() -> None:
    """`reasoning` of some servers is not renamed by an edit; both at once stay."""
    entry = {"role": "assistant", "content": "yes", "reasoning": "hm"}
    (message,) = OPENAI.decode(entry)
    edited = message.evolve(content=(message.content[0], Text("no")))

    assert OPENAI.encode([edited]) == [{**entry, "content": "no"}]
    stripped = message.evolve(content=(Text("yes"),))
    assert OPENAI.encode([stripped]) == [{"role": "assistant", "content": "yes"}]


def test_a_refusal_is_text() -> None:
    """It is counted, shown and carried as what the model said."""
    entry = {"role": "assistant", "content": None, "refusal": "I cannot."}
    (message,) = OPENAI.decode(entry)

    assert message.text == "I cannot."
    assert OPENAI.encode([message]) == [entry]
    assert MISTRAL.encode([message]) == [{"role": "assistant", "content": "I cannot."}]
    (item,) = RESPONSES.encode([message])
    assert item["content"] == "I cannot."
    edited = message.evolve(content=message.content)
    part = {"type": "refusal", "refusal": "I cannot."}
    assert OPENAI.encode([edited]) == [{"role": "assistant", "content": [part]}]


def _files(content: Any, key: str | None) -> Any:
    """What the part behind the text holds; none where only the text is left."""
    if isinstance(content, str) or len(content) == 1:
        return None
    part = {k: v for k, v in content[1].items() if k != "type"}
    return part if key is None else part[key]


FILES: list[tuple[Block, Any, Any, Any]] = [
    (
        Document(PDF, "application/pdf"),
        {"filename": "document.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        f"data:application/pdf;base64,{PDF}",
        {"filename": "document.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    ),
    (
        Document(PDF, title="a.pdf"),
        {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        f"data:application/pdf;base64,{PDF}",
        {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    ),
    (
        Document(url="https://e.org/a.pdf"),
        None,
        "https://e.org/a.pdf",
        {"file_url": "https://e.org/a.pdf"},
    ),
    (Document(file_id="f-1"), None, None, None),
]


@pytest.mark.parametrize(("block", "openai", "mistral", "responses"), FILES)
def test_files_are_carried_where_they_can(
    block: Block, openai: Any, mistral: Any, responses: Any
) -> None:
    """Data needs a name at OpenAI; a file id belongs to its provider."""
    made = Message.user([Text("read"), block], layout="elsewhere")

    first = OPENAI.encode([made])[0]["content"]
    second = MISTRAL.encode([made])[0]["content"]
    third = RESPONSES.encode([made])[0]["content"]

    assert _files(first, "file") == openai
    assert _files(second, "document_url") == mistral
    assert _files(third, None) == responses
    assert bool(OPENAI.losses(made)) == (openai is None)


@every
def test_text_files_are_text(fmt: Format) -> None:
    """With their title above."""
    block = Document(text="a,b", media_type="text/csv", title="t.csv")

    (entry,) = fmt.encode([Message.user([block])])

    said = entry["content"]
    assert (said if isinstance(said, str) else said[0]["text"]) == "t.csv\na,b"
    (bare,) = fmt.encode([Message.user([Document(text="a,b")])])
    said = bare["content"]
    assert (said if isinstance(said, str) else said[0]["text"]) == "a,b"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        ("/9j/4AAQ", "image/jpeg"),
        (PNG, "image/png"),
        ("R0lGODlh", "image/gif"),
        ("UklGRgAA", "image/webp"),
        ("AAAA", "image/png"),
    ],
)
def test_images_without_a_type_get_the_one_they_show(
    data: str, media_type: str
) -> None:
    """Some hosts keep base64 alone; its first bytes say what it is."""
    (entry,) = OPENAI.encode([Message.user([Image(data)])])

    url = entry["content"][0]["image_url"]["url"]
    assert url == f"data:{media_type};base64,{data}"


@every
def test_what_has_no_place_is_left_out_and_said(fmt: Format) -> None:
    """Blocks of other vendors, file ids, images where none may be."""
    vendor = Opaque({"type": "web_search", "x": 1}, "anthropic")
    made = [
        Message.assistant([Text("a"), vendor]),
        Message.user([Text("b"), Image(file_id="f-1")], layout="elsewhere"),
    ]

    assert fmt.encode(made)[0]["content"] == "a"
    assert fmt.losses(made[0]) == ["a block of anthropic (web_search)"]
    inline = "a file, or an image that is not inline"
    lost = inline if fmt is OLLAMA else "a file id of another provider"
    assert fmt.losses(made[1]) == [lost]


@chats
def test_images_outside_user_messages_are_said(fmt: Format) -> None:
    """Rule OC-06 allows text there, no more."""
    made = Message.assistant([Text("a"), Image(PNG)])

    assert fmt.encode([made]) == [{"role": "assistant", "content": "a"}]
    assert fmt.losses(made) == ["an image or file of a message with role assistant"]


@every
def test_notes_of_the_host_are_said(fmt: Format) -> None:
    """Ids and counts can be made again; pins and metadata cannot."""
    made = Message.user("hi", pinned=True, metadata={"a": 1}, priority=3, id="m")

    assert fmt.losses(made) == ["the pin", "the priority", "the metadata"]


@every
def test_display_messages_are_never_sent(fmt: Format) -> None:
    """A run summary is for people."""
    shown = Message.system("3 tools ran", kind="run_summary")
    body = fmt.encode_request([shown, Message.user("hi")], [{"name": "t"}])

    entries = body.get("messages", body.get("input"))
    assert entries == [{"role": "user", "content": "hi"}]
    assert body["tools"] == [{"name": "t"}]
    assert "tools" not in fmt.encode_request([Message.user("hi")])
    assert fmt.encode([shown]) == []


@every
def test_our_own_messages_are_recognised(fmt: Format) -> None:
    """By their first line, in every format, whatever the role."""
    entry = {"role": "user", "content": "[turnkeep:summary 55f9715e]\nearlier: a, b"}

    (message,) = fmt.decode(entry)

    assert message.kind == "summary"
    assert message.text == entry["content"]
    assert fmt.encode([message]) == [entry]
    assert fmt.decode({**entry, "content": "[turnkeep:?]\n"})[0].kind is None


@every
def test_an_entrys_own_id_is_the_messages(fmt: Format) -> None:
    """It is what pins refer to; anything else than text is just a key."""
    assert fmt.decode({"role": "user", "content": "a", "id": "m1"})[0].id == "m1"
    assert fmt.decode({"role": "user", "content": "a", "id": 7})[0].id is None


@every
def test_results_and_text_in_one_message_are_parted(fmt: Format) -> None:
    """Results first; the text is the user's."""
    made = Message.user([ToolResult("a", "1", tool_name="f"), Text("and now?")])
    only = Message.user([ToolResult("a", "1", tool_name="f")])

    entries = fmt.encode([made])

    assert len(entries) == 2
    assert result_of(entries[0]) == "1"
    assert entries[1] == {"role": "user", "content": "and now?"}
    assert fmt.encode([only]) == entries[:1]


@every
def test_empty_messages_say_nothing(fmt: Format) -> None:
    """An empty text, rather than a null that would be refused (rule OC-03)."""
    for made in (Message.user(()), Message.assistant(()), Message.user("")):
        (entry,) = fmt.encode([made])
        assert entry["content"] == ""


# system text beside the list


@every
def test_system_text_beside_the_list(fmt: Format) -> None:
    """Text, or text parts."""
    assert fmt.decode_system(None) == ()
    assert fmt.decode_system("be brief") == (Message.system("be brief"),)


@pytest.mark.parametrize("fmt", [*CHATS, OLLAMA, get_format("messages")])
def test_system_parts_beside_the_list(fmt: Format) -> None:
    """As Anthropic and Gemini have it."""
    parts = [{"type": "text", "text": "a"}, {"text": "b"}]

    assert fmt.decode_system(parts) == (Message.system([Text("a"), Text("b")]),)
    assert fmt.decode_system([]) == ()


def test_instructions_go_back_beside_the_list() -> None:
    """They are not items; once sent back they may be a list of items."""
    (made,) = RESPONSES.decode_system("be brief")
    items = [{"role": "developer", "content": "be brief"}]

    body = RESPONSES.encode_request([made, Message.user("hi")])

    assert body["instructions"] == "be brief"
    assert body["input"] == [{"role": "user", "content": "hi"}]
    assert RESPONSES.encode(RESPONSES.decode_system(items)) == items


# Responses


def test_input_may_be_a_string() -> None:
    """One user message; unchanged it comes back a string."""
    body = {"input": "hi", "instructions": "be brief", "model": "gpt-5"}
    envelope = RESPONSES.open(body)

    assert envelope.system == "be brief"
    assert envelope.path == "$.input"
    assert envelope.replace(list(envelope.entries)) is body
    assert envelope.replace([])["input"] == []
    assert RESPONSES.open([]).system is None


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        ("shell_call", "shell_call_output", [{"stdout": "x", "stderr": "", "outcome": {
            "type": "exit", "exit_code": 0}}]),
        ("apply_patch_call", "apply_patch_call_output", "x"),
        ("tool_search_call", "tool_search_output", []),
        ("computer_call", "computer_call_output", {"type": "computer_screenshot"}),
        ("custom_tool_call", "custom_tool_call_output", "x"),
        ("function_call", "function_call_output", "x"),
    ],
)  # fmt: skip
def test_results_have_the_shape_their_call_demands(
    call: str, kind: str, said: Any
) -> None:
    """A placeholder or a cleared result too, so that the pair stays one."""
    item: dict[str, Any] = {"type": call, "call_id": "c", "action": {"x": 1}}
    if call in {"custom_tool_call", "function_call"}:
        item = {"type": call, "call_id": "c", "name": "f", "input": "", "arguments": ""}
    history = [*RESPONSES.decode(item), Message.tool_result("c", "x")]

    first, second = RESPONSES.encode(history)

    assert first == item
    assert second["type"] == kind
    assert second["tools" if kind == "tool_search_output" else "output"] == said


def test_a_screenshot_is_an_image() -> None:
    """It can be stripped and counted as one; what it is stays known."""
    shot = {"type": "computer_screenshot", "image_url": "https://e.org/a.png"}
    item = {"type": "computer_call_output", "call_id": "c", "output": shot}
    (message,) = RESPONSES.decode(item)

    (image,) = message.tool_results[0].content
    assert isinstance(image, Image)
    assert RESPONSES.encode([message]) == [item]


def test_settings_are_system_messages() -> None:
    """They hold from there on, so that they must not be dropped with a turn."""
    item = {"type": "configuration_update", "reasoning": {"effort": "high"}}

    assert RESPONSES.decode(item)[0].role is Role.SYSTEM
    assert RESPONSES.decode({"type": "compaction"})[0].role is Role.ASSISTANT


def test_opaque_items_of_the_caller_are_items() -> None:
    """By their type; anything else is a part of a message."""
    item: Any = {"type": "web_search_call", "id": "ws_1"}
    part: Any = {"type": "input_audio", "data": "x"}

    assert RESPONSES.encode([Message.assistant([Opaque(item)])]) == [item]
    (made,) = RESPONSES.encode([Message.user([Text("a"), Opaque(part)])])
    assert made["content"][1] == part


def test_texts_of_an_assistant_have_annotations() -> None:
    """The SDK's type demands the key; what came without it stays without."""
    made = Message.assistant([Text("a"), Text("b")], layout="elsewhere")

    (item,) = RESPONSES.encode([made])

    assert item["content"][0] == {"type": "output_text", "text": "a", "annotations": []}


def test_messages_come_back_as_they_are() -> None:
    """The format of `Message` objects changes nothing and loses nothing."""
    fmt = get_format("messages")
    made = [Message.user("hi", pinned=True)]

    assert fmt.encode(fmt.decode(made[0])) == made
    assert fmt.open(made).entries is made
    assert fmt.losses(made[0]) == []
    assert fmt.encode_request(made) == {"messages": made}
    assert fmt.encode_request(made, [1])["tools"] == [1]


# corners


def test_calls_of_other_types_stay_as_they_are() -> None:
    """Some servers have built-in functions, and name them by the type."""
    call = {"id": "c", "type": "builtin_function", "function": {"name": "f"}}
    entry = {"role": "assistant", "content": None, "tool_calls": [call]}

    assert OPENAI.encode(OPENAI.decode(entry)) == [entry]


def test_mistral_keeps_objects_of_arguments() -> None:
    """It takes text and objects; each comes back as it came."""
    function = {"name": "f", "arguments": {"x": 1}}
    call = {"id": "c", "type": "function", "function": function}
    entry = {"role": "assistant", "content": "", "tool_calls": [call]}

    (message,) = MISTRAL.decode(entry)

    assert message.tool_calls[0].arguments == {"x": 1}
    assert MISTRAL.encode([message]) == [entry]
    moved = OPENAI.encode([message])[0]["tool_calls"][0]["function"]
    assert moved == {"name": "f", "arguments": '{"x":1}'}


@pytest.mark.parametrize("fmt", [DEEPSEEK, OLLAMA], ids=lambda fmt: fmt.name)
def test_reasoning_without_text_says_nothing(fmt: Format) -> None:
    """Ciphertext of another provider is of no use here."""
    made = Message.assistant([Thinking(data="x"), Text("yes")])

    assert fmt.encode([made]) == [{"role": "assistant", "content": "yes"}]


@every
def test_structured_content_is_json_text(fmt: Format) -> None:
    """Alone, beside text, and in results."""
    alone, beside, _, result = fmt.encode(
        [
            Message.user([Json({"a": 1})]),
            Message.user([Text("x"), Json({"a": 1})]),
            asked(ToolCall("c", "f")),
            Message.tool_result("c", [Json({"a": 1})]),
        ]
    )

    assert alone["content"] == '{"a": 1}'
    assert '{\\"a\\": 1}' in repr(beside["content"]).replace('"', '\\"')
    assert result_of(result) == '{"a": 1}'


@every
def test_text_files_of_results_stay_there(fmt: Format) -> None:
    """They are text: nothing moves."""
    made = Message.tool_result("c", [Document(text="a,b")])

    (entry,) = fmt.encode([made])

    assert "a,b" in str(result_of(entry))
    assert fmt.losses(made) == []


def test_odd_parts_are_carried() -> None:
    """A file without its content, and one with more keys than we know."""
    parts = [
        {"type": "file"},
        {"type": "file", "file": {"file_id": "f", "filename": None}},
    ]
    entry = {"role": "user", "content": parts}
    (message,) = OPENAI.decode(entry)

    assert OPENAI.encode([message]) == [entry]
    edited = message.evolve(content=message.content[1:])
    assert OPENAI.encode([edited])[0]["content"] == parts[1:]


def test_ids_are_made_whatever_the_arguments() -> None:
    """Text stays text."""
    (entry,) = OPENAI.encode([asked(ToolCall(None, "f", '{"x":  1}'))])

    assert entry["tool_calls"][0]["function"]["arguments"] == '{"x":  1}'
    assert entry["tool_calls"][0]["id"] == "call_1"


def test_ollama_names_ids_of_calls_in_different_messages() -> None:
    """The nearest open call of that name would be the wrong one."""
    history = [
        asked(ToolCall("a", "f")),
        Message.user("go on"),
        asked(ToolCall("b", "f")),
        Message.tool_result("a", "1"),
    ]

    entries = OLLAMA.encode(history)

    assert entries[0]["tool_calls"][0]["id"] == entries[-1]["tool_call_id"] == "a"


def test_ollama_sends_the_callers_keys() -> None:
    """But no role that it does not know."""
    developer = Message.system("x", extra={"role": "developer", "zz": 1})
    result = Message.tool_result("c", "1", extra={"zz": 1})
    foreign = Message.tool_result("c", "1", extra={"zz": 1}, layout="elsewhere")

    assert OLLAMA.encode([developer])[0] == {"role": "system", "content": "x", "zz": 1}
    assert OLLAMA.encode([result])[0]["zz"] == 1
    assert "zz" not in OLLAMA.encode([foreign])[0]
    assert OLLAMA.losses(Message.user([Image(url="u")])) == [
        "a file, or an image that is not inline"
    ]


def test_responses_show_no_images_of_the_assistant() -> None:
    """The API takes text and refusals there."""
    made = Message.assistant(
        [Text("a"), Image(PNG), Document(text="b")], layout="elsewhere"
    )

    (item,) = RESPONSES.encode([made])

    assert [part["text"] for part in item["content"]] == ["a", "b"]
    assert RESPONSES.losses(made) == [
        "an image or file of a message with role assistant"
    ]


def test_responses_carry_odd_spellings() -> None:
    """A data address in capitals; a first line that ours would not be."""
    image = {"type": "input_image", "image_url": "DATA:image/png;base64,AAAA"}
    text = {"type": "input_text", "text": "[turnkeep:pending 5962ee77]"}
    output = {"type": "function_call_output", "call_id": "c", "output": [text]}

    for item in ({"role": "user", "content": [image]}, output):
        assert RESPONSES.encode(RESPONSES.decode(item)) == [item]
    (empty,) = RESPONSES.encode([Message.tool_result("c", ())])
    assert empty["output"] == ""


def test_message_objects_are_told_from_anything_else() -> None:
    """A list of dicts is not one of `Message` objects."""
    fmt = get_format("messages")

    assert match_format([{"role": "user"}], fmt.name).score == 0
    with pytest.raises(
        FormatError, match="a Message object is expected, got an object"
    ):
        fmt.decode({"role": "user"})
    with pytest.raises(FormatError, match="a list of Message objects is expected"):
        fmt.open({"messages": []})
