import base64
import random
import string
import time

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.tokens import TiktokenCounter, _runs, _tiktoken
from turnkeep.tokens._vocabulary import ENCODINGS, spec_of

LONG = 2_000_000
RNG = random.Random(1)

RUNS = {
    "letter": "a" * LONG,
    "capital": "A" * LONG,
    "spaces": " " * LONG,
    "tabs before a word": "\t" * LONG + "word",
    "breaks": "\n" * LONG,
    "breaks and spaces": "x" + "\n " * (LONG // 4) + " " * (LONG // 2) + "!",
    "base64": base64.b64encode(RNG.randbytes(LONG * 3 // 4)).decode(),
    "random letters": "".join(RNG.choices(string.ascii_letters, k=LONG)),
    "random capitals": "".join(RNG.choices(string.ascii_uppercase, k=LONG)),
    "wide spaces": "\u3000" * LONG,
    "just short of a run": ("x" + " " * (_runs.LONGEST - 1)) * 20,
}


@pytest.mark.parametrize("kind", RUNS)
def test_two_megabytes_without_a_break(kind: str) -> None:
    """Counted without raising, in seconds: quadratic time would be hours."""
    text = RUNS[kind]
    counter = TiktokenCounter().load()

    start = time.process_time()
    tokens = counter.count(text)

    assert 0 < tokens <= len(text)
    assert time.process_time() - start < 30


def test_twice_as_long_takes_about_twice_as_long() -> None:
    """Linear, with room for a noisy machine: quadratic would be four times."""
    counter = TiktokenCounter().load()

    def spent(size: int) -> float:
        start = time.process_time()
        counter.count(" " * size)
        return time.process_time() - start

    once = min(spent(500_000) for _ in range(3))
    twice = min(spent(1_000_000) for _ in range(3))

    assert twice < 3.5 * once + 0.05


def test_a_run_is_as_many_tokens_as_its_parts() -> None:
    """A million spaces are 7,812 times the longest token of spaces, and a rest."""
    # o200k_base has a token for 128 spaces, the longest run that is a power of two.
    assert TiktokenCounter().count(" " * 1_024_000) == 8_000


SPACES = st.text(st.sampled_from(" \n\r\t\u3000\x1c\u2028\x85"), max_size=7)
OTHERS = st.text(st.sampled_from("aB!/1é中\u0301'"), max_size=2)
TEXTS = st.lists(st.one_of(SPACES, OTHERS), max_size=6).map("".join)


@pytest.fixture(params=[2, 3, 5])
def longest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs of so few characters count as long."""
    monkeypatch.setattr(_runs, "LONGEST", request.param)
    blanks, breaks = _runs._BLANKS, _runs._BREAKS
    within = _runs._pattern(blanks, f"(?![{breaks}])")
    monkeypatch.setattr(_runs, "_WITHIN_LINES", within)
    monkeypatch.setattr(
        _runs, "_ACROSS_LINES", _runs._pattern(breaks + blanks, r"(?!\Z)")
    )
    return int(request.param)


def by_pieces(encoding: tiktoken.Encoding, text: str, *, breaks_lines: bool) -> int:
    pieces = list(_runs.split(text, breaks_lines=breaks_lines))
    assert "".join(piece.text for piece in pieces) == text
    return sum(
        len(
            encoding._encode_single_piece(p.text)
            if p.whole
            else encoding.encode(p.text)
        )
        for p in pieces
    )


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_cutting_never_changes_the_count(longest: int, name: str) -> None:
    """Exact wherever a run stands, whatever is around it."""
    encoding = _tiktoken.encoding(name)

    @given(text=TEXTS)
    def check(text: str) -> None:
        expected = len(encoding.encode(text, disallowed_special=()))
        assert by_pieces(encoding, text, breaks_lines=True) == expected

    check()
    assert longest


def test_cutting_never_changes_the_count_of_older_patterns(longest: int) -> None:
    """The pattern of r50k and p50k does not stop at line breaks."""
    spec = spec_of("p50k_base")
    assert not spec.breaks_lines
    # Their vocabularies are not at hand; where pieces end depends on the pattern alone.
    encoding = tiktoken.Encoding(
        "older pattern",
        pat_str=spec.pattern,
        mergeable_ranks=_tiktoken.encoding("cl100k_base")._mergeable_ranks,
        special_tokens={},
    )

    @given(text=TEXTS)
    def check(text: str) -> None:
        expected = len(encoding.encode(text, disallowed_special=()))
        assert by_pieces(encoding, text, breaks_lines=False) == expected

    check()
    assert longest


def test_every_encoding_says_how_it_treats_line_breaks() -> None:
    assert {name for name, spec in ENCODINGS.items() if not spec.breaks_lines} == {
        "gpt2",
        "p50k_base",
        "p50k_edit",
        "r50k_base",
    }
