"""Marks of the prompt cache: where each format has them, and where we set them.

Works on what is sent, behind every decision: a mark changes no token and no message,
stands in no plan and is no edit. Nothing of the caller's is changed in place.
"""

from __future__ import annotations

from ._place import Extent, Marker, Sent, marker_for

__all__ = ["Extent", "Marker", "Sent", "marker_for"]
