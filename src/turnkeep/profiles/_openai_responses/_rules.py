"""The rules of OpenAI's Responses API: data only, checked in `_openai_responses.py`."""

from __future__ import annotations

from .._base import Rule, by_number
from .._shared import LIVE

_SDK = "openai SDK 3.57.0"

RULES = by_number(
    Rule(
        "OR-01",
        "The input list is not empty.",
        "Send at least one item.",
        error="400 missing_",
        sources=(LIVE,),
    ),
    Rule(
        "OR-02",
        "The type of each item is known (an object with a role and content is a "
        "message).",
        "Leave the item out, or send it as a message.",
        error="Invalid value: ..",
        sources=(_SDK,),
    ),
    Rule(
        "OR-03",
        "The role of a message is user, assistant, system or developer.",
        "Use one of these roles; tool results are function_call_output items.",
        sources=(_SDK,),
    ),
    Rule(
        "OR-04",
        "Assistant messages have the parts output_text and refusal, others input_text, "
        "input_image and input_file; plain text is fine for every role. Text parts "
        "have a text.",
        "Complete the part, rename its type, or send plain text.",
        error="Invalid value: 'input_text'. Supported values are: 'output_text' and "
        "'refusal'.",
        sources=(_SDK,),
    ),
    Rule(
        "OR-05",
        "Every function_call and custom_tool_call has an output item with its call_id "
        "somewhere in the input.",
        "Add the output, or drop the call.",
        error="No tool output found for function call call_..",
        sources=("openai/openai-agents-python#673",),
    ),
    Rule(
        "OR-06",
        "Every output has its call in the input, unless previous_response_id, a "
        "conversation or item references are used.",
        "Bring back the call, or drop the output.",
        error="No tool call found for function call output with call_id call_..",
        sources=("vercel/ai#8216", "continuedev/continue#10092"),
    ),
    Rule(
        "OR-07",
        "An item id is used once.",
        "Remove the second item, or its id.",
        error="Duplicate item found with id fc_... Remove duplicate items from your "
        "input and try again.",
        sources=("vercel/ai#13307",),
    ),
    Rule(
        "OR-08",
        "A stored reasoning item (without encrypted_content, store not false) is "
        "followed by the item the model produced after it.",
        "Keep the item that came behind it, or drop the reasoning item too.",
        error="Item 'rs_..' of type 'reasoning' was provided without its required "
        "following item.",
        sources=(
            "vercel/ai#7099",
            "openai/openai-node#1567",
            "continuedev/continue#8933",
        ),
    ),
    Rule(
        "OR-09",
        "A reasoning item carries a summary (an array, which may be empty).",
        'Add "summary": [].',
        error="missing required field summary",
        sources=(_SDK, "newo-ether/Agora#141"),
    ),
    Rule(
        "OR-10",
        "An id, when sent, is made of letters, digits, _ and -, and starts with msg, "
        "fc, rs or ctc by the item's type.",
        "Leave the id out.",
        error="Invalid 'input[111].id': 'msg_..'. Expected an ID that begins with "
        "'fc'.",
        sources=(
            "continuedev/continue#11494",
            "UKGovernmentBEIS/inspect_ai#1545",
            "langchain-ai/langchainjs#11044",
            "Alishahryar1/free-claude-code#1826",
        ),
    ),
    Rule(
        "OR-11",
        "A call_id has at most 64 characters.",
        "Shorten it, in the call and in its output alike.",
        error="Invalid 'input[95].call_id': string too long. Expected a string with "
        "maximum length 64",
        sources=("AnswerDotAI/fastllm#45",),
    ),
    Rule(
        "OR-12",
        "Call items have a call_id, a name, and their arguments (or input) as text.",
        "Complete the call; arguments are JSON written as a string.",
        error="Invalid 'input[n].name': empty string. Expected a string with minimum "
        "length 1",
        sources=("NousResearch/hermes-agent#11435", _SDK),
    ),
    Rule(
        "OR-13",
        "An output is text or an array of parts.",
        "Send the output as text.",
        sources=(_SDK,),
    ),
    Rule(
        "OX-01",
        "An item sent with its id is sent with the reasoning item before it.",
        "Send the item without its id, or keep its reasoning item.",
        error="Item 'fc_..' was provided without its required 'reasoning' item: "
        "'rs_..'.",
        sources=(
            "continuedev/continue#11994",
            "0xPlaygrounds/rig#751",
            "qbit-ai/qbit#180",
        ),
        edit=True,
        models="requests without store: false",
    ),
    Rule(
        "OR-s1",
        "No two calls have the same call_id.",
        "Give each call an id of its own.",
        error="Duplicate 'call_id'",
        sources=("earendil-works/pi#9057",),
    ),
    Rule(
        "OR-s2",
        "No two outputs have the same call_id.",
        "Keep one of the outputs.",
        error="Duplicate 'call_id'",
        sources=("earendil-works/pi#9057",),
    ),
    Rule(
        "OR-s3",
        "Computer, shell and apply_patch calls go with their outputs.",
        "Keep both, or drop both.",
        sources=("by analogy with function calls",),
    ),
    Rule(
        "OR-s4",
        "An output stands behind its call.",
        "Move the output behind the call.",
        sources=("no report either way",),
    ),
    Rule(
        "OR-s5",
        "An encrypted reasoning item is followed by the item the model produced after "
        "it.",
        "Keep the item that came behind it, or drop the reasoning item too.",
        sources=(f"{LIVE}: not reproduced",),
    ),
    Rule(
        "OR-s6",
        "The input is not an empty text.",
        "Send a message.",
        sources=("no report either way",),
    ),
    Rule(
        "OX-s1",
        "An item sent with its id is sent with the reasoning item before it, also with "
        "store: false.",
        "Send the item without its id.",
        sources=(LIVE,),
        edit=True,
        models="requests with store: false",
    ),
)
