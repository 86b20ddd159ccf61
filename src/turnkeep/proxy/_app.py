"""The application: from a request that comes in to the answer that goes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from turnkeep.errors import BudgetExceededError

from ._bodies import TooLargeError, parsed, unpacked
from ._errors import refused, too_long
from ._fitting import Fitted, Fitter
from ._guard import Refusal, judge
from ._page import Page
from ._relay import (
    ClientDisconnect,
    Relayed,
    begun,
    body_of,
    client,
    gone,
    passed_on,
    request_headers,
)
from ._routes import Route, route_of
from ._settings import Settings
from ._told import METRICS, Told
from ._usage import UsageReader

_TELLING: Final = frozenset({400, 413, 422})
"""Status codes of answers that may say that a request was too long."""
_WORDS: Final = 2**20
"""Bytes of such an answer that are read."""


class Proxy:
    """What the application is made of; `create_app` puts it together."""

    def __init__(self, settings: Settings, transport: Any = None) -> None:
        """Nothing is connected before the application starts."""
        self.settings = settings
        self.fitter = Fitter(settings)
        self.told = Told(self.fitter.sessions, settings.log)
        self.page = Page(self.fitter.sessions, self.told)
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Hold the connections to upstreams while the application runs."""
        async with client(self.settings.patience, self._transport) as connected:
            self._client = connected
            try:
                yield
            finally:
                self._client = None
                self.told.close()

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        path, refusal = judge(self.settings, request.scope, request.headers)
        if refusal is not None:
            return self._refuse(refusal)
        if path == "/turnkeep/metrics":
            return Response(self.told.metrics(), headers={"content-type": METRICS})
        if path == "/turnkeep" or path.startswith("/turnkeep/"):
            return self.page.answer(request, path)
        found = self.settings.route(path)
        if found is None:
            prefixes = ", ".join(p or "/" for p in self.settings.upstreams)
            return self._refuse(Refusal(404, f"no upstream here; there are {prefixes}"))
        try:
            raw = await body_of(request, self.settings.max_body, self.settings.slow)
        except TooLargeError:
            return self._refuse(Refusal(413, "the body is too large"))
        except TimeoutError:
            return self._refuse(Refusal(408, "the body came too slowly"))
        except ClientDisconnect:
            return Response(status_code=499)
        return await self._unless_gone(request, self._pass(request, found, raw))

    async def _unless_gone(
        self, request: Request, work: Coroutine[Any, Any, Response]
    ) -> Response:
        """What *work* makes; it is given up when the client leaves."""
        left = asyncio.ensure_future(gone(request))
        working = asyncio.ensure_future(work)
        try:
            await asyncio.wait({left, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            self.told.other("none", "left", 499)
            return Response(status_code=499)
        finally:
            for task in (left, working):
                task.cancel()
            await asyncio.gather(left, working, return_exceptions=True)

    def _refuse(self, refusal: Refusal) -> Response:
        self.told.other("none", "refused", refusal.status)
        status, body = refused(refusal.status, refusal.text)
        return Response(body, status, media_type="application/json")

    async def _pass(
        self, request: Request, found: tuple[str, str], raw: bytes
    ) -> Response:
        """Fit what can be fitted, and send it on."""
        upstream, rest = found
        route = route_of(request.method, rest)
        body: dict[str, Any] | None = None
        fitted: Fitted | None = None
        if route is not None:
            try:
                encoding = request.headers.get("content-encoding")
                plain = unpacked(raw, encoding, self.settings.max_body)
            except TooLargeError:
                return self._refuse(Refusal(413, "the body is too large, unpacked"))
            body = None if plain is None or _is_signed(request) else parsed(plain)
        if route is not None and body is not None:
            try:
                fitted = await asyncio.to_thread(
                    self.fitter.fit,
                    route,
                    upstream,
                    request.headers,
                    raw,
                    body,
                    request.query_params.get("key"),
                )
            except BudgetExceededError as error:
                return self._too_long(route, error)
        answer = await self._send(request, found, fitted, raw)
        if isinstance(answer, Response):
            return answer
        if fitted is None or body is None or answer.status_code not in _TELLING:
            return self._relayed(route, fitted, answer, answer.aiter_raw())
        try:
            told, parts = await begun(answer, _WORDS)
            again = await self._smaller(fitted, raw, body, told, answer)
        except httpx.HTTPError:
            await answer.aclose()
            return self._refuse(Refusal(502, "the upstream broke off its answer"))
        except BaseException:
            await answer.aclose()
            raise
        if again is None:
            return self._relayed(route, fitted, answer, parts)
        await answer.aclose()
        second = await self._send(request, found, again, raw)
        if isinstance(second, Response):
            return second
        return self._relayed(route, again, second, second.aiter_raw())

    def _too_long(self, route: Route, error: BudgetExceededError) -> Response:
        self.told.other(route.format, "too_long", 400)
        status, body = too_long(route.format, error, error.available)
        return Response(body, status, media_type="application/json")

    async def _send(
        self,
        request: Request,
        found: tuple[str, str],
        fitted: Fitted | None,
        raw: bytes,
    ) -> httpx.Response | Response:
        """The upstream's answer, its body still to come; or why there is none."""
        assert self._client is not None  # noqa: S101 - set while the application runs
        url = httpx.URL(found[0] + _raw_rest(request, found[1]))
        changed = fitted is not None and not fitted.untouched
        headers = request_headers(request.headers.raw, unpacked=changed)
        content = fitted.body if fitted is not None else raw
        sending = self._client.build_request(
            request.method, url, headers=headers, content=content or None
        )
        try:
            return await self._client.send(sending, stream=True)
        except httpx.TimeoutException:
            return self._refuse(Refusal(504, "the upstream did not answer in time"))
        except httpx.HTTPError as error:
            kind = type(error).__name__
            return self._refuse(Refusal(502, f"the upstream cannot be reached: {kind}"))

    async def _smaller(
        self,
        fitted: Fitted,
        raw: bytes,
        body: dict[str, Any],
        told: bytes | None,
        answer: httpx.Response,
    ) -> Fitted | None:
        """A smaller request, where an answer says that one was too long."""
        if told is None or body.get("store") is True or body.get("background") is True:
            return None
        encoding = answer.headers.get("content-encoding")
        try:
            plain = unpacked(told, encoding, _WORDS)
        except TooLargeError:
            return None
        if plain is None:
            return None
        value = parsed(plain) or plain.decode(errors="replace")
        try:
            return await asyncio.to_thread(self.fitter.refit, fitted, value, raw, body)
        except BudgetExceededError:
            return None

    def _relayed(
        self,
        route: Route | None,
        fitted: Fitted | None,
        answer: httpx.Response,
        parts: AsyncIterator[bytes],
    ) -> Response:
        """The answer as it arrives, and what it cost."""
        headers = passed_on(answer.headers.raw)
        if fitted is None or route is None:
            form = "none" if route is None else route.format
            self.told.other(form, "passed", answer.status_code)
            return Relayed(answer, parts, headers, _ignore, _nothing, self._slow)
        self.told.fitted(fitted, status=answer.status_code)
        headers += [(k.encode(), v.encode()) for k, v in fitted.headers().items()]
        reader = UsageReader(
            answer.headers.get("content-type", ""),
            answer.headers.get("content-encoding"),
        )

        async def done() -> None:
            reader.close()
            if route.kind == "answer" and reader.usage:
                seen = await asyncio.to_thread(
                    self.fitter.observe, fitted, reader.usage
                )
                self.told.cost(*seen)

        return Relayed(answer, parts, headers, reader.feed, done, self._slow)

    @property
    def _slow(self) -> float:
        return self.settings.slow


def _ignore(part: bytes) -> None:
    del part


async def _nothing() -> None:
    """Nothing was looked at."""


def _raw_rest(request: Request, rest: str) -> str:
    """What is asked of the upstream, spelled as the client spelled it."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    path: str = request.scope["path"]
    spelled = raw.decode("latin-1").partition("?")[0]
    front = path[: len(path) - len(rest)] if rest else path
    spelled = spelled[len(front) :] if spelled.startswith(front) else rest
    query = request.scope.get("query_string", b"").decode("latin-1")
    return f"{spelled}?{query}" if query else spelled


def _is_signed(request: Request) -> bool:
    """Whether a signature covers the body: then it passes as it is (AWS SigV4)."""
    return request.headers.get("authorization", "").startswith("AWS4-HMAC")


def create_app(settings: Settings | None = None, *, transport: Any = None) -> Starlette:
    """An ASGI application that fits what passes through it.

    Args:
        settings:
            Budgets, upstreams, limits; none: the public providers and each model's own
            context window.
        transport:
            What httpx sends with instead of the network.

    Returns:
        A Starlette application; its `state.proxy` has the figures and the page's key.
    """
    proxy = Proxy(Settings() if settings is None else settings, transport)

    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            request = Request(scope, receive, send)
            response = await proxy.answer(request)
            await response(scope, receive, send)

    app = Starlette(lifespan=proxy.lifespan)
    # Not by routes: they leave out targets that are no path, and methods.
    app.router.default = endpoint
    app.state.proxy = proxy
    return app
