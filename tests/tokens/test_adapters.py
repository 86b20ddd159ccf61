import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tokens import strings
from tests.tokens.test_tools import CHAT
from turnkeep.errors import TokenizerUnavailableError
from turnkeep.model import Message, ToolCall
from turnkeep.tokens import (
    CallableCounter,
    HuggingFaceCounter,
    MistralCounter,
    TextCounter,
    _adapters,
    request_counter,
    text_counter,
)
from turnkeep.tokens._estimate import FAMILIES

PROSE = "How is the weather in the south of France at this time of the year? " * 3


def test_any_function_counts() -> None:
    counter = CallableCounter(len, name="characters", exact=False, margin=0.5)

    assert isinstance(counter, TextCounter)
    assert counter.count("four") == 4
    assert (counter.name, counter.exact, counter.margin) == ("characters", False, 0.5)
    assert repr(counter) == "CallableCounter('characters')"


def test_functions_are_told_apart_by_name() -> None:
    def words(text: str) -> int:
        return len(text.split())

    assert CallableCounter(len).name == "builtins.len"
    assert CallableCounter(words).name.endswith("words")
    assert CallableCounter(SimpleNamespace).name == "types.SimpleNamespace"  # type: ignore[arg-type]


class _Measure:
    def __call__(self, text: str) -> int:
        return len(text)


def test_objects_that_can_be_called() -> None:
    counter = CallableCounter(_Measure())

    assert counter.name.endswith("_Measure")
    assert counter.count("abc") == 3


def test_what_a_function_raises_goes_through() -> None:
    def fail(text: str) -> int:
        raise KeyError(text)

    with pytest.raises(KeyError):
        CallableCounter(fail).count("x")


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer of whole words."""
    pytest.importorskip("tokenizers", reason="the extra huggingface is absent")
    vocabulary = {"[UNK]": 0, "hello": 1, "world": 2}
    (tmp_path / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": [],
                "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": None,
                "decoder": None,
                "model": {
                    "type": "WordLevel",
                    "vocab": vocabulary,
                    "unk_token": "[UNK]",
                },
            }
        )
    )
    return tmp_path


def test_a_local_tokenizer_file(tokenizer: Path) -> None:
    """The file, or the folder that holds it; the same content has the same name."""
    by_folder = HuggingFaceCounter(tokenizer)
    by_file = HuggingFaceCounter(str(tokenizer / "tokenizer.json"))

    assert isinstance(by_file, TextCounter)
    assert by_file.count("hello world !") == 3
    assert by_file.count("hello \ud800") == 2
    assert by_file.name == by_folder.name
    assert by_file.name in repr(by_file)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe"])
def test_files_that_are_no_tokenizers(tokenizer: Path, content: bytes | None) -> None:
    file = tokenizer / "other.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(TokenizerUnavailableError, match=r"other\.json"):
        HuggingFaceCounter(file)


def test_without_the_package_tokenizers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)

    with pytest.raises(TokenizerUnavailableError, match=r"turnkeep\[huggingface\]"):
        HuggingFaceCounter(tmp_path)


@pytest.fixture
def mistral() -> MistralCounter:
    pytest.importorskip("mistral_common", reason="the extra mistral is absent")
    return MistralCounter()


def test_mistral_counts_what_mistral_common_counts(mistral: MistralCounter) -> None:
    tokenizers: Any = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    common = tokenizers.MistralTokenizer.v3(is_tekken=True)
    inner = common.instruct_tokenizer.tokenizer

    for text in (*strings.PROSE, *strings.CODE, *strings.SPECIAL, "\ud800"):
        sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert mistral.count(text) == len(inner.encode(sound, bos=False, eos=False))
    assert mistral.name == "mistral-tekken"
    assert repr(mistral) == "MistralCounter('tekken')"


def test_the_estimate_for_mistral_is_close(mistral: MistralCounter) -> None:
    """Its factor was measured with this tokenizer."""
    text = "".join(strings.PROSE[:3] + strings.CODE) * 10
    ratio = mistral.count(text) / text_counter().count(text)

    assert ratio == pytest.approx(FAMILIES["mistral"].factor, rel=0.15)


@pytest.mark.usefixtures("mistral")
def test_older_tokenizers_of_mistral_need_sentencepiece() -> None:
    if find_spec("sentencepiece"):
        assert MistralCounter("v3").count("hello world") == 2
    else:
        with pytest.raises(TokenizerUnavailableError, match=r"(?i)sentencepiece"):
            MistralCounter("v3")


def test_unknown_tokenizers_of_mistral() -> None:
    with pytest.raises(TokenizerUnavailableError, match="tekken"):
        MistralCounter("v99")


def test_without_mistral_common(monkeypatch: pytest.MonkeyPatch) -> None:
    _adapters._load_mistral.cache_clear()
    monkeypatch.setattr(_adapters, "find_spec", lambda _: None)

    with pytest.raises(TokenizerUnavailableError, match=r"turnkeep\[mistral\]"):
        MistralCounter()


def test_without_the_file_of_mistral_common(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("mistral_common", reason="the extra mistral is absent")
    _adapters._load_mistral.cache_clear()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(_adapters, "find_spec", lambda _: found)

    with pytest.raises(TokenizerUnavailableError, match="tekken"):
        MistralCounter()


def test_requests_of_mistral_are_close_to_its_own_template(
    mistral: MistralCounter,
) -> None:
    """Within 8 % of what mistral-common encodes, calls, results and tools included."""
    tokenizers: Any = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    requests: Any = pytest.importorskip("mistral_common.protocol.instruct.request")
    call = ToolCall("VvvODy9mT", "get_current_weather", '{"location": "Paris, France"}')
    chat = [
        ({"role": "system", "content": PROSE}, Message.system(PROSE)),
        ({"role": "user", "content": PROSE}, Message.user(PROSE)),
        (
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.text},
                    }
                ],
            },
            Message.assistant(tool_calls=[call]),
        ),
        (
            {"role": "tool", "tool_call_id": call.id, "content": PROSE},
            Message.tool_result(call.id, PROSE),
        ),
        ({"role": "assistant", "content": PROSE}, Message.assistant(PROSE)),
        ({"role": "user", "content": "Thanks!"}, Message.user("Thanks!")),
    ]
    counter = request_counter(format="mistral", text=mistral)

    encoded = tokenizers.MistralTokenizer.v3(is_tekken=True).encode_chat_completion(
        requests.ChatCompletionRequest.from_openai(
            [wire for wire, _ in chat], tools=[CHAT]
        )
    )

    counted = sum(counter.message(message) for _, message in chat)
    counted += counter.tools([CHAT]) + counter.request(has_tools=True)
    assert counted == pytest.approx(len(encoded.tokens), rel=0.08)
