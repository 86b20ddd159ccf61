from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import attrs

from turnkeep.model import Block, Message, ToolCall, ToolResult


def with_call_ids(
    messages: Sequence[Message], concerns: Callable[[Message], bool]
) -> Sequence[Message]:
    """*messages* with ids for calls that have none, and for the results of those.

    Some formats link a result to its call by the tool's name alone; most demand an id.
    A result belongs to the nearest earlier message that still has an unanswered call of
    that name, and in it to the first; where none is unanswered, to one that waits for
    its final answer. The ids (`call_1`, ...) depend on nothing but the
    position of the call among those without id. Linear; returns *messages* itself where
    nothing is missing.

    Args:
        messages:
            In order.
        concerns:
            Which messages to look at; the others stay as they are.
    """
    if not _any_lacks(messages, concerns):
        return messages
    taken = {
        block.id if isinstance(block, ToolCall) else block.tool_call_id
        for message in messages
        for block in message.content
        if isinstance(block, (ToolCall, ToolResult))
    }
    naming = _Naming(taken)
    return [naming.name(m) if lacks_id(m) and concerns(m) else m for m in messages]


def _any_lacks(
    messages: Sequence[Message], concerns: Callable[[Message], bool]
) -> bool:
    for message in messages:
        for block in message.content:
            kind = type(block)
            if kind is ToolCall:
                lacks = block.id is None  # type: ignore[union-attr]
            elif kind is ToolResult:
                lacks = block.tool_call_id is None  # type: ignore[union-attr]
            else:
                continue
            if lacks and concerns(message):
                return True
    return False


def lacks_id(message: Message) -> bool:
    """Whether a call or a result in it has no id."""
    for block in message.content:
        kind = type(block)
        if kind is ToolCall and block.id is None:  # type: ignore[union-attr]
            return True
        if kind is ToolResult and block.tool_call_id is None:  # type: ignore[union-attr]
            return True
    return False


def calls_before(
    messages: Sequence[Message], earlier: Sequence[Message]
) -> dict[str, ToolCall]:
    """By id, the calls in *earlier* that results in *messages* answer: the newest each.

    Costs *messages*, and of *earlier* what has to be looked at to find those calls.
    """
    called: set[str | None] = {None}
    wanted: set[str | None] = set()
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolCall):
                called.add(block.id)
            elif isinstance(block, ToolResult) and block.tool_call_id not in called:
                wanted.add(block.tool_call_id)
    found: dict[str, ToolCall] = {}
    for message in reversed(earlier) if wanted else ():
        for block in reversed(message.content):
            if isinstance(block, ToolCall) and block.id in wanted:
                wanted.discard(block.id)
                found[block.id] = block  # type: ignore[index] # no call without id
        if not wanted:
            break
    return found


class _Naming:
    def __init__(self, taken: set[str | None]) -> None:
        self.taken = taken
        self.count = 0
        # By tool name: a stack of messages, each with its calls in order.
        self.unanswered: dict[str | None, list[deque[str]]] = {}
        self.waiting: dict[str | None, list[deque[str]]] = {}

    def name(self, message: Message) -> Message:
        made: dict[str | None, deque[str]] = {}
        blocks = tuple(self._block(block, made) for block in message.content)
        for tool, ids in made.items():
            self.unanswered.setdefault(tool, []).append(ids)
        return attrs.evolve(message, content=blocks)

    def _block(self, block: Block, made: dict[str | None, deque[str]]) -> Block:
        if isinstance(block, ToolCall) and block.id is None:
            identity = self._next()
            made.setdefault(block.name, deque()).append(identity)
            arguments = block.arguments_text
            if arguments is None:
                arguments = block.arguments_value
            return ToolCall(identity, block.name, arguments, extra=block.extra)
        if isinstance(block, ToolResult) and block.tool_call_id is None:
            return attrs.evolve(block, tool_call_id=self._answer(block))
        return block

    def _next(self) -> str:
        while True:
            self.count += 1
            identity = f"call_{self.count}"
            if identity not in self.taken:
                return identity

    def _answer(self, result: ToolResult) -> str | None:
        tool = result.tool_name
        for stacks in (self.unanswered, self.waiting):
            if stack := stacks.get(tool):
                identity = stack[-1].popleft()
                if not stack[-1]:
                    stack.pop()
                if not result.final:
                    self.waiting.setdefault(tool, []).append(deque([identity]))
                return identity
        return None
