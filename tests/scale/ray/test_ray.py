"""Scores by Ray are those of this machine to the byte, whatever happens to its workers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.scale.tables import (
    canonical,
    deadly_plan_in,
    deadly_table,
    harmless,
    plan_in,
    read_scores,
    rows,
    scored,
    table,
    write_lines,
)

from rightcall.errors import MissingExtraError, RightcallError
from rightcall.scale.columns import Plan
from rightcall.scale.lake import Job, score_fragment
from rightcall.scale.ray import _start, score, score_dataset, score_job


def write_input(folder: Path) -> list[str]:
    """Tables and lines, some rows of which cannot be read and some of which have no id."""
    trajectories = table(400)
    parquet.write_table(trajectories.slice(0, 150), folder / "first.parquet", row_group_size=60)
    parquet.write_table(trajectories.slice(150, 100).drop(["id"]), folder / "second.parquet")
    write_lines(folder / "third.jsonl", rows(400)[250:])
    return [str(folder / "*.parquet"), str(folder / "third.jsonl")]


def score_here(sources: list[str], plan: Plan, out: Path) -> None:
    with Job(sources, plan, str(out)) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, str(out))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_files_of_scores_are_the_same_whoever_wrote_them(ray_cluster: None, tmp_path: Path) -> None:
    sources, plan = write_input(tmp_path), plan_in(tmp_path)
    score_here(sources, plan, tmp_path / "here")

    summary = score(sources, plan, out=str(tmp_path / "ray"))

    assert summary.rows == 402
    assert len(files(tmp_path / "ray")) == 3
    assert files(tmp_path / "ray") == files(tmp_path / "here")


def test_what_was_scored_here_is_not_scored_again_by_ray(ray_cluster: None, tmp_path: Path) -> None:
    sources, plan, out = write_input(tmp_path), plan_in(tmp_path), tmp_path / "scores"
    score_here(sources, plan, out)
    (lost, *_) = sorted(out.glob("*.parquet"))
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    lost.unlink()

    score(sources, plan, out=str(out))

    after = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert [path for path in before if after[path] != before[path]] == [lost]
    assert (out / "_summary.json").is_file()


def test_a_worker_that_is_killed_costs_no_row_and_no_row_comes_twice(ray_cluster: None, tmp_path: Path) -> None:
    trajectories, plan = deadly_table("kill"), deadly_plan_in(tmp_path)
    parquet.write_table(trajectories, tmp_path / "deadly.parquet")

    score([str(tmp_path / "deadly.parquet")], plan, out=str(tmp_path / "scores"))

    scores = read_scores(tmp_path / "scores")
    assert len((tmp_path / "kill.tried").read_text().split()) == 2
    assert scores.num_rows == 60
    assert canonical(scores) == harmless(trajectories, tmp_path)


def test_a_part_that_cannot_be_scored_is_told_when_the_others_are(ray_cluster: None, tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    parquet.write_table(table(10), tmp_path / "good.parquet")
    (tmp_path / "bad.json").write_text("[nothing", encoding="utf-8")

    with pytest.raises(RightcallError) as caught:
        score([str(tmp_path / "bad.json"), str(tmp_path / "good.parquet")], plan, out=str(tmp_path / "scores"))

    assert "1 parts could not be scored, the first because:" in str(caught.value)
    assert "bad.json" in str(caught.value)
    assert read_scores(tmp_path / "scores").num_rows == 10


def test_without_ray_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(table(10), tmp_path / "good.parquet")
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match=r"needs ray: pip install .*\[ray\]'"):
        score([str(tmp_path / "good.parquet")], plan_in(tmp_path), out=str(tmp_path / "scores"))


class Dataset:
    """A dataset of Ray, as far as it is asked for scores: `ray.data` itself needs pandas."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def map_batches(self, function: Callable[[pa.Table], pa.Table], **options: Any) -> Dataset:
        assert options["batch_format"] == "pyarrow"
        return Dataset(function(self.table))


def test_a_dataset_is_scored_batch_by_batch(tmp_path: Path) -> None:
    trajectories, plan = table(40), plan_in(tmp_path)

    scores = score_dataset(Dataset(trajectories), plan)  # type: ignore[arg-type]

    assert canonical(scores.table) == scored(trajectories, plan)  # type: ignore[attr-defined]


def test_paths_are_those_of_this_machine(ray_cluster: None, tmp_path: Path) -> None:
    sources, plan = write_input(tmp_path), plan_in(tmp_path)
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    with Job(sources, plan, here, paths=True) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, here)
        expected = job.paths()

    problems: list[object] = []
    with Job(sources, plan, there, paths=True) as job:
        score_job(job, complain=problems.append)

        assert job.paths().to_plain() == expected.to_plain()
    assert problems == []


class Unwilling:
    """A Ray that finds no cluster, and starts none."""

    def init(self, *, address: str, **options: Any) -> None:
        if address == "auto":
            raise ConnectionError("no running instance")
        raise RuntimeError("The current node timed out\nduring startup")


def test_a_ray_that_does_not_start_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")

    with pytest.raises(RightcallError, match=r"^Ray does not start: The current node timed out during startup$"):
        _start(Unwilling(), None)
