"""Evaluators of the user's own judge rows of tables as they judge trajectories."""

from pathlib import Path

import pyarrow as pa

from rightcall.scale.columns import Plan, score_batch


def test_an_evaluator_that_takes_no_criteria_judges_every_row(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").touch()
    own = "from rightcall import evaluator\n\n\n@evaluator\ndef few(calls):\n    return len(calls) < 2\n"
    (tmp_path / "own.py").write_text(own, encoding="utf-8")
    cases = "evaluators: {few: {type: 'own.py:few'}}\ncases: [{id: c, expect: {few: true, order: [a]}}]\n"
    (tmp_path / "cases.yaml").write_text(cases, encoding="utf-8")
    rows = [{"case_id": "c", "calls": ["a"]}, {"case_id": "c", "calls": ["a", "b"]}]

    scores = score_batch(pa.RecordBatch.from_pylist(rows), Plan.of_eval_set(tmp_path / "cases.yaml"))

    assert scores["verdict"].to_pylist() == ["passed", "failed"]
