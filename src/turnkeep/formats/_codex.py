from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from turnkeep.errors import FormatError

from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes, counted_ids
from ._sessions._values import kind_of, text_of
from ._shape import as_array, as_object, as_text, json_type

NAME: Final = "codex"

_TYPES: Final = frozenset(
    {"session_meta", "response_item", "turn_context", "event_msg", "compacted"}
)
_PASSTHROUGH: Final = "internal_chat_message_metadata_passthrough"
_TYPED: Final = "user.text"
_INJECTED: Final = (
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<turn_aborted>",
)
_ANSWERS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}
"""The calls that Codex answers, and the items that it answers them with."""

_OUTPUTS: Final = frozenset(_ANSWERS.values())
_ABORTED: Final = "aborted"
"""What Codex sends for a call that was never answered; a search for tools finds none.
"""

_SHOWN_ROLES: Final = {"UserMessage": "user", "AgentMessage": "assistant"}
"""Items of events (from 0.147 on) that show what was said, and by whom."""


def _line(line: dict[Any, Any]) -> str | None:
    """Lines have `type`, `timestamp` and a `payload`."""
    if kind_of(line) not in _TYPES or "timestamp" not in line:
        return None
    if not isinstance(line.get("payload"), dict):
        return None
    return f"a line of type {line['type']!r} with a payload"


class Codex(SessionFormat):
    """Rollouts of the Codex CLI: one line an event, items of the Responses API inside.

    The context is what the `response_item` lines hold, in order; a `compacted` line
    replaces all before it. Calls that were given up are answered as Codex does.
    """

    name = NAME
    marks = marks_of(_line)
    wire = "openai-responses"
    files = "`$CODEX_HOME` (`~/.codex`): `sessions/**/rollout-*.jsonl`, archived ones"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        if not isinstance(value, (list, tuple)):
            reason = f"expected the lines of a rollout, got {json_type(value)}"
            raise FormatError(reason, "$")
        rollout = _Rollout(notes)
        for path, line in _lines(value, notes):
            rollout.take(line, path)
        return rollout.session()


