from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from turnkeep.errors import FormatError

from ._sessions._chat_talk import ChatTalk, image_part, text_part
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes
from ._sessions._tree import newest_leaf, note_branches, path_to
from ._sessions._values import kind_of, one_conversation, text_of
from ._shape import as_array, as_object, compact, json_type

NAME: Final = "chatgpt"

_UNSENT: Final = {
    "thoughts": "thought | never sent back",
    "reasoning_recap": "recap of reasoning | only shown",
    "model_editable_context": "memory | it has no text in the export",
    "system_error": "error | only shown",
}
_PROFILE: Final = ("user_profile", "user_instructions")


def _line(one: dict[Any, Any]) -> str | None:
    """A `mapping` of nodes with a `current_node`."""
    if "current_node" in one and isinstance(one.get("mapping"), dict):
        return "a mapping of nodes"
    return None


def _file(value: dict[Any, Any]) -> str | None:
    """The same, or a `mapping` of what are nodes."""
    nodes = value.get("mapping")
    if isinstance(nodes, dict) and any(map(_is_node, _some(nodes))):
        return "a mapping of nodes"
    return _line(value)


class ChatGpt(SessionFormat):
    """Conversations of ChatGPT's data export: a tree of nodes, read from its leaf up.

    A call is an assistant's message to someone else than all; it has no id, and the
    `tool` nodes behind it are its result.
    """

    name = NAME
    marks = marks_of(_line, _file)
    wire = "openai"
    files = "`conversations.json` of the data export"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`; of an export with several, take one."""
        value, path = one_conversation(value, "$")
        where = f"{path}.mapping"
        nodes = as_object(value.get("mapping"), "mapping", where)
        talk = _Talk(notes)
        if nodes:
            parents = {
                key: _parent(node, f"{where}.{key}") for key, node in nodes.items()
            }
            leaf = value.get("current_node")
            if not isinstance(leaf, str) or leaf not in nodes:
                times = {key: _time(node) for key, node in nodes.items()}
                leaf = newest_leaf(parents, times)
                notes.say("the current node is not in the export: its newest is taken")
            taken = path_to(leaf, parents, notes)
            said = [key for key in nodes if nodes[key].get("message") is not None]
            ours = set(taken)
            note_branches(said, [key for key in said if key in ours], notes)
            for key in taken:
                talk.take(nodes[key].get("message"), f"{where}.{key}.message")
        talk.end()
        model = talk.model or value.get("default_model_slug")
        return Session(
            talk.chat.entries, model=model if isinstance(model, str) else None
        )


def _some(mapping: Mapping[str, Any]) -> list[Any]:
    return [node for _, node in zip(range(5), mapping.values(), strict=False)]


def _is_node(node: Any) -> bool:
    return isinstance(node, dict) and "message" in node and "parent" in node


def _parent(node: Any, path: str) -> str | None:
    found = as_object(node, "a node", path).get("parent")
    return found if isinstance(found, str) else None


def _time(node: Mapping[str, Any]) -> Any:
    message = node.get("message")
    return message.get("create_time") if isinstance(message, dict) else None


class _Talk:
    """The chat, as the nodes are read from the root to the leaf."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.chat = ChatTalk()
        self.model: str | None = None
        self._answered: dict[str, Any] | None = None
        """The last result: further `tool` nodes belong to it."""
        self._called: dict[str, str] = {}
        """Whom each call was to."""
        self._open = 0

    def take(self, message: Any, path: str) -> None:
        if message is None:
            return
        as_object(message, "a message", path)
        around = message.get("metadata")
        around = around if isinstance(around, dict) else {}
        author = message.get("author")
        role = author.get("role") if isinstance(author, dict) else None
        content = message.get("content")
        content = content if isinstance(content, dict) else {}
        kind = content.get("content_type")
        if kind == "user_editable_context":
            self._profile(content)
        elif around.get("is_visually_hidden_from_conversation") is True:
            self.notes.left_out("message | hidden")
        elif isinstance(kind, str) and kind in _UNSENT:
            self.notes.left_out(_UNSENT[kind])
        elif role == "assistant":
            slug = around.get("model_slug")
            self.model = slug if isinstance(slug, str) else self.model
            self._said(message, content, path)
        elif role == "tool":
            self._result(content, kind_of(author, "name"), path)
        elif role in ("user", "system"):
            parts = list(_parts(content, path, self.notes))
            self._answered = None
            if role == "user":
                self._give_up()
                self.chat.user(parts)
            elif parts:
                self.chat.system("\n".join(p.get("text", "") for p in parts))
        else:
            reason = f"unknown role {role!r} (expected user, assistant, system or tool)"
            raise FormatError(reason, f"{path}.author.role")

    def _profile(self, content: Mapping[str, Any]) -> None:
        texts = [text for key in _PROFILE if (text := text_of(content.get(key)))]
        if texts:
            self.chat.system("\n".join(texts))

    def _said(
        self, message: Mapping[str, Any], content: Mapping[str, Any], path: str
    ) -> None:
        recipient = message.get("recipient")
        parts = list(_parts(content, path, self.notes))
        if not isinstance(recipient, str) or recipient == "all":
            self.chat.says(parts)
        else:
            text = "\n".join(part.get("text", "") for part in parts)
            call_id = self.chat.call(None, recipient, _arguments(text))
            self._called[call_id] = recipient
        self._answered = None

    def _give_up(self) -> None:
        """What was called so far gets no result any more."""
        self._open += len(self.chat.waiting)
        self.chat.waiting.clear()

    def end(self) -> None:
        self._give_up()
        if self._open:
            self.notes.say(f"calls without a result: {self._open}")

    def _result(self, content: Mapping[str, Any], name: str, path: str) -> None:
        """The result of the first waiting call to the tool that speaks, else of all."""
        parts = list(_parts(content, path, self.notes))
        text = "\n".join(part.get("text", "") for part in parts)
        if self.chat.waiting:
            waiting = self.chat.waiting
            named = (i for i in waiting if self._called.get(i) == name)
            self.chat.result(next(named, waiting[0]), text)
            self._answered = self.chat.entries[-1]
        elif self._answered is not None:
            self._answered["content"] += f"\n{text}"
        else:
            self.notes.left_out("message of a tool that nobody called")


def _arguments(text: str) -> str:
    """What was said to a tool: JSON as it is, other text as the one argument."""
    if text.lstrip().startswith("{") and text.rstrip().endswith("}"):
        return text
    return compact({"input": text}) if text else "{}"


def _parts(
    content: Mapping[str, Any], path: str, notes: Notes
) -> Iterator[dict[str, Any]]:
    """The texts and pictures of a message; what is neither is noted."""
    found = content.get("parts")
    if found is None:
        text = text_of(content.get("text")) or text_of(content.get("result"))
        if text:
            yield text_part(text)
        elif content and "text" not in content:
            kind = content.get("content_type")
            notes.left_out(f"content of type {str(kind)[:40]}")
        return
    where = f"{path}.content.parts"
    for part in as_array(found, "parts", where):
        if isinstance(part, str):
            if part:
                yield text_part(part)
        elif isinstance(part, dict) and isinstance(part.get("asset_pointer"), str):
            if part.get("content_type") == "image_asset_pointer":
                notes.say("images are named in the export, not stored in it")
                yield image_part(part["asset_pointer"])
            else:
                notes.left_out("recording | not stored in the export")
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            yield text_part(part["text"])
        else:
            notes.left_out(f"part that is {json_type(part)}")
