"""`fit` and `plan`: what to send, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

from turnkeep.api._arguments import (
    Body,
    Entry,
    Interim,
    Messages,
    Pinned,
    TokenCounter,
    with_hints,
)
from turnkeep.api._job import Job
from turnkeep.budgets import Budget
from turnkeep.engine import CacheMarking, OnInvalid, OpenCalls, Overflow
from turnkeep.model import PinScope
from turnkeep.plans import Plan
from turnkeep.profiles import Profile
from turnkeep.strategies import Strategy


@overload
def fit(
    messages: Body,
    max_tokens: int | None = None,
    *,
    budget: Budget | int | None = None,
    model: str | None = None,
    format: str | None = None,
    profile: str | Profile | None = None,
    strategy: Strategy | str | None = None,
    tools: Any = None,
    system: Any = None,
    pinned: Pinned = (),
    pin_scope: PinScope = "turn",
    pending: str | Iterable[str] | None = None,
    interim: Interim = (),
    drop_system: bool = False,
    token_counter: TokenCounter | None = None,
    stand_in_text: str | None = None,
    on_invalid: OnInvalid = "repair",
    open_calls: OpenCalls = "stand-in",
    on_overflow: Overflow = "shorten",
    cache_marks: CacheMarking = "keep",
) -> Body: ...
@overload
def fit(
    messages: Sequence[Entry],
    max_tokens: int | None = None,
    *,
    budget: Budget | int | None = None,
    model: str | None = None,
    format: str | None = None,
    profile: str | Profile | None = None,
    strategy: Strategy | str | None = None,
    tools: Any = None,
    system: Any = None,
    pinned: Pinned = (),
    pin_scope: PinScope = "turn",
    pending: str | Iterable[str] | None = None,
    interim: Interim = (),
    drop_system: bool = False,
    token_counter: TokenCounter | None = None,
    stand_in_text: str | None = None,
    on_invalid: OnInvalid = "repair",
    open_calls: OpenCalls = "stand-in",
    on_overflow: Overflow = "shorten",
    cache_marks: CacheMarking = "keep",
) -> list[Entry]: ...
@with_hints
def fit(
    messages: Messages,
    max_tokens: int | None = None,
    *,
    budget: Budget | int | None = None,
    model: str | None = None,
    format: str | None = None,  # noqa: A002 - the public name
    profile: str | Profile | None = None,
    strategy: Strategy | str | None = None,
    tools: Any = None,
    system: Any = None,
    pinned: Pinned = (),
    pin_scope: PinScope = "turn",
    pending: str | Iterable[str] | None = None,
    interim: Interim = (),
    drop_system: bool = False,
    token_counter: TokenCounter | None = None,
    stand_in_text: str | None = None,
    on_invalid: OnInvalid = "repair",
    open_calls: OpenCalls = "stand-in",
    on_overflow: Overflow = "shorten",
    cache_marks: CacheMarking = "keep",
) -> Any:
    """The messages that fit the budget, in the shape they came in.

    >>> chat = [{"role": "user", "content": "hi"}]
    >>> fit(chat, max_tokens=100, model="gpt-4o") == chat
    True

    Whole turns go first, the oldest first; then the oldest steps of the current turn. A
    tool call and its results leave together, the last question and what is pinned or
    awaited stay. The input is never changed, and what fits comes back as it was.

    Costs one pass over the messages; tokens are counted from the newest end until the
    budget is full (a strategy other than the default may need them all).

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body (a
            dict with `messages`, `contents` or `input`).
        max_tokens:
            Tokens the request may hold. Short for `budget=Budget(max_tokens)`. With
            neither it is the model's context window less room for the answer (extra
            `models`): what the body asks for, else 4,096.
        budget:
            A `Budget`, for more than a number: room for the answer, when to cut and how
            deep, limits of turns, messages and images.
        model:
            Chooses tokenizer, rules and, where it matters, the format.
        format:
            A name from `turnkeep.FORMATS`; detected unless given.
        profile:
            Whose rules the window keeps, where format and model do not say it, such as
            `"alternating/gemma2"`.
        strategy:
            What goes first: an object, or a text as the command line takes it, such as
            `"agent"` or `"digest | oldest-turns"`. Unless given, `"chat"`.
        tools:
            Tool definitions sent beside the list, in the provider's shape.
        system:
            System text sent beside the list, in the provider's shape.
        pinned:
            What stays whatever the budget: ids, indexes (-1 is the last message), or a
            predicate on a message in your shape.
        pin_scope:
            `"turn"`: a pin holds its turn as long as that fits, always its question and
            its last step. `"step"`: only its own step.
        pending:
            Ids of the unanswered calls that are awaited. `None` is all of them, `()`
            none: then they are ordinary steps.
        interim:
            Calls whose result is only a placeholder of yours: their ids, or a predicate
            on the messages that carry results. They count as unanswered.
        drop_system:
            Let system messages behind the leading ones go.
        token_counter:
            One of our counters, the name of one (`"o200k_base"`, `"approximate"`), or a
            callable from one message in your shape to its tokens.
        stand_in_text:
            What the model reads for an open call that other messages follow, behind a
            fixed first line.
        on_invalid:
            Results without their call, second results and the like: `"repair"` leaves
            them out, `"raise"` refuses them, `"keep"` sends them.
        open_calls:
            Open calls that other messages follow: `"stand-in"` answers them in the
            window, `"keep"` sends them bare, `"raise"` refuses them.
        on_overflow:
            Where what must stay does not fit: tool results are shortened, largest
            first, those that have just come last, and older ones of more than half of
            the target before anything goes (`"shorten"`); nothing is shortened and it
            is an error (`"raise"`); or it is sent with a warning (`"send"`).
        cache_marks:
            Marks of the provider's prompt cache: `"keep"` leaves them alone, `"place"`
            sets them where they pay (Anthropic, Bedrock, OpenAI from GPT-5.6 on),
            `"drop"` removes them. Marks are no edit, and stand in no plan.

    Returns:
        The input's own shape, a body for a body and a list for a list. What was not
        edited are your own objects.

    Raises:
        BudgetExceededError: What must stay does not fit; it says what would.
        FormatError: The input is malformed; its path says where.
        InvalidHistoryError: It breaks rules, and *on_invalid* is `"raise"`.
        OpenCallError: A call is open, and *open_calls* is `"raise"`.
        UnknownMessageError: A pin names no message.
        UnknownCallError: *pending* or *interim* names no open call.
        StrategyError: *strategy* names no strategy.
    """
    job = Job(
        messages,
        max_tokens,
        budget=budget,
        model=model,
        format=format,
        profile=profile,
        strategy=strategy,
        tools=tools,
        system=system,
        pinned=pinned,
        pin_scope=pin_scope,
        pending=pending,
        interim=interim,
        drop_system=drop_system,
        token_counter=token_counter,
        stand_in_text=stand_in_text,
        on_invalid=on_invalid,
        open_calls=open_calls,
        on_overflow=on_overflow,
        cache_marks=cache_marks,
        lasting=False,
    )
    return job.source.apply_to(job.plan(), job.envelope)


trim_messages = fit
"""`fit`, for people who look for this name."""


@with_hints
def plan(
    messages: Messages,
    max_tokens: int | None = None,
    *,
    budget: Budget | int | None = None,
    model: str | None = None,
    format: str | None = None,  # noqa: A002 - the public name
    profile: str | Profile | None = None,
    strategy: Strategy | str | None = None,
    tools: Any = None,
    system: Any = None,
    pinned: Pinned = (),
    pin_scope: PinScope = "turn",
    pending: str | Iterable[str] | None = None,
    interim: Interim = (),
    drop_system: bool = False,
    token_counter: TokenCounter | None = None,
    stand_in_text: str | None = None,
    on_invalid: OnInvalid = "repair",
    open_calls: OpenCalls = "stand-in",
    on_overflow: Overflow = "shorten",
    cache_marks: CacheMarking = "keep",
) -> Plan:
    """What `fit` would do, and why.

    >>> chat = [{"role": "user", "content": "hi"}]
    >>> made = plan(chat, max_tokens=100, model="gpt-4o")
    >>> made.explain(0)
    '0 stays: it is the question that the model is to answer.'

    Takes what `fit` takes.

    Raises:
        BudgetExceededError: What must stay does not fit; it says what would.
        FormatError: The input is malformed; its path says where.
    """
    return Job(
        messages,
        max_tokens,
        budget=budget,
        model=model,
        format=format,
        profile=profile,
        strategy=strategy,
        tools=tools,
        system=system,
        pinned=pinned,
        pin_scope=pin_scope,
        pending=pending,
        interim=interim,
        drop_system=drop_system,
        token_counter=token_counter,
        stand_in_text=stand_in_text,
        on_invalid=on_invalid,
        open_calls=open_calls,
        on_overflow=on_overflow,
        cache_marks=cache_marks,
    ).plan()
