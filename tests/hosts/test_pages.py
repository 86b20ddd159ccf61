"""The programs of the "Use it with ..." pages run, against a strict provider."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.hosts.scenario import installed, is_there
from tests.strict.provider import StrictProvider
from tests.strict.scripts import Answer, Call, Seen

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
ROUNDS = 6
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

HERE = [*installed(), *(["openai_sdk"] if is_there("openai") else [])]
pytestmark = pytest.mark.skipif(not HERE, reason="no host is installed here")


def script(seen: Seen) -> Answer:
    """Six pages are read for each question; a rule is noted."""
    if seen.question.startswith("Rule"):
        return Answer("Noted.")
    done = 0
    if seen.newest_results:
        done = int(seen.newest_calls[0].arguments["number"])
    if done < ROUNDS:
        return Answer(calls=(Call("read_page", {"number": done + 1}),))
    return Answer(f"So much for: {seen.question}")


@pytest.mark.parametrize("host", HERE or ["none"])
def test_a_program_of_a_page(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has at most 30 lines, streams, uses a tool, and no request is refused."""
    page = PAGES / f"use-with-{host.replace('_', '-')}.md"
    (program,) = _PROGRAM.findall(page.read_text(encoding="utf-8"))
    assert len(program.splitlines()) <= 30
    # A small budget, so that something has to go.
    source = program.replace("100_000", "6_000")
    assert source != program

    with StrictProvider(script, limit=6_000) as provider:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, provider.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("GOOGLE_API_KEY", "none")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", provider.url)
        exec(compile(source, str(page), "exec"), {"__name__": "__main__"})  # noqa: S102

    printed = capsys.readouterr().out
    assert not provider.refused, provider.refused[0].faults
    assert len(provider.requests) >= 3 * (ROUNDS + 1)
    for question in ("Which oil?", "How much?", "How often?"):
        assert f"So much for: {question}" in printed
