"""Runs one situation from a public bug report, and checks what is expected of it."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from tests.invariants import assert_valid
from turnkeep import (
    AlreadyResolvedError,
    Budget,
    BudgetExceededError,
    Conversation,
    DuplicateIdError,
    InvalidHistoryError,
    Message,
    NaiveTimestampError,
    OlderThan,
    OpenCallError,
    StalePlanError,
    Summarize,
    TruncateToolResults,
    TurnkeepError,
    UnknownCallError,
    fit,
    plan,
)
from turnkeep.formats import get_format
from turnkeep.tokens import request_counter

FORMATS = {
    "openai-chat": "openai",
    "anthropic": "anthropic",
    "responses": "openai-responses",
    "session-jsonl": "openai",
}
ERRORS: dict[str, type[Exception]] = {
    "over_budget": BudgetExceededError,
    "duplicate_id": DuplicateIdError,
    "naive_timestamp": NaiveTimestampError,
    "pending_call": OpenCallError,
    "orphan_result": InvalidHistoryError,
}
Case = dict[str, Any]


def expand(value: Any) -> Any:
    """The short forms `$repeat` and `$concat` written out."""
    if isinstance(value, list):
        return [expand(v) for v in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$repeat"}:
        return value["$repeat"]["text"] * value["$repeat"]["times"]
    if set(value) == {"$concat"}:
        return "".join(map(expand, value["$concat"]))
    return {k: expand(v) for k, v in value.items()}


def load(path: Path) -> Case:
    """One case, with long texts written out (in call arguments as well)."""
    case: Case = expand(json.loads(path.read_text()))
    for message in case["messages"]:
        for call in message.get("tool_calls") or []:
            arguments = call["function"]["arguments"]
            if "$repeat" in arguments:
                call["function"]["arguments"] = json.dumps(
                    expand(json.loads(arguments))
                )
    return case


@attrs.define
class Result:
    """What came of a case."""

    entries: list[Any] = attrs.Factory(list)
    """The window, in the provider's shape."""
    ids: list[str] = attrs.Factory(list)
    error: Exception | None = None
    chat: Conversation | None = None
    seconds: float = 0.0
    windows: list[list[str]] = attrs.Factory(list)
    """Ids of each window that was made on the way."""
    tokens: int = 0


