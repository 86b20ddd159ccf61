"""The one mutable thing: a conversation, its calls, its windows.

Not public under this name: import them from `turnkeep`.
"""

from ._async import AsyncConversation
from ._calls import CallState, PendingCall
from ._conversation import Conversation
from ._following import Synced
from ._learning import Observation
from ._many import Conversations
from ._stream import ResponseStream
from ._window import Window

__all__ = [
    "AsyncConversation",
    "CallState",
    "Conversation",
    "Conversations",
    "Observation",
    "PendingCall",
    "ResponseStream",
    "Synced",
    "Window",
]
