"""Random items of the Responses API, oddities included."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.formats.wire_chat import ids, said, some
from tests.generators import PDF, PNG, json_objects, json_values, names

_texts = some(
    {
        "type": st.sampled_from(["input_text", "output_text", "text", "summary_text"]),
        "text": said,
    },
    {"annotations": st.just([])},
)
_image = some(
    {"type": st.just("input_image")},
    {
        "image_url": st.sampled_from([f"data:image/png;base64,{PNG}", "https://e.org"]),
        "file_id": st.just("file-1") | st.none(),
        "detail": st.sampled_from(["low", "auto"]) | st.none(),
    },
)
_file = some(
    {"type": st.just("input_file")},
    {
        "file_data": st.sampled_from([f"data:application/pdf;base64,{PDF}", PDF]),
        "file_id": st.just("file-1") | st.none(),
        "file_url": st.just("https://e.org/a.pdf"),
        "filename": st.just("a.pdf") | st.none(),
    },
)
_refusal = some({"type": st.just("refusal"), "refusal": said}, {})
_other = some({}, {"type": st.sampled_from(["input_audio", "new"]), "x": json_values})
parts = _texts | _image | _file | _refusal | _other
_status = {"status": st.just("completed"), "id": ids | st.none()}

messages = some(
    {
        "role": st.sampled_from(["user", "assistant", "system", "developer"]),
        "content": said | st.lists(parts, max_size=3),
    },
    {"type": st.just("message"), "phase": st.just("final"), **_status},
)
reasoning = some(
    {"type": st.just("reasoning")},
    {
        "summary": st.lists(some({"type": st.just("summary_text"), "text": said}, {})),
        "content": st.lists(some({"type": st.just("reasoning_text"), "text": said}, {}))
        | st.none(),
        "encrypted_content": said | st.none(),
        **_status,
    },
)
calls = some(
    {
        "type": st.just("function_call"),
        "call_id": ids,
        "name": names,
        "arguments": said,
    },
    {"namespace": st.just("ns"), **_status},
) | some(
    {"type": st.just("custom_tool_call"), "call_id": ids, "name": names, "input": said},
    _status,
)
built_in = some(
    {
        "type": st.sampled_from(
            ["apply_patch_call", "shell_call", "tool_search_call", "local_shell_call"]
        )
    },
    {"call_id": ids | st.none(), "action": json_objects, **_status},
)
outputs = some(
    {
        "type": st.sampled_from(["function_call_output", "custom_tool_call_output"]),
        "call_id": ids,
        "output": said | st.lists(parts, max_size=2),
    },
    _status,
) | some(
    {
        "type": st.sampled_from(
            [
                "shell_call_output",
                "apply_patch_call_output",
                "tool_search_output",
                "computer_call_output",
                "local_shell_call_output",
                "program_output",
            ]
        )
    },
    {
        "call_id": ids | st.none(),
        "id": ids | st.none(),
        "output": said
        | json_values
        | st.just({"type": "computer_screenshot", "image_url": "https://e.org/a"}),
        "tools": st.lists(json_objects, max_size=1),
        "result": said,
    },
)
others = some(
    {
        "type": st.sampled_from(
            [
                "item_reference",
                "web_search_call",
                "mcp_call",
                "mcp_approval_response",
                "compaction",
                "additional_tools",
                "configuration_update",
                "brand_new_item",
            ]
        )
    },
    {"role": st.just("developer"), "x": json_values, **_status},
)
items: SearchStrategy[Any] = messages | reasoning | calls | built_in | outputs | others
