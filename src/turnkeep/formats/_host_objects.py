"""Messages of frameworks, which know how to write and read themselves as JSON.

Nothing is imported here: whoever has such an object has loaded its package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, Protocol


class Host(Protocol):
    """What one framework's messages are read and made by."""

    def dump(self, value: Any) -> Any:
        """*value* as JSON; may raise whatever the framework raises."""
        ...

    def make(self, entry: Any, own: Any) -> Any:
        """The message that *entry* says; *entry* itself where that cannot be.

        Args:
            entry:
                JSON, as this framework's format has it.
            own:
                The caller's message in whose place it stands; none for a new one.
        """
        ...


class _LangChain:
    """`BaseMessage`: pydantic models, told apart by their `type`."""

    def dump(self, value: Any) -> Any:
        # An artifact may be any Python object, and no provider is sent it.
        return value.model_dump(mode="json", exclude_none=True, exclude={"artifact"})

    def make(self, entry: Any, own: Any) -> Any:
        messages = sys.modules["langchain_core.messages"]
        try:
            # A new message is written as `messages_to_dict` writes it.
            fields = entry.get("data", entry)
            if own is None:
                return messages.convert_to_messages([fields])[0]
            made = type(own).model_validate(fields)
            before = self.dump(own)
            changed = [key for key in fields if fields[key] != before.get(key)]
            return own.model_copy(update={key: getattr(made, key) for key in changed})
        except Exception:  # noqa: BLE001 - foreign code may raise anything
            return entry


class _PydanticAi:
    """`ModelRequest` and `ModelResponse`: dataclasses, which an adapter reads."""

    def dump(self, value: Any) -> Any:
        adapter = sys.modules["pydantic_ai.messages"].ModelMessagesTypeAdapter
        return adapter.dump_python([value], mode="json")[0]

    def make(self, entry: Any, own: Any) -> Any:
        del own
        adapter = sys.modules["pydantic_ai.messages"].ModelMessagesTypeAdapter
        try:
            return adapter.validate_python([entry])[0]
        except Exception:  # noqa: BLE001 - foreign code may raise anything
            return entry


_PYDANTIC_AI: Final = _PydanticAi()
_HOSTS: Final[dict[tuple[str, str], Host]] = {
    ("langchain_core", "BaseMessage"): _LangChain(),
    ("pydantic_ai", "ModelRequest"): _PYDANTIC_AI,
    ("pydantic_ai", "ModelResponse"): _PYDANTIC_AI,
}
"""By package and base class of its messages: how they are read and made."""


def host_of(value: Any) -> Host | None:
    """The framework whose message *value* is, if any."""
    for base in type(value).__mro__:
        found = _HOSTS.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found
    return None


def host_of_all(values: Sequence[Any]) -> Host | None:
    """The framework that every one of *values* is a message of; none where one is not.

    Looks at no more than the first that is none.
    """
    if not values:
        return None
    host = host_of(values[0])
    if host is None or any(host_of(value) is not host for value in values[1:]):
        return None
    return host
