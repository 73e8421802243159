"""The code in the guide to engines runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet
from tests.scale.columns.span_tables import KINDS, recorded, spans_of
from tests.scale.tables import CASES, read_scores, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "spark-databricks-and-ray.md"
FOLDERS = re.compile(r'"(traces|spans|scores|cases\.yaml|scores-by-ray)"')


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The files that the guide names."""
    (tmp_path / "cases.yaml").write_text(CASES, encoding="utf-8")
    for name in ("traces", "spans"):
        (tmp_path / name).mkdir()
    parquet.write_table(table(20), tmp_path / "traces" / "some.parquet")
    spans = [span for document in list(recorded().values())[:4] for span in spans_of(document)]
    parquet.write_table(KINDS["flat_json"](spans), tmp_path / "spans" / "some.parquet")
    return tmp_path


def run(lake: Path, names: dict[str, Any], *, about: str) -> None:
    """Run the blocks about something. Spark means paths from where its JVM was started, so they are made whole."""
    blocks = re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    chosen = [block for block in blocks if about in block]
    assert chosen
    for block in chosen:
        exec(FOLDERS.sub(lambda found: f'"{lake}/{found[1]}"', block), names)


def test_a_notebook_of_spark(spark: SparkSession, lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(lake, {"spark": spark}, about="spark")

    printed = capfd.readouterr().out
    assert "|      failed|" in printed
    assert "not_measured|" in printed
    assert read_scores(lake / "scores").num_rows == 20


def test_a_program_with_ray(ray_cluster: None, lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from rightcall.scale.columns import Plan

    run(lake, {"plan": Plan.of_eval_set(lake / "cases.yaml")}, about="rightcall.scale.ray")

    assert "passed" in capfd.readouterr().out
    assert read_scores(lake / "scores-by-ray").num_rows == 20
