"""Show an example session, fit it into half of its size, and check what came out.

`make demo` runs this. The session is a build engineer's: 45 messages, eight tools, a
standing rule (message 1, pinned here) and a nightly build whose result is still on its
way.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import turnkeep

HERE = Path(__file__).parent
SESSION = "build-engineer.json"
BUDGET = "3500"
RULE = "1"


def turnkeep_command(*args: str) -> None:
    """Show a command, then run it."""
    print(f"\n$ turnkeep {' '.join(args)}\n", flush=True)
    command = [sys.executable, "-m", "turnkeep.cli", *args]
    subprocess.run(command, check=True, cwd=HERE)  # noqa: S603 - our own command


def main() -> None:
    """Count, show, fit, check."""
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "trimmed.json")
        turnkeep_command("count", SESSION, "--by", "tool")
        turnkeep_command("show", SESSION, "--max-tokens", BUDGET, "--pin", RULE)
        turnkeep_command(
            "fit", SESSION, "--max-tokens", BUDGET, "--pin", RULE, "-o", output
        )
        trimmed = json.loads(Path(output).read_text())
    tokens = turnkeep.count(trimmed).total
    text = json.dumps(trimmed)
    print(
        f"\nThe trimmed request has {len(trimmed['messages'])} messages and {tokens:,} "
        f"tokens of {int(BUDGET):,}.\n"
        f"  the standing rule is in it:   {'never edit anything' in text}\n"
        f"  the question is in it:        {'release notes' in text}\n"
        f"  the open call is in it:       {'run_nightly' in text}\n"
        "\nNext: `. .venv/bin/activate`, then `turnkeep --help`; or begin with "
        "docs/tutorial/first-fit.md."
    )


if __name__ == "__main__":
    main()
