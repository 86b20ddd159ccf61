import pytest

from turnkeep.errors import TokenizerUnavailableError
from turnkeep.tokens import ApproximateCounter, text_counter


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-4", "cl100k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
        ("text-embedding-3-small", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("claude-sonnet-4-5", "approximate-claude"),
        ("gemini-2.5-pro", "approximate-gemini"),
        ("my-model", "approximate"),
    ],
)
def test_the_best_counter_for_a_model(model: str | None, name: str) -> None:
    assert text_counter(model).name == name


@pytest.mark.parametrize(
    "name",
    [
        "o200k_base",
        "o200k_harmony",
        "cl100k_base",
        "p50k_base",
        "r50k_base",
        "approximate",
        "approximate-claude",
        "approximate-claude-new",
    ],
)
def test_a_counter_by_name(name: str) -> None:
    """Every counter made from a name has that name: it can be saved with counts."""
    assert text_counter(name=name).name == name


def test_a_name_wins_over_a_model() -> None:
    assert text_counter("gpt-4o", "approximate") == ApproximateCounter()


@pytest.mark.parametrize("name", ["", "words", "approximate-nobody", "gpt-4o"])
def test_unknown_names_list_the_known_ones(name: str) -> None:
    with pytest.raises(TokenizerUnavailableError, match="known e"):
        text_counter(name=name)
