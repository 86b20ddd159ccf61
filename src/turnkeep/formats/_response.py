from __future__ import annotations

from typing import Any, Final

from ._sessions._answers import answer_mark, read_answer
from ._sessions._format import Session, SessionFormat, marks_of
from ._sessions._notes import Notes

NAME: Final = "response"


class Response(SessionFormat):
    """A provider's answer as its API or SDK returns it, with nothing of the request.

    OpenAI's two APIs and those of their shape, Anthropic, Gemini, Bedrock and Ollama:
    its messages are given in the format of that provider.
    """

    name = NAME
    marks = marks_of(file=answer_mark)
    wire = "openai"
    files = "the answer of an API or SDK as JSON"

    def read(self, value: Any, notes: Notes) -> Session:
        """See `SessionFormat.read`."""
        session = read_answer(value, "$", notes)
        notes.say("this is an answer: what was asked is not in it")
        return session
