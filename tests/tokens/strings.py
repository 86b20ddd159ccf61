"""Texts on which tokenizers disagree: real ones, and made of what they stumble over."""

# ruff: noqa: RUF001 - letters that look like others are the point

import base64
import json
import random
import string
from collections.abc import Iterator

from tests.paths import CORPUS, read_corpus

FILES = ("openai", "anthropic", "bedrock", "openai-responses", "claude-code")

PROSE = (
    "The quick brown fox jumps over the lazy dog. ",
    "Ich hätte gern, daß wir's übermorgen prüfen – um 9:30 Uhr! ",
    "Où est-ce qu'on s'arrête? L'été, c'est là-bas. ",
    "Привет, как дела? Сегодня хорошая погода. ",
    "今天天气很好，我们去公园散步吧。",
    "お元気ですか？明日の会議は十時からです。",
    "안녕하세요, 오늘 회의는 열 시에 시작합니다. ",
    "مرحبا، كيف حالك اليوم؟ ",
    "नमस्ते, आप कैसे हैं? ",
    "สวัสดีครับ วันนี้อากาศดี ",
    "Γειά σου, τι κάνεις; ",
    "שלום, מה שלומך? ",
)
CODE = (
    "def f(x: int) -> int:\n    return x * 2  # doubled\n\n",
    "for (let i = 0; i < n; i++) {\n\t\tsum += a[i];\n\t}\n",
    'SELECT "id", count(*) FROM t WHERE a >= 10 GROUP BY 1;\r\n',
    "#include <stdio.h>\nint main(void){return 0;}\n",
    "$ git commit -m 'fix: it’s broken' && make -j8\n",
)
SPECIAL = (
    "<|endoftext|>",
    "<|fim_prefix|>",
    "<|endofprompt|>",
    "<|start|>assistant<|channel|>analysis<|message|>",
    "<|im_start|>user\n",
    "<s>[INST]",
)
ODD = (
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n ",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\xa0",
    "\u2003",
    "\u2028",
    "\u3000",
    "\ufeff",
    "\u200b",
    "\u200d",
    "\u0301",
    "\ufe0f",
    "\u017f",
    "'\u017f",
    "'S",
    "'ll",
    "\u02b0",
    "\u01c5",
    "\ud800",
    "\udc00",
    "\ud83d\ude42",
    "\x00",
)
EMOJI = ("🙂", "🚀", "❤️", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽")


def made(amount: int, seed: int = 1) -> Iterator[str]:
    """*amount* texts, the same ones every time."""
    rng = random.Random(seed)
    kinds = (_mixture, _characters, _run, _values, _random)
    for nth in range(amount):
        yield kinds[nth % len(kinds)](rng)


def _mixture(rng: random.Random) -> str:
    pools = (PROSE, CODE, SPECIAL, ODD, EMOJI)
    pieces = (rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 8)))
    return "".join(p[: rng.randint(1, len(p))] for p in pieces)


def _characters(rng: random.Random) -> str:
    return "".join(_character(rng) for _ in range(rng.randint(1, 16)))


def _character(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return chr(rng.randint(32, 126))
    if kind < 0.7:
        return chr(rng.randint(0, 0x2FF))
    if kind < 0.85:
        return rng.choice(ODD)
    # Every plane, surrogates included.
    return chr(rng.randint(0, 0x1FFFF))


def _run(rng: random.Random) -> str:
    unit = rng.choice(
        (*ODD, *EMOJI, "a", "A", "aB", "!", "=", "1", "中", "é", "/", "!\n")
    )
    before, after = (rng.choice(("", "x", " ", "!", "\n", "1")) for _ in range(2))
    return before + unit * rng.randint(1, 400) + after


def _values(rng: random.Random) -> str:
    value = {
        rng.choice(string.ascii_letters): rng.choice(
            (rng.random(), rng.randint(-(10**9), 10**9), None, True, rng.choice(PROSE))
        )
        for _ in range(rng.randint(1, 6))
    }
    return json.dumps(
        value, indent=rng.choice((None, 2)), ensure_ascii=rng.random() < 0.5
    )


def _random(rng: random.Random) -> str:
    size = rng.randint(1, 300)
    match rng.randint(0, 3):
        case 0:
            return base64.b64encode(rng.randbytes(size)).decode()
        case 1:
            return rng.randbytes(size).hex()
        case 2:
            return "".join(rng.choices(string.ascii_letters, k=size))
        case _:
            return "".join(rng.choices(string.printable, k=size))


def recorded() -> Iterator[str]:
    """Every text in the recorded histories; none where they are absent."""
    if not CORPUS.is_dir():
        return
    for name in FILES:
        for history in read_corpus(name):
            yield from _texts(history["body"])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
