from __future__ import annotations

from typing import Any

from ._base import Match
from ._chat_format import ChatFormat
from ._chat_match import judge_deepseek
from ._chat_open import match_entries
from ._dialect import Dialect

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

    def matches(self, value: Any) -> Match:
        """See `Format.matches`."""
        return match_entries(value, judge_deepseek)
