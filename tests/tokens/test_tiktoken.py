import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import model as tiktoken_model

from tests.tokens import strings
from tests.tokens.official import reference
from turnkeep.errors import TokenizerUnavailableError
from turnkeep.tokens import TextCounter, TiktokenCounter, _tiktoken, text_counter
from turnkeep.tokens._vocabulary import Spec

ENCODINGS = ("o200k_base", "o200k_harmony", "cl100k_base")

AMOUNT = int(os.environ.get("TURNKEEP_EXACT", "20000"))
"""Texts compared for each encoding; 200,000 take about a minute each."""


@pytest.fixture(params=ENCODINGS)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[TiktokenCounter, tiktoken.Encoding]:
    return TiktokenCounter(request.param), reference(request.param, tmp_path_factory)


def truth(encoding: tiktoken.Encoding, text: str) -> int:
    return len(encoding.encode(text, disallowed_special=()))


def test_counts_what_tiktoken_counts(
    pair: tuple[TiktokenCounter, tiktoken.Encoding],
) -> None:
    """Equal to tiktoken on every text, made or recorded."""
    counter, encoding = pair
    texts = [*strings.recorded()]
    texts += strings.made(max(AMOUNT - len(texts), AMOUNT // 2))

    wrong = [text for text in texts if counter.count(text) != truth(encoding, text)]

    assert len(texts) >= AMOUNT
    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]!r}"


@given(text=st.text(st.characters(categories=None, codec=None)))
def test_never_differs_from_tiktoken(text: str) -> None:
    """Equal on whatever Hypothesis thinks of, lone surrogates included."""
    encoding = _tiktoken.encoding("o200k_base")

    assert TiktokenCounter().count(text) == truth(encoding, text)


@pytest.mark.parametrize("text", strings.SPECIAL)
def test_special_tokens_are_text(text: str) -> None:
    """A user who types a special token has typed several ordinary ones."""
    assert TiktokenCounter().count(text) > 1


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfffb", "\ud83d\ude42", "\ud800" * 1000],
)
def test_lone_surrogates_count(text: str) -> None:
    """They count as what tiktoken replaces them with, and never raise."""
    fixed = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert TiktokenCounter().count(text) == TiktokenCounter().count(fixed) > 0


def test_nothing_costs_nothing() -> None:
    assert TiktokenCounter().count("") == 0


def test_is_a_text_counter() -> None:
    counter = TiktokenCounter()

    assert isinstance(counter, TextCounter)
    assert (counter.name, counter.exact, counter.margin) == ("o200k_base", True, 0.0)
    assert repr(counter) == "TiktokenCounter('o200k_base')"


@pytest.mark.parametrize("model", sorted(tiktoken_model.MODEL_TO_ENCODING))
def test_models_as_tiktoken_maps_them(model: str) -> None:
    expected = tiktoken_model.encoding_name_for_model(model)

    assert TiktokenCounter.for_model(model).name == expected


@pytest.mark.parametrize("prefix", sorted(tiktoken_model.MODEL_PREFIX_TO_ENCODING))
def test_prefixes_as_tiktoken_maps_them(prefix: str) -> None:
    model = f"{prefix}some-version"
    expected = tiktoken_model.encoding_name_for_model(model)

    assert TiktokenCounter.for_model(model).name == expected


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("openai/gpt-4o", "o200k_base"),
        ("openrouter/openai/gpt-4-turbo", "cl100k_base"),
        ("azure:gpt-35-turbo", "cl100k_base"),
        ("GPT-4o", "o200k_base"),
        ("gpt-5.6-codex", "o200k_base"),
        ("gpt-oss:20b", "o200k_harmony"),
    ],
)
def test_models_that_tiktoken_does_not_know(model: str, encoding: str) -> None:
    """Providers in front do not matter, nor do versions behind a known name."""
    assert TiktokenCounter.for_model(model).name == encoding


