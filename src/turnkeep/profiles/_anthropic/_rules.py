"""The rules of Anthropic's Messages API: data only, checked in `_anthropic.py`."""

from __future__ import annotations

from .._base import Rule, by_number
from .._preserved import PRESERVED
from .._shared import LIVE, SHAPES

_SDK = "anthropic SDK 2.14.0"
_DOCS = "https://platform.claude.com/docs/en/build-with-claude/"
_AGENTS = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/"
_PAIR = (
    "messages.167: `tool_use` ids were found without `tool_result` blocks immediately "
    "after: toolu_... Each `tool_use` block must have a corresponding `tool_result` "
    "block in the next message."
)

RULES = by_number(
    Rule(
        "AN-01",
        "There are 1 to 100,000 messages.",
        "Send at least one message, and at most 100,000.",
        error="messages: at least one message is required",
        sources=(_SDK,),
    ),
    Rule(
        "AN-02",
        "The role is user, assistant or system.",
        "Send instructions as system text and tool results as blocks of a user "
        "message.",
        sources=(_SDK,),
    ),
    Rule(
        "AN-03",
        "A system message inside the list is not first, follows a user message or an "
        "assistant message that ends in a server tool's result, precedes an assistant "
        "message or ends the list, is text only, and needs Opus 4.8 or a later model. "
        "The directive form (empty content with output_config) may stand anywhere.",
        "Move the text into the `system` field, or behind a user message.",
        error="messages.67: role 'system' must precede an 'assistant' message or end "
        "the array",
        sources=(
            "anthropics/claude-code#73821",
            LIVE,
            f"{_DOCS}mid-conversation-system-messages",
            "https://docs.rs/gproxy-transform/2.5.2/",
        ),
    ),
    Rule(
        "AN-05",
        "User content is not empty, content is never null, and a system message has "
        "text.",
        "Give the message text or blocks, or leave it out.",
        error="user messages must have non-empty content",
        sources=(SHAPES, "anthropics/claude-code#6774"),
    ),
    Rule(
        "AN-06",
        "No text block is empty, in any role and any place, also in `system`.",
        "Remove the empty block.",
        error="messages: text content blocks must be non-empty",
        sources=(SHAPES, LIVE, "anthropics/claude-code#59812"),
    ),
    Rule(
        "AN-07",
        "A message has more than white-space text as its only content.",
        "Give the message text, or leave it out.",
        error="messages: text content blocks must contain non-whitespace text",
        sources=("LibreChat-AI/agents#124", SHAPES),
    ),
    Rule(
        "AN-08",
        "The last assistant message, when the request ends on it, does not end in "
        "white space.",
        "Strip the white space at the end of its text.",
        error="messages: final assistant content cannot end with trailing whitespace",
        sources=("tailcallhq/forgecode#1872", "langchain-ai/langchain#35073"),
    ),
    Rule(
        "AN-09",
        "The request does not end on an assistant message.",
        "End with a user message.",
        error="This model does not support assistant message prefill. The conversation "
        "must end with a user message.",
        sources=(
            "ericc-ch/copilot-api#261",
            LIVE,
            "https://platform.claude.com/docs/en/api/errors#prefill-not-supported",
        ),
        models="Opus and Sonnet 4.6 and later, the 5 family, Fable, Mythos",
    ),
    Rule(
        "AN-10",
        "Each tool_use of a turn is answered by a tool_result in the next user turn "
        "(messages of one role in a row count as one turn).",
        "Put a tool_result for each call at the start of the next user message, or "
        "drop the call together with its other results.",
        error=_PAIR,
        sources=(
            "anthropics/claude-code#8210",
            "UKGovernmentBEIS/inspect_ai#3108",
            "OpenHands/OpenHands#7512",
            SHAPES,
        ),
    ),
    Rule(
        "AN-11",
        "Each tool_result answers a tool_use of the assistant turn right before it.",
        "Drop the result, or bring back the assistant message that made the call.",
        error="messages.0.content.0: unexpected `tool_use_id` found in `tool_result` "
        "blocks: toolu_... Each `tool_result` block must have a corresponding "
        "`tool_use` block in the previous message.",
        sources=("anthropics/claude-code#18947", "anthropics/claude-code#25959"),
    ),
    Rule(
        "AN-12",
        "The results are the leading run of their user turn: anything before or "
        "between them ends the run.",
        "Move the tool_result blocks in front of everything else in the turn.",
        error=_PAIR,
        sources=(SHAPES, "Anthropic's page on handling tool calls"),
    ),
    Rule(
        "AN-13",
        "The ids of tool_use blocks are unique inside a turn.",
        "Give each call an id of its own.",
        error="messages.1.content.1: `tool_use` ids must be unique",
        sources=("anthropics/claude-code#28515", "anthropics/claude-code#20901"),
    ),
    Rule(
        "AN-14",
        "Each tool_use has one result.",
        "Keep one of the results and drop the others.",
        error="each tool_use must have a single result. Found multiple `tool_result` "
        "blocks with id: toolu_..",
        sources=("vectorize-io/hindsight#4250", "QwenLM/qwen-code#8163"),
    ),
    Rule(
        "AN-15",
        "Ids of calls match `[a-zA-Z0-9_-]+`, those of server tools `[a-zA-Z0-9_]+`.",
        "Rewrite the id, in the call and in its result alike.",
        error="messages.1.content.0.tool_use.id: String should match pattern "
        "'^[a-zA-Z0-9_-]+$'",
        sources=("Anthropic's error text",),
    ),
    Rule(
        "AN-16",
        "tool_use and thinking stand in assistant messages, tool_result in user "
        "messages; a tool_use has a name and an object as input.",
        "Move the block to a message of the right role, or complete it.",
        sources=(_SDK, "Anthropic's documentation of tool use"),
    ),
    Rule(
        "AN-17",
        "A thinking block has its thinking and its signature, a redacted one its data.",
        "Send the block as it came, or leave it out whole.",
        error="..thinking.signature: Field required",
        sources=(_SDK,),
    ),
    Rule(
        "AN-18",
        "With thinking enabled, the assistant turn of the tool round in progress (or "
        "the assistant message to continue) opens with thinking.",
        "Send the thinking block that came with the call, or switch thinking off (or "
        "to adaptive) for this request.",
        error="messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, "
        "but found `tool_use`. When `thinking` is enabled, a final `assistant` message "
        "must start with a thinking block.",
        sources=(
            "openai/openai-agents-python#1704",
            "pydantic/pydantic-ai#2075",
            f"{_DOCS}adaptive-thinking",
        ),
        models="requests with thinking.type = enabled",
    ),
    Rule(
        "AN-19",
        "The last message does not end in a thinking block.",
        "Leave the block out, or keep what came behind it.",
        error="messages.2: The final block in an assistant message cannot be "
        "`thinking`.",
        sources=(SHAPES,),
    ),
    Rule(
        "AN-20",
        "At most 4 blocks carry cache_control, over tools, system and messages, parts "
        "of results included.",
        "Remove cache_control from the oldest blocks.",
        error="A maximum of 4 blocks with cache_control may be provided. Found 5.",
        sources=("continuedev/continue#6937", "GEMISIS/leviath#12", LIVE),
    ),
    Rule(
        "AN-21",
        "Thinking blocks carry no cache_control.",
        "Put the mark on the block before or behind it.",
        sources=(_SDK, f"{_DOCS}prompt-caching"),
    ),
    Rule(
        "AN-22",
        "A request has at most 600 images and 32 MB; no side of an image is longer "
        "than 8,000 pixels, or 2,000 when there are more than 20 images.",
        "Strip the oldest images, or send smaller ones.",
        sources=(f"{_DOCS}vision.md",),
    ),
    Rule(
        "AN-23",
        "A history with tool_use or tool_result blocks needs `tools`.",
        "Send the tool definitions as long as the list holds calls.",
        error="Requests which include `tool_use` or `tool_result` blocks must define "
        "tools.",
        sources=("Anthropic's error text",),
    ),
    Rule(
        "AN-24",
        "Names of tools match `[a-zA-Z0-9_-]{1,128}`.",
        "Rename the tool.",
        sources=('Anthropic\'s page "define tools"',),
    ),
    Rule(
        "AN-25",
        "The parts of a tool_result are text, image, document, search_result, "
        "tool_reference or browser_state.",
        "Send the part as text, or leave it out.",
        sources=(_SDK,),
    ),
    Rule(
        "AN-26",
        "`system` is text or text blocks.",
        "Send text blocks only.",
        sources=(_SDK,),
    ),
    Rule(
        "AN-27",
        "A result with is_error has content.",
        "Say in a few words what failed.",
        error="content cannot be empty if is_error is true",
        sources=("Anthropic's error text",),
    ),
    Rule(
        "AN-28",
        "The result of a server tool stands behind its server_tool_use, in the same "
        "assistant message or a later one; a server_tool_use of a finished message has "
        "its result; and the caller of a call is a server_tool_use that is there.",
        "Keep the server_tool_use, its result and the calls it made together.",
        error="messages.7.content.0: unexpected `tool_use_id` found in "
        "`advisor_tool_result` blocks: srvtoolu_... Each `advisor_tool_result` block "
        "must have a corresponding `server_tool_use` block before it.",
        sources=(
            "anthropics/claude-code#64383",
            "anthropics/anthropic-sdk-typescript#1090",
            "anthropics/anthropic-sdk-typescript#841",
        ),
    ),
    Rule(
        "AN-30",
        "A cache_control on the request itself takes one of the 4 places, and lives as "
        "long as the mark of the last block, if that has one.",
        "Remove it, or the cache_control of the oldest block.",
        error="A maximum of 4 blocks with cache_control may be provided. Found 5.",
        sources=(f"{_DOCS}prompt-caching",),
    ),
    Rule(
        "AN-31",
        "Every cache mark of an hour stands before every one of 5 minutes, over tools, "
        "system and messages.",
        'Give the earlier marks `ttl: "1h"` too, or leave the `ttl` of this one out.',
        sources=(f"{_DOCS}prompt-caching", "headroomlabs-ai/headroom#2939"),
    ),
    Rule(
        "AN-32",
        "While a server's tool is open beside client calls, the next user turn holds "
        "tool results alone, and the waiting tool stays in `tools`.",
        "Send the text after the server's result, and offer the same tools until then.",
        error=".. was found without a corresponding .. block",
        sources=(f"{_AGENTS}server-tools",),
    ),
    Rule(
        "AN-33",
        "A tool_reference names a tool of `tools`; not all tools are deferred, and no "
        "deferred one carries cache_control.",
        "Offer the tool that was found, one tool at least without defer_loading, and "
        "put the mark on another tool.",
        error="Tool reference 'x' has no corresponding tool definition",
        sources=(f"{_AGENTS}server-tools",),
    ),
    Rule(
        "AN-34",
        "`encrypted_content` and `encrypted_index` of search results go back as they "
        "came.",
        "Send the result exactly as it came, or leave the whole pair out.",
        sources=(f"{_AGENTS}web-search-tool",),
    ),
    Rule(
        "AN-35",
        "Blocks are objects with a type, and text blocks have a text.",
        "Complete the block, or leave it out.",
        error="messages.0.content.0.type: Field required",
        sources=(_SDK,),
    ),
    Rule(
        "AE-01",
        "Thinking blocks go back byte for byte and in order.",
        "Send the block exactly as it came, or leave it out.",
        error="messages.5.content.3: `thinking` or `redacted_thinking` blocks in the "
        "latest assistant message cannot be modified. These blocks must remain as they "
        "were in the original response.",
        sources=("anthropics/claude-code#63574", _SDK),
        edit=True,
    ),
    Rule(
        "AE-02",
        "The tool round in progress keeps its thinking whole.",
        "Keep the thinking of the last message with calls until its results are "
        "answered; earlier rounds may leave whole.",
        error="messages.5.content.3: `thinking` or `redacted_thinking` blocks in the "
        "latest assistant message cannot be modified.",
        sources=(
            "Anthropic's page \"Don't compact between tool_use and tool_result\"",
        ),
        edit=True,
    ),
    PRESERVED,
    Rule(
        "AN-s1",
        "The first message is the user's.",
        "Start with a user message.",
        error='messages: first message must use the "user" role',
        sources=("anthropics/anthropic-sdk-typescript#622", LIVE),
    ),
    Rule(
        "AN-s2",
        "No assistant message in the middle is empty.",
        "Leave the message out.",
        error="all messages must have non-empty content except for the optional final "
        "assistant message",
        sources=(SHAPES, "zypher-agent#122"),
    ),
    Rule(
        "AN-s3",
        "No text block beside other blocks is white space only.",
        "Remove the block.",
        sources=("LibreChat-AI/agents#124",),
    ),
    Rule(
        "AN-s4",
        "No text inside a tool_result is empty.",
        "Remove the part, or say that there was no output.",
        sources=(SHAPES,),
    ),
    Rule(
        "AN-s5",
        "System messages do not stand in a row.",
        "Join them into one.",
        sources=(f"{_DOCS}mid-conversation-system-messages",),
    ),
    Rule(
        "AN-s6",
        "A request has at most 100 images.",
        "Strip the oldest images.",
        sources=(f"{_DOCS}vision.md",),
        models="models with a window of 200,000 tokens",
    ),
    Rule(
        "AN-s7",
        "A history with tool blocks needs `tools`; here it is unknown whether they "
        "are sent.",
        "Send the tool definitions as long as the list holds calls.",
        sources=("Anthropic's error text",),
    ),
    Rule(
        "AN-s8",
        "The id of a call is not used again in a later turn.",
        "Give each call an id of its own.",
        sources=("anthropics/claude-code#20901",),
    ),
    Rule(
        "AN-s10",
        "The request does not end on an assistant message, when the model is unknown.",
        "End with a user message, or name the model.",
        sources=("ericc-ch/copilot-api#261",),
    ),
    Rule(
        "AN-s11",
        "With thinking enabled, the newest message of an interleaved tool round opens "
        "with thinking as well.",
        "Send the thinking that came with it.",
        sources=(f"{_DOCS}adaptive-thinking",),
    ),
    Rule(
        "AN-s12",
        "Ids of server tools begin with `srvtoolu_`.",
        "Send the id that the API gave.",
        sources=("Anthropic's error text",),
    ),
    Rule(
        "AE-s1",
        "The tool round in progress keeps its thinking, also where thinking is not "
        "enabled (adaptive thinking is lenient).",
        "Keep all thinking of the round until its last result is answered.",
        sources=(f"{_DOCS}adaptive-thinking",),
        edit=True,
    ),
    Rule(
        "AE-s2",
        "A kept thinking block stands behind an unchanged prefix, also for models that "
        "are not listed as checking it.",
        "Strip every thinking block behind the first change.",
        sources=(f"{_DOCS}preserved-thinking",),
        edit=True,
    ),
)
