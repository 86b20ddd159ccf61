"""Who may ask: the name that is called, the token that is shown, how it is written."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

import attrs

from ._settings import Settings

TOKEN_HEADER = "x-turnkeep-token"  # noqa: S105 - its name


@attrs.frozen
class Refusal:
    """A request that goes no further, and why."""

    status: int
    text: str


def judge(
    settings: Settings, scope: Mapping[str, Any], headers: Any
) -> tuple[str, Refusal | None]:
    """The path that a request asks for, its token apart; and why it is refused."""
    path = scope["path"]
    raw: bytes = scope.get("raw_path") or path.encode()
    if not raw.startswith(b"/") or raw.startswith(b"//"):
        return path, Refusal(400, "an absolute target: this is no forward proxy")
    size = sum(len(k) + len(v) for k, v in scope["headers"])
    if size > settings.max_header:
        return path, Refusal(431, f"headers of {size:,} bytes are too large")
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not settings.knows(hosts[0]):
        return path, Refusal(421, "this proxy is not called that")
    if "content-length" in headers and "transfer-encoding" in headers:
        return path, Refusal(400, "both content-length and transfer-encoding")
    if len(headers.getlist("content-length")) > 1:
        return path, Refusal(400, "content-length is there twice")
    if "upgrade" in headers:
        return path, Refusal(400, "no other protocol is spoken here")
    if settings.token is None:
        return path, None
    shown = headers.get(TOKEN_HEADER)
    if shown is None and path.startswith("/~"):
        shown, _, rest = path[2:].partition("/")
        path = f"/{rest}"
    expected = settings.token.encode()
    if shown is None or not hmac.compare_digest(shown.encode(), expected):
        return path, Refusal(401, f"show the token in {TOKEN_HEADER} or as /~TOKEN/")
    return path, None
