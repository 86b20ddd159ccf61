from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeGuard

import attrs

from turnkeep.errors import AmbiguousFormatError, FormatError
from turnkeep.providers import format_of_model

from ._base import Detection
from ._libraries import READERS, file_of, library_of
from ._marks import CARRIED, COMMON, NEVER, SIGNED, Marks, Sign
from ._registry import FORMATS, get_format
from ._skeleton import skeletons
from ._ties import candidates, settle

WHOLE: Final = 2
"""The score of a body whose list is one text."""

_CERTAIN: Final = 9
"""The score of what says itself whose it is."""


@attrs.frozen
class Match:
    """What detection found out about one format."""

    score: int
    """0: cannot be; 1: could be; 2 and more: has marks that only this format has."""

    words: str
    """The mark that decided."""

    key: str | None = None
    """Key of the body whose list it stands in; none for a list by itself."""

    nth: int | None = None
    """Which entry has it; none where the value as a whole does."""

    @property
    def path(self) -> str:
        """Where that mark stands."""
        path = "$" if self.key is None else f"$.{self.key}"
        return path if self.nth is None else f"{path}[{self.nth}]"

    @property
    def reason(self) -> str:
        """The mark and its path, in words."""
        return f"{self.words} @ {self.path}"


@attrs.frozen
class _Sight:
    """One look at a value: its lists, and an entry of each kind in them."""

    value: Any
    lists: dict[str | None, Sequence[Any]]
    """The value itself, or the lists of a body by their keys."""
    kinds: dict[str | None, dict[Any, int]]
    """The skeletons of each list, and where each first stands."""

    @classmethod
    def of(cls, value: Any) -> _Sight:
        lists: dict[str | None, Sequence[Any]] = {}
        if isinstance(value, (list, tuple)):
            lists[None] = value
        elif isinstance(value, dict):
            for key in _list_keys():
                if isinstance(found := value.get(key), (list, tuple)):
                    lists[key] = found
        return cls(value, lists, {key: skeletons(all_) for key, all_ in lists.items()})

    def print(self, model: tuple[str, bool]) -> Any:
        """What is the same for all values that every judge would judge the same."""
        around: tuple[Any, ...] = ()
        if isinstance(self.value, dict):
            around = tuple((key, type(item)) for key, item in self.value.items())
            # Signs may look anywhere in an object, so that what they say is part of it.
            signs = tuple(sign(self.value) for sign in _signs())
            around = (around, signs if any(signs) else None)
        kinds = tuple((key, *seen) for key, seen in self.kinds.items())
        return kinds, around, model

    @property
    def first_role(self) -> Any:
        """Who speaks first in the list."""
        entries = next(iter(self.lists.values()), ())
        first = entries[0] if entries else None
        return first.get("role") if isinstance(first, dict) else None

    def match(self, marks: Marks) -> Match:
        """How much the value looks like the format with *marks*."""
        body = self.value if isinstance(self.value, dict) else None
        key = None
        if body is not None:
            if marks.sign is not None and (words := marks.sign(body)) is not None:
                return Match(SIGNED, words)
            if marks.key is not None:
                has = marks.key in body
                return Match(_CERTAIN if has else NEVER, f"the key {marks.key!r}")
            key = next((k for k in marks.lists if k in body), None)
        if key not in self.lists:
            # Responses may have one text in the place of its list.
            text = key is not None and isinstance(self.value[key], str)
            if not text or key not in marks.body:
                names = " or ".join(map(repr, marks.lists))
                bodies = f", and no body with {names}" if names else ""
                return Match(NEVER, f"no list of messages{bodies}")
            return Match(WHOLE, f"{key} as a string", key)
        found = self._best(marks, key)
        if body is None or found.score == NEVER:
            return found
        for beside, score in marks.body.items():
            if body.get(beside) is not None and score > found.score:
                found = Match(score, f"a body with {beside!r}", key)
        return Match(NEVER, found.words, key) if found.score == CARRIED else found

    def _best(self, marks: Marks, key: str | None) -> Match:
        """The best score of any entry, or 0 where one cannot be."""
        best = Match(CARRIED, "nothing that this format knows", key)
        if not self.lists[key] and marks.lists:
            best = Match(COMMON, "an empty list", key)
        for nth in self.kinds[key].values():
            entry = self.lists[key][nth]
            score, words = NEVER, "not an object"
            if not marks.objects or isinstance(entry, dict):
                score, words = marks.judge(entry)
            if score == NEVER:
                return Match(NEVER, words, key, nth)
            if score > best.score:
                best = Match(score, words or "nothing contradicts it", key, nth)
        if best.score == CARRIED and key is None:
            return attrs.evolve(best, score=NEVER)
        return best

    def others_file(self) -> tuple[str, str, str] | None:
        """The program whose file or export this is, by which keys, and where."""
        if (found := file_of(self.value)) is not None:
            return (*found, "$")
        for nth in self.kinds.get(None, {}).values():
            if (found := file_of(self.value[nth])) is not None:
                return (*found, f"$[{nth}]")
        return None

    def stranger(self) -> tuple[str, str, str] | None:
        """The other library whose messages stand here, by which mark, and where."""
        for key, seen in self.kinds.items():
            for nth in seen.values():
                if (found := library_of(self.lists[key][nth])) is not None:
                    return (*found, Match(NEVER, "", key, nth).path)
        return None


@attrs.frozen
class _Verdict:
    """What was decided about all values of one print."""

    format: str
    names: tuple[str, ...]
    words: str
    why: str
    key: str | None
    kind: int | None
    """Which of the list's skeletons has the mark; none where the whole value does."""

    def on(self, sight: _Sight) -> Detection:
        """The verdict on a value, with the path of the mark in it."""
        nth = None
        if self.kind is not None:
            nth = list(sight.kinds[self.key].values())[self.kind]
        reason = Match(0, self.words, self.key, nth).reason
        return Detection(self.format, self.names, reason + self.why)


