"""Random requests in which the provider does something itself, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Json = dict[str, Any]

MODELS = {
    "anthropic": "claude-opus-4-8",
    "openai-responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
    "bedrock": "anthropic.claude-sonnet-4-5-v1:0",
}
LISTS = {"gemini": "contents", "openai-responses": "input"}


class _Told:
    """Writes one list: turns of rounds, in which the provider's own halves are spread.

    What is opened in one message is answered in it, or in a later one of the turn.
    """

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self.out: list[Json] = []
        self.count = 0
        self.open: list[str] = []
        """The provider's own calls that it has not answered, by id."""

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == 1

    def words(self) -> str:
        self.count += 1
        return f"w{self.count} " * self.draw(st.sampled_from([1, 6, 40]))

    def next_id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def tell(self) -> list[Json]:
        for _ in range(self.draw(st.integers(1, 5))):
            self.ask()
            for _ in range(self.draw(st.integers(0, 3))):
                self.round()
            self.answer()
            self.between()
        if self.chance(3):
            self.ask()
            self.pause()
        else:
            self.ask()
        return self.out

    def ask(self) -> None:
        raise NotImplementedError

    def round(self) -> None:
        raise NotImplementedError

    def answer(self) -> None:
        raise NotImplementedError

    def between(self) -> None:
        """What may stand between two turns: a setting, or nothing."""

    def pause(self) -> None:
        """An answer that the provider has not finished."""


class _Anthropic(_Told):
    def ask(self) -> None:
        self.out.append({"role": "user", "content": self.words()})

    def _served(self) -> list[Json]:
        """Answers to what is open, and what is opened now."""
        blocks: list[Json] = []
        for call_id in self.open:
            kind = "mcp_tool_result" if "mcp" in call_id else "web_search_tool_result"
            blocks.append({"type": kind, "tool_use_id": call_id, "content": []})
        self.open.clear()
        return blocks

    def _memory(self) -> list[Json]:
        if not self.chance(5):
            return []
        block: Json = {"type": "compaction", "content": self.words()}
        if self.chance(3):
            block["signature"] = "QUJD"
        elif self.chance(4):
            block["content"] = None
        return [block]

    def _server(self) -> list[Json]:
        if not self.chance(2):
            return []
        remote = self.chance(3)
        kind = "mcp_tool_use" if remote else "server_tool_use"
        call_id = self.next_id("mcptoolu_" if remote else "srvtoolu_")
        self.open.append(call_id)
        return [{"type": kind, "id": call_id, "name": "web_search", "input": {}}]

    def round(self) -> None:
        blocks = [*self._memory(), *self._served()] if not self.open else self._served()
        opened = self._server()
        blocks += opened
        calls = []
        for _ in range(self.draw(st.integers(1, 2))):
            call_id = self.next_id("t")
            call: Json = {"type": "tool_use", "id": call_id, "name": "f", "input": {}}
            if opened and self.chance(2):
                call["caller"] = {"type": "code", "tool_id": opened[0]["id"]}
            blocks.append(call)
            calls.append(call_id)
        self.out.append({"role": "assistant", "content": blocks})
        results = [
            {"type": "tool_result", "tool_use_id": call_id, "content": self.words()}
            for call_id in calls
        ]
        self.out.append({"role": "user", "content": results})
        if self.chance(6) and not self.open:
            change = {"type": "tool_addition", "tool": {"type": "ref", "name": "g"}}
            self.out.append({"role": "system", "content": [change]})

    def answer(self) -> None:
        blocks = self._served()
        if not blocks:
            blocks = self._memory()
            opened = self._server()
            blocks += [*opened, *self._served()]
        blocks.append({"type": "text", "text": self.words()})
        self.out.append({"role": "assistant", "content": blocks})

    def pause(self) -> None:
        if opened := self._server():
            self.out.append({"role": "assistant", "content": opened})
            self.open.clear()


