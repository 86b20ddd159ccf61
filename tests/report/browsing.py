"""Reports opened in Chromium, with the network cut off."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def require_chromium() -> None:
    """Skip where there is no browser; where CI runs, that is a failure."""
    missing = []
    if not Path(CHROMIUM).exists():
        missing.append("Chromium (apt-get install chromium)")
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        missing.append("playwright (pip install --group browser)")
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI opens reports in a browser and lacks {' and '.join(missing)}")
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser, closed at the end."""
    require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@attrs.define
class Report:
    """An opened report, and everything it did that it should not."""

    page: "Page"
    file: str
    seconds: float
    """From the address to drawn charts."""
    noise: list[str]
    """Console output, errors, dialogs."""
    requests: list[str]

    def text(self, selector: str) -> str:
        """What an element says, on one line."""
        return " ".join(self.page.inner_text(selector).split())

    def rows(self, selector: str) -> list[list[str]]:
        """The cells of a table."""
        script = """table => [...document.querySelectorAll(`${table} tbody tr`)]
            .map(row => [...row.cells].map(cell => cell.innerText.trim()))"""
        rows: list[list[str]] = self.page.evaluate(script, selector)
        return rows

    def count(self) -> int:
        """How many messages are found now, by the page's own words."""
        return int(self.text("#found").split()[0].replace(",", ""))

    def search(self, words: str) -> None:
        """Type words into the search and wait for the answer."""
        self.page.fill("#search", words)
        self.page.wait_for_timeout(400)

    def assert_quiet(self) -> None:
        """No error, no output, no dialog, no request but the page itself."""
        assert self.noise == []
        assert set(self.requests) == {f"file://{self.file}"}


Open = Callable[..., Report]


def open_report(browser: "Browser", path: Path, **context: Any) -> Report:
    """Open a page and wait until its charts are drawn."""
    page = browser.new_context(
        offline=True,
        reduced_motion="reduce",
        viewport={"width": 1200, "height": 900},
        **context,
    ).new_page()
    report = Report(page, str(path), 0.0, [], [])
    page.on("console", lambda message: report.noise.append(message.text))
    page.on("pageerror", lambda error: report.noise.append(str(error)))
    page.on("request", lambda request: report.requests.append(request.url))

    def refuse(dialog: Any) -> None:
        report.noise.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    started = time.perf_counter()
    page.goto(f"file://{path}")
    page.wait_for_selector("html[data-ready=charts]", state="attached", timeout=60_000)
    report.seconds = time.perf_counter() - started
    return report
