"""What the formats of session files share: a reader's result, and its notes."""
