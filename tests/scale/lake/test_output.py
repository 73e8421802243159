"""Files of scores: whole or not there, the same bytes every time, and nobody else's touched."""

from __future__ import annotations

import fcntl
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.scale.lake.lakes import CUT, PLAN, contents, rows, score, scores, write_table

from rightcall.errors import InputError, StoreError
from rightcall.scale.columns import SCORES, Plan
from rightcall.scale.lake import Job, score_fragment, summarise, write_summary


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_table(tmp_path / "in" / "a.parquet", rows(60, 1))
    write_table(tmp_path / "in" / "b.parquet", rows(25, 2))
    return tmp_path / "in"


def test_a_repeated_command_scores_what_is_missing_and_gives_the_same_bytes(lake: Path, tmp_path: Path) -> None:
    score(lake, tmp_path / "whole")
    score(lake, tmp_path / "out")
    for path in sorted((tmp_path / "out").glob("*.parquet"))[::2]:
        path.unlink()

    again = score(lake, tmp_path / "out")

    assert len(again) == 3
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert score(lake, tmp_path / "out") == []


def test_scores_have_the_schema_and_a_fingerprint_and_nothing_of_time_or_place(lake: Path, tmp_path: Path) -> None:
    [first, *_] = score(lake, tmp_path / "out")

    schema = parquet.read_schema(tmp_path / "out" / first.file)

    assert schema.equals(SCORES)
    assert schema.metadata == {b"rightcall.scores": first.fingerprint.encode()}


def test_what_changed_is_scored_again_and_replaced(lake: Path, tmp_path: Path) -> None:
    score(lake, tmp_path / "out")
    write_table(lake / "b.parquet", rows(25, 3))

    again = score(lake, tmp_path / "out")

    assert {fragment.path for fragment in again} == {str(lake / "b.parquet")}
    score(lake, tmp_path / "fresh")
    assert contents(tmp_path / "out") == contents(tmp_path / "fresh")


def test_another_plan_scores_everything_again(lake: Path, tmp_path: Path) -> None:
    first = score(lake, tmp_path / "out")

    assert len(score(lake, tmp_path / "out", Plan.of_expectation("never: [pay]"))) == len(first)


def test_scores_of_something_else_are_refused_before_any_work(lake: Path, tmp_path: Path) -> None:
    score(lake, tmp_path / "out")
    before = contents(tmp_path / "out")

    with pytest.raises(StoreError, match=r"out: b-.*\.parquet has scores of other input"):
        score(lake / "a.parquet", tmp_path / "out", Plan.of_expectation("never: [pay]"))

    assert contents(tmp_path / "out") == before


def test_files_of_others_are_left_alone(lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    foreign = {"notes.txt": b"milk", "x-000000000-0123456789ab.parquet": b"PAR1", ".b.part": b"mine"}
    for name, data in foreign.items():
        (out / name).write_bytes(data)

    score(lake, out)

    assert {name: (out / name).read_bytes() for name in foreign} == foreign


def test_what_killed_processes_left_is_removed(lake: Path, tmp_path: Path) -> None:
    [first, *_] = score(lake, tmp_path / "out")
    left = tmp_path / "out" / f".{first.file}.123.part"
    left.write_bytes(b"half")
    (tmp_path / "out" / "_spans").mkdir()

    score(lake, tmp_path / "out")

    assert not left.exists()
    assert not (tmp_path / "out" / "_spans").exists()


def test_a_summary_is_there_only_while_it_is_true(lake: Path, tmp_path: Path) -> None:
    score(lake, tmp_path / "out")
    write_summary(str(tmp_path / "out"), summarise(str(tmp_path / "out")))
    assert json.loads((tmp_path / "out" / "_summary.json").read_text())["rows"] == 85

    with Job([str(lake)], PLAN, str(tmp_path / "out"), cut=CUT):
        assert not (tmp_path / "out" / "_summary.json").exists()


def test_two_commands_do_not_write_to_one_folder(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with open(tmp_path / "out" / "_lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(StoreError, match="another command is writing scores to this folder"):
            score(lake, tmp_path / "out")

    assert score(lake, tmp_path / "out")


def test_a_part_that_cannot_be_scored_leaves_nothing_behind(lake: Path, tmp_path: Path) -> None:
    with Job([str(lake)], PLAN, str(tmp_path / "out"), cut=CUT) as job:
        data = (lake / "a.parquet").read_bytes()
        (lake / "a.parquet").write_bytes(data[: len(data) // 2])

        with pytest.raises(InputError, match=r"a\.parquet"):
            score_fragment(job.waiting[0], PLAN, job.out)

    assert contents(tmp_path / "out") == {}


def test_a_folder_that_cannot_be_written_is_named(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("I am a file")

    with pytest.raises(StoreError, match=str(tmp_path / "out")):
        score(lake, tmp_path / "out")


def test_a_file_that_another_command_has_replaced_is_not_counted(lake: Path, tmp_path: Path) -> None:
    with Job([str(lake)], PLAN, str(tmp_path / "out"), cut=CUT) as job:
        for fragment in job.waiting:
            score_fragment(fragment, PLAN, job.out)
        parquet.write_table(pa.table({"x": [1]}), tmp_path / "out" / job.waiting[0].file)

        with pytest.raises(StoreError, match="another command has written this file in the meantime"):
            job.count()


@contextmanager
def _limited(size: int) -> Iterator[None]:
    """While it is open, no file can be made larger than so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_room_for_scores_is_told_and_the_same_command_goes_on(lake: Path, tmp_path: Path) -> None:
    with _limited(2_000), pytest.raises(StoreError, match=r"out: .*; make room, then give the same command again"):
        score(lake, tmp_path / "out")
    assert contents(tmp_path / "out") == {}

    score(lake, tmp_path / "out")

    assert len(scores(tmp_path / "out")) == 85
    assert os.listdir(tmp_path / "out").count("_lock") == 1
