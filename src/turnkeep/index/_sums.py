"""Tokens of each step as a window would hold it, and what holds it, as both change.

A window that keeps everything from a step on costs two prefix sums; so does finding the
step from which everything fits. Nothing here is recomputed: each change of the history
moves the numbers it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

import attrs
from sortedcontainers import SortedDict, SortedSet

from turnkeep.model import STAND_IN_TEXT, Message, PinScope
from turnkeep.plans import Inserted
from turnkeep.policy import NO_DEMANDS, Policy, keeps_closers
from turnkeep.turns import (
    ASSISTANT,
    HIDDEN,
    NOTE,
    RESULT,
    SYSTEM,
    UNSAID,
    USER,
    Grouping,
    OpenCall,
)

from ._additions import bridge_behind, next_word, stand_in
from ._holds import kept_with, leading_steps, leading_systems
from ._memory import memory_steps, put_away
from ._prefix_sums import SparseTally, Tally

Key: TypeAlias = tuple[object, ...]
"""Names a holder: a pin, a turn that a pin holds, a call, a system message, ..."""

Added: TypeAlias = tuple[tuple[int, tuple[Inserted, ...]], ...]
"""Messages of ours, by the step with which they are sent."""

MOST: Final = 10_000
"""Entries of the journal that are kept."""


class Moved(Enum):
    """What happened to a step that is not the last one."""

    HELD = "held"
    FREE = "free"
    TIED = "tied"
    SIZED = "sized"


@attrs.frozen
class Setting:
    """What of a request the sums depend on."""

    demands: Policy = NO_DEMANDS
    per_message: bool = True
    """Whether results must follow their call's own message."""
    stand_ins: bool = True
    """Whether open calls that others follow get a stand-in."""
    stand_in_text: str = STAND_IN_TEXT
    drop_system: bool = False


@attrs.define(eq=False)
class Holder:
    """Something that holds steps: it remembers which, so that it can let go of them."""

    seeds: list[int]
    """What it is about."""
    leads: list[int]
    """All that it holds, tied steps by the first of their group."""
    soft: bool = False
    """Whether it holds nothing but its seeds and what is tied to them."""


