"""Pin what looks like a standing rule, and see what it costs.

python examples/pin_instructions.py
"""

import json
from pathlib import Path
from typing import Any

import turnkeep

SESSION = Path(__file__).with_name("build-engineer.json")


def is_rule(message: dict[str, Any]) -> bool:
    """Whether a user states a rule."""
    return message["role"] == "user" and "rule:" in str(message["content"])


def main() -> None:
    """Fit the same session with and without the pin."""
    session = json.loads(SESSION.read_text())
    for name, pinned in (("without a pin", ()), ("with a pin", is_rule)):
        plan = turnkeep.plan(session, max_tokens=2_500, pinned=pinned)
        kept = plan.apply(session)["messages"]
        print(f"{name}: {plan.tokens:,} tokens, {len(kept)} messages")
        print(f"  the rule is in it: {any(map(is_rule, kept))}")
        cost = sum(item.tokens for item in plan.kept if item.cause == "pinned")
        print(f"  the pin holds {cost} tokens")


if __name__ == "__main__":
    main()
