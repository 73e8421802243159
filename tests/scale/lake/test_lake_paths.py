"""Paths beside the scores of a lake: the same however it is cut, and whichever part was there before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.scale.lake.lakes import CUT, PLAN, rows, write_lines, write_table

from rightcall.errors import StoreError
from rightcall.reporting.paths import PathCounts
from rightcall.scale.lake import PATHS, Cut, Job, count_paths, read_paths, score_fragment, write_paths


def counted(source: Path, out: Path, cut: Cut = CUT, parts: int | None = None) -> PathCounts:
    """The paths of a lake, of which so many parts are scored now."""
    with Job([str(source)], PLAN, str(out), cut=cut, paths=True) as job:
        for fragment in job.waiting[:parts]:
            score_fragment(fragment, PLAN, str(out))
        return job.paths()


def test_paths_are_the_same_however_the_lake_is_cut(tmp_path: Path) -> None:
    made = rows(120)
    table = write_table(tmp_path / "t" / "t.parquet", made)
    lines = write_lines(tmp_path / "l" / "l.jsonl", [row for row in made if row["calls"] is not None])

    fine = counted(table, tmp_path / "fine")
    coarse = counted(table, tmp_path / "coarse", Cut())

    assert fine.to_plain() == coarse.to_plain()
    assert sum([sum(ends) for ends in fine.routes.values()]) == 120
    fine.routes.pop(None)
    assert counted(lines, tmp_path / "lines").to_plain() == fine.to_plain()


def test_a_command_that_was_killed_has_the_same_paths_when_it_goes_on(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t" / "t.parquet", rows(120))
    out = tmp_path / "out"

    counted(table, out, parts=2)
    resumed = counted(table, out)

    assert resumed.to_plain() == counted(table, tmp_path / "whole").to_plain()


def test_scores_that_were_made_without_paths_are_made_again(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t" / "t.parquet", rows(40))
    out = tmp_path / "out"
    with Job([str(table)], PLAN, str(out), cut=CUT) as job:
        for fragment in job.waiting:
            score_fragment(fragment, PLAN, str(out))

    assert sum([sum(ends) for ends in counted(table, out).routes.values()]) == 40
    with Job([str(table)], PLAN, str(out), cut=CUT) as job:
        assert job.waiting == []


def test_paths_of_tables_need_no_scores(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t" / "t.parquet", rows(120))
    alone = PathCounts()

    unreadable = count_paths([str(table)], alone)

    scored = counted(table, tmp_path / "out")
    assert unreadable == 7
    assert {route: sum(ends) for route, ends in scored.routes.items()} == {
        route: sum(ends) for route, ends in alone.routes.items()
    }


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    made = counted(write_table(tmp_path / "t" / "t.parquet", rows(40)), tmp_path / "out")

    write_paths(str(tmp_path / "out"), made)

    assert read_paths(str(tmp_path / "out")).to_plain() == made.to_plain()
    assert json.loads((tmp_path / "out" / PATHS).read_text())["runs"] == 40


def test_damaged_counts_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t" / "t.parquet", rows(40))
    counted(table, tmp_path / "out")
    damaged = next((tmp_path / "out").glob("_*.paths"))
    damaged.write_bytes(b"x")

    with pytest.raises(StoreError, match=r"\.paths: these counts are damaged"):
        counted(table, tmp_path / "out")
