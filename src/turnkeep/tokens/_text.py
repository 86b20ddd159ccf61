from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> str:
    """*value* as the compact JSON that providers count."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
