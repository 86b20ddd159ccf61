"""What was counted: a history held whole, or a file line by line."""

from __future__ import annotations

import attrs

from turnkeep.report._survey import Survey
from turnkeep.tokens import RequestCounter

from ._request import Request
from ._sums import Sums


@attrs.frozen
class Measured:
    """A history measured whole."""

    request: Request
    survey: Survey

    @property
    def name(self) -> str:
        """The file, and the line of a conversation among others."""
        return self.request.source.name

    @property
    def formats(self) -> str:
        """Its format."""
        return self.request.read_as

    @property
    def model(self) -> str | None:
        """The model it is counted for."""
        return self.request.model

    @property
    def counter(self) -> RequestCounter:
        """Whose count it is."""
        return self.survey.counter

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.survey.total

    @property
    def sums(self) -> Sums:
        """What it spends by role and by tool."""
        return Sums.of(self.survey)


@attrs.frozen
class Streamed:
    """A file counted line by line: its sums, none of its messages."""

    name: str
    formats: str
    """The format, or those of its conversations."""

    model: str | None
    counter: RequestCounter
    """Of several the one with the largest margin."""

    sums: Sums
    conversations: int | None
    """How many it holds; none for a file with a message a line."""

    @property
    def total(self) -> int:
        """Tokens of everything in it."""
        return self.sums.total