_VERDICTS: Final[dict[Any, _Verdict]] = {}
_MOST_VERDICTS: Final = 256


def detect(value: Any, *, model: str | None = None) -> Detection:
    """Find out the format of *value* (a list of messages or a request body).

    From the shape alone, in one walk: the formats with the strongest marks are
    candidates. When all of them would return the same JSON, the model's own format is
    taken, else `openai`. Looks at no more than 250 entries and judges one of each kind;
    what was decided is remembered for values of the same shape.

    >>> detect([{"role": "user", "content": [{"text": "hi", "type": "text"}]}]).format
    'openai'

    Raises:
        FormatError: No format fits; where it looks like the messages of another
            library, that is named.
        AmbiguousFormatError: Several do, and would return different JSON.
    """
    model = model or _model_in(value)
    usual = format_of_model(model)
    sight = _Sight.of(value)
    shape = sight.print((usual, bool(model)))
    verdict = _VERDICTS.get(shape)
    if verdict is None:
        verdict = _judge(sight, usual, has_model=bool(model))
        while len(_VERDICTS) >= _MOST_VERDICTS:
            # Another thread may have taken the same one.
            _VERDICTS.pop(next(iter(_VERDICTS), None), None)
        _VERDICTS[shape] = verdict
    return verdict.on(sight)


def match_format(value: Any, name: str) -> Match:
    """How much *value* (a list or a body) looks like the format called *name*.

    Looks at a bounded number of entries and never raises.

    >>> match_format([{"role": "model", "parts": [{"text": "hi"}]}], "gemini").score
    3
    """
    return _Sight.of(value).match(get_format(name).marks)


@lru_cache(maxsize=1)
def _list_keys() -> tuple[str, ...]:
    """Every key under which some format's bodies hold their list."""
    keys = [key for name in FORMATS for key in get_format(name).marks.lists]
    return tuple(dict.fromkeys(keys))


@lru_cache(maxsize=1)
def _signs() -> tuple[Sign, ...]:
    """What looks at an object as a whole, of every format that has such a sign."""
    marks = (get_format(name).marks for name in FORMATS)
    return tuple(each.sign for each in marks if each.sign is not None)


def _judge(sight: _Sight, usual: str, *, has_model: bool) -> _Verdict:
    found = {name: sight.match(get_format(name).marks) for name in FORMATS}
    scores = {name: each.score for name, each in found.items()}
    best = max(scores.values())
    if best < SIGNED and (other := _others(sight)) is not None:
        raise other
    names = candidates(scores, has_model=has_model, first=sight.first_role)
    if not names:
        raise _nothing_fits(sight.value, usual, found[usual])
    chosen = settle(names, scores[names[0]], usual if has_model else None)
    if chosen is None:
        reason = f"several formats could be meant: {found[names[0]].reason}"
        raise AmbiguousFormatError(reason, "$", names)
    why = ""
    if len(names) > 1:
        by_model = has_model and chosen == usual
        why = f"the model speaks {chosen}" if by_model else f"{chosen} is the default"
        why = f"; {', '.join(names)} would return the same JSON, and {why}"
    decisive = found[chosen]
    kind = None
    if decisive.nth is not None:
        kind = list(sight.kinds[decisive.key].values()).index(decisive.nth)
    return _Verdict(chosen, names, decisive.words, why, decisive.key, kind)


def _others(sight: _Sight) -> FormatError | None:
    """What is wrong where it is another program's file, or another library's."""
    if (file := sight.others_file()) is not None:
        program, words, path = file
        reason = (
            f"this is a file of {program} ({words}), which turnkeep does not read; "
            "take the messages out of it, or name the format that it has with format="
        )
        return FormatError(reason, path)
    if (stranger := sight.stranger()) is None:
        return None
    library, words, path = stranger
    reader = READERS.get(library)
    not_read = "does not read"
    if reader is not None:
        not_read = f"reads only in a list by itself (as {reader!r})"
    reason = (
        f"this is a message of {library} ({words}), which turnkeep {not_read}; "
        "convert it to a provider's format first, or name the format that it has "
        "with format="
    )
    return FormatError(reason, path)


def _model_in(value: Any) -> str | None:
    model = value.get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else None


def _nothing_fits(value: Any, usual: str, found: Match) -> FormatError:
    """What *value* is, and what its *usual* format has against which entry of it."""
    # Without an entry it is about the value as a whole, whose keys are named anyway.
    entry = f"; {usual} says: {found.words}" if found.nth is not None else ""
    path = found.path if entry else "$"
    more = "; name the format with format= to hear why"
    kind = ""
    if isinstance(value, (list, tuple)):
        first = value[0] if value else None
        keys = f" with the keys {', '.join(map(str, first))}" if _keyed(first) else ""
        kind = f"this list; its first entry is {type(first).__name__}{keys}"
    elif _keyed(value):
        kind = f"an object with the keys {', '.join(map(str, value))}"
    if kind:
        return FormatError(f"no format fits {kind}{entry}{more}", path)
    got = type(value).__name__
    if isinstance(value, str):
        got = "text; json.loads() reads JSON, formats.read() a file"
    elif hasattr(value, "to_json") and hasattr(value, "fit"):
        got += "; its own fit() makes a window, its `messages` are a list"
    elif isinstance(value, Iterable):
        got += "; list() makes one of it"
    reason = f"a list of messages or a request body is expected, got {got}"
    return FormatError(reason, "$")


def _keyed(value: Any) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict) and bool(value)
