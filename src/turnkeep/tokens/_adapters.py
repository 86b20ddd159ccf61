from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from turnkeep.errors import TokenizerUnavailableError

from ._base import TextCounter


class CallableCounter:
    """Anyone's function from a text to its tokens.

    >>> CallableCounter(len, name="characters").count("four")
    4

    Args:
        function:
            Called with each text; what it raises goes through.
        name:
            Identity: counts are only reused under the same name. By default the
            function's own, so give one to two functions of the same name.
        exact:
            Whether it is the model's own tokenizer.
        margin:
            Share by which a true count may exceed it.
    """

    def __init__(
        self,
        function: Callable[[str], int],
        *,
        name: str | None = None,
        exact: bool = True,
        margin: float = 0.0,
    ) -> None:
        self._function = function
        self.name: str = name or _name_of(function)
        self.exact = exact
        self.margin = margin

    def count(self, text: str) -> int:
        """What the function says of *text*."""
        return self._function(text)

    def __repr__(self) -> str:
        return f"CallableCounter({self.name!r})"


class AssumedCounter:
    """A tokenizer that a model probably has: its maker's newest one.

    >>> from turnkeep.tokens import TiktokenCounter
    >>> counter = AssumedCounter(TiktokenCounter("o200k_base"), margin=0.1)
    >>> counter.exact, counter.count("hello world")
    (False, 2)

    Args:
        counter:
            Counts with it.
        margin:
            Share by which the true count may exceed it.
    """

    exact = False

    def __init__(self, counter: TextCounter, margin: float) -> None:
        self.name = f"{counter.name}-assumed"
        self.margin = margin
        self.count = counter.count

    def __repr__(self) -> str:
        return f"AssumedCounter({self.name!r})"


def _name_of(function: Callable[[str], int]) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{module}.{name}" if module else name


class HuggingFaceCounter:
    """Counts with a local `tokenizer.json`, by the package `tokenizers`.

    Nothing is downloaded. Special tokens that the file would add are left out: the
    rules of the request count them.

    Args:
        path:
            A `tokenizer.json`, or the folder that holds it.

    Raises:
        TokenizerUnavailableError: `tokenizers` (the extra `huggingface`) is not
            installed, or the file is not one of its.
    """

    exact = True
    margin: float = 0.0

    def __init__(self, path: str | os.PathLike[str]) -> None:
        file = Path(path)
        if file.is_dir():
            file /= "tokenizer.json"
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415 - optional

            content = file.read_bytes()
            self._tokenizer: Any = Tokenizer.from_buffer(content)
        except ImportError as error:
            ways = ("install turnkeep[huggingface]",)
            raise TokenizerUnavailableError(str(file), ways) from error
        except (OSError, ValueError) as error:
            ways = (f"{file} is not a readable tokenizer.json: {error}",)
            raise TokenizerUnavailableError(str(file), ways) from error
        # Two files may have one name; what they hold tells them apart.
        self.name: str = f"huggingface-{sha256(content).hexdigest()[:12]}"

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        return len(self._tokenizer.encode(_sound(text), add_special_tokens=False))

    def __repr__(self) -> str:
        return f"HuggingFaceCounter({self.name!r})"


_MISTRAL: Final = {
    "tekken": "tekken_240911.json",
    "v3": "mistral_instruct_tokenizer_240323.model.v3",
    "v7": "mistral_instruct_tokenizer_241114.model.v7",
}


class MistralCounter:
    """Exact counts of Mistral's models, with the vocabularies in `mistral-common`.

    Nothing is downloaded: only the files that the package carries are used.

    Args:
        tokenizer:
            `"tekken"` (Mistral NeMo and everything later); `"v3"`, `"v7"` for the
            older SentencePiece models, which need the package `sentencepiece`, too.

    Raises:
        TokenizerUnavailableError: `mistral-common` (the extra `mistral`) or
            `sentencepiece` is not installed, or does not carry that tokenizer.
    """

    exact = True
    margin: float = 0.0

    def __init__(self, tokenizer: str = "tekken") -> None:
        self.name: str = f"mistral-{tokenizer}"
        self._tokenizer = _load_mistral(tokenizer)

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        return len(self._tokenizer.encode(_sound(text), bos=False, eos=False))

    def __repr__(self) -> str:
        return f"MistralCounter({self.name.removeprefix('mistral-')!r})"


@cache
def _load_mistral(tokenizer: str) -> Any:
    ways: tuple[str, ...] = ("install turnkeep[mistral]",)
    name = f"mistral-{tokenizer}"
    package = find_spec("mistral_common")
    folders = package.submodule_search_locations if package else None
    file = _MISTRAL.get(tokenizer)
    if file is None:
        ways = (f"known tokenizers: {', '.join(_MISTRAL)}",)
    path = Path(next(iter(folders or ("",))), "data", file or "")
    if file is None or not path.is_file():
        raise TokenizerUnavailableError(name, ways)
    try:
        from mistral_common.tokens.tokenizers import (  # noqa: PLC0415 - optional
            sentencepiece,
            tekken,
        )

        if tokenizer == "tekken":
            return tekken.Tekkenizer.from_file(path)
        return sentencepiece.SentencePieceTokenizer(path)
    except (ImportError, OSError, ValueError) as error:
        ways = (f"install turnkeep[mistral] ({error})",)
        raise TokenizerUnavailableError(name, ways) from error


def _sound(text: str) -> str:
    """*text* with lone surrogates replaced, which compiled tokenizers refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
