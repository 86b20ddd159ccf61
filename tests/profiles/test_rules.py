"""Every rule: a request that keeps it, one that breaks it, a trim that breaks it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.profiles.anthropic_cases import ANTHROPIC
from tests.profiles.case import Case
from tests.profiles.chat_cases import ALTERNATING, DEEPSEEK, MISTRAL, OLLAMA, OPENAI
from tests.profiles.other_cases import BEDROCK, GEMINI, RESPONSES
from turnkeep.errors import Violation
from turnkeep.profiles import PROFILES, check_request, get_profile

TABLES: dict[str, list[Case]] = {
    "openai": OPENAI,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "mistral": MISTRAL,
    "deepseek": DEEPSEEK,
    "ollama": OLLAMA,
    "alternating": ALTERNATING,
}

_BEYOND = {
    "a trim does not rename roles or types": """
        OC-02 OR-02 OR-03 AN-02 GE-02 DS-02 MI-02 OL-01 AL-02 AL-04
    """,
    "a trim does not rewrite ids, names or the shape of calls": """
        OC-09 DS-09 OC-s1 DS-s1 OC-s2 DS-s2 OC-s3 DS-s3 OC-16 OC-s4 AN-15 AN-s8 OR-07
        OR-10 OR-11 OR-s1 OR-s2 MI-05 MI-09 MI-10 MI-s2 OL-03
    """,
    "a trim does not touch what is around the list": "OC-17 AN-24 AN-26 GE-13 GE-s4",
    "a trim moves nothing into another role or to another place": """
        OC-06 DS-06 OL-02 AN-25 BR-11 BR-s4 BR-s7 GE-s3 AL-03 OL-s4
    """,
    "a trim makes nothing more": """
        OC-s5 AN-20 AN-21 AN-22 AN-30 AN-31 AN-s6 BR-s1 BR-s5 AL-08
    """,
    "the last message stays the last in a trim of the head": "DS-s4 MI-08",
    "a trim leaves a list": "OR-s6",
    "a trim makes no ids": "AN-s12",
}
BEYOND_TRIMMING = {
    rule: reason for reason, rules in _BEYOND.items() for rule in rules.split()
}
"""Rules that no trim can break, and why."""

CASES = [
    pytest.param(name, case, id=f"{name}:{case.rule}")
    for name, table in TABLES.items()
    for case in table
]
TRIMS = [
    pytest.param(name, case, id=f"{name}:{case.rule}")
    for name, table in TABLES.items()
    for case in table
    if case.naive is not None
]


def found(name: str, case: Case, request: Any, original: Any = None) -> list[Violation]:
    return check_request(
        request,
        format=name,
        model=case.model,
        strict=True,
        original=original,
        profile=case.profile or name,
    )


def numbers(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


def faults(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations if violation.hard}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_good_requests_pass(name: str, case: Case) -> None:
    """A request that keeps a rule is not reported, and breaks no hard rule."""
    violations = found(name, case, case.good, case.original)

    assert case.rule not in numbers(violations)
    assert not faults(violations)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_bad_requests_are_found(name: str, case: Case) -> None:
    """A request that breaks a rule is reported, with its place and the way out."""
    rule = get_profile(name=name).rule(case.rule)

    broken = [
        v for v in found(name, case, case.bad, case.original) if v.rule == case.rule
    ]

    assert broken
    for violation in broken:
        assert violation.hard is rule.hard
        assert violation.message.endswith(f". {rule.mend}")
        assert re.fullmatch(r"\$(\.\w+|\[\d+\])*", violation.where), violation.where


@pytest.mark.parametrize(("name", "case"), TRIMS)
def test_naive_trims_break_rules(name: str, case: Case) -> None:
    """A trim that knows nothing of rules makes a refused request of an accepted one."""
    assert case.naive is not None
    whole = case.whole or case.original or case.good
    original = whole if get_profile(name=name).rule(case.rule).edit else None

    trimmed = case.naive(whole)

    assert case.rule not in numbers(found(name, case, whole, original))
    assert not faults(found(name, case, whole, original))
    assert case.rule in numbers(found(name, case, trimmed, original))


@pytest.mark.parametrize("name", PROFILES)
def test_tables_are_complete(name: str) -> None:
    """No rule goes without its examples, and none is called beyond trimming wrongly."""
    rules = set(get_profile(name=name).rules)
    table = TABLES[name.partition("/")[0]]
    trimmed = {case.rule for case in table if case.naive is not None}

    assert {case.rule for case in table} == rules
    assert len(table) == len(rules)
    assert rules - trimmed == rules & BEYOND_TRIMMING.keys()


def test_what_is_beyond_trimming_exists() -> None:
    """The list of exceptions names real rules only."""
    known = {rule for name in PROFILES for rule in get_profile(name=name).rules}

    assert BEYOND_TRIMMING.keys() <= known
