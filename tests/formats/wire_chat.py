"""Random entries as providers and their users really write them, oddities included."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.generators import PDF, PNG, json_objects, json_values, names, texts

_MARKED = st.sampled_from(
    [
        "[turnkeep:pending 02a2e08b]\nstarted",
        "[turnkeep:pending 5962ee77]",
        "[turnkeep:interim 6d20911d]\r\nhalf",
        "[turnkeep:error]\nboom",
        "[turnkeep:error]",
        "[turnkeep:pending 1c83f3af]\n[turnkeep:error]\ntool error: x",
        "tool error: x",
        "[turnkeep:summary ba33eaac]\nearlier",
        "[turnkeep:cleared 30401a79]\n",
        "[turnkeep:unknown]\n",
    ]
)
said: SearchStrategy[str] = texts | _MARKED
ids: SearchStrategy[Any] = st.sampled_from(["call_1", "call_2", "", "x" * 50])
unknown: SearchStrategy[dict[str, Any]] = st.just({}) | st.dictionaries(
    st.sampled_from(["index", "cache_control", "id", "annotations", "metadata"]),
    json_values,
    max_size=2,
)


def some(required: dict[str, Any], optional: dict[str, Any]) -> SearchStrategy[Any]:
    """Objects with all of *required*, any of *optional*, and now and then others."""
    fixed = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda a, b: {**b, **a}, fixed, unknown)


_DATA = f"data:image/png;base64,{PNG}"
_urls = st.sampled_from([_DATA, "https://e.org/a.png", "data:,x", "DATA:image/png"])
_text = some({"type": st.just("text"), "text": said}, {})
_image = some(
    {
        "type": st.just("image_url"),
        "image_url": some({"url": _urls}, {"detail": st.sampled_from(["low", None])})
        | _urls,
    },
    {},
)
_file = some(
    {
        "type": st.just("file"),
        "file": st.fixed_dictionaries(
            {},
            optional={
                "file_data": st.sampled_from(
                    [f"data:application/pdf;base64,{PDF}", ""]
                ),
                "file_id": st.sampled_from(["file-1", None]),
                "filename": st.just("a.pdf"),
            },
        ),
    },
    {},
)
_other = some(
    {},
    {
        "type": st.sampled_from(["input_audio", "vendor", "refusal_", "thinking"]),
        "value": json_values,
    },
)
_refusal = st.fixed_dictionaries({"type": st.just("refusal"), "refusal": said})
parts: SearchStrategy[Any] = _text | _image | _file | _other | _refusal
content: SearchStrategy[Any] = said | st.none() | st.lists(parts, max_size=3)

_arguments = st.sampled_from(['{"a":  1}', "", "not json", "{}"])
_function = some({"name": names}, {"arguments": _arguments | json_objects | st.none()})
_calls = (
    some({"function": _function}, {"id": ids | st.none(), "type": st.just("function")})
    | some({"id": ids, "type": st.just("function"), "function": _function}, {})
    | some(
        {
            "id": ids,
            "type": st.just("custom"),
            "custom": some({"name": names, "input": said}, {}),
        },
        {},
    )
)

plain = some({"role": st.sampled_from(["system", "user"])}, {"content": content})
assistant = some(
    {"role": st.just("assistant")},
    {
        "content": content,
        "name": st.just("ann"),
        "refusal": said | st.none(),
        "reasoning_content": said | st.none(),
        "reasoning": said | st.none(),
        "audio": st.just({"id": "audio_1"}) | st.none(),
        "tool_calls": st.lists(_calls, max_size=3) | st.none(),
        "prefix": st.booleans(),
    },
)
tool = some(
    {"role": st.just("tool")},
    {"content": content, "tool_call_id": ids | st.none(), "name": names | st.none()},
)
legacy = some(
    {"role": st.just("function"), "content": content},
    {"name": names, "tool_call_id": ids | st.none()},
) | some(
    {"role": st.just("assistant")},
    {"content": content, "function_call": _function, "tool_calls": st.lists(_calls)},
)
developer = some({"role": st.just("developer"), "content": content}, {})
chat_entries: SearchStrategy[Any] = plain | assistant | tool

_thinking_chunk = some(
    {
        "type": st.just("thinking"),
        "thinking": st.lists(_text | _other, max_size=2)
        | st.lists(
            st.fixed_dictionaries({"type": st.just("text"), "text": said}), max_size=2
        ),
    },
    {"signature": said | st.none(), "closed": st.booleans()},
)
_document = some(
    {"type": st.just("document_url"), "document_url": _urls},
    {"document_name": said | st.none()},
)
mistral_entries: SearchStrategy[Any] = chat_entries | some(
    {"role": st.sampled_from(["user", "assistant"])},
    {"content": st.lists(_thinking_chunk | _document | parts, max_size=3)},
)

ollama_entries: SearchStrategy[Any] = some(
    {"role": st.sampled_from(["system", "user", "assistant"])},
    {
        "content": said | st.none(),
        "thinking": said | st.none(),
        "images": st.lists(st.just(PNG), max_size=2) | st.none(),
        "tool_calls": st.lists(
            some(
                {"function": some({"name": names, "arguments": json_objects}, {})},
                {"id": ids | st.none(), "type": st.just("function")},
            ),
            max_size=2,
        )
        | st.none(),
    },
) | some(
    {"role": st.just("tool")},
    {
        "content": said | st.none(),
        "tool_name": names | st.none(),
        "tool_call_id": ids | st.none(),
        "images": st.lists(st.just(PNG), max_size=1),
    },
)
