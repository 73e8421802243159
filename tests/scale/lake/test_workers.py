"""Worker processes: one that dies costs time, and a part that kills them all costs that part."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.scale.lake.lakes import CUT, PLAN, contents, rows, scores, write_lines, write_table

from rightcall.scale.columns import Plan
from rightcall.scale.lake import Fragment, Job, Scorers

_DEADLY = """\
import os, signal
from pathlib import Path


def check(trajectory):
    marker = Path(__file__).with_name("died")
    if trajectory.trace_id == "2-3" and len(marker.read_bytes()) < {times}:
        with marker.open("ab") as file:
            file.write(b"x")
        os.kill(os.getpid(), signal.SIGKILL)
    return True
"""
_EVALSET = """\
evaluators:
  deadly: {type: "deadly.py:check"}
cases:
  - id: any
    expect: {deadly: true}
"""


class _Heard:
    """What is heard while a job is scored."""

    def __init__(self) -> None:
        self.rows = 0
        self.done = 0
        self.problems: list[str] = []

    def tell(self, fragment: Fragment, rows: int, is_done: bool) -> None:
        self.rows += rows
        self.done += is_done

    def complain(self, problem: object) -> None:
        self.problems.append(str(problem))


def _lake(folder: Path, times: int) -> tuple[Path, Plan]:
    """Four files of five rows, one of which kills so many of the processes that judge it."""
    (folder / "deadly.py").write_text(_DEADLY.format(times=times))
    (folder / "evals.yaml").write_text(_EVALSET)
    (folder / "rightcall.toml").touch()
    (folder / "died").touch()
    for file in range(4):
        made = [{"trace_id": f"{file}-{row}", "case_id": "any", "calls": []} for row in range(5)]
        write_lines(folder / "in" / f"{file}.jsonl", made)
    return folder / "in", Plan.of_eval_set(folder / "evals.yaml")


def _scored(source: Path, plan: Plan, out: Path, workers: int = 2) -> tuple[int, _Heard]:
    heard = _Heard()
    with Job([str(source)], plan, str(out), cut=CUT) as job:
        scorers = Scorers(job, workers, tell=heard.tell, complain=heard.complain)
        scorers.run()
    return scorers.failed, heard


def test_the_scores_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    for number in range(2):
        write_table(tmp_path / "in" / f"{number}.parquet", rows(50, number))

    results = [_scored(tmp_path / "in", PLAN, tmp_path / str(workers), workers) for workers in (1, 3)]

    assert [failed for failed, _ in results] == [0, 0]
    assert [(heard.rows, heard.done) for _, heard in results] == [(100, 6)] * 2
    assert contents(tmp_path / "1") == contents(tmp_path / "3")


def test_what_a_worker_had_when_it_died_is_given_to_another(tmp_path: Path) -> None:
    source, plan = _lake(tmp_path, times=2)

    failed, heard = _scored(source, plan, tmp_path / "out")

    assert (failed, heard.problems, heard.rows, heard.done) == (0, [], 20, 4)
    assert (tmp_path / "died").read_bytes() == b"xx"
    assert {row["id"] for row in scores(tmp_path / "out")} == {f"{file}-{row}" for file in range(4) for row in range(5)}
    assert {row["verdict"] for row in scores(tmp_path / "out")} == {"passed"}


def test_a_part_that_kills_three_workers_is_named_and_the_rest_carries_on(tmp_path: Path) -> None:
    source, plan = _lake(tmp_path, times=3)

    failed, heard = _scored(source, plan, tmp_path / "out")

    assert failed == 1
    [problem] = heard.problems
    assert problem.startswith(
        f"{source / '2.jsonl'}: 3 worker processes died while they scored it, the last by SIGKILL"
    )
    assert len(scores(tmp_path / "out")) == 15
    assert not list((tmp_path / "out").glob("*2-*.parquet"))


def test_a_file_that_changed_since_costs_its_parts(tmp_path: Path) -> None:
    for number in range(3):
        write_table(tmp_path / "in" / f"{number}.parquet", rows(20, number))
    heard = _Heard()

    with Job([str(tmp_path / "in")], PLAN, str(tmp_path / "out")) as job:
        (tmp_path / "in" / "1.parquet").unlink()
        scorers = Scorers(job, 2, tell=heard.tell, complain=heard.complain)
        scorers.run()

    assert scorers.failed == 1
    assert heard.problems == [f"{tmp_path / 'in' / '1.parquet'}: No such file or directory"]
    assert len(scores(tmp_path / "out")) == 40


def test_workers_are_gone_when_it_is_stopped(tmp_path: Path) -> None:
    source, plan = _lake(tmp_path, times=0)
    (tmp_path / "deadly.py").write_text(
        "import os, time\n\n\ndef check(trajectory):\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n    time.sleep(60)\n"
    )
    until = time.monotonic() + 20

    def stop() -> bool:
        has_begun = (tmp_path / "pid").is_file() and bool((tmp_path / "pid").read_text())
        return has_begun or time.monotonic() > until

    with Job([str(source)], plan, str(tmp_path / "out")) as job:
        scorers = Scorers(job, 1, tell=_Heard().tell, complain=_Heard().complain, stop=stop)
        with pytest.raises(KeyboardInterrupt):
            scorers.run()

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGCONT)
    assert scores(tmp_path / "out") == []
