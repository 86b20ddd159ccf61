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
from ._plan import Edited, Order, Plan
from ._plan import PlanSource as PlanSource
from ._plan import hand_over as hand_over
from ._plan import handover_of as handover_of
from ._plan import memory_of as memory_of

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
    "Refused",
    "Replace",
    "Reserve",
    "Run",
    "Unit",
    "plan_figures",
]
