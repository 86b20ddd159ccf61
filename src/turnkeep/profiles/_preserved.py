"""A rule that Anthropic's models have wherever they are served."""

from __future__ import annotations

from ._base import Rule

_DOCS = "https://platform.claude.com/docs/en/build-with-claude/"

PRESERVED = Rule(
    "AE-03",
    "A kept thinking block is valid only while system, tools and every message before "
    "it are unchanged; a leading run of thinking blocks may go, one from the middle "
    "may not.",
    "Strip every thinking block behind the first change, keep none from before a "
    "stripped one, or set thinking.block_binding.prefix_mismatch_behavior to "
    '"drop_block".',
    error="messages.1.content.0: Invalid `signature` in `thinking` block. The block is "
    "bound to a different conversation.",
    sources=(
        f"{_DOCS}preserved-thinking",
        (
            "https://docs.aws.amazon.com/bedrock/latest/userguide/"
            "claude-messages-thinking-block-binding.md"
        ),
    ),
    edit=True,
    models="Fable 5.1 and 5.2, Mythos 5.2, Opus, Sonnet and Haiku 5.5",
)
"""Bedrock's Claude models demand it as well."""