class _Responses(_Told):
    def tell(self) -> list[Json]:
        if self.chance(3):
            self.out.append(
                {
                    "type": "function_call_output",
                    "call_id": "kept_1",
                    "output": self.words(),
                }
            )
        return super().tell()

    def ask(self) -> None:
        self.out.append({"role": "user", "content": self.words()})

    def _output(self, call_id: str, kind: str = "function") -> Json:
        said: Any = self.words()
        if kind == "shell":
            outcome = {"type": "exit", "exit_code": 0}
            said = [{"stdout": said, "stderr": "", "outcome": outcome}]
        return {"type": f"{kind}_call_output", "call_id": call_id, "output": said}

    def round(self) -> None:
        what = self.draw(
            st.sampled_from(["function", "shell", "custom", "program", "approval"])
        )
        call_id = self.next_id("c")
        if what == "program":
            self._program(call_id)
        elif what == "approval":
            self._approval(call_id)
        else:
            self._call(call_id, what)

    def _call(self, call_id: str, what: str) -> None:
        kinds: dict[str, Json] = {
            "function": {"type": "function_call", "name": "f", "arguments": "{}"},
            "custom": {"type": "custom_tool_call", "name": "f", "input": "x"},
            "shell": {"type": "shell_call", "action": {"commands": ["ls"]}},
        }
        self.out.append({**kinds[what], "call_id": call_id})
        kind = "custom_tool" if what == "custom" else what
        if not self.chance(8):
            self.out.append(self._output(call_id, kind))

    def _program(self, call_id: str) -> None:
        made = {"type": "program", "id": f"p{call_id}", "call_id": call_id}
        self.out.append({**made, "code": "f()", "fingerprint": "x"})
        caller = {"type": "program", "caller_id": call_id}
        for _ in range(self.draw(st.integers(0, 2))):
            inner = self.next_id("c")
            call = {"type": "function_call", "call_id": inner, "name": "f"}
            self.out.append({**call, "arguments": "{}", "caller": caller})
            self.out.append(self._output(inner))
        if self.chance(8):
            return
        done = {"type": "program_output", "id": f"po{call_id}", "call_id": call_id}
        self.out.append({**done, "result": self.words(), "status": "completed"})

    def _approval(self, call_id: str) -> None:
        named = {"name": "pay", "arguments": "{}", "server_label": "s"}
        self.out.append({"type": "mcp_approval_request", "id": call_id, **named})
        if self.chance(4):
            return
        self.out.append(
            {
                "type": "mcp_approval_response",
                "approval_request_id": call_id,
                "approve": not self.chance(3),
            }
        )
        if self.chance(2):
            done = {"type": "mcp_call", "id": f"m{call_id}", "output": self.words()}
            self.out.append({**done, **named, "approval_request_id": call_id})

    def answer(self) -> None:
        self.out.append({"role": "assistant", "content": self.words()})

    def between(self) -> None:
        if self.chance(6):
            sealed = {"type": "compaction", "id": self.next_id("cmp_")}
            self.out.append({**sealed, "encrypted_content": self.words()})
        if self.chance(8):
            self.out.append({"type": "item_reference", "id": self.next_id("msg_")})


class _Gemini(_Told):
    def ask(self) -> None:
        self.out.append({"role": "user", "parts": [{"text": self.words()}]})

    def _served(self) -> list[Json]:
        parts = [
            {"toolResponse": {"id": call_id, "toolType": "SEARCH"}}
            for call_id in self.open
        ]
        self.open.clear()
        return parts

    def _server(self) -> list[Json]:
        if not self.chance(2):
            return []
        call_id = self.next_id("s")
        self.open.append(call_id)
        return [{"toolCall": {"id": call_id, "toolType": "SEARCH", "args": {}}}]

    def round(self) -> None:
        parts = [*self._served(), *self._server()]
        call_id = self.next_id("t")
        parts.append({"functionCall": {"id": call_id, "name": "f", "args": {}}})
        self.out.append({"role": "model", "parts": parts})
        response = {"id": call_id, "name": "f", "response": {"output": self.words()}}
        self.out.append({"role": "user", "parts": [{"functionResponse": response}]})

    def answer(self) -> None:
        parts = self._served()
        if self.chance(3):
            parts += [
                {"executableCode": {"code": self.words(), "language": "PYTHON"}},
                {"codeExecutionResult": {"outcome": "OK", "output": self.words()}},
            ]
        self.out.append({"role": "model", "parts": [*parts, {"text": self.words()}]})


