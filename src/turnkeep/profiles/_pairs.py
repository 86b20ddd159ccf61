"""Calls and their results: the one check of pairs, for every provider.

A profile outlines its list as spots (entries, or runs that its API merges) with the
calls and results in them, and says how far a result may stand from its call and which
rule each fault breaks. What a pair is, is decided here alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from ._base import Findings, describe
from ._shared import name_list

Reach: TypeAlias = Literal["behind", "next", "until-model", "anywhere"]
"""Where the results of a spot's calls may stand: in the unbroken run of results right
behind it, in the very next spot, before the model speaks again, or anywhere."""


@attrs.frozen
class Half:
    """A call or a result."""

    id: Any
    """What links it: an id, or a name where the format has no ids."""
    path: str
    id_path: str = attrs.field()
    leading: bool = True
    """Whether nothing but results stands before it in its spot."""

    @id_path.default
    def _its_path(self) -> str:
        return self.path


@attrs.frozen
class Spot:
    """An entry of the list as pairing sees it."""

    path: str
    who: str
    """What it is, in words."""
    calls: Sequence[Half] = ()
    results: Sequence[Half] = ()
    model: bool = False
    """Whether the model said it."""
    only_results: bool = False
    """Whether it holds nothing else."""


@attrs.define
class Round:
    """Calls, and the results that stand where theirs have to."""

    opener: Spot | None = None
    """Where the calls stand, if there are any; none at the start of the list."""
    calls: Sequence[Half] = ()
    results: list[Half] = attrs.field(factory=list)
    ahead: set[int] = attrs.field(factory=set)
    """Which of the results stand before their call."""
    is_last: bool = True
    """Whether no other spot follows the opener."""


@attrs.frozen
class Said:
    """A rule, and what is wrong where it is broken, as a format string.

    Fields: `id` and `ids` of those concerned, `opener` (path of the spot with the
    calls), `first` (path of the one that came before), `behind` (what stands in front),
    `calls` and `results` (how many there are).
    """

    number: str
    text: str
    many: str | None = None
    """The text for more than one."""


@attrs.frozen(kw_only=True)
class PairRules:
    """The rules of one provider on calls and results; a fault without one is none."""

    reach: Reach
    by_number: bool = False
    """Whether they only have to be as many: no ids link them."""
    each: bool = False
    """Whether every open call is reported by itself."""
    unknown: Said | None = None
    """A result that no call of its round asked for."""
    stray: Said | None = None
    """A result in a round without calls; as `unknown` where there is no rule."""
    surplus: Said | None = None
    """More results than calls, by number; as `unknown` where there is no rule."""
    twice: Said | None = None
    """A second result of the same call."""
    apart: Said | None = None
    """A result behind other content of its spot."""
    early: Said | None = None
    """A result before its call."""
    again: Said | None = None
    """A call with the id of another one of its round."""
    reused: Said | None = None
    """A call with the id of one of an earlier round."""
    unanswered: Said | None = None
    """Calls without a result."""
    at_end: Said | None = None
    """The same in the last spot; as `unanswered` where there is no rule."""
    differ: Said | None = None
    """As many results as calls, but other ones, by number."""


def check_pairs(
    spots: Iterable[Spot],
    rules: PairRules,
    found: Findings,
    *,
    elsewhere: Callable[[Any], bool] | None = None,
) -> None:
    """Report calls and results that do not pair up; linear in the spots.

    Args:
        spots: The list, in its order.
        rules: What the provider demands, and its words.
        found: Collects the violations.
        elsewhere: Whether the call of an id is known though it is not in the list.
    """
    seen: set[Any] = set()
    for each in _rounds(spots, rules.reach):
        judge = _Judge(each, rules, found)
        if rules.by_number:
            judge.by_number()
        else:
            judge.by_id(seen, elsewhere)


def _rounds(spots: Iterable[Spot], reach: Reach) -> Iterator[Round]:
    """Calls with what stands in their reach; spots without either make none."""
    if reach == "anywhere":
        yield _whole(spots)
        return
    opened = Round()
    for spot in spots:
        opened.is_last = False
        opened.results += spot.results
        match reach:
            case "behind":
                goes_on = spot.only_results
            case "until-model":
                goes_on = not spot.model
            case _:
                goes_on = False
        if not goes_on:
            if opened.calls or opened.results:
                yield opened
            opened = Round(spot, spot.calls)
    yield opened


def _whole(spots: Iterable[Spot]) -> Round:
    """All of the list as one round."""
    calls: list[Half] = []
    made = Round(None, calls)
    asked: set[Any] = set()
    for spot in spots:
        for result in spot.results:
            if result.id not in asked:
                made.ahead.add(len(made.results))
            made.results.append(result)
        calls += spot.calls
        asked.update(call.id for call in spot.calls)
    return made


@attrs.frozen
class _Judge:
    """What is wrong with one round."""

    round: Round
    rules: PairRules
    found: Findings

    def by_id(
        self, seen: set[Any], elsewhere: Callable[[Any], bool] | None = None
    ) -> None:
        calls: dict[Any, Half] = {}
        for call in self.round.calls:
            if call.id in calls:
                self._add(self.rules.again, call.id_path, call, calls[call.id])
            elif call.id in seen:
                self._add(self.rules.reused, call.id_path, call)
            calls.setdefault(call.id, call)
        seen.update(calls)
        answered: dict[Any, Half] = {}
        for nth, result in enumerate(self.round.results):
            known = isinstance(result.id, str) and (
                result.id in calls or (elsewhere is not None and elsewhere(result.id))
            )
            if known and result.id in answered:
                first = answered[result.id]
                self._add(self.rules.twice, result.id_path, result, first)
            elif known:
                answered[result.id] = result
                if not result.leading:
                    self._add(self.rules.apart, result.path, result)
                if nth in self.round.ahead and result.id in calls:
                    self._add(self.rules.early, result.path, result)
            else:
                self._add_unasked(nth, result)
        open_calls = [call for key, call in calls.items() if key not in answered]
        if self.rules.each:
            for call in open_calls:
                self._add_open([call])
        elif open_calls:
            self._add_open(open_calls)

    def by_number(self) -> None:
        calls, results = self.round.calls, self.round.results
        surplus = results[len(calls) :]
        if calls and surplus and self.rules.surplus is not None:
            self._add(self.rules.surplus, calls[0].path, calls[0])
        else:
            # One entry may hold several: it is named once.
            places = {half.path: nth for nth, half in enumerate(surplus)}
            for nth in places.values():
                self._add_unasked(nth + len(calls), surplus[nth])
        if len(results) < len(calls):
            self._add_open(calls[len(results) :])
        elif calls and not surplus and _ids(calls) != _ids(results):
            self._add(self.rules.differ, results[0].path, results[0])

    def _add_unasked(self, nth: int, result: Half) -> None:
        opener = self.round.opener
        if self.round.calls or self.rules.stray is None:
            self._add(self.rules.unknown, result.id_path, result)
        elif nth:
            behind = "another result without a call"
            self._add(self.rules.stray, result.path, result, behind=behind)
        else:
            behind = opener.who if opener else "nothing: the list starts with it"
            self._add(self.rules.stray, result.path, result, behind=behind)

    def _add_open(self, calls: Sequence[Half]) -> None:
        said = self.rules.unanswered
        if self.round.is_last and self.rules.at_end is not None:
            said = self.rules.at_end
        self._add(said, calls[0].path, *calls, many=len(calls) > 1)

    def _add(
        self,
        said: Said | None,
        where: str,
        *halves: Half,
        behind: str = "",
        many: bool = False,
    ) -> None:
        if said is None:
            return
        text = (said.many or said.text) if many else said.text
        what = text.format(
            id=describe(halves[0].id),
            ids=name_list([str(half.id) for half in halves]),
            opener=self.round.opener.path if self.round.opener else "the list",
            first=halves[-1].path,
            behind=behind,
            open=len(halves),
            calls=len(self.round.calls),
            results=len(self.round.results),
        )
        self.found.add(said.number, where, what)


def _ids(halves: Iterable[Half]) -> Counter[Any]:
    return Counter(half.id for half in halves)
