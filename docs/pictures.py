"""Draw the pictures of the documentation anew: `python docs/pictures.py`.

What a command shows in a terminal becomes an SVG, so that it can be read, searched and
enlarged. Run it when the output of a command changes.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
WIDTH = 96

PICTURES = {
    "show": "show build-engineer.json --max-tokens 3500 --pin 1",
    "steps": "show build-engineer.json --max-tokens 3500 --pin 1 --turn 6 --turn 7",
    "count": "count build-engineer.json --by tool",
}
"""What each picture shows, by its file's name."""


def terminal(arguments: str) -> str:
    """What a command prints in a terminal, colours included."""
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "turnkeep.cli", *arguments.split()],
        capture_output=True,
        check=True,
        cwd=HERE.parent / "examples",
        env=os.environ | colours,
        text=True,
    )
    return done.stdout


def picture(arguments: str) -> str:
    """The same as an SVG that loads nothing."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(terminal(arguments)))
    svg = console.export_svg(title=f"turnkeep {arguments}", unique_id="turnkeep")
    # The fonts would be fetched; every system has a monospaced one.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    (HERE / "images").mkdir(exist_ok=True)
    for name, arguments in PICTURES.items():
        (HERE / "images" / f"{name}.svg").write_text(picture(arguments))
