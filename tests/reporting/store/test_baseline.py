"""Baseline files: trials of runs, pooled, in a file that reads well in a diff."""

import json
from pathlib import Path

import pytest
from tests.reporting.reports.reporting import result

from rightcall.errors import StoreError
from rightcall.reporting.store import Baseline, RunFolder, create_run, pooled, read_baseline
from rightcall.running.project import eval_sets_in
from rightcall.values.results import Totals, Verdict

Trials = dict[str, tuple[str, list[Verdict]]]


def kept(runs: Path, trials: Trials, *, is_complete: bool = True, **options: object) -> RunFolder:
    """A run with these trials of each case, by the digest of its question."""
    run = create_run(runs, agent="a", evalset="shop.yaml", evalset_hash="1", options=options)
    journal = run.journal()
    for case_id, (question, verdicts) in trials.items():
        for repeat, verdict in enumerate(verdicts):
            journal.append(result(case_id, verdict, repeat=repeat), f"{question}-rest")
    journal.close()
    return run.finish(Totals(), {}, 1.0, is_complete=is_complete, journal=journal)


def test_runs_are_pooled_case_by_case(tmp_path: Path) -> None:
    first = kept(tmp_path, {"b": ("q", ["passed", "failed"]), "a": ("q", ["passed"])})
    second = kept(tmp_path, {"b": ("q", ["passed", "error"])})

    made = pooled([second, first])

    assert made.runs == (first.header.id, second.header.id)
    assert made.cases["b"].trials == Totals(2, 1, 0, 1)
    assert made.cases["a"].trials == Totals(1)


def test_a_case_counts_from_its_last_question_on(tmp_path: Path) -> None:
    runs = [kept(tmp_path, {"a": (question, ["passed"])}) for question in ("old", "new", "new")]

    [case] = pooled(runs).cases.values()

    assert (case.question, case.passed) == ("new", 2)


def test_a_file_has_a_line_for_each_case_sorted_and_is_read_again(tmp_path: Path) -> None:
    made = pooled([kept(tmp_path / "runs", {"b": ("q", ["failed"]), "a": ("q", ["passed"])})])
    path = tmp_path / "shop.baseline.json"
    path.write_text(made.text())

    lines = path.read_text().splitlines()

    assert lines[6] == '    "a": {"question": "q", "passed": 1, "failed": 0, "error": 0, "not_measured": 0},'
    assert lines[7].startswith('    "b": ')
    assert read_baseline(path) == made
    assert set(json.loads(path.read_text())) == {"schema", "evalset", "commit", "runs", "cases"}


def test_a_baseline_beside_an_eval_set_is_not_an_eval_set(tmp_path: Path) -> None:
    evals = tmp_path / "evals"
    evals.mkdir()
    (evals / "shop.json").write_text('{"cases": []}')
    (evals / "any.json").write_text(pooled([kept(tmp_path / "runs", {"a": ("q", ["passed"])})]).text())

    assert eval_sets_in(tmp_path) == ["evals/shop.json"]


def test_a_run_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    run = kept(tmp_path, {"a": ("q", ["passed"])}, is_complete=False)

    with pytest.raises(StoreError, match="is not complete"):
        pooled([run])


def test_runs_whose_tools_did_not_answer_alike_are_refused(tmp_path: Path) -> None:
    runs = [kept(tmp_path, {"a": ("q", ["passed"])}, replay=replay) for replay in (True, False)]

    with pytest.raises(StoreError, match="differ in --replay"):
        pooled(runs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "not a baseline"),
        ("[", "not a baseline"),
        ('{"schema": 9, "evalset": "x", "cases": {}}', "written by a newer Rightcall"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)

    with pytest.raises(StoreError, match=message):
        read_baseline(path)


def test_an_empty_baseline_is_a_file_as_well(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(Baseline(evalset="x", cases={}).text())

    assert read_baseline(path).cases == {}