class Runner:
    """Runs a case with the one-shot functions, or step by step in a conversation."""

    def __init__(self, case: Case) -> None:
        """Take the case apart."""
        self.case = case
        self.format = FORMATS[case["format"]]
        self.messages: list[dict[str, Any]] = case["messages"]
        self.tokens: dict[str, int] | None = case.get("tokens")
        self.originals = {m["id"]: copy.deepcopy(m) for m in self.messages}
        self.rules = request_counter(format=self.format, model="gpt-4o")

    def count(self, entry: dict[str, Any]) -> int:
        """Tokens of an entry: as the case says, or counted where it was changed."""
        known = self.originals.get(entry.get("id", ""))
        assert self.tokens is not None
        if known == entry:
            return self.tokens[entry["id"]]
        if known is None and "tool_call_id" in entry:
            return 0  # a stand-in of ours: the cases do not count them
        (message, *_) = get_format(self.format).decode(entry)
        return self.rules.message(message)

    def budget(self) -> Budget | None:
        """The case's budget; tools and reserve leave less for messages."""
        given = self.case.get("budget")
        if given is None:
            return None
        room = given["max_tokens"] - given.get("tools_tokens", 0)
        target = given.get("prune_to_tokens")
        return Budget(
            room,
            reserve=given.get("reserve_tokens", 0),
            target=target / room if target else 1.0,
        )

    def strategy(self) -> Any:
        """The case's strategy."""
        given = self.case.get("budget", {})
        match given.get("strategy"):
            case "truncate_results":
                return TruncateToolResults(given["max_result_tokens"])
            case "summarize":
                return Summarize(
                    lambda messages: f"Before: {len(messages)} messages.",
                    max_tokens=max(given["summary_tokens"], 20),
                )
            case _:
                return None

    def run(self) -> Result:
        """Do what the case says."""
        result = Result()
        begun = time.perf_counter()
        try:
            if self.case.get("steps"):
                self._walk(result)
            else:
                self._once(result)
        except (TurnkeepError, ValueError) as error:
            result.error = error
        result.seconds = time.perf_counter() - begun
        return result

    def _once(self, result: Result) -> None:
        options: dict[str, Any] = {
            "budget": self.budget(),
            "format": self.format,
            "strategy": self.strategy(),
            "pinned": self.case.get("pinned_ids", ()),
        }
        if self.tokens is not None:
            options["token_counter"] = self.count
            options["model"] = self.case.get("model")
        else:
            options["model"] = self.case.get("model", "gpt-4o")
        given: Any = self.messages
        if body := self.case.get("body"):
            key = "input" if self.format == "openai-responses" else "messages"
            given = {**body, key: self.messages}
        decided = plan(given, **options)
        result.tokens = decided.tokens
        result.entries = fit(given, **options)
        if body:
            result.entries = result.entries[key]  # type: ignore[call-overload]
        result.ids = [e["id"] for e in result.entries if "id" in e]

    # -- step by step ---------------------------------------------------------------

    def message(self, entry: dict[str, Any]) -> list[Message]:
        """The messages of one entry, with the case's ids, counts and times."""
        from datetime import datetime

        stamp = self.case.get("timestamps", {}).get(entry["id"])
        parts = get_format(self.format).decode(entry)
        made = []
        for nth, part in enumerate(parts):
            fields: dict[str, Any] = {
                "id": entry["id"] if not nth else f"{entry['id']}+"
            }
            if self.tokens is not None and not nth:
                fields["token_count"] = self.tokens[entry["id"]]
            if stamp is not None:
                fields["timestamp"] = datetime.fromisoformat(stamp)
            made.append(part.evolve(**fields))
        return made

    def conversation(self) -> Conversation:
        """An empty conversation with the case's settings.

        The cases know no per-request overhead, so the budget gets that much more.
        """
        budget = self.budget()
        if budget is not None:
            room = budget.max_tokens + self.rules.request()
            share = (budget.target or 1.0) * budget.max_tokens / room
            budget = attrs.evolve(budget, max_tokens=room, target=share)
        return Conversation(
            budget=budget,
            format=self.format,
            model="gpt-4o" if self.format == "openai" else None,
            strategy=self.strategy(),
        )

    def _walk(self, result: Result) -> None:
        case = self.case
        chat = self.conversation()
        by_id = {m["id"]: m for m in self.messages}
        if not any(
            s["op"] in ("append", "append_and_prune_each_turn", "load_raw")
            for s in case["steps"]
        ):
            for entry in self.messages:
                chat.extend(self.message(entry))
        for pin in case.get("pinned_ids", ()):
            chat.set_pinned(pin, True)
        plans: dict[str, Any] = {}
        copies: dict[str, Conversation] = {}
        for step in case["steps"]:
            match step["op"]:
                case "append":
                    for message_id in step["ids"]:
                        chat.extend(self.message(by_id[message_id]))
                    for pin in case.get("pinned_ids", ()):
                        chat.set_pinned(pin, True)
                case "prune":
                    if step.get("strategy") == "max_age":
                        chat.strategy = _older_than(step)
                    self._window(chat, result)
                case "plan_prune":
                    # The batch is still running, so nothing of it may go yet.
                    plans[step["as"]] = chat.fit(on_overflow="send").plan
                case "apply":
                    try:
                        plans[step["plan"]].apply(chat)
                    except StalePlanError:
                        continue
                    msg = "a plan for an earlier state was applied"
                    raise AssertionError(msg)
                case "count":
                    result.tokens = sum(map(chat._ledger.count, range(len(chat))))
                case "append_and_prune_each_turn":
                    for entry in self.messages:
                        chat.extend(self.message(entry))
                        if entry["role"] == "assistant":
                            self._window(chat, result)
                case "save":
                    plans["saved"] = chat.to_json()
                case "load":
                    copies[step["as"]] = Conversation.from_json(
                        copy.deepcopy(plans["saved"]), strategy=self.strategy()
                    )
                case "save_load":
                    text = json.dumps(chat.to_json())
                    chat = Conversation.from_json(
                        json.loads(text), strategy=self.strategy()
                    )
                case "resolve":
                    target = copies[step["in"]] if "in" in step else chat
                    target.resolve(step["call_id"], step["content"])
                case "rewind_to":
                    chat.rewind(step["id"])
                    result.ids = [m.id or "" for m in chat]
                case "parallel":
                    self._race(chat, step, result)
                case other:
                    msg = f"unknown step {other}"
                    raise AssertionError(msg)
        result.chat = chat
        if copies:
            assert not copies["A"].pending
            assert [p.id for p in copies["B"].pending] == ["call_1"]
        if not result.ids:
            self._window(chat, result)

    def _window(self, chat: Conversation, result: Result) -> None:
        result.chat = chat
        window = chat.fit()
        encoded = window.encode()
        result.entries = encoded.get("messages") or encoded.get("input") or []
        result.ids = [
            m.id for m in window if m.id is not None and not m.id.endswith("+")
        ]
        result.windows.append(result.ids)
        result.tokens = window.plan.tokens - window.plan.fixed

    def _race(self, chat: Conversation, step: dict[str, Any], result: Result) -> None:
        faults: list[Exception] = []

        def work() -> None:
            try:
                for _ in range(step["times"]):
                    for action in step["each"]:
                        if action["op"] == "append_user":
                            chat.append(Message.user(action["content"], token_count=10))
                        else:
                            chat.fit()
            except Exception as error:  # noqa: BLE001 - any fault of a thread counts
                faults.append(error)

        threads = [threading.Thread(target=work) for _ in range(step["threads"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults, faults
        assert len(chat) == len(self.messages) + step["threads"] * step["times"]
        self._window(chat, result)


def _older_than(step: dict[str, Any]) -> OlderThan:
    from datetime import datetime, timedelta

    return OlderThan(
        timedelta(seconds=step["max_age_s"]), now=datetime.fromisoformat(step["now"])
    )


# -- checks ----------------------------------------------------------------------------


def verify(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    """Assert one machine-readable expectation."""
    CHECKS[check["kind"]](runner, result, check)


def _ok(result: Result) -> None:
    if result.error is not None:
        raise AssertionError(result.error) from result.error


def _valid(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del check
    _ok(result)
    if runner.format == "openai":
        assert_valid(result.entries)
        return
    from turnkeep.profiles import check_request

    hard = check_request(result.entries, format=runner.format)
    assert not hard, hard


def _order(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del check
    _ok(result)
    at = {m["id"]: nth for nth, m in enumerate(runner.messages)}
    results = {m["id"] for m in runner.messages if m.get("role") == "tool"}
    places = [at[i] for i in result.ids if i in at and i not in results]
    assert places == sorted(places)


def _fits(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del check
    _ok(result)
    budget = runner.budget()
    assert budget is not None
    assert result.tokens <= budget.max_tokens - budget.reserve


def _present(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    assert set(check["ids"]) <= set(result.ids)


def _absent(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    assert not set(check["ids"]) & set(result.ids)


def _equals(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    assert result.ids == check["ids"]


def _all_or_none(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    for group in check["groups"]:
        there = set(group) & set(result.ids)
        assert there in (set(), set(group)), group


def _unchanged(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del check
    _ok(result)
    assert result.entries == list(runner.originals.values())


def _content_unchanged(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    _ok(result)
    sent = {entry.get("id"): entry for entry in result.entries}
    for message_id in check["ids"]:
        assert sent[message_id] == runner.originals[message_id]


def _first(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    assert result.ids[0] == check["id"]


def _first_plain(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner, check
    _ok(result)
    first = next(e for e in result.entries if e["role"] != "system")
    assert first["role"] == "user"
    blocks = first["content"] if isinstance(first["content"], list) else []
    assert not any(block.get("type") == "tool_result" for block in blocks)


def _adjacent(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    at = result.ids.index(check["ids"][0])
    assert result.ids[at : at + len(check["ids"])] == check["ids"]


def _raises(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    if check["error"] == "over_budget" and isinstance(
        result.error, BudgetExceededError
    ):
        assert result.error.smallest >= check["min_tokens"]
        if not runner.case.get("pending_calls"):
            # Else a stand-in is counted as well (design: P4), which the cases do not.
            assert result.error.needed == check["min_tokens"]
        sums: dict[str, int] = {}
        for held in result.error.held:
            cause = (
                "newest_turn" if held.cause in ("question", "newest") else held.cause
            )
            sums[cause] = sums.get(cause, 0) + held.tokens
        for cause, tokens in check.get("breakdown", {}).items():
            assert sums[cause] == tokens
        return
    wanted = ERRORS.get(check["error"])
    assert wanted is not None
    assert isinstance(result.error, wanted), result.error


def _one_of(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    faults = []
    for option in check["options"]:
        try:
            for inner in option:
                verify(runner, result, inner)
        except AssertionError as fault:
            faults.append(fault)
        else:
            return
    raise AssertionError(faults)


def _detects(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result
    chat = runner.conversation()
    for entry in runner.messages:
        chat.extend(runner.message(entry))
    if check["problem"] == "unanswered_call":
        assert [call.id for call in chat.unanswered] == check["call_ids"]
        for call_id in check["call_ids"]:
            chat.cancel(call_id, "it was aborted")
        assert not chat.unanswered
        return
    try:
        fit(runner.messages, 10**6, format=runner.format, on_invalid="raise")
    except InvalidHistoryError as error:
        named = [v for v in error.violations if v.rule == check["problem"]]
        for call_id in check["call_ids"]:
            assert any(repr(call_id) in v.message for v in named)
    else:
        msg = "nothing was found"
        raise AssertionError(msg)
    mended = fit(runner.messages, 10**6, format=runner.format)
    assert len(mended) == len(runner.messages) - 1


def _no_crash(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner, check
    if result.error is not None:
        assert isinstance(result.error, TurnkeepError), result.error


def _idempotent(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del check
    _ok(result)
    again = fit(
        result.entries,
        budget=runner.budget(),
        format=runner.format,
        token_counter=runner.count,
    )
    assert again == result.entries


def _in_time(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    # Generous: another job may be running beside the tests.
    assert result.seconds <= 5 * check["seconds"]


def _count_between(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result
    (message,) = get_format(runner.format).decode(runner.originals[check["id"]])
    for model in ("gpt-4o", None):
        counter = request_counter(format=runner.format, model=model)
        assert check["low"] <= counter.message(message) <= check["high"]


def _held_by(runner: Runner) -> Conversation:
    """The case's messages in a conversation, saved and restored."""
    chat = runner.conversation()
    for entry in runner.messages:
        chat.extend(runner.message(entry))
    return Conversation.from_json(json.loads(json.dumps(chat.to_json())))


def _pending(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result
    assert [call.id for call in _held_by(runner).pending] == check["call_ids"]


def _resolvable(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result
    chat = _held_by(runner)
    for call_id in check["call_ids"]:
        chat.resolve(call_id, "done")
        for wrong, error in ((call_id, AlreadyResolvedError), ("?", UnknownCallError)):
            try:
                chat.resolve(wrong, "again")
            except error:
                continue
            msg = f"{wrong} was resolved"
            raise AssertionError(msg)
    assert not chat.pending


def _pending_count(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    chat = result.chat or _held_by(runner)
    assert len(chat.pending) == check["n"]


def _result_of(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    assert result.chat is not None
    found = [
        r.text
        for m in result.chat
        for r in m.tool_results
        if r.tool_call_id == check["call_id"]
    ]
    assert found == [check["content"]]


def _round_trip(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result, check
    chat = Conversation.from_messages(
        list(runner.originals.values()), format=runner.format, budget=Budget(10**6)
    )
    again = Conversation.from_json(json.loads(json.dumps(chat.to_json())))
    assert again.messages == chat.messages
    assert again.fit().encode()["messages"] == list(runner.originals.values())


def _pins(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    assert result.chat is not None
    assert [m.id for m in result.chat.pinned] == check["ids"]
    for window in result.windows:
        assert set(check["ids"]) <= set(window)


def _copies(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner, check
    _ok(result)  # asserted while the copies were at hand


def _render(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    if isinstance(result.error, OpenCallError):
        return
    _valid(runner, result, check)


def _input(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del result, check
    assert runner.messages == list(runner.originals.values())


def _prefix(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    changes = 0
    for before, after in zip(result.windows, result.windows[1:], strict=False):
        if after[: len(before)] != before:
            changes += 1
    assert changes <= check["n"]


def _summaries(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner
    _ok(result)
    found = [e for e in result.entries if "[turnkeep:summary " in str(e.get("content"))]
    assert len(found) <= check["n"]


def _originals(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    chat = runner.conversation()
    for entry in runner.messages:
        chat.extend(runner.message(entry))
    chat.fit()
    gone = {m.id: m for m in chat.archive}
    fmt = get_format(runner.format)
    for message_id in check["ids"]:
        assert message_id not in result.ids
        assert fmt.encode([gone[message_id]]) == [runner.originals[message_id]]


def _unique(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner, check
    assert result.chat is not None
    every = [m.id for m in result.chat]
    assert len(every) == len(set(every))


def _utf8(runner: Runner, result: Result, check: dict[str, Any]) -> None:
    del runner, check
    _ok(result)
    assert result.chat is not None
    # Kept as it came, written as a JSON escape: the file is valid UTF-8.
    from turnkeep.serial import dumps

    dumps(result.chat.to_json()).decode("utf-8")
    json.dumps(result.entries).encode("utf-8")


CHECKS: dict[str, Callable[[Runner, Result, dict[str, Any]], None]] = {
    "no_orphan_results": _valid,
    "no_unanswered_calls": _valid,
    "order_preserved": _order,
    "fits_budget": _fits,
    "present": _present,
    "absent": _absent,
    "equals_ids": _equals,
    "all_or_none": _all_or_none,
    "unchanged": _unchanged,
    "content_unchanged": _content_unchanged,
    "first_id": _first,
    "first_is_plain_user": _first_plain,
    "adjacent": _adjacent,
    "raises": _raises,
    "one_of": _one_of,
    "detects": _detects,
    "no_crash": _no_crash,
    "idempotent": _idempotent,
    "completes_within_s": _in_time,
    "count_between": _count_between,
    "pending_after_roundtrip": _pending,
    "resolvable_after_restore": _resolvable,
    "pending_count_after": _pending_count,
    "result_of": _result_of,
    "roundtrip_equal": _round_trip,
    "pinned_after_roundtrip": _pins,
    "independent_copies": _copies,
    "render_valid": _valid,
    "render_valid_or_raises": _render,
    "input_unchanged": _input,
    "prefix_changes_at_most": _prefix,
    "summaries_at_most": _summaries,
    "removed_originals_available": _originals,
    "ids_unique": _unique,
    "valid_utf8": _utf8,
}
