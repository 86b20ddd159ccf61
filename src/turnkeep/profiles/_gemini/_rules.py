"""The rules of Gemini's generateContent: data only, checked in `_gemini.py`."""

from __future__ import annotations

from .._base import Rule, by_number

_SIGNATURES = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_SDK = "google-genai SDK 3.6.1"

RULES = by_number(
    Rule(
        "GE-01",
        "`contents` is not empty.",
        "Send at least one content.",
        sources=("Gemini's API reference",),
    ),
    Rule(
        "GE-02",
        "The role is user or model (a missing one is user, who makes no function "
        "calls); system text goes to `systemInstruction`.",
        "Use the roles user and model, and move system text to `systemInstruction`; "
        "calls are the model's.",
        error="Please use a valid role: user, model.",
        sources=("the-open-agent/openagent#1666", "langbot-app/LangBot#1486", _SDK),
    ),
    Rule(
        "GE-03",
        "The parts of a content are not empty.",
        "Leave the content out.",
        error="* GenerateContentRequest.contents[0].parts: contents.parts must not be "
        "empty.",
        sources=("coze-dev/coze-studio#46",),
    ),
    Rule(
        "GE-04",
        "A part has exactly one data field, and no empty text (an empty text with a "
        "thoughtSignature is fine).",
        "Split or remove the part.",
        error="Unable to submit request because it has an empty text parameter.",
        sources=("glowingjade/obsidian-smart-composer#218", _SDK),
    ),
    Rule(
        "GE-05",
        "A function call turn comes right after a user or function response turn, and "
        "never first.",
        "Keep the user turn before the call, or drop the call with its response.",
        error="Please ensure that function call turn comes immediately after a user "
        "turn or after a function response turn.",
        sources=("google-gemini/gemini-cli#11814", "google-gemini/gemini-cli#26486"),
    ),
    Rule(
        "GE-06",
        "A function response turn comes right after a function call turn, in one "
        "content.",
        "Put all responses into the content right behind the calls, or drop them.",
        error="Please ensure that function response turn comes immediately after a "
        "function call turn.",
        sources=("langchain-ai/langchain#27799", "google-gemini/gemini-cli#26956"),
    ),
    Rule(
        "GE-07",
        "The next content has as many functionResponse parts as there are functionCall "
        "parts.",
        "Send one response for each call, in the content right behind the calls.",
        error="Please ensure that the number of function response parts is equal to "
        "the number of function call parts of the function call turn.",
        sources=(
            "google-gemini/gemini-cli#3814",
            "microsoft/vscode#299295",
            "microsoft/vscode-copilot-chat#4628",
        ),
    ),
    Rule(
        "GE-08",
        "A functionResponse has a name, and an object as response.",
        "Complete the response.",
        error="..function_response.name: Name cannot be empty.",
        sources=("xinnan-tech/xiaozhi-esp32-server#3287",),
    ),
    Rule(
        "GE-09",
        "A functionCall has a name, and an object as args.",
        "Complete the call.",
        sources=(_SDK,),
    ),
    Rule(
        "GE-11",
        "In the current turn the first functionCall of each step has its "
        "thoughtSignature.",
        "Send the signature that came with the call, or the value "
        '"skip_thought_signature_validator".',
        error="Function call is missing a thought_signature in functionCall parts.",
        sources=(
            _SIGNATURES,
            (
                "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/"
                "thought-signatures"
            ),
            "simonw/llm-gemini#119",
        ),
        models="Gemini 3 and later, except image models",
    ),
    Rule(
        "GE-12",
        "A single content is no model turn, and the list does not end on one.",
        "End with a user turn.",
        error="Requests ending with a model turn are not supported.",
        sources=("microsoft/semantic-kernel#13288", "live probe"),
        models="a single content: all; the end of a list: Gemini 3.6 and later",
    ),
    Rule(
        "GE-13",
        "A request that names cached content sends no systemInstruction, tools or "
        "toolConfig of its own.",
        "Leave them out, or put them into the cached content.",
        error="CachedContent can not be used with GenerateContent request setting "
        "system_instruction, tools or tool_config.",
        sources=("https://ai.google.dev/gemini-api/docs/caching",),
    ),
    Rule(
        "GX-01",
        "A kept functionCall keeps the signature it had, unchanged, on its part.",
        "Send the part exactly as it came.",
        error="Corrupted thought signature.",
        sources=("earendil-works/pi#471", _SIGNATURES),
        edit=True,
    ),
    Rule(
        "GE-s1",
        "The list does not end on a call without a response.",
        "Add the response.",
        sources=("Gemini's API reference",),
    ),
    Rule(
        "GE-s2",
        "Names and ids of responses are those of the calls.",
        "Copy name and id from the call.",
        sources=("Gemini's API reference",),
    ),
    Rule(
        "GE-s3",
        "A functionResponse does not share its content with text.",
        "Put the text into a content of its own behind it.",
        sources=("NousResearch/hermes-agent#79791",),
    ),
    Rule(
        "GE-s4",
        "`systemInstruction` is text only.",
        "Move other parts into a user content.",
        sources=("Gemini's API reference",),
    ),
    Rule(
        "GE-s5",
        "The list does not end on a model turn (older models accept it).",
        "End with a user turn, or name the model.",
        sources=("live probe",),
    ),
    Rule(
        "GE-s6",
        "Calls of the current turn have their thoughtSignature; here the model is "
        "unknown.",
        "Send the signature that came with the call, or name the model.",
        sources=(_SIGNATURES,),
    ),
)