class Sums:
    """Sums over the steps of one history under one setting.

    Steps that can only leave together count as one: the first of them has the tokens of
    all, and is what is meant wherever a *lead* is spoken of.

    Appending costs O(log n) at most, mostly O(1); so do a late result, a pin, a new
    count. Open calls are looked at when something stands behind them, and when their
    answer comes.
    """

    def __init__(
        self,
        grouping: Grouping,
        setting: Setting,
        *,
        weights: Sequence[int],
        pins: Mapping[int, PinScope],
        awaited: Callable[[OpenCall], bool],
        cost: Callable[[Message], int],
    ) -> None:
        """The sums of a whole history. Linear.

        Args:
            grouping:
                Its steps.
            setting:
                What windows are asked for.
            weights:
                Tokens of each message in a window; 0 where nobody has counted.
            pins:
                Pinned messages by index.
            awaited:
                Whether somebody still waits for an open call.
            cost:
                Tokens of a message of ours.
        """
        self.grouping = grouping
        self.setting = setting
        self._awaited = awaited
        self._cost = cost
        self.lead: SortedDict[int, int] = SortedDict()
        """The first step of its group, for each tied step."""
        self.held = SparseTally()
        """Tokens of the steps that something holds."""
        self.held_leads: SortedSet[int] = SortedSet()
        """Those steps."""
        self.holders: dict[Key, Holder] = {}
        self._of: dict[int, set[Key]] = {}
        """Who holds a step."""
        self.additions: dict[int, tuple[Inserted, ...]] = {}
        """Messages of ours that are sent when a step is."""
        self.frame = 0
        """Changes when these do."""
        self._added: tuple[int, Added] = (-1, ())
        self._fresh: list[OpenCall] = []
        """Open calls behind which nothing but their own step's results stands."""
        self._settled: dict[int, list[OpenCall]] = {}
        """The other open calls by step."""
        self._edge = -1
        """The step whose stand-ins stand last, so that a bridge may have to follow."""
        self._hosted: set[Key] = set()
        """Holders of calls that the provider has not answered."""
        self._unfinished: set[Key] = set()
        """Holders of system text whose neighbour behind it has not come."""
        self._pinned_turns: dict[int, set[int]] = {}
        self.journal: list[tuple[Moved, int]] = []
        """What moved before the end, in order; see `moved_since`."""
        self._forgotten = 0
        self._known: tuple[int, tuple[int, ...], int, int] = (-1, (), -1, 0)
        self._build(weights, pins)

    def _build(self, weights: Sequence[int], pins: Mapping[int, PinScope]) -> None:
        grouping = self.grouping
        for group in grouping.ties.values():
            first = min(group)
            for step in group:
                self.lead[step] = first
        tokens = [0] * grouping.steps
        for step, weight in zip(grouping.step_of, weights, strict=True):
            tokens[step] += weight
        for step, lead in self.lead.items():
            if step != lead:
                tokens[lead] += tokens[step]
                tokens[step] = 0
        self.every = Tally(tokens)
        """Tokens of each step."""
        self._leading = leading_steps(grouping)
        self._leading_systems = leading_systems(grouping)
        kinds, at = grouping.kinds, grouping.kinds.find(SYSTEM)
        while at >= 0:
            self._hold_system(grouping.step_of[at])
            at = kinds.find(SYSTEM, at + 1)
        for index in grouping.summaries:
            step = grouping.step_of[index]
            self._hold(("summary", step), [step])
        for index in (*grouping.stored, *grouping.references):
            self._hold(("stored", index), [grouping.step_of[index]])
        self._remember()
        for index, scope in pins.items():
            self.pin(index, scope)
        per_message = self.setting.per_message
        for call in grouping.open_calls:
            if grouping.is_followed(call, per_message=per_message):
                self._settle(call)
            else:
                self._fresh.append(call)
        self._wait()

    # -- what changes ------------------------------------------------------------------

    def append(
        self, index: int, step: int, weight: int, *, calls: bool, hosted: bool = False
    ) -> None:
        """Take the newest message in.

        Args:
            index:
                Its index.
            step:
                Its step.
            weight:
                Its tokens in a window.
            calls:
                Whether it makes calls.
            hosted:
                Whether it holds anything of the provider's own doing.
        """
        grouping, kind = self.grouping, self.grouping.kinds[index]
        if step == len(self.every.values):
            self.every.append(weight)
            self._begin(index, step, kind)
        elif weight:
            self._shift(step, weight)
        if kind == NOTE and len(grouping.lines) == 1 and index in grouping.lines:
            self._renew([*self.holders])  # turns keep their last steps from now on
        if index in grouping.stored[-1:] or index in grouping.references[-1:]:
            self._hold(("stored", index), [step])
        if hosted:
            if step in grouping.ties:
                self._tie(step)
            self._wait()
            if grouping.memories[-1:] and grouping.memories[-1][0] == index:
                self._remember()
        if kind in (RESULT, USER):
            if grouping.ties and step in grouping.ties:
                self._tie(step)
            if self._settled:
                for call in grouping.answered:
                    self._look_at(call)
        if self._fresh:
            self._look_behind(kind, step)
        if calls:
            self._fresh += grouping.opened
        if self._edge >= 0:
            self._write_additions(self._edge)

    def _begin(self, index: int, step: int, kind: int) -> None:
        """A step begins: what it holds, and what holds it."""
        turn_first = self.grouping.turn_first
        said = kind not in UNSAID
        if kind == SYSTEM:
            if step == self._leading_systems:
                self._leading_systems += 1
            if step == self._leading:
                self._leading += 1
            self._hold_system(step)
        elif kind == HIDDEN and step == self._leading:
            self._leading += 1
        turn = len(turn_first) - 1
        if step and turn_first[turn] == step:
            if keeps_closers(self.grouping, self.setting.demands):
                self._renew_turn(range(turn_first[turn - 1], step))
        elif turn in self._pinned_turns:
            self._extend(("turn", turn), step)
        if self.grouping.summaries and self.grouping.summaries[-1] == index:
            self._hold(("summary", step), [step])
        if said and self._unfinished:
            self._renew(list(self._unfinished))

    def weigh(self, index: int, change: int) -> None:
        """A message turned out to have more tokens, or fewer."""
        if change:
            self._shift(self.grouping.step_of[index], change)

    def _shift(self, step: int, change: int) -> None:
        lead = self.lead_of(step)
        self.every.add(lead, change)
        if lead in self._of:
            self.held.set(lead, self.every.values[lead])
        if lead + 1 != len(self.every.values):
            self._note(Moved.SIZED, lead)

    def pin(self, index: int, scope: PinScope) -> None:
        """Hold a message's step, or its whole turn."""
        step = self.grouping.step_of[index]
        if scope == "step":
            self._hold(("pin", index), [step])
            return
        turn = self.grouping.turn_of(step)
        pinned = self._pinned_turns.setdefault(turn, set())
        if not pinned:
            self._hold(("turn", turn), list(self.grouping.steps_of(turn)))
        pinned.add(index)

    def unpin(self, index: int) -> None:
        """Let go of what the pin of a message held."""
        self._release(("pin", index))
        turn = self.grouping.turn_of(self.grouping.step_of[index])
        pinned = self._pinned_turns.get(turn)
        if pinned is not None:
            pinned.discard(index)
            if not pinned:
                del self._pinned_turns[turn]
                self._release(("turn", turn))

    def reconsider(self, message: int, position: int) -> None:
        """Look again whether somebody waits for a message's call."""
        step = self.grouping.step_of[message]
        for call in self._settled.get(step, ()):
            if (call.message, call.position) == (message, position):
                self._look_at(call)
                break

    # -- open calls --------------------------------------------------------------------

    def _look_behind(self, kind: int, step: int) -> None:
        """Settle the calls that the newest message left open behind it."""
        step_of, per_message = self.grouping.step_of, self.setting.per_message
        fresh: list[OpenCall] = []
        for call in self._fresh:
            if not call.open:
                continue
            own = step_of[call.message] == step
            if kind == HIDDEN or (
                own and (kind == RESULT or (kind == ASSISTANT and not per_message))
            ):
                fresh.append(call)
            else:
                self._settle(call)
        self._fresh = fresh

    def _settle(self, call: OpenCall) -> None:
        step = self.grouping.step_of[call.message]
        self._settled.setdefault(step, []).append(call)
        self._look_at(call)

    def _look_at(self, call: OpenCall) -> None:
        """What a call holds, and what stands for its answer, by now."""
        step = self.grouping.step_of[call.message]
        calls = self._settled.get(step)
        if calls is None or call not in calls:
            return  # nothing stands behind it yet
        key = ("call", call.message, call.position)
        if call.open and self._awaited(call):
            if key not in self.holders:
                question = self.grouping.question_of(self.grouping.turn_of(step))
                asked = [] if question is None else [question]
                self._hold(key, [step, *asked])
        else:
            self._release(key)
        if not call.open:
            calls.remove(call)
            if not calls:
                del self._settled[step]
        self._write_additions(step)

    def _remember(self) -> None:
        """Hold the provider's newest memory, and no older one."""
        self._release(("memory",))
        steps = memory_steps(self.grouping)
        if steps:
            self._hold(("memory",), list(steps))
        away, kinds = put_away(self.grouping), self.grouping.kinds
        at = kinds.find(SYSTEM)
        while at >= 0:
            step = self.grouping.step_of[at]
            if at in away:
                self._release(("system", step))
            elif ("system", step) not in self.holders:
                self._hold_system(step)
            at = kinds.find(SYSTEM, at + 1)

    def _wait(self) -> None:
        """Hold the steps of the provider's own calls as long as those are open."""
        grouping, before = self.grouping, self._hosted
        now: set[Key] = set()
        for call in grouping.waiting.values():
            if not self._awaited(call):
                continue
            key: Key = ("hosted", call.key, call.message)
            now.add(key)
            if key not in before:
                step = grouping.step_of[call.message]
                question = grouping.question_of(grouping.turn_of(step))
                self._hold(key, [step] if question is None else [step, question])
        for gone in before - now:
            self._release(gone)
        self._hosted = now

    def _write_additions(self, step: int) -> None:
        """The messages of ours that a step needs by now."""
        setting = self.setting
        made: tuple[Inserted, ...] = ()
        if self._edge == step:
            self._edge = -1
        if setting.stand_ins:
            made = self._made_for(step)
        before = self.additions.get(step, ())
        if made == before:
            return
        self.frame += 1
        if made:
            self.additions[step] = made
        else:
            del self.additions[step]
        change = sum(i.tokens for i in made) - sum(i.tokens for i in before)
        self._shift(step, change)

    def _made_for(self, step: int) -> tuple[Inserted, ...]:
        calls = [
            call
            for call in self._settled.get(step, ())
            if call.answer is None and call.open and call.takes_stand_in
        ]
        if not calls:
            return ()
        if len(calls) > 1:
            calls.sort(key=lambda call: (call.message, call.position))
        known = {(i.after, i.call_id): i for i in self.additions.get(step, ())}
        text, cost = self.setting.stand_in_text, self._cost
        made: list[Inserted] = []
        for call in calls:
            item = known.get((call.message, call.key))
            made.append(stand_in(call, text, cost) if item is None else item)
        if self.setting.demands.answers_tools:
            at = next_word(self.grouping, step, calls[-1])
            if at == len(self.grouping):
                self._edge = step
            bridge = bridge_behind(self.grouping, step, at, cost)
            if bridge is not None:
                made.append(bridge)
        return tuple(made)

    @property
    def added(self) -> Added:
        """All messages of ours by step, in order. Costs them, once."""
        if self._added[0] != self.frame:
            self._added = self.frame, tuple(sorted(self.additions.items()))
        return self._added[1]

    # -- holding -----------------------------------------------------------------------

    def _hold_system(self, step: int) -> None:
        if not self.setting.drop_system or step < self._leading_systems:
            self._hold(("system", step), [step])

    def leads(self, steps: Iterable[int]) -> list[int]:
        """What stays because *steps* do, in order."""
        return self._leads(steps, soft=False)[0]

    def _leads(self, steps: Iterable[int], *, soft: bool) -> tuple[list[int], bool]:
        demands, lead = self.setting.demands, self.lead
        if soft or not (lead or demands.core or demands.system_between):
            found: Collection[int] = set(steps)
            waits = False
        else:
            found, waits = kept_with(self.grouping, steps, demands, self._leading)
        if lead:
            found = {lead.get(step, step) for step in found}
        return sorted(found), waits

    def _hold(self, key: Key, seeds: list[int], *, soft: bool = False) -> None:
        leads, waits = self._leads(seeds, soft=soft)
        self.holders[key] = Holder(seeds, leads, soft)
        if waits:
            self._unfinished.add(key)
        for lead in leads:
            self._add_holder(lead, key)

    def _add_holder(self, lead: int, key: Key) -> None:
        keys = self._of.get(lead)
        if keys is not None:
            keys.add(key)
            return
        self._of[lead] = {key}
        self.held_leads.add(lead)
        self.held.set(lead, self.every.values[lead])
        self._note(Moved.HELD, lead)  # the last one too: it may stand before a cut

    def _extend(self, key: Key, step: int) -> None:
        """Let a holder hold one step more."""
        holder = self.holders[key]
        holder.seeds.append(step)
        leads, waits = self._leads([step], soft=False)
        if waits:
            self._unfinished.add(key)
        for lead in leads:
            if key not in self._of.get(lead, ()):
                holder.leads.append(lead)
                self._add_holder(lead, key)

    def _release(self, key: Key) -> None:
        holder = self.holders.pop(key, None)
        if holder is None:
            return
        self._unfinished.discard(key)
        for lead in holder.leads:
            self._let_go(lead, key)

    def _renew(self, keys: Iterable[Key]) -> None:
        """Find anew what these hold."""
        for key in sorted(keys, key=str):
            holder = self.holders[key]
            leads, waits = self._leads(holder.seeds, soft=holder.soft)
            if not waits:
                self._unfinished.discard(key)
            before, holder.leads = {*holder.leads}, leads
            for lead in leads:
                if lead not in before:
                    self._add_holder(lead, key)
            for lead in sorted(before.difference(leads)):
                self._let_go(lead, key)

    def _let_go(self, lead: int, key: Key) -> None:
        keys = self._of[lead]
        keys.discard(key)
        if not keys:
            del self._of[lead]
            self.held_leads.remove(lead)
            self.held.set(lead, 0)
            self._note(Moved.FREE, lead)

    def _renew_turn(self, steps: range) -> None:
        """Renew what holds something in a turn that has just ended."""
        keys: set[Key] = set()
        for lead in self.held_leads.irange(steps.start, steps.stop - 1):
            keys |= self._of[lead]
        if self.lead:
            for step in self.lead.irange(steps.start, steps.stop - 1):
                keys |= self._of.get(self.lead[step], set())
        self._renew(keys)

    def _tie(self, step: int) -> None:
        """Take several steps for one from now on, if they are not yet."""
        group = self.grouping.together(step)
        before = {self.lead.get(member, member) for member in group}
        first = min(group)
        if before == {first} and step in self.lead:
            return
        keys: set[Key] = set()
        for lead in before:
            keys |= self._of.get(lead, set())
        values = self.every.values
        total = sum(values[lead] for lead in before)
        for lead in before:
            self.every.set(lead, total if lead == first else 0)
            if lead in self._of:
                self.held.set(lead, values[lead])
        for member in group:
            self.lead[member] = first
        self._renew(keys)
        for member in group:
            if member in self.additions:
                self._write_additions(member)
        self._note(Moved.TIED, first)

    def is_held(self, lead: int) -> bool:
        """Whether something holds a step for more than a moment."""
        return lead in self._of

    def lead_of(self, step: int) -> int:
        """The first of the steps that can only leave together with *step*."""
        return self.lead.get(step, step) if self.lead else step

    # -- what windows ask --------------------------------------------------------------

    def _note(self, what: Moved, lead: int) -> None:
        self.journal.append((what, lead))
        if len(self.journal) > MOST:
            self._forgotten += len(self.journal)
            self.journal.clear()

    @property
    def now(self) -> int:
        """The place in the journal; changes when anything before the end moves."""
        return self._forgotten + len(self.journal)

    def moved_since(self, then: int) -> list[tuple[Moved, int]] | None:
        """What moved since that place; none where that is forgotten."""
        if then < self._forgotten:
            return None
        return self.journal[then - self._forgotten :]

    def kept_from(self, step: int, early: tuple[int, ...] = ()) -> int:
        """Tokens of a window from *step* on, what is held, and *early* leads.

        Those must stand before *step* and not be held. Asked again, it costs nothing
        as long as nothing moved: then only the end has grown.
        """
        known_step, known_early, then, rest = self._known
        if known_step == step and known_early is early and then == self.now:
            return self.every.total + rest
        values = self.every.values
        rest = self.held.before(step) - self.every.before(step)
        for lead in early:
            rest += values[lead]
        if step < len(values):  # else the last step, which may grow, is before it
            self._known = step, early, self.now, rest
        return self.every.total + rest

    def passing(self, steps: Sequence[int]) -> list[int]:
        """Those that stay because *steps* do and are not held for longer, in order."""
        demands, of = self.setting.demands, self._of
        if self.lead or demands.core or demands.system_between:
            steps = self.leads(steps)
        found = [step for step in steps if step not in of]
        if len(found) > 1:
            found.sort()
        return found