@pytest.mark.parametrize("model", ["gpt-6-astra", "o9-mini", "ft:gpt-7:acme::1"])
def test_later_models_have_a_tokenizer_that_is_assumed(model: str) -> None:
    """OpenAI's later models count as o200k_base, and say that it is a guess."""
    with pytest.raises(TokenizerUnavailableError, match="text_counter"):
        TiktokenCounter.for_model(model)
    counter = text_counter(model)

    assert counter.name == "o200k_base-assumed"
    assert not counter.exact
    assert counter.margin > 0
    assert counter.count("hello world") == TiktokenCounter().count("hello world")


def test_models_without_a_public_tokenizer() -> None:
    with pytest.raises(TokenizerUnavailableError, match="text_counter"):
        TiktokenCounter.for_model("claude-sonnet-4-5")


def test_unknown_encodings_name_the_known_ones() -> None:
    with pytest.raises(TokenizerUnavailableError, match="o200k_base"):
        TiktokenCounter("o300k_base")


def pickled(counter: TiktokenCounter) -> TiktokenCounter:
    again = pickle.loads(pickle.dumps(counter))  # noqa: S301 - our own
    assert isinstance(again, TiktokenCounter)
    return again


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_count_the_same(
    make: Callable[[TiktokenCounter], TiktokenCounter],
) -> None:
    counter = TiktokenCounter("cl100k_base").load()

    again = make(counter)

    assert again.name == "cl100k_base"
    assert again.count("hello world") == 2


def test_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads count first, the vocabulary is read once."""
    built: list[str] = []
    real, start = _tiktoken._build, threading.Barrier(4)
    monkeypatch.setattr(_tiktoken, "_BUILT", {})

    def build(name: str, spec: Spec) -> tiktoken.Encoding:
        built.append(name)
        return real(name, spec)

    monkeypatch.setattr(_tiktoken, "_build", build)

    def work() -> None:
        start.wait()
        assert TiktokenCounter("cl100k_base").count("hello") == 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert built == ["cl100k_base"]


CUT = """
import socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("touched the network")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from turnkeep.tokens import TiktokenCounter, text_counter
for name in ("o200k_base", "cl100k_base", "o200k_harmony"):
    assert TiktokenCounter(name).count("hello world") == 2
assert text_counter("gpt-4o").count("hello world") == 2
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.endswith("CACHE_DIR")}
    return subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_counts_with_the_network_cut(tmp_path: Path) -> None:
    """No socket is opened, at import or at count; an empty cache does not matter."""
    done = run(CUT, TIKTOKEN_CACHE_DIR=str(tmp_path))

    assert done.returncode == 0, done.stderr


def test_counts_with_a_read_only_home(tmp_path: Path) -> None:
    """Nothing is written anywhere: home and temporary folder may be read-only."""
    tmp_path.chmod(0o500)
    before = sorted(tmp_path.iterdir())

    # A home that does not exist fails to be written to even for the superuser.
    done = run(CUT, HOME="/nonexistent/home", TMPDIR=str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_import_loads_no_tokenizer() -> None:
    code = """
import sys
import turnkeep.tokens
from turnkeep.tokens import request_counter, text_counter
request_counter(format="anthropic", model="claude-opus-4-8")
text_counter()
heavy = {"tiktoken", "tokenizers", "mistral_common", "cattrs", "numpy"}
heavy |= {"bpe_openai", "bpe_openai._bindings"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""

    done = run(code)

    assert done.returncode == 0, done.stderr


def test_the_first_texts_are_the_same_every_time() -> None:
    """The texts compared are no accident of a run."""
    assert [*islice(strings.made(50), 50)] == [*strings.made(50)]


def test_text_counter_and_tiktoken_agree() -> None:
    """Whichever exact counter is installed, the figures are tiktoken's."""
    text = "".join(strings.PROSE + strings.CODE)

    assert text_counter("gpt-4o").count(text) == TiktokenCounter().count(text)
