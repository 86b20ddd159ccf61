"""Reports as people see them: opened in Chromium, without a network."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.running import run
from tests.paths import ROOT, needs_corpus
from tests.report.browsing import Open, Report, chromium, open_report
from tests.report.sessions import (
    PAYLOADS,
    agent,
    hostile,
    recorded,
    study,
    written,
)
from turnkeep.report import figures, page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

ARTEFACTS = ROOT / "build" / "reports"
"""Where pictures of what was tested are left."""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def show(browser: "Browser", tmp_path: Path) -> Iterator[Open]:
    contexts: list[Any] = []

    def opener(text: str, **context: Any) -> Report:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        report = open_report(browser, path, **context)
        contexts.append(report.page.context)
        return report

    yield opener
    for context in contexts:
        context.close()


SESSIONS = [
    ("coding", "openai", "large-session", 64_000),
    ("service", "openai", "tau-bench", 3_000),
    ("claude", "claude-code", "", 4_000),
]


@pytest.mark.corpus
@needs_corpus
@pytest.mark.parametrize(("name", "format_name", "source", "budget"), SESSIONS)
def test_a_recorded_session(
    browser: "Browser",
    tmp_path: Path,
    name: str,
    format_name: str,
    source: str,
    budget: int,
) -> None:
    """The figures are those of `--json`; filters and search find what is there."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(recorded(format_name, source)))
    more = ["--format", format_name, "--no-pending"]
    command = ["report", path, "-n", budget, *more]
    page = tmp_path / "report.html"
    result = run(*command, "-o", page, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)

    report = open_report(browser, page)

    messages, plan = told["messages"], told["plan"]
    assert f"{len(messages):,} messages" in report.text("header")
    assert f"{told['tokens']:,} tokens" in report.text("header")
    assert f"{plan['tokens']:,} tokens" in report.text("#answer-plan")
    assert f"{plan['dropped']:,} dropped" in report.text("#answer-plan")
    kinds = [int(row[1].replace(",", "")) for row in report.rows("#kinds")]
    assert kinds == list(told["by_kind"].values())
    assert sum(kinds) == told["tokens"]
    if told["by_tool"]:
        tools = [(row[0], row[1]) for row in report.rows("#tools")]
        rows = [(row["name"], f"{row['calls']:,}") for row in told["by_tool"]]
        assert tools == rows
    prunes = told["session"]["prunes"]
    if prunes:
        tokens = [row[4] for row in report.rows("#prunes")]
        assert tokens == [f"{prune['tokens']:,}" for prune in prunes]

    assert report.count() == len(messages)
    for fate in ("keep", "drop"):
        report.page.select_option("#fate", fate)
        assert report.count() == sum(m["action"] == fate for m in messages)
    report.page.click("#reset")
    assert report.count() == len(messages)
    report.page.select_option("#role", "user")
    assert report.count() == sum(m["role"] == "user" for m in messages)
    report.page.click("#reset")
    turn = messages[len(messages) // 2]["turn"]
    report.page.fill("#turn", str(turn))
    report.page.keyboard.press("Tab")
    assert report.count() == sum(m["turn"] == turn for m in messages)
    report.page.click("#reset")

    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    report.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)
    report.assert_quiet()
    report.page.context.close()


def test_searching_finds_marks_and_says_how_many(show: Open) -> None:
    """Words are found in messages, calls and results, and marked where they stand."""
    report = show(written(agent(6), 1_500))

    report.search("Line 3.1")
    report.page.click("#list summary")

    assert report.count() == 1
    assert "line 3.1" in report.text("#list mark").lower()
    report.page.keyboard.press("Escape")
    assert report.count() == len(agent(6))
    report.assert_quiet()


def test_a_prune_shows_what_went(show: Open) -> None:
    """The button beside a prune leaves only what left the window then."""
    report = show(written(agent(8), 1_500))
    prunes = report.rows("#prunes")
    assert len(prunes) >= 3

    report.page.click("[data-gone='2']")

    went = report.count()
    assert 0 < went < len(agent(8))
    assert "that went at prune 3" in report.text("#found")
    assert f"{prunes[2][4]} tokens" in report.text("#found")
    report.assert_quiet()


