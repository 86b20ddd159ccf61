"""An HTTP proxy that keeps what passes through it inside a token budget.

For programs whose code cannot be changed: point their base URL here. Requests that fit
pass as the very bytes that came; of the others only the list of messages is another
one. Answers pass as they arrive. Needs `pip install 'turnkeep[proxy]'`.

```python
from turnkeep.proxy import Settings, create_app

app = create_app(Settings(upstreams={"/anthropic": "https://api.anthropic.com"}))
```

Run it with any ASGI server, or from the command line: `turnkeep proxy`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._app import create_app
    from ._run import Running, run_program, serve
    from ._settings import PROVIDERS, Settings

_PLACES = {
    "PROVIDERS": "_settings",
    "Running": "_run",
    "Settings": "_settings",
    "create_app": "_app",
    "run_program": "_run",
    "serve": "_run",
}

__all__ = [
    "PROVIDERS",
    "Running",
    "Settings",
    "create_app",
    "run_program",
    "serve",
]


def __getattr__(name: str) -> object:
    """Load a name on first use (PEP 562): the servers are an extra."""
    place = _PLACES.get(name)
    if place is None:
        msg = f"module 'turnkeep.proxy' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f".{place}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