class _Bedrock(_Told):
    def ask(self) -> None:
        self.out.append({"role": "user", "content": [{"text": self.words()}]})

    def _served(self) -> list[Json]:
        blocks = [
            {"toolResult": {"toolUseId": call_id, "content": [{"text": "r"}]}}
            for call_id in self.open
        ]
        self.open.clear()
        return blocks

    def _server(self) -> list[Json]:
        if not self.chance(2):
            return []
        call_id = self.next_id("s")
        self.open.append(call_id)
        made = {"toolUseId": call_id, "name": "search", "input": {}}
        return [{"toolUse": {**made, "type": "server_tool_use"}}]

    def round(self) -> None:
        blocks = [*self._served(), *self._server()]
        call_id = self.next_id("t")
        blocks.append({"toolUse": {"toolUseId": call_id, "name": "f", "input": {}}})
        self.out.append({"role": "assistant", "content": blocks})
        said = {"toolUseId": call_id, "content": [{"text": self.words()}]}
        self.out.append({"role": "user", "content": [{"toolResult": said}]})

    def answer(self) -> None:
        blocks = [*self._served(), {"text": self.words()}]
        self.out.append({"role": "assistant", "content": blocks})


_TELLERS: dict[str, type[_Told]] = {
    "anthropic": _Anthropic,
    "openai-responses": _Responses,
    "gemini": _Gemini,
    "bedrock": _Bedrock,
}


@st.composite
def hosted_requests(draw: DrawFn, name: str) -> Json:
    """A request body of format *name* in which the provider does something itself.

    Server tools in one message or several, code that makes calls, programs, approvals,
    memories in all their forms, settings, references, and a context kept under an id.
    """
    entries = _TELLERS[name](draw).tell()
    body: Json = {"model": MODELS[name], LISTS.get(name, "messages"): entries}
    kept = any(
        entry.get("call_id") == "kept_1" or entry.get("type") == "item_reference"
        for entry in entries
    )
    if name == "openai-responses" and (kept or draw(st.booleans())):
        body["previous_response_id"] = "resp_1"
    if name == "gemini" and draw(st.integers(1, 5)) == 1:
        body["cachedContent"] = "cachedContents/1"
    return body


def entries_of(body: Json) -> list[Json]:
    """Its list."""
    found: list[Json] = next(
        body[key] for key in ("messages", "contents", "input") if key in body
    )
    return found


def halves(body: Json) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """By id, how often the provider's own calls, answers and names occur.

    Written the slow way, so that a fault of the library cannot hide itself.
    """
    calls: dict[str, int] = {}
    answers: dict[str, int] = {}
    names: dict[str, int] = {}

    def note(where: dict[str, int], identity: Any) -> None:
        if isinstance(identity, str):
            where[identity] = where.get(identity, 0) + 1

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for inner in value:
                walk(inner)
        if not isinstance(value, dict):
            return
        kind = str(value.get("type", ""))
        if kind in ("server_tool_use", "mcp_tool_use", "mcp_approval_request"):
            note(calls, value.get("id") or value.get("toolUseId"))
        elif kind in ("program", "shell_call", "custom_tool_call"):
            note(calls, value.get("call_id"))
        elif kind.endswith("_tool_result"):
            note(answers, value.get("tool_use_id"))
        elif kind in ("program_output", "shell_call_output", "custom_tool_call_output"):
            note(answers, value["call_id"])
        elif kind == "mcp_approval_response":
            note(answers, value["approval_request_id"])
        elif kind == "mcp_call":
            note(names, value.get("approval_request_id"))
        for key in ("toolCall", "toolResponse"):
            if key in value:
                note(calls if key == "toolCall" else answers, value[key]["id"])
        if "toolResult" in value and value["toolResult"]["toolUseId"].startswith("s"):
            note(answers, value["toolResult"]["toolUseId"])
        caller = value.get("caller") or {}
        note(names, caller.get("tool_id") or caller.get("caller_id"))
        for inner in value.values():
            walk(inner)

    walk(entries_of(body))
    return calls, answers, names
