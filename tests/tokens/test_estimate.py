import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import needs_corpus, read_corpus
from tests.tokens import strings
from turnkeep.tokens import ApproximateCounter, TextCounter, text_counter
from turnkeep.tokens._estimate import FAMILIES

ANY_TEXT = st.text(st.characters(categories=None, codec=None))


def messages() -> list[str]:
    """The text of every message of the recorded chats."""
    texts = []
    for history in read_corpus("openai"):
        body = history["body"]
        for message in body if isinstance(body, list) else body["messages"]:
            content = message.get("content")
            if isinstance(content, str) and content.strip():
                texts.append(content)
            texts.extend(
                call["function"]["arguments"]
                for call in message.get("tool_calls") or ()
                if call.get("function", {}).get("arguments")
            )
    return texts


@needs_corpus
def test_is_seven_percent_off_at_most_on_average() -> None:
    """Over the recorded chats, message by message; far less over all of them."""
    exact, guess = text_counter("gpt-4o"), ApproximateCounter()
    pairs = [(exact.count(text), guess.count(text)) for text in messages()]

    errors = [abs(guessed - true) / true for true, guessed in pairs]

    assert len(pairs) > 5_000
    assert statistics.mean(errors) <= 0.07
    long = [e for e, (true, _) in zip(errors, pairs, strict=True) if true >= 50]
    assert statistics.mean(long) <= 0.045
    total = sum(guessed for _, guessed in pairs) / sum(true for true, _ in pairs)
    assert 0.95 < total < 1.08


@needs_corpus
def test_a_request_is_never_under_by_more_than_the_margin() -> None:
    """Errors of messages cancel out: whole histories stay within the margin."""
    exact, guess = text_counter("gpt-4o"), ApproximateCounter()
    for history in read_corpus("openai"):
        text = "\n".join(t for t in strings._texts(history["body"]) if t)
        true = exact.count(text)
        if true >= 200:
            assert true <= guess.count(text) * (1 + guess.margin), history["name"]


@pytest.mark.parametrize("prose", strings.PROSE)
def test_languages(prose: str) -> None:
    """No script is counted at half its cost or twice it, as chars / 4 does."""
    text = prose * 20
    true = text_counter("gpt-4o").count(text)

    assert 0.7 * true <= ApproximateCounter().count(text) <= 1.4 * true


@given(text=ANY_TEXT)
def test_never_fails_and_never_says_nothing(text: str) -> None:
    tokens = ApproximateCounter().count(text)

    assert (tokens == 0) == (text == "")
    assert tokens <= 4 * len(text)


@given(text=ANY_TEXT, family=st.sampled_from(sorted(FAMILIES)))
def test_families_differ_by_a_factor(text: str, family: str) -> None:
    plain = ApproximateCounter().count(text)
    other = ApproximateCounter(family).count(text)

    assert abs(other - FAMILIES[family].factor * plain) <= 1.3


@pytest.mark.parametrize(
    "text", ["a" * 2_000_000, " " * 2_000_000, "中" * 700_000, "aB1" * 700_000]
)
def test_long_runs_are_not_under(text: str) -> None:
    true = text_counter("gpt-4o").count(text)
    guess = ApproximateCounter()

    assert true <= guess.count(text) * (1 + guess.margin)


def test_names_and_margins() -> None:
    """A family is part of the name: counts of one are not good for another."""
    generic, claude = ApproximateCounter(), ApproximateCounter("claude")

    assert isinstance(generic, TextCounter)
    assert (generic.name, generic.exact, generic.margin) == ("approximate", False, 0.15)
    assert claude.name == "approximate-claude"
    assert claude != generic
    assert ApproximateCounter("nobody") == generic
    assert repr(claude) == "ApproximateCounter('claude')"


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-haiku-20240307", "claude"),
        ("anthropic/claude-sonnet-4-5", "claude"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude"),
        ("claude-opus-4-7", "claude-new"),
        ("claude-sonnet-5", "claude-new"),
        ("claude-fable-1", "claude-new"),
        ("gemini-2.5-pro", "gemini"),
        ("ministral-8b", "mistral"),
        ("codestral-latest", "mistral"),
        ("ollama/llama3:8b", "llama"),
        ("qwen3-coder", "qwen"),
        ("deepseek-chat", "deepseek"),
        ("gpt-4o", "openai"),
        ("nova-pro", "generic"),
    ],
)
def test_families_of_models(model: str, family: str) -> None:
    assert ApproximateCounter.for_model(model).family == family
