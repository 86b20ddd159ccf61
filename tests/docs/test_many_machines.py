"""The recipes for many machines, run as the page shows them on a local Ray or Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fit-many-conversations.md"


def recipe(name: str) -> str:
    """The code of the page that is marked with *name*."""
    pattern = rf"<!-- {name} -->\n```\{{code-block\}} python\n(.*?)```"
    found = re.search(pattern, PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def is_right(rows: list[dict[str, Any]]) -> bool:
    """Whether the nine conversations came back as they are: they fit."""
    return len(rows) == 9 and all(
        json.loads(row["fitted"]) == json.loads(row["chat"]) and row["error"] == ""
        for row in rows
    )


# Their own warnings, and sockets that their processes leave behind, are not ours.
@pytest.mark.filterwarnings("ignore")
def test_ray() -> None:
    """Batches go through Ray Data."""
    ray: Any = pytest.importorskip("ray", reason="group bigdata: ray is not installed")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        space: dict[str, Any] = {}
        exec(recipe("ray"), space)  # noqa: S102 - the page's own code

        assert is_right(space["result"].take_all())
    finally:
        ray.shutdown()


@pytest.mark.filterwarnings("ignore")
def test_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames go through PySpark."""
    sql: Any = pytest.importorskip(
        "pyspark.sql", reason="group bigdata: pyspark is not installed"
    )
    pytest.importorskip("pandas", reason="group bigdata: pandas is not installed")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[1]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    try:
        space: dict[str, Any] = {}
        exec(recipe("spark"), space)  # noqa: S102 - the page's own code

        assert is_right([row.asDict() for row in space["result"].collect()])
    finally:
        session.stop()
