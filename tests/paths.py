"""Where the tests find what does not belong into the tree."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
"""The checkout."""

SHARED = ROOT.parent / "shared"
"""Recorded histories and cases, beside the checkout; absent on most machines."""

CORPUS = SHARED / "corpus"
CASES = SHARED / "cases"
REPORTS = SHARED / "reports"
DATA = Path(__file__).parent / "data"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason=f"no recorded histories at {CORPUS}"
)
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")


def read_corpus(name: str) -> Iterator[dict[str, Any]]:
    """The recorded histories of one file, such as `"openai"`; skips without them."""
    path = CORPUS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no recorded histories at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
