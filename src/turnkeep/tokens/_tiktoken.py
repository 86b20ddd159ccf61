from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from turnkeep.errors import TokenizerUnavailableError

from . import _runs
from ._models import encoding_of
from ._vocabulary import Spec, load_ranks, spec_of

if TYPE_CHECKING:
    from tiktoken import Encoding

_LOCK = threading.Lock()
_BUILT: dict[str, Encoding] = {}


def encoding(name: str) -> Encoding:
    """The `tiktoken.Encoding` called *name*, built once a process from local files.

    Never touches the network. It knows no special tokens: text that mentions them is
    ordinary text. Encodings that differ in their special tokens only are one.

    Raises:
        TokenizerUnavailableError: Unknown name, or no vocabulary on this machine.
    """
    spec = spec_of(name)
    built = _BUILT.get(spec.file)
    if built is None:
        # Building takes 0.3 s and 100 MB; two threads must not both do it.
        with _LOCK:
            built = _BUILT.get(spec.file)
            if built is None:
                built = _BUILT[spec.file] = _build(name, spec)
    return built


def _build(name: str, spec: Spec) -> Encoding:
    ranks = load_ranks(name)
    import tiktoken  # noqa: PLC0415 - 25 ms that whoever never counts need not pay

    return tiktoken.Encoding(
        spec.file, pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens={}
    )


class TiktokenCounter:
    """Exact counts of OpenAI's models, offline.

    Equal to `len(encoding.encode(text, disallowed_special=()))`, in time linear in the
    text, and never raising: special-token text, lone surrogates and a megabyte of
    spaces are ordinary text. The vocabulary is read at the first count, once a process.

    >>> TiktokenCounter().count("hello world")
    2

    Args:
        encoding:
            `o200k_base`, `o200k_harmony`, `cl100k_base`; `p50k_base`, `p50k_edit`,
            `r50k_base`, `gpt2` where a file of theirs is found.

    Raises:
        TokenizerUnavailableError: Nobody knows that encoding; or, at the first count,
            this machine has no vocabulary for it.
    """

    exact = True
    margin: float = 0.0

    def __init__(self, encoding: str = "o200k_base") -> None:
        self._spec = spec_of(encoding)
        self.name = encoding
        self._encode: Callable[[str], list[int]] = self._load

    @classmethod
    def for_model(cls, name: str) -> Self:
        """The counter of a model, by tiktoken's tables; newer OpenAI names as well.

        >>> TiktokenCounter.for_model("openai/gpt-4o")
        TiktokenCounter('o200k_base')

        Raises:
            TokenizerUnavailableError: The model has no public tokenizer here.
        """
        found = encoding_of(name)
        if found is None:
            way = f"tiktoken has no encoding for it: use text_counter({name!r})"
            raise TokenizerUnavailableError(name, (way,))
        return cls(found)

    def load(self) -> Self:
        """Read the vocabulary now instead of at the first count."""
        self._encode = encoding(self.name).encode_ordinary
        return self

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        if len(text) < _runs.LONGEST:
            return len(self._encode(text))
        return self._count_long(text)

    def _load(self, text: str) -> list[int]:
        self.load()
        return self._encode(text)

    def _count_long(self, text: str) -> int:
        total = 0
        whole = encoding(self.name)._encode_single_piece  # noqa: SLF001 - has no other
        for piece in _runs.split(text, breaks_lines=self._spec.breaks_lines):
            if piece.whole:
                total += len(whole(piece.text))
            else:
                total += len(self._encode(piece.text))
        return total

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        # A copy, in this process or another, finds its own vocabulary.
        return type(self), (self.name,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
