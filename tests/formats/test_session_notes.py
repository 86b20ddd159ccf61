"""Tests for what the readers of sessions share: trees of messages, and notes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from turnkeep.formats._sessions._notes import Notes
from turnkeep.formats._sessions._tree import newest_leaf, path_to

nodes = st.sampled_from("abcdef")


@given(
    parents=st.dictionaries(nodes, st.none() | nodes, min_size=1),
    times=st.dictionaries(nodes, st.integers(0, 3) | st.text("12") | st.none()),
)
def test_a_path_leads_to_the_newest_leaf(
    parents: dict[str, str | None], times: dict[str, object]
) -> None:
    """Whatever is missing or goes in a circle: each node once, each behind its parent.

    And where nothing is missing and nothing circles, there is nothing to say.
    """
    leaf = newest_leaf(parents, times)
    notes = Notes()

    path = path_to(leaf, parents, notes)

    assert path[-1] == leaf
    assert len(set(path)) == len(path)
    assert all(parents[child] == parent for parent, child in pairwise(path))
    assert (parents[path[0]] is None) == (notes.sentences() == ())


def test_the_newest_counts_then_the_deepest_then_the_last() -> None:
    tree: dict[str, str | None] = {"a": None, "b": "a", "c": "b", "d": "a", "e": "a"}

    assert newest_leaf(tree, {"d": "2", "c": "1"}) == "d"
    assert newest_leaf(tree, {}) == "c"
    assert newest_leaf({"a": None, "b": "a", "c": "a"}, {}) == "c"


def test_notes_count_what_is_alike() -> None:
    notes = Notes()
    for noun in ("branch", "entry", "day", "message of a tool", "class"):
        notes.left_out(noun, 2)
        notes.left_out(f"{noun} | why")
    notes.left_out("nothing", 0)
    notes.say("first")
    notes.say("first")

    assert notes.sentences()[:3] == (
        "first",
        "left out: 2 branches",
        "left out: 1 branch (why)",
    )
    assert notes.sentences()[3::2] == (
        "left out: 2 entries",
        "left out: 2 days",
        "left out: 2 messages of a tool",
        "left out: 2 classes",
    )