def _lines(value: Sequence[Any], notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines with their paths; one that was written twice is given once."""
    seen: dict[int, Any] = {}
    for nth, line in enumerate(value):
        path = f"$[{nth}]"
        as_object(line, "a line", path)
        ordinal = line.get("ordinal")
        if isinstance(ordinal, int):
            if seen.get(ordinal) == line:
                notes.left_out("line | written twice")
                continue
            if ordinal in seen:
                notes.say(f"two lines have the ordinal {ordinal}; both are read")
            seen[ordinal] = line
        yield path, line
    if seen:
        missing = max(seen) - min(seen) + 1 - len(seen)
        if missing:
            notes.say(f"lines missing from the file, by its ordinals: {missing:,}")


class _Rollout:
    """The context, as it grows line by line."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.items: list[dict[str, Any]] = []
        self.said: list[tuple[int, dict[str, Any]]] = []
        """What the events say was said, and how many items stood before it: some
        releases wrote it nowhere else."""
        self.has_items = False
        self.instructions: str | None = None
        self.headers = 0
        self.model: str | None = None

    def take(self, line: dict[str, Any], path: str) -> None:
        kind = kind_of(line)
        where = f"{path}.payload"
        if kind == "response_item":
            self._item(as_object(line.get("payload"), "the payload", where), where)
        elif kind == "compacted":
            self._compacted(as_object(line.get("payload"), "the payload", where), where)
        elif isinstance(payload := line.get("payload"), dict):
            if kind == "session_meta":
                self._header(payload)
            elif kind == "turn_context":
                model = payload.get("model")
                self.model = model if isinstance(model, str) else self.model
            elif kind == "event_msg":
                self._event(payload, where)
                return
            self.notes.left_out("line of bookkeeping")
        else:
            self.notes.left_out("line of bookkeeping")

    def _item(self, payload: dict[str, Any], path: str) -> None:
        self.has_items = True
        if kind_of(payload) == "ghost_snapshot":
            self.notes.left_out("item of type ghost_snapshot")
            return
        self.items.append(_checked(payload, path))

    def _header(self, payload: dict[str, Any]) -> None:
        self.headers += 1
        if self.headers > 1:
            self.notes.say(
                "the history of another session was copied into this one, and is read"
            )
            return
        base = payload.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else None
        self.instructions = text if isinstance(text, str) and text else None

    def _compacted(self, payload: dict[str, Any], path: str) -> None:
        dropped = len(self.items)
        history = payload.get("replacement_history")
        if history is not None:
            where = f"{path}.replacement_history"
            self.items = [
                _checked(item, f"{where}[{nth}]")
                for nth, item in enumerate(as_array(history, "the history", where))
            ]
        elif "replacement_history_entries" in payload:
            reason = "a compaction that refers to items elsewhere cannot be read"
            raise FormatError(reason, f"{path}.replacement_history_entries")
        else:
            summary = as_text(payload.get("message"), "message", f"{path}.message")
            asked = [item for item in self.items if _is_user(item)]
            self.items = [*asked, _message("user", summary)]
            self.notes.say(
                "an old compaction without its history is read as the user's messages "
                "and its summary"
            )
        self.has_items = True
        self.said.clear()
        self.notes.left_out("item | replaced by a compaction", dropped)

    def _event(self, payload: dict[str, Any], path: str) -> None:
        kind = kind_of(payload)
        if kind == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"), path)
            return
        if (said := _shown(payload, kind)) is not None:
            self.said.append((len(self.items), said))
        self.notes.left_out("event | only shown")

    def _roll_back(self, turns: Any, path: str) -> None:
        if isinstance(turns, bool) or not isinstance(turns, int) or turns < 0:
            reason = f"num_turns must be a number of turns, got {json_type(turns)}"
            raise FormatError(reason, f"{path}.num_turns")
        shown = [nth for nth, (_, said) in enumerate(self.said) if _is_user(said)]
        starts = [nth for nth, item in enumerate(self.items) if _is_typed(item)]
        starts = starts or [self.said[nth][0] for nth in shown]
        if turns and starts:
            cut = starts[max(len(starts) - turns, 0)]
            self.notes.left_out("item | rolled back", len(self.items) - cut)
            del self.items[cut:]
        if turns and shown:
            del self.said[shown[max(len(shown) - turns, 0)] :]

    def session(self) -> Session:
        items = [
            *([_message("developer", self.instructions)] if self.instructions else []),
            *_answered(_paired(_once(self._all(), self.notes), self.notes), self.notes),
        ]
        return Session(items, model=self.model)

    def _all(self) -> list[dict[str, Any]]:
        """The items, with what stands in events alone."""
        if not self.has_items:
            if self.said:
                self.notes.say(
                    "the file has events only: calls and results are not in it"
                )
            return [said for _, said in self.said]
        asked = [(nth, said) for nth, said in self.said if _is_user(said)]
        if not asked or any(map(_is_typed, self.items)):
            return self.items
        self.notes.say(
            "what the user said stands in events only, and is read from them"
        )
        items = list(self.items)
        for nth, said in reversed(asked):
            items.insert(nth, said)
        return items


def _checked(item: Any, path: str) -> dict[str, Any]:
    """An item as it is sent: without what only Codex reads."""
    as_object(item, "an item", path)
    sent = {key: value for key, value in item.items() if key != _PASSTHROUGH}
    if kind_of(sent) == "compaction_summary":
        sent["type"] = "compaction"
    if kind_of(sent) == "reasoning" and sent.get("content", "") is None:
        del sent["content"]
    if _PASSTHROUGH in item and _kinds(item):
        # Which user items a person typed is asked once more when turns are rolled back.
        return _Typed(sent) if _TYPED in _kinds(item) else _Injected(sent)
    return sent


class _Typed(dict[str, Any]):
    """An item that says a person typed it."""


class _Injected(dict[str, Any]):
    """An item that says nobody typed it."""


def _kinds(item: Mapping[str, Any]) -> tuple[Any, ...]:
    around = item.get(_PASSTHROUGH)
    kinds = around.get("content_item_kinds") if isinstance(around, dict) else None
    return tuple(kinds) if isinstance(kinds, (list, tuple)) else ()


def _is_user(item: Mapping[str, Any]) -> bool:
    return kind_of(item) == "message" and item.get("role") == "user"


def _is_typed(item: Mapping[str, Any]) -> bool:
    """Whether a person said it, not Codex in the person's name."""
    if not _is_user(item) or isinstance(item, _Injected):
        return False
    if isinstance(item, _Typed):
        return True
    content = item.get("content")
    first = content[0] if isinstance(content, (list, tuple)) and content else content
    text = first.get("text") if isinstance(first, dict) else first
    return not (isinstance(text, str) and text.lstrip().startswith(_INJECTED))


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    part = {"type": kind, "text": text}
    return {"type": "message", "role": role, "content": [part]}


def _shown(event: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """What was said, as an event shows it; none of an event that shows something else.

    Up to 0.146 an event of its own, from 0.147 on an item that is completed.
    """
    text = event.get("message")
    if isinstance(text, str) and kind in ("user_message", "agent_message"):
        return _message("user" if kind == "user_message" else "assistant", text)
    item = event.get("item")
    if kind != "item_completed" or not isinstance(item, dict):
        return None
    role, content = _SHOWN_ROLES.get(kind_of(item)), item.get("content")
    if role is None or not isinstance(content, (list, tuple)):
        return None
    parts = [part for part in content if isinstance(part, dict)]
    # The type is spelled "text" in what a user said, and "Text" in an answer.
    texts = [text_of(part.get("text")) for part in parts]
    return _message(role, "\n".join(filter(None, texts))) if any(texts) else None


def _once(items: Sequence[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """*items*, each id once: one that was written twice is the same item."""
    kept: list[dict[str, Any]] = []
    ids: dict[str, dict[str, Any]] = {}
    for item in items:
        item_id = item.get("id")
        if isinstance(item_id, str):
            known = ids.get(item_id)
            if known == item:
                notes.left_out("item | written twice")
                continue
            if known is not None:
                # Two items under one id: the API takes items without one.
                notes.say(f"two items have the id {item_id!r}; both are read")
                item = {key: v for key, v in item.items() if key != "id"}  # noqa: PLW2901
            else:
                ids[item_id] = item
        kept.append(item)
    return [dict(item) for item in kept]


def _paired(items: Sequence[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """*items* without results whose call is not there, as Codex sends them.

    A call or result that comes again before the other half does was written twice; ids
    that are used again for a new pair stay.
    """
    called = {_pair(item) for item in items if kind_of(item) in _ANSWERS}
    kept: list[dict[str, Any]] = []
    last: dict[tuple[str, str], dict[str, Any]] = {}
    orphans: list[str] = []
    for item in items:
        pair = _pair(item)
        if pair is not None:
            if last.get(pair) == item:
                notes.left_out("item | written twice")
                continue
            if kind_of(item) in _OUTPUTS and pair not in called:
                orphans.append(pair[1])
                continue
            last[pair] = item
        kept.append(item)
    if orphans:
        notes.say(
            f"results without a call: {counted_ids(orphans)}; as Codex does, they are "
            "left out"
        )
    return kept


def _pair(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """What a call has in common with its result; none of an item that is neither.

    Neither is what OpenAI answers itself.
    """
    kind, call_id = kind_of(item), item.get("call_id")
    answer = _ANSWERS.get(kind, kind)
    if answer not in _OUTPUTS or not isinstance(call_id, str):
        return None
    return None if item.get("execution") == "server" else (answer, call_id)


def _given_up(pair: tuple[str, str]) -> dict[str, Any]:
    """What Codex sends for a call that was never answered."""
    kind, call_id = pair
    answer: dict[str, Any] = {"type": kind, "call_id": call_id}
    if kind == "tool_search_output":
        return {**answer, "status": "completed", "execution": "client", "tools": []}
    return {**answer, "output": _ABORTED}


def _answered(items: Sequence[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """*items*, with Codex' answer to each call that was given up.

    The newest calls may still be running: they stay open.
    """
    done = {_pair(item) for item in items if kind_of(item) in _OUTPUTS}
    newest = len(items)
    while newest and kind_of(items[newest - 1]) in {*_ANSWERS, *_OUTPUTS}:
        newest -= 1
    made: list[dict[str, Any]] = []
    waiting: list[str] = []
    given_up: list[str] = []
    for nth, item in enumerate(items):
        made.append(item)
        pair = _pair(item)
        if pair is None or pair in done:
            continue
        if nth >= newest:
            waiting.append(pair[1])
        else:
            made.append(_given_up(pair))
            given_up.append(pair[1])
    if given_up:
        notes.say(
            f"calls that were given up: {counted_ids(given_up)}; as Codex does, they "
            f"are answered {_ABORTED!r}"
        )
    if waiting:
        notes.say(
            f"calls without a result: {counted_ids(waiting)}; resumed, Codex would "
            f"answer {_ABORTED!r}"
        )
    return made
