"""Replay a recorded session, one request at a time, under a budget.

Every request fits, ends with the newest message and begins with the system message;
with a target of 0.6 most requests begin like the one before, so that the provider's
prompt cache holds.

    python examples/keep_within_budget.py
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import turnkeep
from turnkeep import Budget

SESSION = Path(__file__).with_name("build-engineer.json")


def requests(
    session: dict[str, Any], budget: Budget
) -> list[tuple[int, list[dict[str, Any]]]]:
    """Each request of the session as it would have been sent, with its tokens."""
    history = session["messages"]
    sent = []
    for length in range(2, len(history) + 1):
        if history[length - 1]["role"] == "assistant":
            continue  # the model's own message answers a request
        plan = turnkeep.plan(
            history[:length], budget=budget, model="gpt-4o", tools=session["tools"]
        )
        sent.append((plan.tokens, plan.apply(history[:length])))
    return sent


def main() -> None:
    """Compare cutting as little as possible with cutting to 0.6."""
    session = json.loads(SESSION.read_text())
    for target in (1.0, 0.6):
        sent = requests(session, Budget(4_000, reserve=500, target=target))
        largest = max(tokens for tokens, _ in sent)
        changed = sum(
            after[: len(before)] != before for (_, before), (_, after) in pairwise(sent)
        )
        print(
            f"target {target}: {len(sent)} requests, the largest has {largest:,} of "
            f"3,500 tokens; the beginning changed {changed} times"
        )


if __name__ == "__main__":
    main()
