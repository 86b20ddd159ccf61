from __future__ import annotations

import attrs

THINKING_START = "Thinking..."
THINKING_END = "...done thinking."

# The markers may share their dots: `Thinking...done thinking.` is both, with nothing
# between them.
_SHARED = len(THINKING_START) - len("...")


@attrs.frozen
class Extracted:
    """Text of a model that writes its reasoning into its answer, taken apart."""

    thinking: str | None
    """The reasoning, trimmed; none where there is no start marker."""

    answer: str
    """What is left for the reader."""


def extract_thinking(text: str) -> Extracted:
    """Take `Thinking... reasoning ...done thinking. answer` apart; never raises.

    Without a start marker there is no reasoning, and the text stays as it is. With both
    markers the reasoning stands between them and the answer behind; what stood before
    the start marker is dropped. With a start marker alone the model is still thinking:
    there is no answer yet. An end marker before the start marker says nothing; one that
    shares the dots of the start marker ends reasoning that is empty.

    >>> extract_thinking("Thinking... 2+2 ...done thinking. Four.")
    Extracted(thinking='2+2', answer='Four.')
    """
    start = text.find(THINKING_START)
    if start < 0:
        return Extracted(None, text)
    after = start + len(THINKING_START)
    end = text.find(THINKING_END, start + _SHARED)
    if end < 0:
        return Extracted(text[after:].strip(), "")
    return Extracted(text[after:end].strip(), text[end + len(THINKING_END) :].strip())
