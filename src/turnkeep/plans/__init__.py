"""What a strategy may propose, and what the engine decided and why."""

from ._decisions import Action, Decision, Decisions, Inserted, Refused, Run
from ._edits import (
    Batch,
    Cause,
    Cover,
    Drop,
    Edit,
    Insert,
    Note,
    Replace,
    Reserve,
    Unit,
)
from ._figures import plan_figures
from ._plan import Edited, Order, Plan, PlanSource, memory_of

__all__ = [
    "Action",
    "Batch",
    "Cause",
    "Cover",
    "Decision",
    "Decisions",
    "Drop",
    "Edit",
    "Edited",
    "Insert",
    "Inserted",
    "Note",
    "Order",
    "Plan",
    "PlanSource",
    "Refused",
    "Replace",
    "Reserve",
    "Run",
    "Unit",
    "memory_of",
    "plan_figures",
]
