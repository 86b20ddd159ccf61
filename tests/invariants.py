"""What must hold of every window, checked without the library's own grouping.

Everything here is written the slow, obvious way over OpenAI-style entries, so that a
fault in `turnkeep.turns` cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from turnkeep.model import INTERIM, PENDING, marker_of

Entry = dict[str, Any]


def is_final(entry: Entry) -> bool:
    """Whether a tool message closes its call."""
    text = entry["content"]
    return not (isinstance(text, str) and marker_of(text) in (PENDING, INTERIM))


def pair(chat: list[Entry]) -> tuple[dict[int, tuple[int, int]], set[tuple[int, int]]]:
    """Which call each result answers, and which calls have no final result.

    A result belongs to the nearest earlier message that still has an unanswered call of
    its id, and in it to the first such call.
    """
    answers: dict[int, tuple[int, int]] = {}
    closed: set[tuple[int, int]] = set()
    noted: set[tuple[int, int]] = set()
    for at, entry in enumerate(chat):
        if entry["role"] != "tool":
            continue
        for earlier in range(at - 1, -1, -1):
            calls = chat[earlier].get("tool_calls") or []
            here = [
                (earlier, nth)
                for nth, made in enumerate(calls)
                if made["id"] == entry["tool_call_id"] and (earlier, nth) not in closed
            ]
            if not here:
                continue
            if not is_final(entry):
                here = [place for place in here if place not in noted] or here
            answers[at] = here[0]
            noted.add(here[0])
            if is_final(entry):
                closed.add(here[0])
            break
    every = {
        (at, nth)
        for at, entry in enumerate(chat)
        for nth, _ in enumerate(entry.get("tool_calls") or [])
    }
    return answers, every - closed


def assert_valid(window: list[Entry]) -> None:
    """Calls and results stand as a strict chat API demands (P1).

    Each result stands in the unbroken run of results after its call's message, each
    call has exactly one there; save open calls with nothing but results behind them.
    """
    at = 0
    while at < len(window):
        entry = window[at]
        assert entry["role"] != "tool", f"a result without its call: {entry}"
        calls = [made["id"] for made in entry.get("tool_calls") or []]
        stop = at + 1
        while stop < len(window) and window[stop]["role"] == "tool":
            stop += 1
        found = [answer["tool_call_id"] for answer in window[at + 1 : stop]]
        if stop == len(window):
            # The newest step may wait for its results.
            for call_id in found:
                assert call_id in calls, f"{call_id} answers nothing before it"
                calls.remove(call_id)
        else:
            assert sorted(found) == sorted(calls), f"{found} for calls {calls} @ {at}"
        at = stop


def steps_of(chat: list[Entry]) -> list[list[int]]:
    """The messages of each step, in the order in which steps begin."""
    answers, _ = pair(chat)
    steps: list[list[int]] = []
    home: dict[int, list[int]] = {}
    for at, entry in enumerate(chat):
        if entry["role"] == "tool" and at in answers:
            step = home[answers[at][0]]
        elif (
            entry["role"] == "assistant" and at and chat[at - 1]["role"] == "assistant"
        ):
            step = home[at - 1]
        else:
            step = []
            steps.append(step)
        step.append(at)
        home[at] = step
    return steps


def superseded(chat: list[Entry]) -> set[int]:
    """Placeholders that a later answer to the same call replaces."""
    answers, _ = pair(chat)
    last: dict[tuple[int, int], int] = {}
    gone: set[int] = set()
    for at, place in sorted(answers.items()):
        if place in last:
            gone.add(last[place])
        last[place] = at
    return gone


def questions_in(chat: list[Entry], ours: Collection[int] = ()) -> list[int]:
    """What people said: user messages, save those at *ours*, which we wrote."""
    users = (at for at, entry in enumerate(chat) if entry["role"] == "user")
    return [at for at in users if at not in ours]


def question_of(chat: list[Entry], ours: Collection[int] = ()) -> int | None:
    """The last user message that somebody said."""
    users = questions_in(chat, ours)
    return users[-1] if users else None


def _speaks(entry: Entry) -> bool:
    """Whether the model says it: it has read what stands before."""
    return bool(entry["role"] == "assistant")


def must_stay(
    chat: list[Entry], pins: Collection[int] = (), ours: Collection[int] = ()
) -> set[int]:
    """Messages that no budget may drop: P2, P3 and P6, all calls awaited.

    Texts of ours (summaries, digests), at *ours*, are no questions and hold nothing.
    """
    _, still_open = pair(chat)
    steps = steps_of(chat)
    step_of = {at: step for step in steps for at in step}
    kept: set[int] = set()
    for at, entry in enumerate(chat):
        if entry["role"] in ("system", "developer"):
            kept.add(at)
    users = questions_in(chat, ours)
    kept.update(users[-1:])
    if chat:
        kept.update(step_of[len(chat) - 1])
    spoke = max((at for at in range(len(chat)) if _speaks(chat[at])), default=-1)
    for at in range(spoke + 1, len(chat)):
        if chat[at]["role"] == "tool" and len(step_of[at]) > 1:
            kept.update(step_of[at])
    for at, _ in still_open:
        kept.update(step_of[at])
        kept.update([user for user in users if user < at][-1:])
    for pin in pins:
        kept.update(step_of[pin])
        kept.update([user for user in users if user <= step_of[pin][0]][-1:])
    return kept - superseded(chat)
