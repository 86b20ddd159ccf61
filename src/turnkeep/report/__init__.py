"""A history measured, played call by call, and shown as one page.

What `turnkeep show`, `count` and `report` say comes from here, so that their figures
agree. The page needs the extra `report` (jinja2); measuring needs nothing.
"""

from __future__ import annotations
