"""One session under one strategy after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from turnkeep.budgets import Budget, Prices, share_of
from turnkeep.strategies import OldestSteps, Strategy
from turnkeep.tokens import RequestCounter

from ._expected import Expected, find
from ._log import Log, read_session
from ._report import FULL, SLIDING, Report
from ._run import DEFAULT_TARGET, run_session


def replay(
    messages: Any,
    strategies: Mapping[str, Strategy],
    budget: Budget,
    prices: Prices | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    model: str | None = None,
    counter: RequestCounter | None = None,
    targets: Sequence[float] = (),
    expected: Sequence[Expected] = (),
) -> Report:
    """Replay a session under *strategies*.

    The budget is for what a strategy may drop: system messages are never dropped, so
    they count neither against it nor in the figures. Each strategy prunes when the
    window exceeds the trigger (or, with `budget.prices`, when it pays) down to the
    target (0.6 unless given), and keeps its cut until then.

    Costs, per strategy, one plan a cut, and the window's length a call.

    Args:
        messages:
            A list of messages in any format, a list of `Message`, or a request body.
        strategies:
            What to compare, by the names to show.
        budget:
            Tokens, trigger and target.
        prices:
            Of the prompt cache; those of the budget, else 0.1 to read, 1.25 to write.
        format:
            Its format; detected when not given.
        model:
            Chooses the tokenizer.
        counter:
            Counts the messages instead.
        targets:
            Each strategy is replayed with each of them instead of the budget's; with
            several, an outcome's name ends with `@` and its target.
        expected:
            Questions with the messages that must be there when they are asked, instead
            of the rare words of users' messages.

    Raises:
        FormatError: The input is malformed, or in another format, or an expected
            question is not a user's message; its path says where.
        UnknownMessageError: A message that is expected is not in the session.
    """
    log = Log(*read_session(messages, format, model, counter))
    prices = prices or budget.prices or Prices()
    asked = find(expected, log)
    window = attrs.evolve(budget, trigger=1.0, target=1.0, prices=None)
    full = run_session(log, FULL, None, window, prices, asked)
    sliding = run_session(log, SLIDING, OldestSteps(), window, prices, asked)
    runs = [full, sliding]
    budgets = [attrs.evolve(budget, target=target) for target in targets] or [budget]
    for one in budgets:
        for name, strategy in strategies.items():
            label = name if len(budgets) == 1 else f"{name} @ {one.target:g}"
            runs.append(run_session(log, label, strategy, one, prices, asked))
    room = budget.available()
    return Report(
        calls=len(log.calls),
        tokens=sum(map(log.count, range(len(log.messages)))),
        limit=share_of(room, budget.trigger),
        target=share_of(room, budgets[0].goal(DEFAULT_TARGET)),
        prices=prices,
        outcomes=tuple(run.outcome(full.cost, sliding.cost) for run in runs),
        is_expected=bool(expected),
    )


def named(strategies: Iterable[Strategy]) -> dict[str, Strategy]:
    """Strategies by what they look like."""
    return {repr(strategy): strategy for strategy in strategies}
