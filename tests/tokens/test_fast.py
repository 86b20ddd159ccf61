import copy
import importlib.machinery
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.tokens import strings
from tests.tokens.official import reference
from turnkeep.errors import TokenizerUnavailableError
from turnkeep.tokens import (
    FastCounter,
    TextCounter,
    TiktokenCounter,
    _factory,
    _fast,
    text_counter,
)

pytest.importorskip("bpe_openai", reason="the extra fast is not installed")

AMOUNT = int(os.environ.get("TURNKEEP_EXACT", "20000"))


@pytest.mark.parametrize("name", list(_fast.ENCODINGS))
def test_counts_what_tiktoken_counts(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Equal to tiktoken on every text, or it would not be used."""
    counter, encoding = FastCounter(name), reference(name, tmp_path_factory)
    texts = [*strings.recorded()]
    texts += strings.made(max(AMOUNT - len(texts), AMOUNT // 2), seed=2)

    wrong = [
        text
        for text in texts
        if counter.count(text) != len(encoding.encode(text, disallowed_special=()))
    ]

    assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]!r}"


@pytest.mark.parametrize("unit", [" ", "a", "A", "\t", "\u3000", "!"])
def test_long_runs(unit: str) -> None:
    """As exact on a million characters without a break."""
    text = f"x{unit * 1_000_000}x"

    assert FastCounter().count(text) == TiktokenCounter().count(text)


def test_is_used_where_it_is_installed() -> None:
    counter = text_counter("gpt-4o")

    assert isinstance(counter, FastCounter)
    assert isinstance(counter, TextCounter)
    assert (counter.exact, counter.margin) == (True, 0.0)
    assert repr(counter) == "FastCounter('o200k_base')"


def test_has_the_name_of_the_encoding() -> None:
    """Counts of one exact counter are good for the other."""
    assert FastCounter("cl100k_base").name == TiktokenCounter("cl100k_base").name


def test_copies_count_the_same() -> None:
    counter = FastCounter("cl100k_base")

    for again in (copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))):  # noqa: S301 - our own
        assert again.count("hello world") == 2


def test_other_encodings_are_refused() -> None:
    assert not FastCounter.supports("p50k_base")
    with pytest.raises(TokenizerUnavailableError, match="TiktokenCounter"):
        FastCounter("p50k_base")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Nothing is looked up or loaded yet, nor afterwards."""
    caches = (_fast._load, _fast._installed)
    for cached in caches:
        cached.cache_clear()
    monkeypatch.delitem(sys.modules, "bpe_openai._bindings", raising=False)
    yield monkeypatch
    for cached in caches:
        cached.cache_clear()


def test_one_that_counts_otherwise_is_not_used(fresh: pytest.MonkeyPatch) -> None:
    """A version that differs from tiktoken is refused, and tiktoken counts."""
    wrong = SimpleNamespace(count=len)
    module = SimpleNamespace(tokenizer_for_encoding=lambda _: wrong)
    fresh.setitem(sys.modules, "bpe_openai._bindings", module)

    with pytest.raises(TokenizerUnavailableError, match="differently"):
        FastCounter().load()
    assert FastCounter().count("hello world") == 2


def test_a_version_without_a_count_is_not_used(fresh: pytest.MonkeyPatch) -> None:
    fresh.setitem(sys.modules, "bpe_openai._bindings", SimpleNamespace())

    with pytest.raises(TokenizerUnavailableError, match=r"turnkeep\[fast\]"):
        FastCounter().load()
    assert FastCounter().count("hello world") == 2


@pytest.mark.parametrize("spec", [None, importlib.machinery.ModuleSpec("x", None)])
def test_without_its_compiled_part(
    fresh: pytest.MonkeyPatch, spec: importlib.machinery.ModuleSpec | None
) -> None:
    fresh.setattr(_fast, "PathFinder", SimpleNamespace(find_spec=lambda *_: spec))

    with pytest.raises(TokenizerUnavailableError, match="not installed"):
        FastCounter().load()
    assert FastCounter().count("hello world") == 2


def test_without_the_package(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(_fast, "find_spec", lambda _: None)

    assert isinstance(_factory.text_counter(), TiktokenCounter)
    with pytest.raises(TokenizerUnavailableError, match=r"turnkeep\[fast\]"):
        FastCounter()


def test_reads_nothing_before_the_first_count(fresh: pytest.MonkeyPatch) -> None:
    fresh.setattr(_fast, "find_spec", lambda _: object())

    assert text_counter().name == "o200k_base"
    assert "bpe_openai._bindings" not in sys.modules


def test_does_not_run_the_package_around_it() -> None:
    """The package parses three vocabularies at import, the counter needs none."""
    code = """
import sys
from turnkeep.tokens import FastCounter
assert FastCounter().count("hello world") == 2
assert "bpe_openai" not in sys.modules
import bpe_openai
assert len(bpe_openai.get_encoding("o200k_base").encode("hello world")) == 2
"""

    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
