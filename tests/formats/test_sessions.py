"""What the readers of other programs' sessions promise, on invented files of each."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generators import json_values
from tests.paths import DATA
from turnkeep import check, convert, count, fit, plan
from turnkeep.conversation import Conversation
from turnkeep.errors import FormatError
from turnkeep.formats import (
    decode_entries,
    detect,
    get_format,
    match_format,
    open_messages,
    read,
)
from turnkeep.formats._databases import read_stored, stored_sessions
from turnkeep.formats._registry import SESSIONS
from turnkeep.model import Message, Text, ToolCall, ToolResult, same

FILES = DATA / "sessions"

SAMPLES: dict[str, tuple[str, list[str]]] = {
    "codex-0171.jsonl": (
        "codex",
        [
            "system: You are a coding agent.",
            "user: <environment_context>",
            "user: Why does the price test fail?",
            "user: Another language model started to solve",
            "assistant: Rounding: money.py uses float.",
            "assistant: exec_command(call_3)",
            "call_3 = aborted",
            "user: Stopped you. Go on without sleeping.",
        ],
    ),
    "codex-2025-subagent-fork.jsonl": (
        "codex",
        [
            "user: Find every place that rounds.",
            "assistant: spawn_agent(call_p1)",
            "call_p1 = aborted",
            "user: grep round(",
            "assistant: local_shell(call_c1)",
            'call_c1 = {"output":"money.py:12"',
            "assistant: <thinking>",
            "assistant: Only money.py:12.",
        ],
    ),
    "gemini-cli-legacy.json": (
        "gemini-cli",
        [
            "user: List the price rules.",
            (
                "assistant: Looking. read_file(read_file__c1) "
                "run_shell_command(run_shell_command__c2)"
            ),
            "read_file__c1 = R1 R2",
            "run_shell_command__c2 = 2 2 6",
            "assistant: Two rules: R1, R2.",
        ],
    ),
    "gemini-cli-resumed.jsonl": (
        "gemini-cli",
        [
            "user: List the price rules.",
            (
                "assistant: Looking. read_file(read_file__c1) "
                "run_shell_command(run_shell_command__c2)"
            ),
            "read_file__c1 = R1 R2",
            "run_shell_command__c2 = 2 2 6",
            "assistant: Two rules: R1, R2.",
            "user: And R3?",
        ],
    ),
    "goose-legacy.jsonl": (
        "goose",
        [
            "user: Count the invoices.",
            "assistant: Counting. developer__shell(call_1)",
            "call_1 = 42",
        ],
    ),
    "opencode-export.json": (
        "opencode",
        [
            "user: What did we do so far?",
            "assistant: Goal: fix rounding in money.py with Decimal.",
            "assistant: <thinking> read(toolu_1) bash(toolu_2)",
            "toolu_1 = [Old tool result content cleared]",
            "toolu_2 ! Tool execution aborted",
            "user: Continue if you have next steps.",
            "assistant: task(toolu_3)",
        ],
    ),
    "adk-session.json": ("adk", ["assistant: Asked weather and a table."]),
    "otel-genai-span.json": (
        "otel-genai",
        [
            "system: Be brief.",
            "user: Weather? <image>",
            "assistant: <thinking> weather(call_1)",
            "call_1 = 4 C",
            "assistant: 4 C.",
        ],
    ),
    "chatgpt-conversations.json": (
        "chatgpt",
        [
            "user: <image> Sum this bill.",
            "assistant: python(call_1)",
            "call_1 = 7",
            "assistant: It is 7.",
            "user: Thanks",
        ],
    ),
    "claude-ai-conversations.json": (
        "claude-ai",
        [
            "user: RATE=0.2 What is the tax?",
            "assistant: web_search(toolu_1)",
            "toolu_1 = 20 %",
            "assistant: 20 %.",
            "user: And books?",
            "assistant: web_search(call_1)",
            "call_1 = ",
            "assistant: 7 %.",
        ],
    ),
    "librechat-export-flat.json": (
        "librechat",
        [
            "user: What is the tax?",
            "assistant: Looking. search(toolu_1)",
            "toolu_1 = 20 %",
            "assistant: It is 20 %.",
            "user: And books?",
            "assistant: search(toolu_2)",
        ],
    ),
}
SAMPLES["librechat-export-recursive.json"] = SAMPLES["librechat-export-flat.json"]
"""Each file, its format, and what its program would send next."""

samples = pytest.mark.parametrize("name", SAMPLES)


def value_of(name: str) -> Any:
    """The value of an invented file."""
    reading = read(FILES / name)
    return reading.value if reading.shape != "conversations" else reading.value[0]


def told(messages: list[Message]) -> list[str]:
    """One line a message or result, as the samples' expectations have it."""
    lines: list[str] = []
    for message in messages:
        said: list[str] = []
        for block in message.content:
            match block:
                case ToolResult():
                    sign = "!" if block.is_error else "="
                    lines.append(f"{block.tool_call_id} {sign} {block.text}")
                case Text():
                    said.append(block.text)
                case ToolCall():
                    said.append(f"{block.name}({block.id})")
                case _:
                    said.append(f"<{type(block).__name__.lower()}>")
        if said:
            role = "assistant" if message.role == "tool_call" else message.role.value
            lines.append(f"{role}: {' '.join(said)}")
    return lines


