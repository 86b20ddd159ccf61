"""An outline says what decoding every entry says, in every wire format."""

from __future__ import annotations

import copy
import json
from collections import OrderedDict
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.outlines import WIRE, ours, said_by_decoding, said_by_outline
from tests.generators import (
    EVERYTHING,
    attempt,
    histories,
    json_values,
    mangled,
)
from tests.paths import read_corpus
from turnkeep.errors import FormatError
from turnkeep.formats import get_format

every = pytest.mark.parametrize("name", WIRE)
NAMELESS = attrs.evolve(EVERYTHING, ids=False)


def agrees(name: str, entries: list[Any]) -> None:
    """Check that both ways say the same; only depth may be left to decoding."""
    fmt = get_format(name)
    refused = [
        (nth, found)
        for nth, entry in enumerate(entries)
        if isinstance(found := attempt(fmt.decode, entry, f"$[{nth}]"), FormatError)
    ]
    try:
        said = said_by_outline(fmt, [e for e in entries]) if not refused else None
        if refused:
            fmt.outline(entries)
    except FormatError as error:
        assert refused
        assert str(error) == str(refused[0][1])
        return
    if said is not None:
        assert said == said_by_decoding(fmt, entries)


@every
@given(data=st.data())
def test_an_outline_always_says_what_decoding_says(
    name: str, data: st.DataObject
) -> None:
    """Of histories of all kinds, with messages of ours and ids strewn in."""
    fmt = get_format(name)
    menu = data.draw(st.sampled_from([EVERYTHING, NAMELESS]))
    history = list(data.draw(histories(menu)))
    for message in data.draw(st.lists(st.sampled_from(ours()), max_size=2)):
        history.insert(data.draw(st.integers(0, len(history))), message)
    entries = fmt.encode(history)
    for nth in data.draw(st.sets(st.integers(0, 7), max_size=3)):
        if nth < len(entries) and type(entries[nth]) is dict:
            entries[nth] = {**entries[nth], "id": f"m{nth}"}
    if data.draw(st.booleans()):
        entries = json.loads(json.dumps(entries))

    agrees(name, entries)
