"""Mending what no provider would take."""

from ._content import Change
from ._repair import Close, RepairReport, repair_messages

__all__ = ["Change", "Close", "RepairReport", "repair_messages"]
