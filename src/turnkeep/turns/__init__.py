"""Turns and steps: the only place that knows which result belongs to which call.

A history comes in as one `Entry` a message: who speaks, which calls it makes, which
results it carries. `Grouping` sorts them, as they arrive, into

- **steps**, the smallest unit that may leave: one message, or one assistant message
  with all of its calls and all of their results, wherever those stand; assistant-side
  entries in a row count as one message;
- **turns**: a user message and every step up to the next one. What precedes the first
  user message is the preamble, the oldest turn.

Pairing: a result belongs to the nearest earlier message that still has an unanswered
call of its id, and in it to the first such call; a result without an id is paired by
the tool's name. Ids repeat in real life: 49 of 200 recorded airline chats reuse one.

Adding a message costs amortised constant time; nothing here walks the history twice.

Not public: it may change in any release.
"""

from ._at_once import group_columns
from ._calls import OpenCall, Problem
from ._columns import (
    CALL,
    MANY_CALLS,
    MANY_RESULTS,
    OPEN_RESULT,
    Columns,
    LinkId,
    code_of,
    link_id,
    results_in,
)
from ._entries import (
    ANSWERS,
    ASSISTANT,
    HIDDEN,
    MEMORY,
    NOTE,
    OURS,
    RESULT,
    SUMMARY_KIND,
    SYSTEM,
    UNSAID,
    USER,
    Answer,
    CallKey,
    Entry,
    entry_of,
    reasoning_in,
    thinks,
)
from ._grouping import Grouping
from ._hosted import (
    KIND,
    UNSPOKEN,
    Hosted,
    Memory,
    hosted_in,
    is_final_word,
    is_system_text,
    without_answers,
)
from ._late import early_answers, late_answers

__all__ = [
    "ANSWERS",
    "ASSISTANT",
    "CALL",
    "HIDDEN",
    "KIND",
    "MANY_CALLS",
    "MANY_RESULTS",
    "MEMORY",
    "NOTE",
    "OPEN_RESULT",
    "OURS",
    "RESULT",
    "SUMMARY_KIND",
    "SYSTEM",
    "UNSAID",
    "UNSPOKEN",
    "USER",
    "Answer",
    "CallKey",
    "Columns",
    "Entry",
    "Grouping",
    "Hosted",
    "LinkId",
    "Memory",
    "OpenCall",
    "Problem",
    "code_of",
    "early_answers",
    "entry_of",
    "group_columns",
    "hosted_in",
    "is_final_word",
    "is_system_text",
    "late_answers",
    "link_id",
    "reasoning_in",
    "results_in",
    "thinks",
    "without_answers",
]
