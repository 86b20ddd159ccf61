"""Claude's messages, as its API and the files of Claude Code have them."""
