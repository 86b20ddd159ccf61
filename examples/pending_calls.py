"""Carry an open tool call through a restart, and give the answer when it comes.

python examples/pending_calls.py
"""

import json
import tempfile
from pathlib import Path

from turnkeep import Budget, Conversation

SESSION = Path(__file__).with_name("build-engineer.json")


def main() -> None:
    """Load a recorded session, save it, load it again, answer the open call."""
    session = json.loads(SESSION.read_text())
    chat = Conversation.from_messages(
        session["messages"],
        budget=Budget(3_500),
        model="gpt-4o",
        tools=session["tools"],
    )
    print("open:", ", ".join(f"{call.id} ({call.name})" for call in chat.pending))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chat.json"
        chat.save(path)
        chat = Conversation.load(
            path, budget=Budget(3_500), model="gpt-4o", tools=session["tools"]
        )
    print("after the restart:", ", ".join(call.id for call in chat.pending))

    window = chat.fit()
    print(f"a window of {window.tokens:,} tokens holds a stand-in for it")

    chat.resolve("call_08", "nightly on fix/clock-free-test: 412 passed")
    request = chat.fit().encode()
    answer = next(m for m in request["messages"] if m.get("tool_call_id") == "call_08")
    print("answered:", answer["content"])
    print("open:", len(chat.pending))


if __name__ == "__main__":
    main()
