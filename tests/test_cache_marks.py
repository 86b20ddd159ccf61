"""`cache_marks`: where marks of the prompt cache go in lists and request bodies."""

import copy
import json
import pickle
from typing import Any

import pytest

import turnkeep

MODEL = "claude-sonnet-5"
LONG = "a long text that the model has to read " * 200  # about 1,600 tokens


def marks_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of the blocks that carry `cache_control`."""
    found: list[tuple[Any, ...]] = []
    if isinstance(value, dict):
        found += [path] if "cache_control" in value else []
        for key in sorted(value, key=lambda key: (key != "tools", key != "system")):
            found += marks_in(value[key], (*path, key))
    elif isinstance(value, list):
        for nth, item in enumerate(value):
            found += marks_in(item, (*path, nth))
    return found


def loop(steps: int, words: str = "word " * 120) -> list[dict[str, Any]]:
    """A question, and an agent at work on it."""
    made: list[dict[str, Any]] = [{"role": "user", "content": LONG}]
    for nth in range(steps):
        call = {"type": "tool_use", "id": f"c{nth}", "name": "run", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{nth}", "content": words}
        made.append(
            {"role": "assistant", "content": [{"type": "text", "text": "go"}, call]}
        )
        made.append({"role": "user", "content": [result]})
    return made


def body(steps: int = 30, **more: Any) -> dict[str, Any]:
    """A whole request."""
    tool = {"name": "run", "description": LONG, "input_schema": {"type": "object"}}
    return {
        "model": MODEL,
        "max_tokens": 100,
        "system": LONG,
        "tools": [tool],
        "messages": loop(steps),
        **more,
    }


def place(request: Any, tokens: int = 100_000, **options: Any) -> Any:
    """It, marked."""
    options = {"model": MODEL, "cache_marks": "place", **options}
    return turnkeep.fit(request, tokens, **options)


def test_marks_stand_where_the_next_request_can_begin() -> None:
    """End of system, of the head, 18 positions from the end, the last message."""
    made = place(body())
    found = marks_in(made)

    assert [path[0] for path in found] == ["system", "messages", "messages", "messages"]
    assert [path[1] for path in found[1:]] == [0, 48, 60]
    assert turnkeep.check(made, model=MODEL) == []


def test_placing_changes_nothing_but_marks() -> None:
    """The caller's own entries where none is; his input never; twice is once."""
    request = body()
    before = copy.deepcopy(request)

    made = place(request)

    assert request == before
    assert place(made) == made
    assert made["messages"][5] is request["messages"][5]
    dropped = turnkeep.fit(made, 100_000, model=MODEL, cache_marks="drop")
    assert marks_in(dropped) == []
    assert turnkeep.fit(dropped, 100_000, model=MODEL) == dropped
    plan = turnkeep.plan(request, 100_000, model=MODEL, cache_marks="place")
    assert not plan.edited
    assert plan.apply(request) == made
    assert pickle.loads(pickle.dumps(plan)).apply(request) == made  # noqa: S301 - ours


def test_keep_leaves_them_alone() -> None:
    request = body()
    request["messages"][3]["content"][0]["cache_control"] = {"type": "ephemeral"}

    assert turnkeep.fit(request, 100_000, model=MODEL) == request


def test_tools_are_marked_where_there_is_no_system_text() -> None:
    """The last one that is sent: a deferred one is not in the prompt."""
    request = body()
    del request["system"]
    late = {"name": "late", "input_schema": {}, "defer_loading": True}
    request["tools"].append(late)

    made = place(request)

    assert marks_in(made)[0][:2] == ("tools", 0)
    assert turnkeep.check(made, model=MODEL) == []


def test_the_callers_longest_life_is_taken_over() -> None:
    """For every mark, so that none of an hour stands behind one of five minutes."""
    request = body()
    hour = {"type": "ephemeral", "ttl": "1h"}
    request["messages"][3]["content"][0]["cache_control"] = hour
    request["tools"][0]["cache_control"] = {"type": "ephemeral"}

    made = place(request)

    text = json.dumps(made)
    assert text.count('"ttl": "1h"') == text.count('"cache_control"') == 4
    assert turnkeep.check(made, model=MODEL) == []


def test_the_automatic_mark_makes_way() -> None:
    """It would take one of the four places; its life is taken over."""
    made = place(body(cache_control={"type": "ephemeral", "ttl": "1h"}))

    assert "cache_control" not in made
    assert json.dumps(made).count('"ttl": "1h"') == 4


