"""What is told about requests: figures for Prometheus, one line each for a log."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from threading import Lock
from typing import Any, Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from turnkeep.plans import Plan
from turnkeep.plans.telemetry import prune_event

from ._fitting import Fitted
from ._sessions import Sessions

try:
    from opentelemetry import trace as _api
except ModuleNotFoundError:
    _tracing: Any = None
else:
    _tracing = _api


def _trace(plan: Plan) -> None:
    """A span for a window, where the application has OpenTelemetry's API."""
    if _tracing is None:
        return
    with _tracing.get_tracer("turnkeep").start_as_current_span("turnkeep.fit") as span:
        span.set_attributes(prune_event(plan))


METRICS: Final = CONTENT_TYPE_LATEST
"""The type of the figures: the text format of Prometheus."""


class Told:
    """Counts requests and writes the log. Nothing of it holds a text or a key."""

    def __init__(self, sessions: Sessions, log: str | None) -> None:
        """With figures of its own; a log is made readable for its owner alone."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "turnkeep_requests",
            "Requests, by format and by what became of them.",
            ["format", "outcome"],
            registry=self.registry,
        )
        self.tokens = Counter(
            "turnkeep_tokens",
            "Tokens: left out of windows, read by providers, read from their caches.",
            ["kind"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "turnkeep_fit_seconds",
            "Seconds that fitting a request took.",
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5),
            registry=self.registry,
        )
        Gauge(
            "turnkeep_sessions", "Sessions in memory.", registry=self.registry
        ).set_function(lambda: len(sessions))
        self._lock = Lock()
        self._log = None
        if log is not None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            self._log = os.open(Path(log), flags, 0o600)
            os.fchmod(self._log, 0o600)
        self.total = self.saved = self.read = self.cached = 0

    def fitted(self, fitted: Fitted, *, status: int) -> None:
        """Say what was sent in a request's place."""
        session = fitted.session
        outcome = "same" if fitted.untouched else "fitted"
        self.requests.labels(session.format, outcome).inc()
        self.seconds.observe(fitted.seconds)
        with self._lock:
            self.total += 1
        if not fitted.untouched:
            self.tokens.labels("left_out").inc(fitted.left_out)
            with self._lock:
                self.saved += fitted.left_out
        plan = fitted.window.plan
        _trace(plan)
        self._write(
            session=session.id,
            format=session.format,
            model=session.model,
            status=status,
            tokens=fitted.window.expected,
            counted=plan.tokens,
            tokens_before=fitted.before,
            limit=fitted.budget.max_tokens,
            dropped=len(plan.dropped),
            edited=len(plan.edited),
            added=len(plan.inserted),
            runs=[
                {"action": r.action, "cause": str(r.cause), "messages": len(r)}
                for r in plan.runs
            ],
            warnings=list(plan.warnings),
            mended=len(fitted.mended),
            ms=round(fitted.seconds * 1e3, 2),
        )

    def other(self, form: str, outcome: str, status: int) -> None:
        """Say that a request passed as it was, or was refused."""
        self.requests.labels(form, outcome).inc()
        with self._lock:
            self.total += 1
        self._write(format=form, outcome=outcome, status=status)

    def cost(self, read: int, cached: int) -> None:
        """Say what a provider read."""
        self.tokens.labels("read").inc(read)
        self.tokens.labels("cached").inc(cached)
        with self._lock:
            self.read += read
            self.cached += cached

    def metrics(self) -> bytes:
        """The figures in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _write(self, **line: Any) -> None:
        if self._log is None:
            return
        text = json.dumps({"time": round(time.time(), 3), **line}) + "\n"
        os.write(self._log, text.encode())

    def close(self) -> None:
        """Let go of the log."""
        if self._log is not None:
            os.close(self._log)
            self._log = None

    def line(self) -> str:
        """All of it in one line."""
        share = (
            f", {self.cached / self.read:.0%} read from the cache" if self.read else ""
        )
        return (
            f"turnkeep: {self.total:,} requests, {self.saved:,} tokens left out{share}"
        )
