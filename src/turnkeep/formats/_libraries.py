"""Messages of other libraries, told by keys and types that no format here has.

They look enough like somebody's chat to be read wrongly: what holds a call would be
taken for text, and its result for an orphan. So each is named and refused, wherever no
format reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Entry = Mapping[str, Any]

_PACKAGES: Final = {
    "agents": "openai-agents",
    "agent_framework": "the Microsoft Agent Framework",
    "autogen_agentchat": "AutoGen",
    "autogen_core": "AutoGen",
    "crewai": "CrewAI",
    "haystack": "Haystack",
    "langchain_core": "LangChain",
    "llama_index": "LlamaIndex",
    "pydantic_ai": "Pydantic AI",
    "semantic_kernel": "Semantic Kernel",
    "smolagents": "smolagents",
}
"""Packages whose objects these are."""

READERS: Final = {
    "Codex sessions": "codex",
    "Google ADK events": "adk",
    "goose": "goose",
    "LangChain": "langchain",
    "OpenTelemetry": "otel-genai",
    "Pydantic AI": "pydantic-ai",
}
"""The formats of those that are read where they stand by themselves."""

_AI_SDK: Final = frozenset(
    {
        "tool-call",
        "tool-result",
        "tool-approval-request",
        "tool-approval-response",
        "tool-error",
        "tool-invocation",
        "dynamic-tool",
        "step-start",
        "source-url",
        "source-document",
        "reasoning-file",
    }
)
_LANGCHAIN: Final = frozenset(
    {
        "human",
        "ai",
        "HumanMessage",
        "HumanMessageChunk",
        "AIMessage",
        "AIMessageChunk",
        "SystemMessageChunk",
        "ToolMessage",
        "ToolMessageChunk",
        "ChatMessage",
        "RemoveMessage",
        "remove",
    }
)
_LANGCHAIN_KEYS: Final = frozenset({"additional_kwargs", "response_metadata"})
_LANGCHAIN_LIKE: Final = frozenset({"system", "tool", "function", "chat"})
"""Types that sessions of other programs have as well."""

_AUTOGEN: Final = frozenset(
    {
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "FunctionExecutionResultMessage",
        "TextMessage",
        "MultiModalMessage",
        "StopMessage",
        "HandoffMessage",
        "ToolCallRequestEvent",
        "ToolCallExecutionEvent",
        "ToolCallSummaryMessage",
    }
)
_SMOLAGENTS: Final = frozenset({"tool-call", "tool-response"})
_GOOSE: Final = frozenset({"toolRequest", "toolResponse", "toolConfirmationRequest"})
_HAYSTACK: Final = frozenset({"tool_call", "tool_call_result", "text"})
_PARTS: Final = ("content", "parts", "items", "blocks")


_FILES: Final = {
    "Inspect": ({"epoch", "messages", "target"}, {"eval", "samples"}),
    "Continue": ({"history", "workspaceDirectory"},),
    "Open WebUI": ({"chat", "user_id"},),
    "Zed": ({"detailed_summary", "messages"},),
    "Cline": ({"version", "updated_at", "agent", "sessionId", "messages"},),
    "LangSmith": ({"run_type", "dotted_order"},),
    "LangGraph": ({"values", "checkpoint"}, {"values", "next", "tasks"}),
    "Langfuse": ({"observations", "id"},),
    "Strands": ({"message", "message_id", "redact_message"},),
}
"""Programs that keep or export whole files, and sets of keys that only those have."""

_ROO: Final = ("condenseParent", "condenseId", "truncationParent", "truncationId")


def file_of(value: Any) -> tuple[str, str] | None:
    """The program whose file or export *value* is, and the keys that say so.

    >>> file_of({"run_type": "llm", "dotted_order": "1"})
    ('LangSmith', "the keys 'dotted_order' and 'run_type'")
    """
    if not isinstance(value, dict):
        return None
    for program, signs in _FILES.items():
        for sign in signs:
            if sign <= value.keys():
                *names, last = (repr(name) for name in sorted(sign))
                return program, f"the keys {', '.join(names)} and {last}"
    return None


def library_of(entry: Any) -> tuple[str, str] | None:
    """The library that *entry* is a message of, and the mark that says so.

    >>> library_of({"type": "human", "content": "hi"})
    ('LangChain', "type 'human'")
    >>> library_of({"role": "user", "content": "hi"}) is None
    True
    """
    if not isinstance(entry, dict):
        name = _PACKAGES.get(type(entry).__module__.partition(".")[0])
        return None if name is None else (name, f"a {type(entry).__name__} object")
    return _by_keys(entry) or _by_type(entry) or _by_parts(entry)


def _by_keys(entry: Entry) -> tuple[str, str] | None:
    """By keys of the entry itself."""
    keys = entry.keys()
    if {"lc", "kwargs"} <= keys:
        return "LangChain", "the key 'lc'"
    if "toolInvocations" in keys:
        return "the AI SDK", "the key 'toolInvocations'"
    if keys & {"_role", "_content"}:
        return "Haystack", "the key '_content'"
    if {"blocks", "additional_kwargs"} <= keys:
        return "LlamaIndex", "the key 'blocks'"
    if keys & {"model_input_messages", "tool_calls"} and "step_number" in keys:
        return "smolagents", "the key 'step_number'"
    if "items" in keys and "content_type" in keys:
        return "Semantic Kernel", "the key 'content_type'"
    if (mark := next((key for key in _ROO if key in keys), None)) is not None:
        # It hides messages, which a reader of the provider's format would count.
        return "Roo Code", f"the key {mark!r}"
    if {"payload", "timestamp", "type"} <= keys:
        return "Codex sessions", "the key 'payload'"
    if "author" in keys and keys & {"invocationId", "invocation_id"}:
        return "Google ADK events", "the key 'author'"
    role = entry.get("role")
    if isinstance(role, str) and role in _SMOLAGENTS:
        return "smolagents", f"role {role!r}"
    if isinstance(role, str) and "function" in keys and "source" in keys:
        return "Inspect", "the keys 'function' and 'source'"
    return None


def _by_type(entry: Entry) -> tuple[str, str] | None:
    """By the type that the entry says it has."""
    kind, keys = entry.get("type"), entry.keys()
    if not isinstance(kind, str):
        return None
    words = f"type {kind!r}"
    if kind in _AUTOGEN and ("source" in keys or kind.endswith("ResultMessage")):
        return "AutoGen", words
    if kind == "SystemMessage" and keys <= {"type", "content"}:
        return "AutoGen", words
    if "role" in keys and kind not in _LANGCHAIN:
        is_agent = kind == "chat_message" or (kind == "message" and "contents" in keys)
        return ("the Microsoft Agent Framework", words) if is_agent else None
    says = keys & {"content", "data"}
    if kind in _LANGCHAIN and (says or kind in ("remove", "RemoveMessage")):
        return "LangChain", words
    if kind in _LANGCHAIN_LIKE and (keys & _LANGCHAIN_KEYS or keys == {"type", "data"}):
        return "LangChain", words
    return None


def _by_parts(entry: Entry) -> tuple[str, str] | None:
    """By what its content is made of."""
    for key in _PARTS:
        parts = entry.get(key)
        if not isinstance(parts, (list, tuple)):
            continue
        for part in parts:
            if isinstance(part, dict) and (found := _by_part(entry, key, part)):
                return found
    return None


def _by_part(entry: Entry, key: str, part: Entry) -> tuple[str, str] | None:
    if "part_kind" in part:
        return "Pydantic AI", "the key 'part_kind'"
    if "block_type" in part:
        return "LlamaIndex", "the key 'block_type'"
    if {"meta", "name"} <= entry.keys() and part.keys() <= _HAYSTACK:
        return "Haystack", "the keys 'meta' and 'name'"
    if part.keys() & {"tool_call", "tool_call_result"} and key == "content":
        return "Haystack", "a part with a call or a result of one"
    kind = part.get("type")
    if not isinstance(kind, str):
        return None
    words = f"a part of type {kind!r}"
    if kind in _AI_SDK or "providerOptions" in part or "providerMetadata" in part:
        return "the AI SDK", words
    if kind in _GOOSE:
        return "goose", words
    if key == "parts" and "role" in entry:
        if kind in ("text", "reasoning") and "text" in part:
            return "the AI SDK", words
        if kind.startswith(("tool-", "data-")):
            return "the AI SDK", words
        return "OpenTelemetry", words
    return None
