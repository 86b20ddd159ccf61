"""Tests for `turnkeep.cli._json`."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.cli._json import dumps, indent_of

_floats = st.floats(allow_nan=False, allow_infinity=False)
_leaves = st.none() | st.booleans() | st.integers() | _floats | st.text()
_values = st.recursive(
    _leaves, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=20
)


@given(_values, st.sampled_from([None, 2]))
def test_what_is_written_always_reads_back(value: Any, indent: int | None) -> None:
    """Every JSON value survives, and the output is UTF-8."""
    data = dumps(value, indent)

    assert json.loads(data.decode()) == value


def test_lone_surrogates_become_escapes() -> None:
    """UTF-8 cannot hold half a character; JSON can."""
    value = json.loads('["\\ud83d"]')

    assert dumps(value) == b'["\\ud83d"]\n'


@pytest.mark.parametrize(
    ("text", "indent"), [("[1]", None), ("[\n  1\n]", 2), ('{\n    "a": 1}', 4)]
)
def test_indentation_is_recognised(text: str, indent: int | None) -> None:
    """Output is spelled as the input was."""
    assert indent_of(text) == indent
