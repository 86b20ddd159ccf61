"""Mending what no provider would take."""

from ._content import Change
from ._repair import Close, Repair, repair_messages

__all__ = ["Change", "Close", "Repair", "repair_messages"]
