"""Photograph the report of the example session anew: `python docs/photographs.py`.

Needs Chromium and the dependency group `browser`. Run it when the page changes.
"""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, FloatRect, sync_playwright

HERE = Path(__file__).parent
COMMAND = "report build-engineer.json --max-tokens 3500 --pin 1 --compare default"
WIDTH = 1_100


def photograph(browser: Browser, page: Path, name: str, *, dark: bool = False) -> None:
    """Open *page*, do what the picture is of, and keep it in few colours."""
    first, last = "#summary", "#chart-fills"
    tab = browser.new_page(
        viewport={"width": WIDTH, "height": 800},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    tab.goto(f"file://{page}")
    tab.wait_for_selector("html[data-ready=charts]", state="attached")
    for sticky in ("nav", ".tools"):
        tab.evaluate(f"document.querySelector('{sticky}').style.position = 'static'")
    if name == "report-windows":
        first, last = "#windows", "#prunes"
    if name == "report-messages":
        first, last = "#messages", "#list li:nth-child(7)"
        tab.fill("#search", "ridge")
        tab.wait_for_timeout(500)
        tab.click("#list li:nth-child(1) summary")
    box = "where => document.querySelector(where).getBoundingClientRect()"
    top, low = (
        tab.evaluate(f"where => ({box})(where).{edge} + scrollY", where)
        for where, edge in ((first, "top"), (last, "bottom"))
    )
    clip: FloatRect = {"x": 0, "y": top - 16, "width": WIDTH, "height": low - top + 32}
    taken = Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip)))
    few = taken.convert("RGB").quantize(48)
    few.save(HERE / "images" / f"{name}.png", optimize=True)
    tab.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder) / "report.html"
        subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "turnkeep.cli", *COMMAND.split(), "-o", report],
            check=True,
            cwd=HERE.parent / "examples",
        )
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        photograph(chromium, report, "report-fills")
        photograph(chromium, report, "report-windows")
        photograph(chromium, report, "report-messages", dark=True)
        chromium.close()
