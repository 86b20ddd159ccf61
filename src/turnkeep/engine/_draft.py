from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnkeep.engine._limits import Census, images_in
from turnkeep.engine._reasoning import Frame, frame_of
from turnkeep.index import History
from turnkeep.model import Message
from turnkeep.plans import Cause, Inserted, Refused, Reserve

from ._terms import Memory


class Draft:
    """A window in the making: what is dropped, changed and added so far."""

    __slots__ = (
        "_census",
        "_changes",
        "causes",
        "dropped",
        "history",
        "inserted",
        "refused",
        "replaced",
        "reserved",
        "returnable",
        "tokens",
        "warnings",
    )

    def __init__(self, history: History, tokens: int = 0) -> None:
        """Everything kept, at *tokens* in all."""
        self.history: History = history
        self.dropped: bytearray | None = None
        """One byte a step: 0 kept, else the place of its cause in *causes*."""
        self.causes: list[str] = [""]
        self.replaced: dict[int, tuple[Message, str]] = {}
        """Messages sent changed: what is sent, and why."""
        self.inserted: list[Inserted] = []
        """Messages of ours other than stand-ins."""
        self.refused: list[Refused] = []
        self.warnings: list[str] = []
        self.reserved: Reserve | None = None
        """Room kept for a message that is written when the cut is known."""
        self.returnable: list[Sequence[int]] = []
        """Steps that went together and may come back where there is room."""
        self.tokens: int = tokens
        self._changes: dict[int, int] = {}
        self._census: Census | None = None

    def resume(self, memory: Memory) -> None:
        """Begin where the last plan ended; what is held by now comes back.

        Costs what is kept.
        """
        history, steps = self.history, self.history.grouping.steps
        dropped = bytearray(memory.dropped[:steps])
        dropped.extend(bytes(steps - len(dropped)))
        for step in (*history.held, *history.soft):
            dropped[step] = 0
        for group in history.grouping.ties.values():
            if not all(dropped[step] for step in group):
                for step in group:
                    dropped[step] = 0
        self.dropped = dropped
        self.causes = list(memory.causes)
        pins = history.rules.pins
        for index, (content, cause) in memory.replaced.items():
            if cause in (Cause.PROFILE, Cause.LIMIT):
                continue  # lost before planning began; cut for that window alone
            if index not in pins and index not in history.gone:
                self.replaced[index] = (content, cause)
                cost = history.cost_at(index, content)
                self._changes[index] = cost - history.message_tokens(index)
        self.inserted = list(memory.inserted)
        self.tokens = sum(item.tokens for item in self.inserted)
        self.tokens += sum(
            self.step_tokens(step) for step in range(steps) if not dropped[step]
        )

    def memory(self) -> Memory | None:
        """What the next plan may begin with."""
        history = self.history
        replaced = dict(self.replaced)
        frame: Frame | None = None
        if history.rules.demands.signs_prefix:
            frame = frame_of(history)
        for index in history.stripped:
            source = history.mended.get(index) or history.source.message(index)
            replaced.setdefault(index, (source, Cause.PROFILE))
        changed = self.dropped is not None or replaced or self.inserted
        if not changed and not any(frame or ()):
            return None
        dropped = self.dropped or bytes(history.grouping.steps)
        return Memory(
            bytes(dropped), tuple(self.causes), replaced, tuple(self.inserted), frame
        )

    def code(self, cause: str) -> int:
        """The byte that stands for *cause* (the 255th and later share the last)."""
        if cause in self.causes:
            return self.causes.index(cause)
        if len(self.causes) < 256:
            self.causes.append(cause)
        return len(self.causes) - 1

    def drop(self, steps: Iterable[int], cause: str) -> list[int]:
        """Drop *steps* and what is tied to them; returns those that went."""
        if self.dropped is None:
            self.dropped = bytearray(self.history.grouping.steps)
        code, together = self.code(cause), self.history.grouping.together
        gone: list[int] = []
        for asked in steps:
            for step in together(asked):
                if not self.dropped[step]:
                    self.tokens -= self.step_tokens(step)
                    self.dropped[step] = code
                    gone.append(step)
        if self._census is not None:
            for step in gone:
                self._census.move(step, -1)
        return gone

    def drop_step(self, step: int, cause: str, may_return: bool) -> None:
        """Drop one free step that is tied to no other."""
        if self.dropped is None:
            self.dropped = bytearray(self.history.grouping.steps)
        if self.dropped[step]:
            return
        self.tokens -= self.step_tokens(step)
        self.dropped[step] = self.code(cause)
        if may_return:
            self.returnable.append((step,))
        if self._census is not None:
            self._census.move(step, -1)

    def drop_whole(self, steps: range, cause: str, *, may_return: bool) -> bool:
        """Drop a turn of which nothing is held, changed or gone; whether it was one.

        None of its steps may be bound to others.
        """
        history = self.history
        fixed, free = history.fixed_before, history.free_before
        if self._changes or fixed[steps.stop] != fixed[steps.start]:
            return False
        if self.dropped is None:
            self.dropped = bytearray(history.grouping.steps)
        if self.dropped.count(0, steps.start, steps.stop) != len(steps):
            return False
        self.dropped[steps.start : steps.stop] = bytes([self.code(cause)]) * len(steps)
        self.tokens -= free[steps.stop] - free[steps.start]
        if may_return:
            self.returnable.append(steps)
        if self._census is not None:
            for step in steps:
                self._census.move(step, -1)
        return True

    def restore(self, steps: Sequence[int]) -> str:
        """Take *steps* back that a drop had let go; returns why they had gone."""
        dropped = self.dropped or bytearray()
        cause = self.causes[dropped[steps[0]]]
        for step in steps:
            dropped[step] = 0
            self.tokens += self.step_tokens(step)
            if self._census is not None:
                self._census.move(step, 1)
        return cause

    def is_kept(self, step: int) -> bool:
        """Whether the step is still in the window."""
        return self.dropped is None or not self.dropped[step]

    def step_tokens(self, step: int) -> int:
        """Tokens of a step with the changes made so far."""
        tokens = self.history.tokens(step)
        if self._changes:
            changes = self._changes
            tokens += sum(changes.get(i, 0) for i in self.history.visible(step))
        return tokens

    def replace(self, index: int, content: Message, cause: str, freed: int) -> None:
        """Send *content* for a message, which frees what `would_free` said."""
        self._changes[index] = self._changes.get(index, 0) - freed
        self.replaced[index] = (content, cause)
        if self.is_kept(self.history.grouping.step_of[index]):
            self.tokens -= freed

    def freed_by(self, index: int) -> int:
        """Tokens that the change of a message frees."""
        return -self._changes.get(index, 0)

    def undo(self, index: int) -> None:
        """Send a message of a kept step unchanged after all."""
        self.tokens -= self._changes.pop(index)
        del self.replaced[index]

    def count_all(self) -> None:
        """Count everything that is kept where nobody has counted yet: all of it."""
        if self.tokens < 0:
            self.tokens = self.history.total + sum(self._changes.values())

    def sent_tokens(self, index: int) -> int:
        """Tokens of what is sent for a message."""
        return self.history.message_tokens(index) + self._changes.get(index, 0)

    def would_free(self, index: int, content: Message) -> int:
        """Tokens that sending *content* instead would free, as the message is now."""
        history = self.history
        change = history.cost_at(index, content) - history.message_tokens(index)
        return self._changes.get(index, 0) - change

    def edited(self, index: int) -> Message | None:
        """What is sent for a message that an edit has replaced."""
        return self.replaced[index][0] if index in self.replaced else None

    def insert(self, content: Message, after: int, cause: str) -> None:
        """Add a message of ours behind the message *after*."""
        cost = self.history.source.cost(content)
        self.inserted.append(Inserted(after, content, cost, cause))
        self.tokens += cost
        if self._census is not None:
            self._census.messages += 1

    def withdraw(self) -> None:
        """Leave the newest addition out again."""
        self.tokens -= self.inserted.pop().tokens
        if self._census is not None:
            self._census.messages -= 1

    @property
    def census(self) -> Census:
        """Turns and messages of the window, followed from the first look on."""
        if self._census is None:
            steps = self.history.grouping.steps
            dropped = self.dropped or bytes(steps)
            self._census = Census(self.history, [not code for code in dropped])
            self._census.messages += len(self.inserted)
        return self._census

    def images(self) -> int:
        """Pictures that the window holds; costs what is kept."""
        history = self.history
        return sum(
            images_in((self.edited(index) or history.source.message(index)).content)
            for step in range(history.grouping.steps)
            if self.is_kept(step)
            for index in history.visible(step)
        )
