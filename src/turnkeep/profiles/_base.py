from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from turnkeep.demands import Demands, Joins
from turnkeep.errors import FormatError, Violation

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


Results: TypeAlias = Literal["after-call", "after-run", "anywhere"]
"""Where the results of a call must stand: right after the message that made it, in the
user turn that follows the run of messages it is part of, or anywhere in the list."""

SystemPlaces: TypeAlias = Literal["anywhere", "start", "after-user", "outside", "never"]
"""Where system text may stand: anywhere in the list; only at its start; at the start
(beside the list) and after a user turn; only beside the list; nowhere."""


@attrs.frozen(kw_only=True)
class Policy:
    """What the engine must do so that a window is accepted. Plain data."""

    results: Results = "after-call"
    joins_results: bool = False
    """All results of one turn stand in one message (Bedrock, Gemini)."""
    alternates: bool = False
    """User and assistant messages must alternate; equal neighbours are merged."""
    first_user: bool = False
    """The first message (system text aside) is better the user's."""
    opens_with: Literal["any", "user", "no-call"] = "any"
    """What the first message may be, system text aside, or the request is refused:
    anything, only the user's, or no message with calls. `first_user` is what is also
    accepted where the evidence differs."""
    needs_user: bool = False
    """At least one user message must be left."""
    last_user: bool = False
    """A list that ends on an assistant message is refused."""
    binds_thinking: bool = False
    """Signed thinking is only valid behind an unchanged prefix (AE-03)."""
    may_bind_thinking: bool = False
    """The evidence for it differs (AE-s2): prefer a form that is valid either way."""
    thinking_whole_in_open_round: bool = False
    """The tool round in progress keeps all of its thinking (AE-02), or, with
    `thinking_required_in_open_round` false, none of it."""
    thinking_required_in_open_round: bool = False
    """The tool round in progress must open with thinking (`thinking: enabled`)."""
    keeps_reasoning_of_tool_turns: bool = False
    """Every kept message with calls keeps its reasoning (DeepSeek)."""
    signatures_of_current_turn: bool = False
    """Calls of the current turn keep their signatures (Gemini)."""
    pairs_reasoning_items: bool = False
    """Reasoning items and what follows them go together (Responses)."""
    system_places: SystemPlaces = "anywhere"
    max_cache_marks: int | None = None
    one_call_per_message: bool = False
    """A message makes at most one call (Llama 3 templates)."""
    user_after_tool_ok: bool = True
    """A user message may follow a tool result directly; else an assistant text must
    stand between (older Mistral servers, alternating templates)."""
    call_after_assistant_ok: bool = True
    """A message with calls may follow an assistant message (Gemini: it may not)."""
    needs_tools_with_tool_blocks: bool = False
    """Tool definitions must be sent while calls or results are in the list."""
    tool_messages_ok: bool = True
    """Calls and results can be sent at all (Gemma templates: they cannot)."""
    empty_refused: frozenset[str] = frozenset()
    """Roles whose messages may not be without content."""
    empty_text_is_empty: bool = False
    """A message of nothing but empty text counts as one without content."""
    text_refused: Literal["none", "empty", "blank"] = "none"
    """Which texts beside others are refused: none, empty ones, those of white space."""
    empty_arrays_refused: frozenset[str] = frozenset()
    """Keys (`tool_calls`, `content`) that may not hold an empty array."""
    blank_alone_refused: bool = False
    """A message of nothing but white space is refused."""

    @property
    def no_system_in_list(self) -> bool:
        """Whether system text may not be an entry of the list at all."""
        return self.system_places in ("outside", "never")

    @property
    def demands(self) -> Demands:
        """What planning has to heed of it."""
        joins: Joins = "nothing"
        if self.joins_results:
            joins = "sides" if self.alternates else "results"
        return Demands(
            opener_stays=(
                self.first_user
                or self.opens_with != "any"
                or self.alternates
                or not self.call_after_assistant_ok
            ),
            closer_stays=self.alternates or not self.user_after_tool_ok,
            answers_tools=not self.user_after_tool_ok,
            ends_with_user=self.last_user,
            system_between=self.system_places == "after-user",
            system_after_results=self.results == "after-run",
            system_first=self.system_places in ("outside", "start"),
            joins=joins,
            binds_thinking=self.binds_thinking,
            thinking_whole=self.thinking_whole_in_open_round,
            thinking_required=self.thinking_required_in_open_round,
            pairs_reasoning=self.pairs_reasoning_items,
            reasoning_with_calls=self.keeps_reasoning_of_tool_turns,
            signed_calls=self.signatures_of_current_turn,
        )


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