def spoken(value: Any, name: str | None = None) -> list[str]:
    """What a session's program would send next."""
    fmt, envelope = open_messages(value, name)
    beside = fmt.decode_system(envelope.system) if envelope.system else ()
    return told([*beside, *decode_entries(envelope, fmt)])


def notes_of(value: Any) -> str:
    """What its reader says."""
    return "\n".join(open_messages(value)[1].notes)


@samples
def test_gives_what_the_program_would_send_next(name: str) -> None:
    expected_format, expected = SAMPLES[name]
    value = value_of(name)

    found = spoken(value)

    assert detect(value).format == expected_format
    assert len(found) == len(expected), found
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


@samples
def test_says_what_it_leaves_out(name: str) -> None:
    """Each of these files holds something that is not sent."""
    assert open_messages(value_of(name))[1].notes


@samples
def test_is_counted_checked_fitted_and_converted_like_any_list(name: str) -> None:
    value = value_of(name)
    before = copy.deepcopy(value)
    fmt, envelope = open_messages(value)
    ours, theirs = list(envelope.entries), SAMPLES[name][0]

    assert same(fmt.encode(list(decode_entries(envelope, fmt))), ours)
    assert fit(value, 100_000) == ours
    counted = count(ours, format=fmt.name, model=envelope.model)
    assert count(value).total == counted.total
    assert count(value).format == theirs
    found = [violation.rule for violation in check(value)]
    assert found == [v.rule for v in check(ours, format=fmt.name, model=envelope.model)]
    made = convert(value, to="turnkeep")
    assert made.source == theirs
    assert made.notes == envelope.notes
    assert len(Conversation.from_messages(value)) == len(made.value)
    assert value == before


@samples
def test_a_plan_for_a_session_may_be_pickled(name: str) -> None:
    """It is for the session, whatever format the window is in."""
    value = value_of(name)
    made = plan(value, 2_000)

    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own bytes

    assert again.apply(value) == made.apply(value)


class Said:
    """A message as an SDK has it."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    def model_dump(self) -> dict[str, Any]:
        """What would be sent."""
        return self.entry


def test_objects_in_a_session_are_read_as_they_would_be_sent() -> None:
    """Its window is made anew, and none of it is the caller's object."""
    said = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}

    sent: list[Any] = [said]
    objects: list[Any] = [Said(said)]

    assert fit(objects, 1_000) == fit(sent, 1_000)


