"""Conversation history that fits its context window."""
