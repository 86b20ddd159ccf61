"""What goes first: each strategy ranks, the engine spends."""

from __future__ import annotations

from ._base import Composable, InTurns, Strategy, Then
from ._oldest import OldestSteps, OldestTurns

DEFAULT = OldestTurns() | OldestSteps()
"""Old turns go whole; a single long tool loop is then cut inside its turn."""

__all__ = [
    "DEFAULT",
    "Composable",
    "InTurns",
    "OldestSteps",
    "OldestTurns",
    "Strategy",
    "Then",
]
