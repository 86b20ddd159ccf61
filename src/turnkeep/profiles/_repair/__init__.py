"""Repairs of histories that a provider would refuse."""

from ._content import Change
from ._repair import Close, Repair, repair_messages

__all__ = ["Change", "Close", "Repair", "repair_messages"]