@samples
def test_a_reader_is_a_format_of_its_entries(name: str) -> None:
    """So that whoever holds the format alone can go on with what `open` gave."""
    fmt = get_format(SAMPLES[name][0])
    envelope = fmt.open(value_of(name))

    entries = list(envelope.entries)

    assert same(fmt.encode(list(decode_entries(envelope, fmt))), entries)
    assert fmt.encode_request([Message.user("hi")])
    assert fmt.losses(Message.user("hi")) == []
    assert [m.text for m in fmt.decode_system("Be kind.")] == ["Be kind."]


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("value", [{}, [], [1], {"messages": 1}, {"events": {}}, ["x"]])
def test_refuses_what_is_none(name: str, value: Any) -> None:
    """By name, too: one error, or nothing in it."""
    try:
        envelope = get_format(name).open(value)
    except FormatError as error:
        assert error.path.startswith("$")
    else:
        assert list(envelope.entries) == []


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside *value*."""
    found = [path] if path else []
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for key, below in inner:
        found += places(below, (*path, key))
    return found


VALUES = {name: value_of(name) for name in SAMPLES}
PLACES = {name: places(value) for name, value in VALUES.items()}


@given(data=st.data())
def test_any_value_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    """A file that is wrong anywhere gives one error with a path, or messages."""
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    value = copy.deepcopy(VALUES[name])
    *above, last = data.draw(st.sampled_from(PLACES[name]))
    inside = value
    for key in above:
        inside = inside[key]
    if data.draw(st.booleans()):
        inside[last] = data.draw(json_values)
    else:
        del inside[last]

    try:
        fmt, envelope = open_messages(value, SAMPLES[name][0])
        list(decode_entries(envelope, fmt))
    except FormatError as error:
        assert error.path.startswith("$")
    match_format(value, SAMPLES[name][0])


@given(data=st.data())
def test_order_and_number_of_entries_do_not_break_a_reader(data: st.DataObject) -> None:
    """Lines lost, repeated and out of order: read or refused, never a crash."""
    lists = sorted(name for name in SAMPLES if isinstance(VALUES[name], list))
    name = data.draw(st.sampled_from(lists))
    lines = data.draw(st.lists(st.sampled_from(VALUES[name]), max_size=20))

    try:
        fmt, envelope = open_messages(copy.deepcopy(lines), SAMPLES[name][0])
        list(decode_entries(envelope, fmt))
    except FormatError as error:
        assert error.path.startswith("$")


def database(folder: Path, name: str, *more: str) -> Path:
    """A database of an invented text, and statements that change it."""
    path = folder / f"{name}.db"
    made = sqlite3.connect(path)
    made.executescript((FILES / f"{name}.db.sql").read_text())
    for statement in more:
        made.execute(statement)
    made.commit()
    made.close()
    return path


def test_a_database_of_opencode_holds_its_sessions(tmp_path: Path) -> None:
    reading = read(database(tmp_path, "opencode"))

    assert reading.shape == "conversations"
    titles = [session["info"]["title"] for session in reading.value]
    assert titles == ["Rounding", "review (subagent)"]
    assert spoken(reading.value[0]) == [
        "user: Fix the rounding. <reminder>plan mode off</reminder> <image>",
        "assistant: <thinking> read(toolu_1)",
        "toolu_1 = [Old tool result content cleared]",
    ]


def test_a_database_of_goose_holds_what_the_agent_sees(tmp_path: Path) -> None:
    (session,) = read(database(tmp_path, "goose-sessions")).value

    assert spoken(session) == [
        "user: Summary of the talk so far: 42 invoices were counted.",
        "user: And the open ones?",
        "assistant: <thinking> developer__shell(call_3)",
    ]
    assert "4 messages (the agent does not see it" in notes_of(session)


def test_rows_without_data_are_left_out(tmp_path: Path) -> None:
    """A full disk leaves parts of no bytes behind (opencode#7607)."""
    path = database(tmp_path, "opencode", "UPDATE part SET data='' WHERE id='prt_02'")

    assert "reminder" not in str(spoken(read(path).value[0]))


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DROP TABLE part", "no database of opencode, goose, ADK or the OpenAI Agents"),
        ("ALTER TABLE message RENAME COLUMN data TO other", "cannot be read"),
        ("UPDATE part SET data='{'", "holds no JSON"),
        ("UPDATE message SET data='[]'", "holds no object"),
    ],
)
def test_a_database_that_is_another_is_refused(
    tmp_path: Path, statement: str, reason: str
) -> None:
    with pytest.raises(FormatError, match=reason):
        read(database(tmp_path, "opencode", statement))


def test_a_database_is_read_by_its_path_and_not_written(tmp_path: Path) -> None:
    path = database(tmp_path, "opencode")
    before = path.read_bytes()

    with path.open("rb") as stream, pytest.raises(FormatError, match="by its path"):
        read(stream)
    read(path)

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_damaged_database_is_one_error(tmp_path: Path) -> None:
    path = database(tmp_path, "opencode")
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 5_000)

    with pytest.raises(FormatError, match="cannot be read"):
        read(path)


def test_one_session_of_a_database_is_asked_for_by_its_id(tmp_path: Path) -> None:
    for name, there in (("opencode", "ses_0a1"), ("goose-sessions", "20261003_1")):
        path = database(tmp_path, name)

        assert spoken(read_stored(path, there))
        with pytest.raises(FormatError, match="no session 'nobody'"):
            read_stored(path, "nobody")


def test_rows_that_hold_nothing_are_skipped(tmp_path: Path) -> None:
    """A message of no bytes, and one without metadata."""
    nothing = database(tmp_path, "opencode", "UPDATE message SET data=''")
    plain = database(tmp_path, "goose-sessions", "UPDATE messages SET metadata_json=''")

    assert spoken(read_stored(nothing, "ses_0a1")) == []
    assert len(spoken(read_stored(plain, "20261003_1"))) > 3


def test_a_database_that_cannot_be_followed_is_read_as_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that is read-only, SQLite cannot follow another program's log."""
    path = database(tmp_path, "opencode")
    connect = sqlite3.connect
    asked: list[str] = []

    class Unreadable:
        def execute(self, _statement: str) -> None:
            raise sqlite3.OperationalError

        def close(self) -> None:
            """Nothing was opened."""

    def refusing(address: str, **options: Any) -> Any:
        asked.append(address)
        if "immutable" not in address:
            return Unreadable()
        return connect(address, **options)

    monkeypatch.setattr(sqlite3, "connect", refusing)

    assert spoken(read_stored(path, "ses_0a1"))
    assert ["immutable" in address for address in asked] == [False, True]


