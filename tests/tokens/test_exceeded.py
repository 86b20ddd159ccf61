"""What servers say of a request that was longer than their model's context."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from turnkeep.tokens import ContextExceeded, read_exceeded
from turnkeep.tokens._exceeded import OTHERS, WORDINGS

# limit, input, output, excess
SAID: list[tuple[str, tuple[int | None, ...]]] = [
    (
        (
            "This model's maximum context length is 4097 tokens. "
            "However, your messages "
            "resulted in 5,512 tokens. Please reduce the length of the messages."
        ),
        (4097, 5512, None, None),
    ),
    (
        (
            "This model's maximum context length is 16385 tokens. "
            "However, you requested "
            "17085 tokens (15000 in the messages, 85 in the functions, and 2000 in the "
            "completion). Please reduce the length of the messages or completion."
        ),
        (16385, 15085, 2000, None),
    ),
    (
        (
            "This model's maximum context length is 131072 tokens. "
            "However, you requested "
            "140000 tokens (135000 in the messages, 5000 in the completion)."
        ),
        (131072, 135000, 5000, None),
    ),
    (
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages "
            "resulted in 280001 tokens. Please reduce the length of the messages."
        ),
        (272000, 280001, None, None),
    ),
    (
        (
            "Your input exceeds the context window of this model. Please "
            "adjust your input "
            "and try again."
        ),
        (None,) * 4,
    ),
    (
        "prompt is too long: 208310 tokens > 200000 maximum",
        (200000, 208310, None, None),
    ),
    (
        (
            "input length and `max_tokens` exceed context limit: 190000 "
            "+ 20000 > 200000, "
            "decrease input length or `max_tokens` and try again"
        ),
        (200000, 190000, 20000, None),
    ),
    (
        (
            "The model returned the following errors: prompt is too "
            "long: 208,310 tokens > "
            "200,000 maximum"
        ),
        (200000, 208310, None, None),
    ),
    ("Input is too long for requested model.", (None,) * 4),
    ("Too many input tokens", (None,) * 4),
    (
        (
            "The input token count (1200000) exceeds the maximum number "
            "of tokens allowed "
            "(1048576)."
        ),
        (1048576, 1200000, None, None),
    ),
    (
        (
            "Prompt contains 140000 tokens and 0 draft tokens, too large "
            "for model with "
            "131072 maximum context length"
        ),
        (131072, 140000, None, None),
    ),
    (
        (
            "This model's maximum prompt length is 131072 but the "
            "request contains 150000 "
            "tokens."
        ),
        (131072, 150000, None, None),
    ),
    ("Please reduce the length of the messages or completion.", (None,) * 4),
    (
        (
            "This endpoint's maximum context length is 163840 tokens. However, you "
            "requested about 170000 tokens (150000 of text input, 10000 of tool input, "
            "10000 in the output). Please reduce the length."
        ),
        (163840, 160000, 10000, None),
    ),
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` "
            "must be <= 4097. "
            "Given: 4000 `inputs` tokens and 500 `max_new_tokens`"
        ),
        (4097, 4000, 500, None),
    ),
    (
        "The prompt is too long: 300000, model maximum context length: 262143",
        (262143, 300000, None, None),
    ),
    (
        (
            "This model's maximum context length is 32768 tokens. "
            "However, you requested "
            "4096 output tokens and your prompt contains at least 28673 "
            "input tokens, for "
            "a total of at least 32769 tokens."
        ),
        (32768, None, 4096, None),
    ),
    (
        (
            "The input (40000 tokens) is longer than the model's context length (32768 "
            "tokens)."
        ),
        (32768, 40000, None, None),
    ),
    (
        (
            "Requested token count exceeds the model's maximum context length of 32768 "
            "tokens. You requested a total of 40000 tokens: 36000 tokens "
            "from the input "
            "messages and 4000 tokens for the completion."
        ),
        (32768, 36000, 4000, None),
    ),
    (
        (
            "Input length (40000 tokens) exceeds the maximum allowed "
            "length (32768 tokens)."
        ),
        (32768, 40000, None, None),
    ),
    (
        (
            "request (9000 tokens) exceeds the available context size "
            "(8192 tokens), try "
            "increasing it"
        ),
        (8192, 9000, None, None),
    ),
    (
        (
            "the request exceeds the available context size. try "
            "increasing the context "
            "size or enable context shift"
        ),
        (None,) * 4,
    ),
    (
        "prompt too long; exceeded max context length by 512 tokens",
        (None, None, None, 512),
    ),
    (
        (
            "The number of tokens to keep from the initial prompt is greater than the "
            "context length (n_keep: 5000 >= n_ctx: 4096). Try to load "
            "the model with a "
            "larger context length."
        ),
        (4096, 5000, None, None),
    ),
    ("Context size has been exceeded.", (None,) * 4),
    (
        (
            "Invalid request: Your request exceeded model token limit: "
            "262144 (requested: "
            "270000)"
        ),
        (262144, 270000, None, None),
    ),
    (
        "prompt token count of 150000 exceeds the limit of 128000",
        (128000, 150000, None, None),
    ),
    ("invalid params, context window exceeds limit (2013)", (None,) * 4),
    ("Range of input length should be [1, 30720]", (30720, None, None, None)),
    (
        (
            "Please reduce the length of the messages or completion. Current length "
            "is 9000 while limit is 8192"
        ),
        (8192, 9000, None, None),
    ),
    ("400 status code (no body)", (None,) * 4),
    ("413 (no body)", (None,) * 4),
    (
        (
            "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "AnthropicException - prompt is too long: 208310 tokens > 200000 maximum"
        ),
        (200000, 208310, None, None),
    ),
    ("This model's maximum context length is 8192 tokens", (8192, None, None, None)),
]

OTHER_ERRORS: list[Any] = [
    (
        '{"type":"error","error":{"type":"request_too_large",'
        '"message":"Request exceeds the maximum size"}}'
    ),
    (
        "Rate limit reached for model `llama` in organization `o` on tokens per minute "
        "(TPM): Limit 6000, Requested 7000. Please reduce the length "
        "of the messages or "
        "completion."
    ),
    "Too many tokens, please wait before trying again.",
    (
        "max_tokens: 9000 > 8192, which is the maximum allowed "
        "number of output tokens for "
        "claude-3-5-sonnet"
    ),
    "The maximum tokens you requested exceeds the model limit of 4096.",
    "Connection error.",
    "",
    None,
    7,
    # Ollama cuts on its own and says so in its usage alone.
    {"message": {"role": "assistant", "content": "ok"}, "prompt_eval_count": 2050},
    {"choices": [{"finish_reason": "length", "message": {"content": "cut off"}}]},
    # What somebody wrote is no error.
    {
        "choices": [
            {
                "finish_reason": "stop",
                "message": {"content": "prompt is too long: 9 tokens > 3 maximum"},
            }
        ]
    },
    {
        "type": "message",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "context_length_exceeded"}],
    },
]


def shapes(text: str) -> dict[str, Any]:
    """The same error as clients and servers hand it over."""
    error = RuntimeError(f"Error code: 400 - {text}")
    carrying = RuntimeError("Bad Request")
    carrying.body = {"error": {"message": text}}  # type: ignore[attr-defined]
    aws = RuntimeError("An error occurred")
    aws.response = {  # type: ignore[attr-defined]
        "Error": {"Code": "ValidationException", "Message": text},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    http = RuntimeError("400")
    http.response = SimpleNamespace(text=json.dumps({"detail": text}))  # type: ignore[attr-defined]
    wrapped = RuntimeError("the agent failed")
    wrapped.__cause__ = error
    return {
        "text": text,
        "bytes": text.encode(),
        "exception": error,
        "body": carrying,
        "botocore": aws,
        "http": http,
        "cause": wrapped,
        "dict": {"error": {"message": text, "type": "invalid_request_error"}},
        "string": {"error": text},
        "json": json.dumps({"error": {"message": text}}),
        "list": [{"error": {"code": 400, "message": text}}],
        "event": {"type": "response.failed", "response": {"error": {"message": text}}},
        "choice": {"choices": [{"error": {"message": text}}]},
    }


@pytest.mark.parametrize(("text", "figures"), SAID, ids=[t for t, _ in SAID])
def test_every_wording_is_read(text: str, figures: tuple[int | None, ...]) -> None:
    """With the figures it names; a lower bound is none."""
    assert read_exceeded(text) == ContextExceeded(*figures)


@pytest.mark.parametrize("text", [text for text, _ in SAID if "no body" not in text])
def test_every_shape_of_an_error_is_read(text: str) -> None:
    """Exceptions of the clients, bodies, texts and events say the same."""
    expected = read_exceeded(text)

    for name, error in shapes(text).items():
        assert read_exceeded(error) == expected, name


def test_every_wording_of_the_table_has_a_text() -> None:
    """No pattern is there that nothing is known to fit."""
    import re

    for wording in WORDINGS:
        pattern = re.sub(r"<[LATOX]>", r"\\d[\\d,]*", wording.pattern)
        texts = [text for text, _ in SAID]
        texts += ["context_length_exceeded"]
        assert any(re.search(pattern, t, re.IGNORECASE | re.DOTALL) for t in texts), (
            wording
        )
        assert wording.source
    for pattern in OTHERS:
        texts = [error for error in OTHER_ERRORS if isinstance(error, str)]
        assert any(re.search(pattern, t, re.IGNORECASE) for t in texts), pattern


@pytest.mark.parametrize("error", OTHER_ERRORS, ids=repr)
def test_what_only_looks_like_it_is_another_error(error: Any) -> None:
    """Sizes in bytes, rates, answers that are too long, and what somebody wrote."""
    assert read_exceeded(error) is None


def test_a_rate_limit_is_told_by_its_status() -> None:
    """Whatever its text says."""
    error = RuntimeError("Please reduce the length of the messages or completion.")
    assert read_exceeded(error) is not None

    error.status_code = 429  # type: ignore[attr-defined]

    assert read_exceeded(error) is None


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "message", "stop_reason": "model_context_window_exceeded"},
        {"stopReason": "model_context_window_exceeded", "output": {}},
        {"choices": [{"finish_reason": "model_length", "message": {"content": "x"}}]},
        {"choices": [{"finish_reason": "model_context_window_exceeded"}]},
        SimpleNamespace(stop_reason="model_context_window_exceeded"),
        SimpleNamespace(choices=[SimpleNamespace(finish_reason="model_length")]),
    ],
    ids=repr,
)
def test_answers_that_say_so_with_status_200(answer: Any) -> None:
    """Input and answer together filled the context; nothing is named."""
    assert read_exceeded(answer) == ContextExceeded()


@pytest.mark.parametrize(
    "code", ["context_length_exceeded", "exceed_context_size_error"]
)
def test_a_code_is_enough(code: str) -> None:
    """Where the text is another one; fields of their own name the figures."""
    error = {"error": {"code": 400, "type": code, "message": "no", "n_ctx": 4096}}

    assert read_exceeded(error) == ContextExceeded(4096)


def test_the_class_of_an_exception_may_say_it() -> None:
    """Litellm's."""

    class ContextWindowExceededError(Exception):
        pass

    assert read_exceeded(ContextWindowExceededError("?")) == ContextExceeded()


def test_what_refers_to_itself_is_read_once() -> None:
    """Errors that hold each other end."""
    body: dict[str, Any] = {"message": "Too many input tokens"}
    body["error"] = body

    assert read_exceeded(body) == ContextExceeded()
