"""What a refusal teaches: the next window is one that the model takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnkeep import Budget, Conversation

MODEL = "gpt-4o"


def full(tokens: int = 20_000, **options: Any) -> Conversation:
    """A chat with room to cut, at a budget that is too large for its server."""
    options = {"budget": Budget(200_000, target=1.0), "model": MODEL, **options}
    chat = Conversation(**options)
    for nth in range(tokens // 100):
        chat.user(f"question {nth} " + "well " * 45)
        chat.assistant(f"answer {nth} " + "yes " * 45)
    chat.user("and?")
    return chat


class Server:
    """Counts its own way, and refuses what its context does not hold."""

    def __init__(
        self, limit: int, count: Callable[[int], int], output: int, say: str
    ) -> None:
        self.limit = limit
        self.count = count
        self.output = output
        self.say = say

    def refuse(self, tokens: int) -> str | None:
        """What it says of a request of so many tokens as we count; none: it fits."""
        used = self.count(tokens)
        if used + self.output <= self.limit:
            return None
        return self.say.format(
            L=self.limit,
            A=used,
            O=self.output,
            T=used + self.output,
            N=self.limit - self.output + 1,
            X=used - self.limit,
        )


NAMES_BOTH = [
    "prompt is too long: {A} tokens > {L} maximum",
    "The input token count ({A:,}) exceeds the maximum number of tokens allowed ({L}).",
    "request ({A} tokens) exceeds the available context size ({L} tokens)",
    (
        "Requested token count exceeds the model's maximum context length of "
        "{L} tokens. "
        "You requested a total of {T} tokens: {A} tokens from the input "
        "messages and {O} "
        "tokens for the completion."
    ),
    (
        "This model's maximum context length is {L} tokens. However, you requested {T} "
        "tokens ({A} in the messages, {O} in the completion)."
    ),
]


@settings(max_examples=30)
@given(
    say=st.sampled_from(NAMES_BOTH),
    limit=st.integers(1_500, 3_600),
    counted=st.one_of(
        st.tuples(st.floats(0.8, 1.6), st.just(0)),
        st.tuples(st.floats(1.0, 1.6), st.integers(0, 100)),
    ),
)
def test_the_next_window_fits_where_limit_and_size_are_named(
    say: str, limit: int, counted: tuple[float, int]
) -> None:
    """Whether the server counts a share more, or some tokens in every request."""
    output, (share, more) = 500 if "{O}" in say else 0, counted
    chat = full(5_000)
    server = Server(limit, lambda tokens: int(tokens * share) + more, output, say)
    error = server.refuse(chat.fit().tokens)
    assert error is not None

    assert chat.observe_overflow(error)

    assert server.refuse(chat.fit().tokens) is None


def test_an_excess_is_enough() -> None:
    """Ollama names nothing else."""
    chat = full()
    server = Server(9_000, int, 0, "exceeded max context length by {X} tokens")

    assert chat.observe_overflow(str(server.refuse(chat.fit().tokens)))

    assert 8_000 < chat.fit().tokens <= 9_000


def test_a_lower_bound_is_not_a_size() -> None:
    """VLLM works it out from the limit: the size is not known."""
    say = (
        "This model's maximum context length is {L} tokens. However, you requested {O} "
        "output tokens and your prompt contains at least {N} input tokens, for a total "
        "of at least {L} tokens."
    )
    chat = full()
    server = Server(10_000, lambda tokens: tokens * 11 // 10, 1_000, say)
    sent = chat.fit().tokens
    for _ in range(3):
        error = server.refuse(chat.fit().tokens)
        if error is None:
            break
        assert chat.observe_overflow(error)

    assert server.refuse(chat.fit().tokens) is None
    assert sent > 9_000 >= chat.fit().tokens > 5_000


@pytest.mark.parametrize(
    "error",
    [
        "Your input exceeds the context window of this model.",
        {"error": {"code": "context_length_exceeded", "message": "too long"}},
        {"type": "message", "stop_reason": "model_context_window_exceeded"},
        {"choices": [{"finish_reason": "model_length"}]},
    ],
    ids=repr,
)
def test_where_nothing_is_named_each_window_is_a_fifth_smaller(error: Any) -> None:
    """Until one fits."""
    chat = full()
    before = chat.fit().tokens
    for _ in range(4):
        assert chat.observe_overflow(error)
        now = chat.fit().tokens
        assert before * 0.75 < now <= before * 0.8
        before = now


@pytest.mark.parametrize(
    "error",
    [
        "Rate limit reached on tokens per minute (TPM): Limit 6000, Requested 7000",
        {"type": "error", "error": {"type": "request_too_large", "message": "413"}},
        "max_tokens: 9 > 8, which is the maximum allowed number of output tokens for x",
        {"message": {"content": "fine"}, "prompt_eval_count": 2_050},
        ValueError("no"),
        None,
    ],
    ids=repr,
)
def test_other_errors_teach_nothing(error: Any) -> None:
    """`False`, and the same window again."""
    chat = full()
    before = chat.fit().tokens

    assert not chat.observe_overflow(error)

    assert chat.fit().tokens == before
    assert "learned" not in chat.to_json()


def test_what_was_learned_is_saved_and_belongs_to_the_model() -> None:
    """Another model has limits of its own."""
    chat = full()
    chat.fit()
    chat.observe_overflow("prompt is too long: 20000 tokens > 8000 maximum")
    small = chat.fit().tokens
    assert small <= 8_000

    assert "learned" in chat.to_json()
    for copy in (Conversation.from_json(chat.to_json()), chat.fork()):
        assert copy.fit().tokens == small
        copy.model = "gpt-4.1"
        assert copy.fit().tokens > 15_000
    assert chat.fit().tokens == small


def test_a_budget_below_what_was_learned_stays_as_it_is() -> None:
    """It only ever takes away."""
    chat = full()
    chat.fit()
    chat.observe_overflow("prompt is too long: 20000 tokens > 8000 maximum")

    assert 3_500 < chat.fit(Budget(4_000, target=1.0)).tokens <= 4_000


def test_the_answer_keeps_its_room() -> None:
    """The budget's reserve is taken off a limit that says nothing of it."""
    chat = full(budget=Budget(200_000, reserve=3_000, target=1.0))
    chat.fit()
    chat.observe_overflow("prompt is too long: 20000 tokens > 8000 maximum")

    assert chat.fit().tokens <= 5_000


@pytest.mark.parametrize("by_sums", [True, False])
def test_one_result_takes_no_more_than_half_of_a_stated_window(by_sums: bool) -> None:
    """Not even what was just read, though it would fit."""
    chat = full(2_000)
    chat.fit()
    chat.observe_overflow("prompt is too long: 30000 tokens > 10000 maximum")
    if not by_sums:
        chat.strategy = "largest-first"
    chat.fit()
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "read", "arguments": "{}"},
    }
    chat.append({"role": "assistant", "content": None, "tool_calls": [call]})
    chat.tool_result("c", "\n".join(f"row {n}" for n in range(2_200)))

    window = chat.fit()
    text = window.messages[-1].text

    assert text.startswith("[turnkeep:shortened")
    assert "row 2199" in text
    chat.assistant("read")
    chat.user("more")
    later = [m.text for m in chat.fit().messages if m.tool_results]
    assert later in ([text], [])


def test_before_any_window_was_made_the_limit_is_learned_all_the_same() -> None:
    """A host may send first and ask later."""
    chat = full()

    assert chat.observe_overflow("prompt is too long: 20500 tokens > 8000 maximum")

    assert chat.fit().tokens <= 8_000
