from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from turnkeep.errors import FormatError, Violation
from turnkeep.policy import Policy

_DESCRIBED = 60
"""Characters of an offending value that a message quotes."""


@attrs.frozen
class Rule:
    """One thing a provider demands of a request.

    >>> Rule("XX-01", "the list is not empty", mend="Send a message.").hard
    True
    """

    number: str
    """Its number, such as `"OC-12"`; soft rules have an `s`: `"OC-s1"`."""

    sentence: str
    """What is demanded, in one sentence."""

    mend: str
    """What would make a request that breaks it acceptable, as an instruction."""

    error: str | None = attrs.field(default=None, kw_only=True)
    """The provider's own error text, where known."""

    sources: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    """Where it is known from: addresses, `owner/repository#issue`, or words."""

    hard: bool = attrs.field(kw_only=True)
    """Whether a request that breaks it is refused; else the evidence differs."""

    edit: bool = attrs.field(default=False, kw_only=True)
    """Whether it compares a request with the one it was cut from."""

    models: str = attrs.field(default="all", kw_only=True)
    """The models (or templates) it applies to, in words."""

    @hard.default
    def _hard(self) -> bool:
        return "-s" not in self.number


Fact: TypeAlias = bool | None
"""Yes, no, or unknown."""


@attrs.frozen
class Request:
    """A request taken apart far enough to be checked."""

    entries: Sequence[Any]
    path: str
    """JSON path of the list."""
    body: Mapping[str, Any] | None = None
    """The whole body; none when only a list is known."""
    model: str | None = None

    def at(self, nth: int) -> str:
        """JSON path of entry *nth*."""
        return f"{self.path}[{nth}]"

    def setting(self, *names: str) -> Any:
        """The first of the body's settings *names* that is there, else none."""
        if self.body is not None:
            for name in names:
                if self.body.get(name) is not None:
                    return self.body[name]
        return None


class Findings:
    """Collects violations of the rules of one profile."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules
        self._found: list[Violation] = []

    def add(self, number: str, where: str, what: str) -> None:
        """Note that rule *number* is broken at *where*: *what* is wrong there."""
        rule = self._rules[number]
        self._found.append(
            Violation(number, where, f"{what}. {rule.mend}", hard=rule.hard)
        )

    def violations(self, *, strict: bool) -> list[Violation]:
        """What was found, in the order of finding; the soft ones when *strict*."""
        return [v for v in self._found if strict or v.hard]


Check: TypeAlias = Callable[[Request, Findings], None]
"""Checks one request; linear in its size."""

EditCheck: TypeAlias = Callable[[Request, Request, Findings], None]
"""Compares a trimmed request (first) with the one before it; linear in both."""

Adapt: TypeAlias = Callable[[Policy, Mapping[str, Any]], Policy]
"""Gives the policy for one request body: thinking on or off, say."""


@attrs.frozen
class Profile:
    """What one provider or model family demands.

    Chosen by `get_profile`; a value, so that it can be compared and evolved.
    """

    name: str
    """As users write it, such as `"anthropic"` or `"alternating/gemma2"`."""

    title: str
    """The API's name, for people."""

    formats: tuple[str, ...]
    """Names of the formats whose requests it can check."""

    list_key: str
    """Key of the message list in a request body."""

    rules: Mapping[str, Rule] = attrs.field(repr=False, eq=False)
    """Its rules by number, in order."""

    policy: Policy = attrs.field(repr=False)

    check: Check = attrs.field(repr=False, eq=False)
    """Checks one request against the rules that need nothing else."""

    check_edit: EditCheck | None = attrs.field(default=None, repr=False, eq=False)
    """Checks the (edit) rules."""

    adapt: Adapt | None = attrs.field(default=None, repr=False, eq=False)
    """Changes the policy by what a request body says beside its list."""

    model: str | None = None
    """The model its policy was made for."""

    trims: tuple[str, ...] = attrs.field(default=(), repr=False)
    """What trimming may break and what turnkeep does about it, for the manual."""

    def policy_for(self, body: Mapping[str, Any] | None) -> Policy:
        """The policy for a request whose body says *body* beside its list."""
        if body is None or self.adapt is None:
            return self.policy
        return self.adapt(self.policy, body)

    def rule(self, number: str) -> Rule:
        """The rule *number*.

        Raises:
            KeyError: This profile has no such rule.
        """
        return self.rules[number]


def by_number(*rules: Rule) -> dict[str, Rule]:
    """*rules* by their numbers, in the order given."""
    return {rule.number: rule for rule in rules}


def open_request(value: Any, key: str, model: str | None = None) -> Request:
    """Take a list of entries or a request body (a list under *key*) apart.

    A body that has nothing but its list says as little as the list alone.

    Raises:
        FormatError: It is neither.
    """
    if isinstance(value, (list, tuple)):
        return Request(value, "$", None, model)
    if not isinstance(value, Mapping):
        reason = f"a request is an object or a list of messages, not {describe(value)}"
        raise FormatError(reason, "$")
    entries = value.get(key)
    if key == "input" and isinstance(entries, str):
        # The Responses API takes plain text for a single user message.
        entries = [{"role": "user", "content": entries}]
    if not isinstance(entries, (list, tuple)):
        found = describe(entries) if key in value else "nothing"
        reason = f"a request needs a list under {key!r}, found {found}"
        raise FormatError(reason, f"$.{key}")
    body = value if len(value) > 1 else None
    return Request(entries, f"$.{key}", body, model or model_named(value))


def with_tools(request: Request, tools: Any) -> Request:
    """*request* as it is with *tools* beside its list; itself where there are none."""
    if not tools:
        return request
    config = tools if isinstance(tools, Mapping) else {"tools": tools}
    body = {**(request.body or {}), "tools": tools, "toolConfig": config}
    return attrs.evolve(request, body=body)


def model_named(body: Mapping[str, Any]) -> str | None:
    """The model that a body names, under OpenAI's key or Bedrock's."""
    named = body.get("model") or body.get("modelId")
    return named if isinstance(named, str) else None


def describe(value: Any) -> str:
    """*value* in a few characters, for a message."""
    match value:
        case None:
            return "null"
        case str():
            return repr(value if len(value) <= _DESCRIBED else value[:_DESCRIBED] + "…")
        case bool() | int() | float():
            return str(value).lower() if isinstance(value, bool) else repr(value)
        case Mapping():
            return "an object" if value else "an empty object"
        case list() | tuple():
            return f"a list of {len(value)}" if value else "an empty list"
        case _:
            return f"a {type(value).__name__}"
