"""Answers of providers: one file for each shape, whole or as the chunks of a stream.

The table of providers says whose answers have which shape. What a shape's file does is
little: it finds the messages in an answer, and makes the answer out of its chunks. The
messages are then read by the provider's format like any other.
"""

from ._read import Answer, answer_of, is_whole, join_chunks

__all__ = ["Answer", "answer_of", "is_whole", "join_chunks"]
