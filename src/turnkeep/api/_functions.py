"""The one-shot functions: any format in, the same format out."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, Unpack

import attrs

from turnkeep.api._job import Job, Options, check_names, open_messages, rule_counter
from turnkeep.errors import (
    FormatError,
    Violation,
)
from turnkeep.formats import (
    Conversion,
    Envelope,
    Format,
    convert_value,
    decode_entries,
    get_format,
    open_value,
)
from turnkeep.formats._convert import decode_all
from turnkeep.model import Message, as_sent
from turnkeep.plans import Plan
from turnkeep.profiles import (
    Close,
    Profile,
    RepairReport,
    check_request,
    get_profile,
    repair_messages,
)


def fit(
    messages: Any, max_tokens: int | None = None, **options: Unpack[Options]
) -> Any:
    """The messages that fit the budget, in the shape they came in.

    >>> chat = [{"role": "user", "content": "hi"}]
    >>> fit(chat, max_tokens=100, model="gpt-4o") == chat
    True

    Costs one pass over the messages; tokens are counted from the newest end until the
    budget is full (a strategy other than the default may need them all).

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        max_tokens:
            Short for `budget=Budget(max_tokens)`.
        **options:
            The same as those of `plan`.

    Returns:
        The input's own shape. What was not edited are the caller's own objects.

    Raises:
        BudgetExceededError: What must stay does not fit.
        FormatError: The input is malformed; its path says where.
    """
    check_names("fit", options)
    job = Job(messages, max_tokens, lasting=False, **options)
    return job.source.apply_to(job.plan(), job.envelope)


trim_messages = fit
"""`fit`, for people who look for this name."""


def plan(
    messages: Any, max_tokens: int | None = None, **options: Unpack[Options]
) -> Plan:
    """What `fit` would do, and why.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        max_tokens:
            Short for `budget=Budget(max_tokens)`. With neither it is the model's
            context window less room for the answer (extra `models`).
        **options:
            Keyword arguments, each optional:

            - `budget`: a `Budget`.
            - `model`: chooses tokenizer, profile and, where it matters, the format.
            - `format`: a name from `FORMATS`; detected when not given.
            - `profile`: whose rules the window keeps, where format and model do not
              say it, such as `"alternating/gemma2"`.
            - `strategy`: what goes first; `OldestTurns() | OldestSteps()` unless given.
            - `tools`, `system`: what is sent beside the list, in the provider's shape.
            - `pinned`: ids, indexes or a predicate on a message; `pin_scope`:
              `"turn"` (default) or `"step"`.
            - `pending`: ids of the open calls that are awaited; `None` is all of
              them, `()` none.
            - `drop_system`: let system messages behind the leading ones go.
            - `token_counter`: one of our counters, a name (`"o200k_base"`,
              `"approximate"`), or a callable from one message to its tokens.
            - `on_invalid`: `"repair"`, `"raise"` or `"keep"`.
            - `open_calls`: `"stand-in"`, `"keep"` or `"raise"`.
            - `on_overflow`: `"raise"` or `"send"`.

    Raises:
        BudgetExceededError: What must stay does not fit.
        FormatError: The input is malformed; its path says where.
    """
    check_names("plan", options)
    return Job(messages, max_tokens, **options).plan()


@attrs.frozen
class TokenCount:
    """What a request costs, and what on."""

    total: int
    system: int
    """System text, in the list and beside it."""
    tools: int
    messages: int
    """All other messages, reasoning and images included."""
    reasoning: int
    """The part of it that is reasoning."""
    images: int
    """The part of it that is pictures and documents."""
    overhead: int
    """Per-request overhead."""
    exact: bool
    margin: float
    """Share by which the true count may exceed `total`."""
    rule: str
    """The rule used, and its source."""
    format: str


def count(
    messages: Any,
    *,
    model: str | None = None,
    tools: Any = None,
    format: str | None = None,  # noqa: A002 - the public name
    system: Any = None,
    token_counter: Any = None,
) -> TokenCount:
    """Tokens of a whole request; costs one pass that counts every message.

    Raises:
        FormatError: The input is malformed; its path says where.
    """
    fmt, envelope = open_messages(messages, format, model)
    counter = rule_counter(fmt, model or envelope.model, token_counter)
    tools = envelope.tools if tools is None else tools
    system = envelope.system if system is None else system
    spent = {"system": 0, "messages": 0, "reasoning": 0, "images": 0}
    parts = list(fmt.decode_system(system)) if system else []
    parts.extend(decode_entries(envelope, fmt))
    for message in parts:
        cost = counter.parts(as_sent(message))
        spent["system" if message.role == "system" else "messages"] += cost.total
        spent["reasoning"] += cost.reasoning
        spent["images"] += cost.images + cost.documents
    tool_tokens = counter.tools(tools) if tools else 0
    overhead = counter.request(has_tools=bool(tools)) if parts else 0
    return TokenCount(
        total=spent["system"] + spent["messages"] + tool_tokens + overhead,
        tools=tool_tokens,
        overhead=overhead,
        exact=counter.exact,
        margin=counter.margin,
        rule=counter.rule,
        format=envelope.session or fmt.name,
        **spent,
    )


def convert(
    messages: Any,
    *,
    to: str,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    strict: bool = False,
) -> Conversion:
    """A history in another format; costs the history.

    Args:
        messages:
            A list of messages in any format, or a request body.
        to:
            The format to write.
        format:
            The format of *messages*; detected when not given.
        model:
            Helps detection where several formats fit.
        strict:
            Raise where something would be lost.

    Returns:
        `value`, the history in its new shape, and `losses`, what it could not carry.

    Raises:
        FormatError: The input is malformed, or (strict) something would be lost.
    """
    source, envelope = open_messages(messages, format, model)
    return convert_value(envelope, source, get_format(to), strict=strict)


def check(
    messages: Any,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    strict: bool = False,
    original: Any = None,
    profile: str | Profile | None = None,
) -> list[Violation]:
    """What the provider would refuse about a request; empty where it would take it.

    Each violation names the rule, the place, what is wrong and what would mend it. The
    rules are listed in the reference, under "Providers". Linear in the request.

    >>> lone = [{"role": "tool", "tool_call_id": "call_1", "content": "42"}]
    >>> [(found.rule, found.where) for found in check(lone, format="openai")]
    [('OC-10', '$[0]')]

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
            `Message` objects are judged as what *format* would send.
        format:
            Its format; detected when not given.
        model:
            The model it is for; else the one that a body names.
        strict:
            Whether to report the soft rules as well, where the evidence differs.
        original:
            The request it was cut from, for the rules that compare the two.
        profile:
            Another profile to judge by, such as `"alternating/gemma2"`.

    Raises:
        FormatError: The input is malformed; its path says where.
        ValueError: There is no such profile.
    """
    fmt, envelope = open_messages(messages, format, model)
    model = model or envelope.model
    if not isinstance(profile, Profile):
        profile = get_profile(fmt.name, model, profile)
    return check_request(
        _as_request(messages, fmt, envelope, profile),
        format=fmt.name,
        model=model,
        strict=strict,
        original=None if original is None else _original(original, fmt, profile),
        profile=profile,
    )


def _original(value: Any, fmt: Format, profile: Profile) -> Any:
    try:
        opened = open_value(value, fmt.name)
    except FormatError:
        # What was cut may be the session, and what is judged a window of it.
        opened = open_value(value)
    return _as_request(value, *opened, profile)


def _as_request(value: Any, fmt: Format, envelope: Envelope, profile: Profile) -> Any:
    """*value* as its provider would get it.

    Foreign shapes are written out for it; a session is what its program would send.
    """
    if envelope.session is None and (fmt.name in profile.formats or fmt.name in _CHATS):
        return value
    wire = get_format(profile.formats[0])
    return wire.encode_request(decode_all(envelope, fmt), envelope.tools)


_CHATS = frozenset({"openai", "mistral", "deepseek", "ollama"})
"""Formats that share a shape, so that one's rules can be asked about another."""


