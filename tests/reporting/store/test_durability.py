"""What a run has told of is there after the power was lost, or the run can be resumed; no verdict is another one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.disks import Disk, PowerLoss

from rightcall import CaseResult
from rightcall.errors import StoreError
from rightcall.reporting.store import RunFolder, create_run, list_runs, open_run
from rightcall.values.results import Source, Totals, Verdict

VERDICTS: dict[str, Verdict] = {"a": "failed", "b": "passed", "c": "error", "d": "failed"}


def result(case_id: str) -> CaseResult:
    return CaseResult(case_id=case_id, verdict=VERDICTS[case_id], score=None, source=Source("set.yaml", 1, 1))


class Running:
    """A run as a command does it: results are told once they are synced, and what it told is noted."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self.told: set[str] = set()
        self.is_over = False

    def begin(self) -> RunFolder:
        return create_run(self._runs, agent="agent.py", evalset="set.yaml", evalset_hash="0")

    def do(self) -> None:
        run = self.begin()
        journal = run.journal()
        for case_id in "ab":
            journal.append(result(case_id), "digest")
        journal.sync()
        self.told |= {"a", "b"}
        journal.append(result("c"), "digest")
        journal.append(result("d"), "digest")
        journal.close()
        self.told |= {"c", "d"}
        run.finish(Totals.of(VERDICTS.values()), {}, 1.0, is_complete=True, journal=journal)
        self.is_over = True


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    """Have files written to a disk."""
    with monkeypatch.context() as patched:
        patched.setattr("rightcall.reporting.store._journal._SYNC_EVERY", 1_000.0)

        def put(disk: Any) -> None:
            patched.setattr("rightcall.files.disk", disk)

        yield put


def root_in(folder: Path) -> Path:
    (root := folder / "disk").mkdir()
    return root


def steps_of(folder: Path, put: Callable[[Any], None]) -> int:
    disk = Disk(root_in(folder))
    put(disk)
    Running(folder / "disk" / ".rightcall" / "runs").do()
    disk.after_power_loss(folder / "found")
    return disk.steps


def check(running: Running, runs: Path) -> None:
    """See that everything that was told is there, and nothing is there that is not so."""
    folders = list_runs(runs)
    if not running.told and not folders:
        return  # nothing was told, so there is nothing to be lost
    [folder] = folders
    run = open_run(str(folder))
    found = {each.case_id: each.verdict for each in run.results()}
    assert running.told <= found.keys()
    assert found.items() <= VERDICTS.items()
    assert not running.is_over or run.header.finished is not None
    if run.header.finished is None:
        journal = run.journal()
        for case_id in VERDICTS.keys() - found.keys():
            journal.append(result(case_id), "digest")
        journal.close()
        assert {each.case_id: each.verdict for each in run.results()} == VERDICTS


def crashed(folder: Path, put: Callable[[Any], None], step: int) -> tuple[Running, Path]:
    """A run during which the power is lost before a step; and its runs as they are found then."""
    disk = Disk(root_in(folder), crash_at=step)
    put(disk)
    running = Running(folder / "disk" / ".rightcall" / "runs")
    with suppress(PowerLoss):
        running.do()
    put(os)
    return running, disk.after_power_loss(folder / "found") / ".rightcall" / "runs"


def test_what_was_told_is_there_whenever_the_power_is_lost(tmp_path: Path, put: Callable[[Any], None]) -> None:
    (tmp_path / "whole").mkdir()
    steps = steps_of(tmp_path / "whole", put)

    assert steps > 40
    for step in range(1, steps + 2):
        (folder := tmp_path / str(step)).mkdir()
        check(*crashed(folder, put, step))


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_a_disk_that_fails_at_any_step_is_told_and_costs_no_verdict(
    tmp_path: Path, put: Callable[[Any], None], error: int
) -> None:
    (tmp_path / "whole").mkdir()
    steps = steps_of(tmp_path / "whole", put)

    for step in range(1, steps + 1):
        (folder := tmp_path / str(step)).mkdir()
        disk = Disk(root_in(folder), fail_at=step, error=error)
        put(disk)
        running = Running(folder / "disk" / ".rightcall" / "runs")
        with pytest.raises(StoreError, match=r"disk"):
            running.do()
        disk.turn_off()
        put(os)

        check(running, folder / "disk" / ".rightcall" / "runs")
        check(running, disk.after_power_loss(folder / "found") / ".rightcall" / "runs")


def test_a_disk_that_failed_to_keep_results_is_not_believed_the_next_time(
    tmp_path: Path, put: Callable[[Any], None]
) -> None:
    """After a failed `fsync` the next one succeeds, though what was to be written is lost."""
    run = Running(tmp_path / "runs").begin()
    journal = run.journal()
    journal.append(result("a"), "digest")
    put(Disk(tmp_path, fail_at=1))

    with pytest.raises(StoreError, match="Input/output error"):
        journal.sync()
    journal.close()

    assert list(open_run("last", tmp_path / "runs").results()) == []