def last_said(name: str, value: Any) -> str:
    """The last line of what *value* says, or nothing."""
    return (spoken(value, name) or [""])[-1]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("batch", {"input": {"messages": []}, "preferred_output": []}, ""),
        ("otel-genai", {"attributes": {"gen_ai.input.messages": []}}, ""),
        (
            "otel-genai",
            {"attributes": [{"key": "gen_ai.input.messages", "value": "[]"}]},
            "",
        ),
        ("chatgpt", {"mapping": {"a": {"message": None, "parent": "a"}}}, ""),
        (
            "claude-ai",
            {"chat_messages": [{"sender": "human", "parent_message_uuid": "x"}]},
            "",
        ),
        (
            "claude-ai",
            {
                "chat_messages": [
                    {
                        "sender": "assistant",
                        "content": [
                            {"type": "tool_use", "id": "a", "name": "f"},
                            {"type": "tool_result", "tool_use_id": "a", "content": "x"},
                        ],
                    }
                ]
            },
            "a = x",
        ),
        (
            "gemini-cli",
            [{"id": "a", "type": "gemini", "toolCalls": [{"name": "f", "args": {}}]}],
            "assistant: f(None)",
        ),
        ("gemini-cli", [{"id": "a", "type": "gemini"}], ""),
        (
            "librechat",
            {"messages": [{"content": [{"type": "text", "text": ""}]}]},
            "",
        ),
        ("opencode", {"info": {}, "messages": []}, ""),
        ("adk", {"events": [{"author": "user"}]}, ""),
    ],
)
def test_what_is_empty_or_bare_is_no_error(name: str, value: Any, said: str) -> None:
    assert last_said(name, value) == said


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("value", [None, 7, "x", [1], [{}], {"messages": [1]}, {}])
def test_nothing_is_taken_for_a_session_without_a_mark(name: str, value: Any) -> None:
    assert match_format(value, name).score == 0


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("value", [None, 7, "x"])
def test_a_scalar_is_no_session(name: str, value: Any) -> None:
    with pytest.raises(FormatError):
        get_format(name).open(value)


ADK_EVENTS = """
CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT,
    create_time REAL, update_time {time}, PRIMARY KEY (app_name, user_id, id));
CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT,
    invocation_id TEXT, timestamp REAL, event_data TEXT);
INSERT INTO sessions VALUES ('shop', 'ana', 's1', '{{}}', 1, {first});
INSERT INTO sessions VALUES ('shop', 'bob', 's1', '{{}}', 1, {second});
INSERT INTO events VALUES ('e2', 'shop', 'ana', 's1', 'i', 2.0,
    '{{"author": "agent", "invocationId": "i", "timestamp": 2.0,
    "content": {{"role": "model", "parts": [{{"text": "yo"}}]}}}}');
INSERT INTO events VALUES ('e1', 'shop', 'ana', 's1', 'i', 1.0,
    '{{"author": "user", "invocation_id": "i", "timestamp": 1.0,
    "content": {{"role": "user", "parts": [{{"text": "hi"}}]}}}}');
"""


@pytest.mark.parametrize(
    ("time", "first", "second"),
    [
        ("REAL", "100.5", "50.0"),
        ("DATETIME", "'2026-01-02 03:04:05.5'", "'2026-01-01 00:00:00'"),
    ],
)
def test_a_database_of_adk_holds_its_sessions(
    tmp_path: Path, time: str, first: str, second: str
) -> None:
    """Both of its services: one writes times as numbers, the other as texts."""
    path = tmp_path / "adk.db"
    made = sqlite3.connect(path)
    made.executescript(ADK_EVENTS.format(time=time, first=first, second=second))
    made.close()

    ids = [one.id for one in stored_sessions(path)]

    assert ids == ["shop/ana/s1", "shop/bob/s1"]
    assert spoken(read_stored(path, ids[0])) == ["user: hi", "assistant: yo"]
    assert spoken(read_stored(path, ids[1])) == []
    with pytest.raises(FormatError, match="no session 's1'"):
        read_stored(path, "s1")


def test_a_database_of_the_openai_agents_sdk_holds_its_sessions(
    tmp_path: Path,
) -> None:
    """Half pairs are mended, as the API refuses them (openai-agents-python#4615)."""
    path = database(tmp_path, "openai-agents-session")
    (session,) = read(path).value

    assert detect(session).format == "openai-responses"
    assert spoken(session)[:3] == [
        "user: Weather?",
        "assistant: <thinking>",
        "assistant: weather(call_1)",
    ]
    assert "call_orphan" not in str(fit(session, 5_000))
    with pytest.raises(FormatError, match="no session 'nobody'"):
        read_stored(path, "nobody")
