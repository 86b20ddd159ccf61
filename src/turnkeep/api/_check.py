"""`check` and `repair`: what a provider would refuse, and mending it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, overload

from turnkeep.api._arguments import Body, Entry, Messages, check_calls, with_hints
from turnkeep.errors import FormatError, Violation
from turnkeep.formats import (
    Envelope,
    Format,
    decode_entries,
    get_format,
    open_messages,
    read_objects,
    reopen,
)
from turnkeep.formats._convert import decode_all
from turnkeep.model import Message
from turnkeep.profiles import (
    Close,
    Profile,
    Repair,
    check_request,
    get_profile,
    repair_messages,
)
from turnkeep.providers import CHAT_FORMATS


@with_hints
def check(
    messages: Messages,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    tools: Any = None,
    original: Messages | None = None,
    strict: bool = False,
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
        tools:
            Tool definitions sent beside a bare list, in the provider's shape.
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
    if original is not None and not isinstance(original, (Mapping, Sequence)):
        msg = f"original must be a list or a request body, not {original!r}"
        raise TypeError(msg)
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
        tools=tools,
    )


def _original(value: Any, fmt: Format, profile: Profile) -> Any:
    try:
        opened = reopen(value, fmt.name)
    except FormatError:
        # What was cut may be the session, and what is judged a window of it.
        opened = open_messages(value)
    return _as_request(value, *opened, profile)


def _as_request(value: Any, fmt: Format, envelope: Envelope, profile: Profile) -> Any:
    """*value* as its provider would get it.

    Foreign shapes are written out for it; a session is what its program would send.
    """
    is_sent = fmt.name in profile.formats or fmt.name in CHAT_FORMATS
    if envelope.session is None and is_sent:
        return read_objects(value)[0]
    wire = get_format(profile.formats[0])
    body = wire.encode_request(decode_all(envelope, fmt), envelope.tools)
    # A list says nothing about what was sent beside it.
    beside = envelope.is_body or envelope.tools or envelope.system is not None
    return body if beside else body[profile.list_key]


@overload
def repair(
    messages: Body,
    *,
    close: Close = (),
    format: str | None = None,
    model: str | None = None,
) -> Repair[Body]: ...
@overload
def repair(
    messages: Sequence[Entry],
    *,
    close: Close = (),
    format: str | None = None,
    model: str | None = None,
) -> Repair[list[Entry]]: ...
@with_hints
def repair(
    messages: Messages,
    *,
    close: Close = (),
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
) -> Repair[Any]:
    """The mended history in the shape it came in, and what was mended.

    >>> lone = {"role": "tool", "tool_call_id": "call_1", "content": "42"}
    >>> mended = repair([lone, {"role": "user", "content": "hi"}])
    >>> mended.value
    [{'role': 'user', 'content': 'hi'}]
    >>> print(mended)
    message 0 dropped: the call 'call_1' is not in the history

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

    Returns:
        `value`, the mended history, and `changes`, one for each thing that was mended
        or, though wrong, left alone. Nothing to mend: `value` says what came in.

    Raises:
        FormatError: The input is malformed; its path says where.
        UnknownCallError: No open call has an id of *close*.
    """
    check_calls("close", close)
    fmt, envelope = open_messages(messages, format, model)
    profile = get_profile(fmt.name, model or envelope.model)
    mended = repair_messages(
        list(decode_entries(envelope, fmt)),
        profile=profile,
        close=close,
        stateful=bool(envelope.kept),
    )
    value: Any = messages
    if mended.changed or envelope.session is not None:
        value = envelope.replace(_entries_of(envelope, fmt, mended.value))
    elif not isinstance(messages, (list, Mapping)):
        value = list(messages)
    return Repair(value, mended.changes)


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