def repair(
    messages: Any,
    *,
    close: Close = (),
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
) -> tuple[Any, RepairReport]:
    """The mended history in the shape it came in, and a report of what was mended.

    Results whose call is absent and second results go; results move to their call;
    calls named in *close* get an error result that says so; what the provider refuses
    about empty contents, equal neighbours and lone reasoning is mended. Pinned
    messages, awaited calls, empty results and ids that are used again and pair up are
    left alone. Entries that need nothing are the caller's own. Linear; repairing again
    changes nothing.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        close:
            Ids of the open calls to give up, or `"all"`.
        format:
            Its format; detected when not given.
        model:
            The model it is for; else the one that a body names.

    Raises:
        FormatError: The input is malformed; its path says where.
        UnknownCallError: No open call has an id of *close*.
    """
    fmt, envelope = open_messages(messages, format, model)
    profile = get_profile(fmt.name, model or envelope.model)
    mended, report = repair_messages(
        list(decode_entries(envelope, fmt)), profile=profile, close=close
    )
    if not report.changed and envelope.session is None:
        return messages, report
    return envelope.replace(_entries_of(envelope, fmt, mended)), report


def _entries_of(envelope: Envelope, fmt: Format, mended: list[Message]) -> list[Any]:
    """The entries of *mended*: the caller's own for all that says what it said.

    They are written as a whole, because neighbours may share an entry.
    """
    own: dict[str, deque[Any]] = {}
    for entry in envelope.entries:
        own.setdefault(_key_of(entry), deque()).append(entry)
    made: list[Any] = []
    for entry in fmt.encode(mended):
        known = own.get(_key_of(entry))
        made.append(known.popleft() if known else entry)
    return made


def _key_of(entry: Any) -> str:
    """A text that is equal for entries that say the same."""
    if isinstance(entry, Message):
        return str(id(entry))
    return json.dumps(entry, sort_keys=True, default=repr)