def test_marks_that_are_sent_beside_the_list_are_counted() -> None:
    """Nobody can change them here: fewer are set, and none lives longer."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": LONG, **mark}]
    history = loop(30)
    history[3]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}

    made = place(history, system=system)

    assert len(marks_in(made)) == 3
    assert '"1h"' not in json.dumps(made)


def test_a_list_alone_has_more_of_the_strides() -> None:
    """Every 18 positions from the end, and the head."""
    found = marks_in(place(loop(40)))

    assert [path[0] for path in found] == [0, 56, 68, 80]


@pytest.mark.parametrize(
    ("model", "first"), [("claude-opus-5", 0), ("claude-opus-4-6", 30)]
)
def test_none_stands_below_the_models_minimum(model: str, first: int) -> None:
    """512 tokens of one model, 4,096 of another."""
    found = marks_in(place(loop(40), model=model))

    assert (found[0][0] == 0) is (first == 0)
    assert marks_in(place(loop(2), model="claude-opus-4-6")) == []


def test_thinking_and_empty_text_are_never_marked() -> None:
    """The block before them is."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    request = body(2)
    request["messages"] += [
        {"role": "assistant", "content": [{"type": "text", "text": "done"}, thinking]},
    ]

    found = marks_in(place(request, model="claude-sonnet-4-5"))

    assert found[-1] == ("messages", 5, "content", 0)


def test_a_window_that_was_cut_is_marked_too() -> None:
    made = place(body(200), budget=None, tokens=20_000)

    assert len(made["messages"]) < 300
    assert len(marks_in(made)) == 4
    assert turnkeep.check(made, model=MODEL) == []


def test_bedrock_has_points_behind_what_is_cached() -> None:
    """In system, in messages; never inside a result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": LONG}]}]
    for nth in range(30):
        use = {"toolUse": {"toolUseId": f"c{nth}", "name": "run", "input": {}}}
        said = [{"text": "word " * 100}]
        result = {"toolResult": {"toolUseId": f"c{nth}", "content": said}}
        messages.append({"role": "assistant", "content": [use]})
        messages.append({"role": "user", "content": [result]})
    spec = {"name": "run", "inputSchema": {"json": {}}}
    request = {
        "system": [{"text": LONG}],
        "messages": messages,
        "toolConfig": {"tools": [{"toolSpec": spec}]},
    }
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

    made = place(request, model=model)

    point = {"cachePoint": {"type": "default"}}
    assert made["system"][-1] == point
    assert made["messages"][0]["content"][-1] == point
    assert made["messages"][-1]["content"][-1] == point
    assert json.dumps(made).count("cachePoint") == 4
    assert place(made, model=model) == made
    assert turnkeep.check(made, model=model) == []
    dropped = turnkeep.fit(made, 100_000, model=model, cache_marks="drop")
    assert dropped == request
    llama = place(request, model="meta.llama3-1-70b-instruct-v1:0")
    assert llama == request


def test_openai_has_breakpoints_from_a_version_on() -> None:
    """On what people and the host say; earlier models know no such key."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": LONG}]
    for nth in range(20):
        chat.append({"role": "user", "content": f"{nth} " + "word " * 100})
        chat.append({"role": "assistant", "content": "yes"})
    chat.append({"role": "user", "content": "and now?"})

    made = place(chat, model="gpt-5.6")

    point = {"mode": "explicit"}
    assert made[0]["content"][0]["prompt_cache_breakpoint"] == point
    assert made[-1]["content"][0]["prompt_cache_breakpoint"] == point
    assert json.dumps(made).count("prompt_cache_breakpoint") == 4
    assert place(made, model="gpt-5.6") == made
    assert turnkeep.check(made, model="gpt-5.6") == []
    assert place(chat, model="gpt-5.5") == chat


def test_responses_have_breakpoints_too() -> None:
    items: list[dict[str, Any]] = [{"role": "developer", "content": LONG}]
    for nth in range(45):
        said = [{"type": "input_text", "text": f"{nth} " + "word " * 100}]
        items.append({"type": "message", "role": "user", "content": said})
    request = {"model": "gpt-5.6", "instructions": "be brief", "input": items}

    made = place(request, model="gpt-5.6")

    assert "prompt_cache_breakpoint" in made["input"][-1]["content"][0]
    assert json.dumps(made).count("prompt_cache_breakpoint") == 4
    assert turnkeep.check(made, model="gpt-5.6") == []


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="cache_marks must be one of"):
        turnkeep.fit([], 100, cache_marks="yes")  # type: ignore[call-overload]
