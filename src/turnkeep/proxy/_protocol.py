"""HTTP/1.1 as uvicorn speaks it, for clients that may be slow on purpose."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class Protocol(H11Protocol):
    """Closes connections whose request line and headers do not arrive in time.

    Between requests uvicorn's own patience holds, which is the same.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait no longer once the headers are here; else from now on."""
        super().data_received(data)
        if self._is_asked():
            self._stop()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.timeout_keep_alive, self._close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if not self._is_asked():
            self.transport.close()

    def _is_asked(self) -> bool:
        """Whether a request is here that has no answer yet."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete
