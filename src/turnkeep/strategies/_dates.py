from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
]

_NUMBER = {name: nth for nth, name in enumerate(MONTHS, 1)}
_NUMBER |= {name[:3]: nth for name, nth in _NUMBER.items()} | {"sept": 9}
_NAME = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DATE = re.compile(
    r"\b(?:"
    r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"
    r"|(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<ab>\d{4}|\d{2})"
    rf"|(?P<day>\d{{1,2}})(?:[snrt][tdh])?(?: of)?[ -](?P<of>{_NAME})"
    r"(?:\.?,?[ -](?P<of_year>\d{4}))?"
    rf"|(?P<name>{_NAME})\.? (?P<nth>\d{{1,2}})(?:[snrt][tdh])?\b"
    r"(?:,? (?P<name_year>\d{4}))?"
    r")\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")


def month_named(word: str) -> str | None:
    """The full name of the month that a word in small letters is or abbreviates.

    >>> month_named("sept"), month_named("june"), month_named("mart")
    ('september', 'june', None)
    """
    number = _NUMBER.get(word)
    return None if number is None else MONTHS[number - 1]


def terms_of_date(month: int, day: int, year: int | None = None) -> Iterator[str]:
    """What a date is found by: month, day, both together, and with the year.

    >>> list(terms_of_date(5, 3, 2026))
    ['may', '3', '5-3', '2026', '2026-5-3']
    """
    yield from (MONTHS[month - 1], str(day), f"{month}-{day}")
    if year is not None:
        yield from (str(year), f"{year}-{month}-{day}")


def dates_in(text: str) -> Iterator[str]:
    """The terms of the dates in a text, in every usual spelling. Linear.

    Month, day and year that stand in it as words of their own are left to the words;
    of `3/5/2026` both readings count.

    >>> list(dates_in("between 2026-05-03 and June 4th"))
    ['may', '3', '5-3', '2026', '2026-5-3', '6-4']
    """
    if _DIGIT.search(text) is None:
        return
    for match in _DATE.finditer(text):
        found = match.groupdict()
        if found["y"]:
            yield from _read(found["y"], found["m"], found["d"])
        elif found["a"]:
            year = found["ab"] if len(found["ab"]) == 4 else f"20{found['ab']}"
            yield from _read(year, found["a"], found["b"])
            if found["a"] != found["b"]:
                yield from _read(year, found["b"], found["a"])
        else:
            name = (found["of"] or found["name"]).lower()
            day = int(found["day"] or found["nth"])
            year = found["of_year"] or found["name_year"]
            number = _NUMBER.get(name)
            if number is not None and 1 <= day <= 31:
                joint = f"{number}-{day}"
                yield joint
                if year:
                    yield f"{year}-{joint}"


def _read(year: str, month: str, day: str) -> Iterator[str]:
    """The terms of a date in figures, if there is such a day."""
    try:
        at = date(int(year), int(month), int(day))
    except ValueError:
        return
    yield from terms_of_date(at.month, at.day, at.year)
