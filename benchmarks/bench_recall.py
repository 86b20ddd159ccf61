"""What strategies keep: of facts that are asked for, and of what calls use.

``pytest benchmarks/bench_recall.py -s`` prints two tables. The dialogues are made up by
`_dialogues.py`; the sessions with tools are recorded ones, where they are at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from benchmarks._dialogues import Dialogue, dialogues
from tests.paths import read_corpus
from turnkeep import Budget, Message, plan
from turnkeep.replay import SLIDING, Outcome, Report, replay, total
from turnkeep.strategies import by_name

BUDGETS: Final = (1_000, 2_000, 4_000, 8_000)
STRATEGIES: Final = ("chat", "relevance", "memory")
CUTS: Final = (
    (0.6, "chat"),
    (0.6, "agent"),
    (0.6, "keep-recent:rest=(relevance & least-recently-referenced)"),
    (0.6, "least-recently-referenced"),
    (0.6, "digest | least-recently-referenced"),
    (0.6, "clear-tool-results | chat"),
    (0.6, "truncate-tool-results | chat"),
    (0.6, "superseded | chat"),
    (0.8, "chat"),
    (0.8, "clear-tool-results | chat"),
    (0.8, "relevance"),
    (0.8, "digest:share=0.1 | least-recently-referenced"),
    (1.0, "keep-recent:rest=(relevance & least-recently-referenced)"),
    (1.0, "digest:share=0.1 | least-recently-referenced"),
)
"""Targets and strategies of sessions with tools."""


def tokens_of(message: Message) -> int:
    """A token for four characters, and four for who speaks."""
    return 4 + len(message.text) // 4


def recalled(said: Dialogue, strategy: str, budget: int) -> Counter[str]:
    """How many questions of each kind had all of their evidence in the window."""
    ranking = by_name(strategy)
    whole: Counter[str] = Counter()
    for question in said.questions:
        asked = Message.user(question.text, id="asked")
        made = plan(
            [*said.messages, asked],
            max_tokens=budget,
            strategy=ranking,
            token_counter=tokens_of,
        )
        kept = set(made.kept.ids)
        whole[question.kind] += kept.issuperset(question.evidence)
    return whole


def bench_recall(timed: bool) -> None:
    """Share of questions with all of their evidence in the window."""
    said = list(dialogues(2 if timed else 1, 24 if timed else 4))
    asked = Counter(q.kind for one in said for q in one.questions)
    count = sum(len(one.messages) for one in said)
    tokens = sum(tokens_of(m) for one in said for m in one.messages)
    print(f"\n{len(said)} dialogues, {count} messages, {tokens} tokens")
    print(f"questions: {dict(sorted(asked.items()))}")
    found: dict[tuple[str, int], float] = {}
    for strategy in STRATEGIES:
        for budget in BUDGETS:
            whole: Counter[str] = Counter()
            for one in said:
                whole += recalled(one, strategy, budget)
            found[strategy, budget] = whole.total() / asked.total()
            kinds = ", ".join(f"{k} {whole[k] / asked[k]:.0%}" for k in sorted(asked))
            share = found[strategy, budget]
            print(f"{strategy:<10} {budget:>6,} {share:6.1%}  {kinds}")
    for budget in BUDGETS:
        assert found["relevance", budget] >= found["chat", budget]


def mean_window(outcome: Outcome) -> float:
    """Tokens of a request, on average."""
    return outcome.tokens / max(outcome.calls, 1)


def played(sessions: Sequence[Any], budget: Budget, *names: str) -> Report:
    """All of the sessions under each of the strategies."""
    strategies = {name: by_name(name) for name in names}
    return total([replay(s, strategies, budget, format="openai") for s in sessions])


def sliding_of(sessions: Sequence[Any], mean: float, limit: int) -> Outcome:
    """The window that moves at every call whose mean size is nearest to *mean*."""
    low, high = limit // 4, limit
    for _ in range(8):
        middle = (low + high) // 2
        found = played(sessions, Budget(middle)).outcome(SLIDING)
        if mean_window(found) > mean:
            high = middle
        else:
            low = middle
    return found


def bench_use(timed: bool) -> None:
    """Share of calls with all that they took from earlier results, and the cost."""
    recorded = list(read_corpus("openai"))
    coding = [
        line["body"]
        for line in recorded
        if line["name"].startswith("pi-mono") and len(line["body"]["messages"]) > 900
    ]
    airline = [r["body"] for r in recorded if r["name"].startswith("tau-bench")]
    for name, sessions, limit in (
        ("coding", coding, 32_000),
        ("coding", coding, 64_000),
        ("airline", airline if timed else airline[:3], 1_000),
    ):
        for target, strategy in CUTS if timed else CUTS[:2]:
            report = played(sessions, Budget(limit, target=target), strategy)
            sliding, one = report.outcome(SLIDING), report.outcome(strategy)
            if strategy == CUTS[0][1] and target == CUTS[0][0]:
                print(
                    f"\n{name} at {limit:,}: {report.calls:,} calls, "
                    f"{sliding.steps} with referents; sliding window: "
                    f"whole {sliding.whole:.1%}, mean {mean_window(sliding):,.0f}"
                )
            print(
                f"{target} {strategy:<60} cost {one.to_sliding:.2f} of sliding, "
                f"{one.to_full:.3f} of no trimming, whole {one.whole:.1%}, "
                f"mean {mean_window(one):,.0f}"
            )
            if strategy == "agent" and name == "coding":
                equal = sliding_of(sessions, mean_window(one), limit)
                print(
                    f"    a sliding window of that size ({mean_window(equal):,.0f}): "
                    f"whole {equal.whole:.1%}, {equal.to_full:.3f} of no trimming"
                )
                assert one.whole >= equal.whole + 0.04
