"""Writes `langchain.json`: invented messages as the installed LangChain writes them.

`python tests/data/frameworks/record_langchain.py`, where langchain-core is installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def messages() -> list[Any]:
    """A chat with each kind of message and of content."""
    from langchain_core.messages import (
        AIMessage,
        AIMessageChunk,
        ChatMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )

    picture = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    thought = {"type": "thinking", "thinking": "Rain?", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bonn"}}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    return [
        SystemMessage("You know the weather."),
        HumanMessage([{"type": "text", "text": "Where is this?"}, picture], id="m1"),
        AIMessage(
            [thought, {"type": "text", "text": "I look."}, use],
            tool_calls=[{"name": "weather", "args": {"city": "Bonn"}, "id": "c1"}],
            invalid_tool_calls=[
                {"name": "map", "args": '{"x": ', "id": "c2", "error": "cut off"}
            ],
            usage_metadata=usage,
            response_metadata={"model_name": "claude-x"},
        ),
        ToolMessage("Rain.", tool_call_id="c1", name="weather", artifact={"mm": 3}),
        ToolMessage("No JSON.", tool_call_id="c2", name="map", status="error"),
        AIMessage("It rains.", additional_kwargs={"note": "kept"}),
        ChatMessage("And tomorrow?", role="user"),
        AIMessageChunk("Sun."),
    ]


def main() -> None:
    """Write the file beside this one."""
    from langchain_core import __version__
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict

    said = messages()
    recorded = {
        "version": __version__,
        "messages_to_dict": messages_to_dict(said),
        "dumpd": [dumpd(message) for message in said],
        "model_dump": [message.model_dump(mode="json") for message in said],
    }
    text = json.dumps(recorded, indent=1)
    Path(__file__).with_name("langchain.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