def test_the_pinned_turn_says_why_it_is_there(show: Open) -> None:
    """Its own answer at the top, its cause in the plan and at each prune."""
    report = show(written(agent(8), 1_600, pins=("1",)))

    assert "Pinned 1" in report.text("#answer-pinned")
    assert "pinned" in {row[1] for row in report.rows("#causes")}
    assert all("(pinned)" in row[6] for row in report.rows("#prunes"))
    report.page.click("#answer-pinned a")
    assert "Plan: kept (pinned)" in report.text("#m-1 .body")
    assert report.page.evaluate("document.querySelector('#m-1 details').open")
    report.assert_quiet()


def test_everything_works_by_keyboard(show: Open) -> None:
    """Search, walk, open, turn pages, prunes, themes and the list of keys."""
    report = show(written(agent(14), 1_500))
    page = report.page
    press = page.keyboard.press

    press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("j")
    assert page.input_value("#search") == "j"
    press("Escape")
    for key in ("j", "j", "k", "j", "o"):
        press(key)
    assert page.evaluate("document.querySelector('.is-here').id") == "m-1"
    page.wait_for_selector("#m-1 .body")
    press("o")
    assert not page.evaluate("document.querySelector('#m-1 details').open")
    press("]")
    assert report.text("#where").startswith("101 to")
    press("[")
    assert report.text("#where").startswith("1 to 100")
    press("p")
    assert "prune 1" in report.text("#found")
    press("p")
    assert "prune 2" in report.text("#found")
    press("P")
    assert "prune 1" in report.text("#found")
    press("?")
    assert page.is_visible("#keys")
    press("Escape")
    assert not page.is_visible("#keys")
    theme = page.evaluate("document.documentElement.dataset.theme")
    press("t")
    assert page.evaluate("document.documentElement.dataset.theme") != theme
    report.assert_quiet()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_follows_the_systems_theme(show: Open, scheme: str) -> None:
    """Dark where the system is dark; text and paper differ enough to read."""
    report = show(written(agent(2), 2_000), color_scheme=scheme)

    assert report.page.evaluate("document.documentElement.dataset.theme") == scheme
    paper = report.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_the_charts_draw(show: Open) -> None:
    """Each has a canvas with more than one colour on it."""
    report = show(written(agent(8), 1_500))

    painted = report.page.evaluate(
        """() => [...document.querySelectorAll('.chart')].map(chart => {
            const canvas = chart.querySelector('canvas');
            const context = canvas.getContext('2d');
            const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )

    assert len(painted) == 5
    assert min(painted) > 2
    report.assert_quiet()


def test_a_bar_is_a_way_to_its_messages(show: Open) -> None:
    """Choosing a turn's bar filters by that turn."""
    report = show(written(agent(3), 5_000))
    box = report.page.locator("#chart-turns canvas").bounding_box()
    assert box is not None
    report.page.locator("#chart-turns").scroll_into_view_if_needed()

    # Four bars, the preamble's among them, between the margins of the chart.
    across = 64 + (box["width"] - 64 - 72) * 5 / 8
    report.page.locator("#chart-turns canvas").click(
        position={"x": across, "y": box["height"] - 56}
    )

    assert report.page.input_value("#turn") == "2"
    assert report.count() == 10
    report.assert_quiet()


def test_the_window_of_a_call(show: Open) -> None:
    """Its messages by number, and by choosing the call in the chart."""
    made = study(agent(8), 1_500)
    stays = figures(made)["session"]["stays"]
    calls = len(figures(made)["session"]["at"])
    report = show(page(made))

    def sent(call: int) -> int:
        return sum(
            any(a <= call and (b < 0 or call < b) for a, b in stay) for stay in stays
        )

    for call in (0, 7, calls - 1):
        report.page.fill("#call", str(call + 1))
        report.page.keyboard.press("Tab")
        assert report.count() == sent(call)
    report.page.keyboard.press("Escape")
    chart = report.page.locator("#chart-windows canvas").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": 64 + (box["width"] - 136) / 2, "y": 60})

    chosen = int(report.page.input_value("#call")) - 1
    assert abs(chosen - (calls - 1) / 2) <= 1
    assert report.count() == sent(chosen)
    report.assert_quiet()


def test_prints_as_paper(show: Open) -> None:
    """In print nothing sticks, scrolls or waits for a click."""
    report = show(written(agent(4), 1_500), color_scheme="dark")

    report.page.emulate_media(media="print")

    assert not report.page.is_visible("nav")
    for hidden in (".tools", ".buttons", "[data-gone]", "[data-action]"):
        assert not report.page.is_visible(hidden)
    assert report.page.is_visible("#causes")
    assert len(report.page.pdf()) > 20_000
    theme = report.page.evaluate("document.documentElement.dataset.theme")
    assert theme == "dark"
    report.assert_quiet()


def test_hostile_messages_do_nothing(show: Open) -> None:
    """Every payload is read as text; none runs, asks or leads anywhere."""
    report = show(written(hostile(), 4_000, name=f"{PAYLOADS[1]}.json"))
    page = report.page

    page.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true })"
    )
    page.wait_for_timeout(300)
    for payload in PAYLOADS[:6]:
        report.search(payload)
        assert report.count() >= 3, payload
    page.keyboard.press("Escape")
    for selector in ("#answer-largest", "#tools tbody tr", "#prunes tbody tr", "h1"):
        for element in page.query_selector_all(selector)[:8]:
            element.hover()
    chart = page.locator("#chart-fills canvas")
    for x in range(20, 1000, 90):
        chart.hover(position={"x": x, "y": 120})

    assert page.evaluate("window.pwned") is None
    assert (
        page.query_selector_all("#list img, #list iframe, #list svg, main script") == []
    )
    shown = page.inner_text("#list")
    assert "window.pwned = 1" in shown
    report.assert_quiet()


