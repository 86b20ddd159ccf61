"""The command line: `turnkeep fit`, `count`, `show`; one file per command.

Needs the extra `cli` (typer and rich), which the library itself never imports.

Not public: it may change in any release.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_INSTALL = (
    "turnkeep: the command line needs the extra 'cli': pip install 'turnkeep[cli]'"
)


def main() -> None:
    """Run the command that `sys.argv` names; ends by `SystemExit` with its code."""
    try:
        from ._app import app  # noqa: PLC0415 - the extra may be missing

        app(prog_name="turnkeep")
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        print(f"{_INSTALL} ({error.name} is missing)", file=sys.stderr)
        raise SystemExit(2) from None
