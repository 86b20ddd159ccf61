import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeep.model import Message
from turnkeep.tokens import (
    ApproximateCounter,
    CallableCounter,
    Memo,
    TextCounter,
    count_many,
    count_till,
    request_counter,
    text_counter,
)

TEXTS = st.lists(st.text(max_size=30), max_size=30)


class Counting:
    """Remembers what it was asked."""

    name, exact, margin = "characters", True, 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        """Characters."""
        self.asked.append(text)
        return len(text)


@given(texts=TEXTS, limit=st.integers(0, 200))
def test_till_a_limit(texts: list[str], limit: int) -> None:
    """The sum, or none where it is over the limit."""
    total = sum(map(len, texts))

    counted = count_till(limit, texts, CallableCounter(len))

    assert counted == (total if total <= limit else None)


def test_counts_no_further_than_the_limit() -> None:
    counter = Counting()

    assert count_till(7, ["abcd", "efgh", "never asked"], counter) is None
    assert counter.asked == ["abcd", "efgh"]


def test_messages_till_a_limit() -> None:
    messages = [Message.user("hi")] * 10

    assert count_till(50, messages, request_counter()) == 50
    assert count_till(49, messages, request_counter()) is None


@given(texts=TEXTS, threads=st.sampled_from([1, 2, 3, 8]))
def test_threads_change_nothing(texts: list[str], threads: int) -> None:
    """Any number of threads counts the same, in the same order."""
    counter = ApproximateCounter()

    assert count_many(texts, counter, threads=threads) == list(
        map(counter.count, texts)
    )


@pytest.mark.parametrize("counter", [text_counter(), ApproximateCounter()])
def test_many_texts(counter: TextCounter) -> None:
    texts = [f"message {n} " * (n % 50) for n in range(5_000)]

    assert count_many(texts, counter, threads=2) == count_many(texts, counter)


def test_many_messages() -> None:
    counter = request_counter()
    messages = [Message.user(f"message {n} " * (n % 20)) for n in range(300)]

    assert count_many(messages, counter, threads=2) == list(
        map(counter.message, messages)
    )


def test_each_message_is_counted_once() -> None:
    counting = Counting()
    memo = Memo(request_counter(text=counting))
    messages = [Message.user("one"), Message.user("two")]

    first = [memo.message(m) for m in messages]
    again = [memo.message(m) for m in messages]

    assert first == again
    assert counting.asked.count("one") == counting.asked.count("two") == 1
    assert len(memo) == 2


def test_another_counter_counts_again() -> None:
    """A count is only good under the name of the counter that took it."""
    memo, message = Memo(request_counter()), Message.user("hello there " * 50)
    before = memo.message(message)

    memo.use(request_counter(model="gpt-4o"))
    assert len(memo) == 1
    memo.use(request_counter(format="anthropic"))

    assert len(memo) == 0
    assert memo.message(message) != before


def test_what_has_left_is_forgotten() -> None:
    memo, message = Memo(request_counter()), Message.user("hello there")
    memo.message(message)

    memo.forget([message, Message.user("never seen")])

    assert len(memo) == 0
