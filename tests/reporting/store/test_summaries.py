"""Summaries of runs: what the status and completion read, without reading results."""

import json
from pathlib import Path

import pytest
from tests.reporting.store.test_runs import new_run, result, written

from rightcall.reporting.store import summaries
from rightcall.reporting.store._summaries import Trial, line_head
from rightcall.values.results import Totals


@pytest.mark.parametrize("case_id", ["a", 'a "quoted" \\ name', "größe", "語", "tab\tand\nline", "\ud800"], ids=repr)
def test_a_summary_knows_a_case_by_any_name(tmp_path: Path, case_id: str) -> None:
    run = new_run(tmp_path)
    written(run, result(case_id))

    [summary] = summaries(tmp_path)

    assert summary.verdicts() == {case_id: "error"} == run.verdicts()
    assert [(problem.case_id, problem.verdict) for problem in summary.problems()] == [(case_id, "error")]
    assert not summary.is_changed()


def test_the_newest_runs_come_first_and_not_more_than_fifty(tmp_path: Path) -> None:
    runs = [new_run(tmp_path) for _ in range(52)]

    found = [summary.folder.name for summary in summaries(tmp_path)]

    assert found == sorted([run.folder.name for run in runs], reverse=True)[:50]


@pytest.mark.parametrize("change", ["edited", "appended", "removed"])
def test_a_summary_says_that_another_program_changed_the_journal(tmp_path: Path, change: str) -> None:
    run = new_run(tmp_path)
    written(run, result())
    journal = run.folder / "cases.jsonl"
    if change == "edited":
        journal.write_bytes(journal.read_bytes().replace(b'"error"', b'"passed"'))
    elif change == "appended":
        run = run.finish(Totals(error=1), {}, 1.0, is_complete=True)
        journal.write_bytes(journal.read_bytes() * 2)
    else:
        journal.unlink()

    [summary] = summaries(tmp_path)

    assert summary.is_changed()


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")], ids=["older versions", "this version"])
def test_the_head_of_a_line_is_read_without_the_rest(separators: tuple[str, str]) -> None:
    head = {"digest": "1-2", "case_id": 'a "b"', "repeat": 3, "verdict": "failed"}

    assert line_head(json.dumps(head, separators=separators).encode()) == Trial('a "b"', 3, "failed", "1-2")


def test_lines_are_written_with_the_head_that_is_read_alone(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    written(run, result())

    found = line_head((run.folder / "cases.jsonl").read_bytes())

    assert found is not None
    assert (found.case_id, found.repeat, found.verdict) == (result().case_id, 0, result().verdict)


def test_a_header_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    run, damaged = new_run(tmp_path), new_run(tmp_path)
    (damaged.folder / "run.json").write_text('{"id": ', "utf-8")

    assert [summary.id for summary in summaries(tmp_path)] == [run.header.id]
    assert list(summaries(tmp_path / "nothing")) == []
