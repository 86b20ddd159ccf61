"""Tests for `turnkeep.report._page`: what stands in the file, without a browser."""

import gzip
import hashlib
import json
import re
import sys
from base64 import b64decode
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest

from tests.paths import ROOT
from tests.report.sessions import PAYLOADS, agent, hostile, study, written
from turnkeep.model import (
    Document,
    Image,
    Json,
    Message,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from turnkeep.report import ReportUnavailableError, page
from turnkeep.report._page import CHARTS_SHA256
from turnkeep.report._texts import texts


class Outline(HTMLParser):
    """Every tag and attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.append((tag, dict(attrs)))


def data(text: str) -> dict[str, Any]:
    found = re.search(r'id="data">([^<]+)<', text)
    assert found
    value: dict[str, Any] = json.loads(gzip.decompress(b64decode(found[1])))
    return value


def test_hostile_messages_add_no_tag() -> None:
    """Attacks make the same tags as harmless words do."""
    attacked = Outline(written(hostile(), 4_000, name=PAYLOADS[0]))
    harmless = json.loads(json.dumps(hostile()))
    for nth, message in enumerate(harmless["messages"]):
        message["content"] = "words"
        if "id" in message:
            message["id"] = f"id-{nth}"
    names = {tag for tag, _ in attacked.tags}

    assert names == {tag for tag, _ in Outline(written(harmless, 4_000)).tags}
    assert sum(tag == "script" for tag, _ in attacked.tags) == 3
    for tag, attributes in attacked.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("href", "src", "action"):
            assert (attributes.get(name) or "#").startswith("#")
        assert "style" not in attributes


def test_every_text_comes_through_unchanged() -> None:
    """Lone surrogates, line separators and control characters too."""
    found = data(written(hostile()))

    users = [
        t
        for m, t in zip(found["messages"], found["texts"], strict=True)
        if m["role"] == "user"
    ]
    assert [text for ((_, text),) in users] == list(PAYLOADS)


def test_the_page_fetches_nothing() -> None:
    """No address outside of the charting library's own text, and a strict policy."""
    text = written(agent(3), 1_000)
    ours = re.sub(r'id="(?:charts|data)">[^<]+<', "", text)

    assert "http" not in ours.replace("http-equiv", "")
    policy = next(
        a["content"] or "" for tag, a in Outline(text).tags if "http-equiv" in a
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_the_policy_names_what_the_page_runs() -> None:
    """Hashes of the style, the script and the charting library; nothing else."""
    text = written(agent(1))
    found = re.search(r'content="(default-src[^"]+)"', text)
    assert found
    hashes = {b64decode(h) for h in re.findall(r"sha256-([\w+/=]+)", found[1])}
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert style
    assert script

    expected = {
        hashlib.sha256(part.encode()).digest() for part in (style[1], script[1])
    }
    assert hashes == {*expected, bytes.fromhex(CHARTS_SHA256)}


def test_the_charting_library_is_the_one_in_the_notice() -> None:
    """Byte for byte, with its licences beside it and in the distribution."""
    folder = files("turnkeep.report") / "vendor"
    library = gzip.decompress((folder / "echarts.min.js.gz").read_bytes())

    assert hashlib.sha256(library).hexdigest() == CHARTS_SHA256
    notice = (ROOT / "NOTICE").read_text()
    assert CHARTS_SHA256 in notice
    assert "Apache-2.0" in notice
    for name in ("LICENSE", "LICENSE-d3", "LICENSE-zrender"):
        assert (folder / name).is_file()
    # How it is shipped inside the page must not end its element.
    assert b"<script" not in library.lower()


def test_the_same_session_makes_the_same_page() -> None:
    """No clock, no random number."""
    assert written(agent(4), 1_000) == written(agent(4), 1_000)


def test_without_the_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error with the way out, not a traceback about modules."""
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(ReportUnavailableError, match=r"turnkeep\[report\]"):
        page(study(agent(1)))


def test_every_kind_of_block_is_readable() -> None:
    """Bytes are named, never shown; what has no text says what it is."""
    message = Message(
        Role.ASSISTANT,
        (
            Text("words"),
            Thinking("hm"),
            Thinking(data="c2VjcmV0"),
            ToolCall("1", "f", '{"a":1}'),
            ToolCall("2", "g", "no json"),
            ToolResult("1", (Text("one"), Text("two")), is_error=True),
            ToolResult("2", "later", pending=True),
            ToolResult("2", "soon", interim=True),
            ToolResult("3", ()),
            Json({"k": [1]}),
            Image(data="QUJD", media_type="image/png"),
            Document(title="a.pdf", data="QUJD"),
            Opaque({"type": "odd", "x": 1}),
        ),
    )

    assert texts(message) == [
        ["", "words"],
        ["thinking", "hm"],
        ["thinking", "(not shown by the provider)"],
        ["calls f", '{\n  "a": 1\n}'],
        ["calls g", "no json"],
        ["result (error)", "one"],
        ["result (error)", "two"],
        ["pending result", "later"],
        ["interim result", "soon"],
        ["result", ""],
        ["data", '{\n  "k": [\n    1\n  ]\n}'],
        ["", "[image: image/png]"],
        ["", "[document: a.pdf]"],
        ["vendor block", '{\n  "type": "odd",\n  "x": 1\n}'],
    ]
