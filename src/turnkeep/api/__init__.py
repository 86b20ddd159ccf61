"""The functions: any format in, the same format out.

Not public under this name: import them from `turnkeep`.
"""

from turnkeep.profiles import Repair

from ._batches import Fitted, fit_many
from ._check import check, repair
from ._convert import convert
from ._count import TokenCount, ToolTokens, count
from ._fit import fit, plan, trim_messages

__all__ = [
    "Fitted",
    "Repair",
    "TokenCount",
    "ToolTokens",
    "check",
    "convert",
    "count",
    "fit",
    "fit_many",
    "plan",
    "repair",
    "trim_messages",
]
