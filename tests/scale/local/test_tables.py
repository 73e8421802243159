"""Tables of trajectories are read wherever traces are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from tests.scale.columns.span_tables import KINDS, recorded, spans_of
from tests.scale.lake.lakes import write_lines, write_table

from rightcall.errors import InputError
from rightcall.reading import Reading
from rightcall.scale.columns import span_trajectories
from rightcall.scale.local import Scoring, Sources
from rightcall.scale.request import Request

ROWS: list[dict[str, Any]] = [
    {"id": "good", "calls": [{"name": "search"}, {"name": "book"}]},
    {"calls": [{"name": "book"}]},
]


def _verdicts(file: Path, expect: bytes = b"order: [search, book]") -> dict[str, str]:
    request = Request(expectation=(expect, "--expect"))
    sources = Sources(Reading(), [str(file)], complain=print, is_named=True)
    return {scored.result.case_id: scored.result.verdict for scored in Scoring(request, sources, workers=1).results()}


def test_a_parquet_file_of_trajectories_is_read_like_any_trace(tmp_path: Path) -> None:
    file = write_table(tmp_path / "a.parquet", ROWS)

    assert _verdicts(file) == {"good": "passed", f"{file}#2": "failed"}


def test_so_are_lines_of_them(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [{"id": "good", "calls": ["search", "book"]}, {"calls": ["book"]}])

    assert _verdicts(file) == {"good": "passed", f"{file}#2": "failed"}


def test_so_is_a_table_of_spans(tmp_path: Path) -> None:
    table = KINDS["clickhouse"]([span for document in recorded().values() for span in spans_of(document)])
    parquet.write_table(table, tmp_path / "a.parquet")

    verdicts = _verdicts(tmp_path / "a.parquet")

    assert set(verdicts) == {trajectory.trace_id for trajectory in span_trajectories(table)}


def test_a_row_that_cannot_be_read_is_named_by_its_number(tmp_path: Path) -> None:
    tables = write_table(tmp_path / "a.parquet", [*ROWS, {"id": "bad", "calls": None}])
    lines = write_lines(tmp_path / "a.jsonl", [{"calls": []}, {"calls": 7}])

    with pytest.raises(InputError, match=r"a\.parquet: row 3: calls are missing"):
        _verdicts(tables)
    with pytest.raises(InputError, match=r"a\.jsonl: line 2: calls is 7; it should be a list"):
        _verdicts(lines)


def test_what_lies_in_an_object_store_is_scored_into_files() -> None:
    with pytest.raises(InputError, match="data in an object store is scored with --out"):
        list(Sources(Reading(), ["s3://lake/a.parquet"], complain=print).trajectories())