def test_the_policy_stops_what_escaping_would_miss(show: Open) -> None:
    """A script that got into the page all the same does not run, nor does a handler."""
    text = written(agent(1)).replace(
        "<main>",
        "<main><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
        "<p style='color: red' onclick='window.pwned = 3' id='bait'>x</p>",
    )
    report = show(text)

    report.page.click("#bait")

    assert report.page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in line for line in report.noise)


@pytest.mark.parametrize("body", [[], [{"role": "user", "content": "hi"}]])
def test_small_sessions_have_a_page(show: Open, body: list[Any]) -> None:
    """Nothing, and next to nothing."""
    report = show(written(body, 1_000, format_name="openai"))

    assert report.count() == len(body)
    report.assert_quiet()


def test_ten_thousand_messages(browser: "Browser", tmp_path: Path) -> None:
    """Built, opened, searched and paged like any other; how fast is written down.

    The promise is 10 s to build and 2 s to open on two idle cores. CI shares its cores,
    so it records the times (`build/reports/ten-thousand.txt`) and does not judge them.
    """
    body = agent(1_000, loops=4, size=60)
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": "gpt-4o", "messages": body}))
    page = tmp_path / "report.html"
    started = time.perf_counter()
    result = run("report", path, "-n", "64k", "-o", page)
    built = time.perf_counter() - started
    assert result.exit_code == 0, result.stderr

    report = open_report(browser, page)

    assert report.count() == len(body) == 10_001
    started = time.perf_counter()
    report.search("line 517.2")
    assert report.count() == 1
    searched = time.perf_counter() - started
    report.page.keyboard.press("Escape")
    report.page.keyboard.press("]")
    assert report.text("#where").startswith("101 to 200 of 10,001")
    report.assert_quiet()
    report.page.context.close()
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    (ARTEFACTS / "ten-thousand.txt").write_text(
        f"built in {built:.1f} s, opened in {report.seconds:.1f} s, searched in "
        f"{searched:.1f} s, {page.stat().st_size:,} bytes\n"
    )
