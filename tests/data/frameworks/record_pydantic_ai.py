"""Writes `pydantic-ai.json`: invented messages as Pydantic AI writes them.

`python tests/data/frameworks/record_pydantic_ai.py`, where pydantic-ai-slim is
installed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def messages() -> list[Any]:
    """A chat with each kind of part."""
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

    prompt = [
        "Where is this?",
        ImageUrl(url="https://example.org/a.png"),
        BinaryContent(data=b"\xfb\xff\xfe", media_type="image/png"),
    ]
    return [
        ModelRequest(
            [
                SystemPromptPart("You know the weather.", timestamp=WHEN),
                UserPromptPart(prompt, timestamp=WHEN),
            ],
            instructions="Be brief.",
        ),
        ModelResponse(
            [
                ThinkingPart("Rain?", signature="c2ln"),
                TextPart("I look."),
                ToolCallPart("weather", {"city": "Bonn"}, "c1"),
                ToolCallPart("map", '{"x":  1}', "c2"),
            ],
            model_name="claude-x",
            timestamp=WHEN,
        ),
        ModelRequest(
            [
                ToolReturnPart("weather", {"mm": 3}, "c1", timestamp=WHEN),
                ToolReturnPart("map", "No.", "c2", timestamp=WHEN, outcome="failed"),
                UserPromptPart("And tomorrow?", timestamp=WHEN),
            ],
            instructions="Be brief.",
        ),
        ModelResponse([TextPart("Sun.")], timestamp=WHEN),
    ]


def main() -> None:
    """Write the file beside this one."""
    from pydantic_ai import __version__
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    said = ModelMessagesTypeAdapter.dump_python(messages(), mode="json")
    text = json.dumps({"version": __version__, "messages": said}, indent=1)
    path = Path(__file__).with_name("pydantic-ai.json")
    path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
