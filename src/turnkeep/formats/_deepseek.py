from __future__ import annotations

from ._chat._dialect import Dialect
from ._chat._format import ChatFormat
from ._chat._judge import judge_deepseek
from ._marks import Marks

_DIALECT = Dialect(
    "deepseek",
    roles=("system", "user", "assistant", "tool", "latest_reminder"),
    thinking="key",
)


class DeepSeek(ChatFormat):
    """DeepSeek's chat messages: OpenAI's, with reasoning in `reasoning_content`.

    There is no developer role (rule DS-02), so developer messages of other formats
    become system messages; a `latest_reminder` is one whose `extra` keeps the role.
    """

    name = "deepseek"
    dialect = _DIALECT
    marks = Marks(judge_deepseek)
