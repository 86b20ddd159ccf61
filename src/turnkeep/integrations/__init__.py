"""turnkeep inside other people's frameworks: one module a host, each behind its extra.

An integration follows the host's own list of messages, request by request, and hands
the host what this one request may hold. The host's history is never shortened, and
where nothing had to go its own objects are sent. Nothing of a host is imported before
its module is.
"""

from __future__ import annotations

__all__: list[str] = []
