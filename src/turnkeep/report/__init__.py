"""A history measured, played call by call, and shown as one page.

What `turnkeep show`, `count` and `report` say comes from here, so that their figures
agree. The page needs the extra `report` (jinja2); measuring needs nothing.

Not public: it may change in any release.
"""

from __future__ import annotations

from ._diff import Change, Diff, Kind, diff
from ._figures import Study, figures
from ._page import ReportUnavailableError, page
from ._session import Call, Prune, Session, play
from ._survey import Entry, Survey, survey
from ._texts import texts

__all__ = [
    "Call",
    "Change",
    "Diff",
    "Entry",
    "Kind",
    "Prune",
    "ReportUnavailableError",
    "Session",
    "Study",
    "Survey",
    "diff",
    "figures",
    "page",
    "play",
    "survey",
    "texts",
]
