"""The proxy's own page: what it did, without a word of what was said."""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime
from html import escape

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from turnkeep.budgets import Budget, Prices

from ._sessions import Session, Sessions
from ._told import Told

_COOKIE = "turnkeep"
_SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #8886 }
th:first-child, td:first-child, td.text, th.text { text-align: left }
.wide { overflow-x: auto }
.bar { min-width: 8rem }
.bar i { display: block; height: .8rem; background: #36c }
"""


class Page:
    """Shows sessions to whoever has the address that was printed, once."""

    def __init__(self, sessions: Sessions, told: Told) -> None:
        """With a key in the address, which becomes a cookie when it is used."""
        self._sessions, self._told = sessions, told
        self.key: str | None = secrets.token_urlsafe(18)
        self._cookie = secrets.token_urlsafe(24)

    def answer(self, request: Request, path: str) -> Response:
        """The page, or its figures; nothing is changed by looking at it."""
        if request.method not in ("GET", "HEAD"):
            return Response("only to be read\n", 405, _SAFE)
        shown = request.query_params.get("key")
        if shown is not None and self.key is not None:
            if not hmac.compare_digest(shown.encode(), self.key.encode()):
                return Response("this is not the key\n", 403, _SAFE)
            self.key = None  # it stands in the browser's history
            away = RedirectResponse("/turnkeep/", 303, _SAFE)
            away.set_cookie(
                _COOKIE,
                self._cookie,
                httponly=True,
                samesite="strict",
                path="/turnkeep",
            )
            return away
        cookie = request.cookies.get(_COOKIE, "")
        if not hmac.compare_digest(cookie.encode(), self._cookie.encode()):
            return Response("open the address that was printed\n", 403, _SAFE)
        name = path.removeprefix("/turnkeep/").strip("/")
        if not name:
            return self._html("Sessions", self._table())
        found = next((s for s in self._sessions.all() if s.id == name), None)
        if found is None:
            return Response("no such session\n", 404, _SAFE)
        return self._html(f"Session {found.id}", _details(found))

    def _html(self, title: str, body: str) -> Response:
        text = (
            "<!doctype html><html lang=en><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width'>"
            "<meta http-equiv=refresh content=5>"
            f"<title>turnkeep: {escape(title)}</title><style>{_STYLE}</style>"
            f"<h1>{escape(title)}</h1>{body}"
        )
        return Response(text, 200, _SAFE, "text/html")

    def _table(self) -> str:
        rows = "".join(
            f"<tr><td><a href='/turnkeep/{s.id}'>{s.id}</a><td class=text>"
            f"{escape(s.model)}<td class=text>{escape(s.format)}<td>{s.requests:,}"
            f"<td>{s.pruned:,}<td>{s.tokens:,}<td>{s.saved:,}<td>{_share(s)}"
            for s in self._sessions.all()
        )
        head = (
            "<tr><th class=text>session<th class=text>model<th class=text>format"
            "<th>requests<th>fitted<th>tokens now<th>tokens left out<th>from the cache"
        )
        line = escape(self._told.line())
        return f"<p>{line}</p><div class=wide><table>{head}{rows}</table></div>"


def _share(session: Session) -> str:
    return f"{session.cached / session.read:.0%}" if session.read else "unknown"


def _details(session: Session) -> str:
    """What its requests were, and what the last plan left out and why."""
    parts = [f"<p>{escape(session.model)}, {escape(session.format)}.</p>"]
    changed = sum(not note.goes_on for note in session.notes)
    kept = len(session.notes) - changed
    parts.append(
        f"<p>{kept:,} of the last {len(session.notes):,} requests began with all that "
        f"was sent before, as caches ask for. {_cost(session)}</p>"
    )
    parts.append(_plan(session) + _requests(session))
    parts.append("<p><a href='/turnkeep/'>All sessions</a></p>")
    return "".join(parts)


def _cost(session: Session) -> str:
    """Input tokens, and what they cost where the prices of the model are known."""
    if not session.read:
        return "The provider has not said what it read."
    text = (
        f"The provider read {session.read:,} tokens, {session.cached:,} of them from "
        "its cache."
    )
    prices = _prices(session.model)
    if prices is None:
        return text
    fresh = session.read - session.cached - session.written
    cost = fresh + session.cached * prices.read + session.written * prices.write
    return f"{text} That cost as much as {cost:,.0f} tokens without a cache."


def _prices(model: str) -> Prices | None:
    try:
        return Budget.for_model(model).prices
    except ValueError:
        return None


def _plan(session: Session) -> str:
    plan = session.plan
    if plan is None:
        return "<p>Nothing had to go so far.</p>"
    sized = [(run, *plan.tokens_of(run)) for run in plan.runs]
    rows = "".join(
        f"<tr><td>{escape(str(run.action))}<td class=text>{escape(str(run.cause))}"
        f"<td>{len(run):,}<td>{before:,}<td>{after:,}"
        for run, before, after in sized
    )
    head = (
        "<tr><th class=text>what<th class=text>why<th>messages<th>tokens before"
        "<th>tokens after"
    )
    return (
        "<h2>The last window, from the oldest message on</h2>"
        f"<p>{plan.tokens_before:,} tokens became {plan.tokens:,}.</p>"
        f"<div class=wide><table>{head}{rows}</table></div>"
    )


def _requests(session: Session) -> str:
    most = max([note.before for note in session.notes], default=1) or 1
    rows = "".join(
        f"<tr><td>{datetime.fromtimestamp(note.time, UTC):%H:%M:%S}"
        f"<td>{note.before:,}<td>{note.tokens:,}<td>{note.dropped:,}<td>{note.edited:,}"
        f"<td>{note.added:,}<td class=text>{'yes' if note.goes_on else 'no'}"
        f"<td class=bar><i style='width:{100 * note.tokens / most:.0f}%'></i>"
        for note in reversed(session.notes)
    )
    head = (
        "<tr><th class=text>time (UTC)<th>tokens before<th>tokens sent<th>dropped"
        "<th>changed<th>added<th class=text>same beginning<th class=text>sent"
    )
    return f"<h2>Requests</h2><div class=wide><table>{head}{rows}</table></div>"
