"""The rules of Bedrock's Converse API: data only, checked in `_bedrock.py`."""

from __future__ import annotations

from .._base import Rule, by_number
from .._preserved import PRESERVED

_CORE = "botocore 1.44.8"

RULES = by_number(
    Rule(
        "BR-01",
        "There are messages, and their role is user or assistant (or system).",
        "Send at least one message with the role user or assistant.",
        sources=(f"{_CORE}, ConversationRole",),
    ),
    Rule(
        "BR-02",
        "The first message is the user's.",
        "Start with a user message, and send system text as `system`.",
        error="A conversation must start with a user message. Try again with a "
        "conversation that starts with a user message.",
        sources=("anthropics/anthropic-sdk-typescript#622",),
    ),
    Rule(
        "BR-03",
        "User and assistant messages alternate.",
        "Join messages of one role in a row.",
        error="A conversation must alternate between user and assistant roles.",
        sources=("langchain-ai/langchainjs#6724",),
    ),
    Rule(
        "BR-04",
        "Content is a non-empty array.",
        "Leave the message out, or give it a block.",
        error="The content field in the Message object at messages.N is empty.",
        sources=("archestra-ai/archestra#4220",),
    ),
    Rule(
        "BR-05",
        "No text is blank: empty, or white space only.",
        "Remove the block.",
        error="The text field in the ContentBlock object at messages.95.content.0 is "
        "blank. Add text to the text field, and try again.",
        sources=(
            "aws/bedrock-agentcore-sdk-python#185",
            "NousResearch/hermes-agent#67978",
            "OpenHands/OpenHands#5339",
        ),
    ),
    Rule(
        "BR-06",
        "All toolResults of a turn stand in the one next user message.",
        "Put a toolResult for each toolUse into the next user message, or drop the "
        "toolUse together with its other results.",
        error="Expected toolResult blocks at messages.2.content for the following Ids: "
        "tooluse_..",
        sources=("camel-ai/camel#3957",),
    ),
    Rule(
        "BR-07",
        "No toolResult stands without a toolUse in the previous turn.",
        "Drop the toolResult, or bring back the message with its toolUse.",
        error="The number of toolResult blocks at messages.N.content exceeds the "
        "number of toolUse blocks of previous turn.",
        sources=("strands-agents/harness-sdk#1435", "pydantic/pydantic-ai#2327"),
    ),
    Rule(
        "BR-08",
        "Ids of toolUse and toolResult blocks are unique in a message.",
        "Keep one of the blocks, or give each call an id of its own.",
        error="The toolUse blocks at messages.2.content contain duplicate Ids: ..",
        sources=("bvcyber/Cyber-AutoAgent-ng#72",),
    ),
    Rule(
        "BR-09",
        "toolUseId matches `[a-zA-Z0-9_.:-]{1,64}`, the name `[a-zA-Z0-9_-]{1,64}`, "
        "and the input is there.",
        "Rewrite the id (in the call and in its result alike) or the name.",
        error="pattern error",
        sources=(f"{_CORE}, ToolUseId and ToolName",),
    ),
    Rule(
        "BR-10",
        "toolConfig is defined when the history holds tool blocks.",
        "Send the tool definitions as long as the list holds calls.",
        error="The toolConfig field must be defined when using toolUse and toolResult "
        "content blocks.",
        sources=("vxcontrol/pentagi#196", "langgenius/dify#17545"),
    ),
    Rule(
        "BR-11",
        "toolUse stands in assistant messages; toolResult, images and documents in "
        "user messages.",
        "Move the block to a message of the right role.",
        sources=(f"{_CORE}, Message",),
    ),
    Rule(
        "BR-12",
        "A document has a text block in the same message.",
        "Add a text block to the message.",
        error="A text block must be included when using documents.",
        sources=("archestra-ai/archestra#4220", _CORE),
    ),
    Rule(
        "BR-13",
        "The content of a toolResult is an array, and not empty with status error.",
        "Say in a text block what the result was.",
        error="The content field at messages.<n>.content.0.toolResult cannot be empty "
        "when status value is error.",
        sources=("aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15",),
    ),
    Rule(
        "BR-14",
        "A block has one member: text, or an object.",
        "Split it into one block for each member, each of its own type.",
        error="union error",
        sources=(f"{_CORE} (union)",),
    ),
    Rule(
        "BR-19",
        "A system block is one of text (not empty), guardContent and cachePoint.",
        "Remove the block, or send it as text.",
        error="min length 1",
        sources=(f"{_CORE}, SystemContentBlock and NonEmptyString",),
    ),
    Rule(
        "BX-01",
        "Reasoning text and its signature go back unmodified.",
        "Send the block exactly as it came, or leave it out.",
        sources=(f"{_CORE}, ReasoningTextBlock.signature",),
        edit=True,
    ),
    PRESERVED,
    Rule(
        "BR-s1",
        "A message has at most 20 images and 5 documents.",
        "Strip some, or spread them over more turns.",
        sources=("Bedrock's documentation; models differ",),
    ),
    Rule(
        "BR-s2",
        "Tool blocks do not share a message with text.",
        "Move the text into a message of its own.",
        error="Conversation blocks and tool result blocks cannot be provided in the "
        "same turn",
        sources=(
            "strands-agents/harness-sdk#1223",
            "langchain-ai/langchain-aws#141",
            "quarkiverse/quarkus-langchain4j#1983",
        ),
        models="Llama, Mistral and Cohere on Bedrock",
    ),
    Rule(
        "BR-s3",
        "The list does not end on an assistant message.",
        "End with a user message.",
        sources=("as Anthropic's prefill rule",),
    ),
    Rule(
        "BR-s4",
        "No system message stands in the list.",
        "Move the text into `system`.",
        sources=(f"{_CORE}, ConversationRole",),
    ),
    Rule(
        "BR-s5",
        "There are at most 4 cache points.",
        "Remove the oldest ones.",
        sources=("Bedrock's documentation of prompt caching",),
    ),
    Rule(
        "BR-s6",
        "toolConfig is defined when the history holds tool blocks; here it is unknown "
        "whether it is.",
        "Send the tool definitions as long as the list holds calls.",
        sources=("vxcontrol/pentagi#196",),
    ),
    Rule(
        "BR-s7",
        "Reasoning stands in assistant messages.",
        "Leave it out of other messages.",
        sources=(_CORE,),
    ),
)
