from __future__ import annotations

from ._chat._dialect import Dialect
from ._chat._format import ChatFormat
from ._chat._judge import judge_chat
from ._marks import Marks

_DIALECT = Dialect(
    "openai",
    roles=("system", "developer", "user", "assistant", "tool", "function"),
    custom_tools=True,
)


class OpenAI(ChatFormat):
    """OpenAI Chat Completions, and everyone who speaks it.

    Developer messages are system messages whose `extra` keeps the role. Calls and
    results of the older `function_call` kind have no ids. Custom tool calls keep their
    text. Reasoning that a compatible server left in `reasoning_content` or `reasoning`
    goes back where it was; reasoning of other formats has no place here.
    """

    name = "openai"
    dialect = _DIALECT
    marks = Marks(judge_chat)
