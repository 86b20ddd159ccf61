"""The session files of Claude Code."""

from ._format import ClaudeCode

__all__ = ["ClaudeCode"]
