"""Exact counts with tiktoken, from vocabularies that are on this machine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from turnkeep.errors import TokenizerUnavailableError

from ._models import encoding_of
from ._vocabulary import ENCODINGS, Spec, load_ranks

if TYPE_CHECKING:
    from tiktoken import Encoding

_LOCK = threading.Lock()
_BUILT: dict[tuple[str, str], Encoding] = {}


def encoding(name: str) -> Encoding:
    """The `tiktoken.Encoding` called *name*, built once a process from local files.

    Never touches the network. Special tokens are left out on purpose: text that
    mentions them is ordinary text.

    Raises:
        TokenizerUnavailableError: Unknown name, or no vocabulary on this machine.
    """
    spec = ENCODINGS.get(name)
    if spec is None:
        known = f"known encodings: {', '.join(ENCODINGS)}"
        raise TokenizerUnavailableError(name, (known,))
    key = (spec.file, spec.pattern)
    built = _BUILT.get(key)
    if built is None:
        # Building takes 0.3 s and 100 MB; two threads must not both do it.
        with _LOCK:
            built = _BUILT.get(key)
            if built is None:
                built = _BUILT[key] = _build(name, spec)
    return built


def _build(name: str, spec: Spec) -> Encoding:
    import tiktoken  # noqa: PLC0415 - loading it takes 25 ms that most runs save

    return tiktoken.Encoding(
        spec.file,
        pat_str=spec.pattern,
        mergeable_ranks=load_ranks(name),
        special_tokens={},
    )


class TiktokenCounter:
    """Exact counts of OpenAI's models, offline.

    Equal to `len(encoding.encode(text, disallowed_special=()))`, in time linear in the
    text, and never raising: special-token text and lone surrogates are ordinary text.
    The vocabulary is read at the first count, once a process.

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
    margin = 0.0

    def __init__(self, encoding: str = "o200k_base") -> None:
        """See the class."""
        if encoding not in ENCODINGS:
            known = f"known encodings: {', '.join(ENCODINGS)}"
            raise TokenizerUnavailableError(encoding, (known,))
        self.name = encoding

    @classmethod
    def for_model(cls, name: str) -> Self:
        """The counter of a model, by tiktoken's tables; newer OpenAI names as well.

        Raises:
            TokenizerUnavailableError: The model has no public tokenizer here.
        """
        found = encoding_of(name)
        if found is None:
            ways = (f"no tiktoken encoding belongs to the model; use text_counter({name!r})",)
            raise TokenizerUnavailableError(name, ways)
        return cls(found)

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        return len(encoding(self.name).encode_ordinary(text))

    def __repr__(self) -> str:
        return f"TiktokenCounter({self.name!r})"
