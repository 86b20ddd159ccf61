"""One page that needs nothing else: no network, no other file, no build."""

from __future__ import annotations

import gzip
import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from turnkeep.errors import TurnkeepError

from ._figures import Study, figures
from ._survey import Survey
from ._texts import texts

CHARTS_SHA256 = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
"""Of the charting library, as NOTICE has it: nothing else ever gets into a page."""


class ReportUnavailableError(TurnkeepError):
    """The extra `report` is not installed."""

    def __str__(self) -> str:
        """Say how to get it."""
        return "reports need the extra 'report': pip install 'turnkeep[report]'"


def page(study: Study) -> str:
    """A study as an HTML page. Linear in the text of all messages.

    Raises:
        ReportUnavailableError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ReportUnavailableError from None
    here = files(__package__)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_read(here / "templates" / "report.html"))
    style = _read(here / "templates" / "report.css")
    script = _read(here / "templates" / "report.js")
    packed = (here / "vendor" / "echarts.min.js.gz").read_bytes()
    shown = figures(study)
    text = template.render(
        title=study.name,
        policy=policy(style, script),
        style=_raw(style),
        script=_raw(script),
        charts=b64encode(packed).decode(),
        data=b64encode(_pack(payload(study.survey, shown))).decode(),
        shown=shown,
        pinned=list(_places(study.survey, pinned=True)),
        pending=list(_places(study.survey, pinned=False)),
        kinds=KINDS,
    )
    # Lone surrogates, which no file can hold: in ids and names, say. The messages
    # themselves are packed and keep theirs.
    return text.encode(errors="replace").decode()


KINDS = {
    "system": "system text",
    "user": "users",
    "assistant": "assistant text",
    "calls": "tool calls",
    "results": "tool results",
    "media": "pictures and files",
    "overhead": "overhead",
    "tools": "tool definitions",
}
"""What tokens are spent on, in words."""


def policy(style: str, script: str) -> str:
    """What the page may do: run these two scripts, apply this style, and no more.

    Whatever a message smuggles in, the browser neither runs it nor sends anything.
    """
    scripts = f"{_hash(script)} '{_source(bytes.fromhex(CHARTS_SHA256))}'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_hash(style)}; "
        "img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def payload(survey: Survey, shown: dict[str, Any]) -> dict[str, Any]:
    """What the page's script works with: the figures, and what every message says."""
    return {**shown, "texts": [texts(message) for message in survey.messages]}


def _pack(value: Any) -> bytes:
    # Plain ASCII, so that lone surrogates survive; packed, so that no byte of a message
    # stands in the page as it is.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return gzip.compress(text.encode("ascii"), 6, mtime=0)


def _hash(text: str) -> str:
    return f"'{_source(hashlib.sha256(text.encode()).digest())}'"


def _source(digest: bytes) -> str:
    return f"sha256-{b64encode(digest).decode()}"


def _read(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _raw(text: str) -> Any:
    """Our own style and script, which are not to be escaped."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    return Markup(text)  # noqa: S704 - no part of it comes from a message


def _places(survey: Survey, *, pinned: bool) -> Iterator[int]:
    for place, entry in enumerate(survey.entries):
        if entry.pinned if pinned else entry.pending:
            yield place
