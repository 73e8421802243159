"""Rows of trajectories in, rows of scores out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rightcall.errors import RightcallError
from rightcall.evalsets import Case
from rightcall.verdicts import judge

from ._plan import Plan
from ._rows import trajectory_of
from ._schema import SCORES


def score_batch(batch: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """The scores of trajectories: a row each, in their order, with the columns of `SCORES`.

    A row that cannot be read is an error of that row. It does no I/O, knows no engine, and the same rows and the same
    plan give the same scores wherever and in whatever batches they are scored.

    Raises:
        InputError: the batch has no column of calls, or one of another type than it should have.
    """
    joining = plan.joining()
    rows = []
    for row in batch.to_pylist():
        try:
            trajectory = trajectory_of(row)
            case = plan.cases[0] if joining is None else joining.case_of(trajectory)
            rows.append(_scored(row, case, None if case is None else judge(case, trajectory)))
        except RightcallError as problem:
            rows.append({"id": _id(row), "case_id": row.get("case_id"), "verdict": "error", "error": str(problem)})
    return pa.RecordBatch.from_pylist(rows, schema=SCORES)


def _scored(row: dict[str, Any], case: Case | None, result: Any) -> dict[str, Any]:
    if case is None:
        return {"id": _id(row), "verdict": "not_measured", "error": "it belongs to no case"}
    return {
        "id": _id(row),
        "case_id": case.id,
        "verdict": result.verdict,
        "score": result.score,
        "measures": [
            {"evaluator": each.evaluator, "verdict": each.verdict, "score": each.score} for each in result.results
        ],
        "diagnoses": [
            {"evaluator": each.expectation, "code": each.finding.code, "tool": ""} for each in result.findings
        ],
        "seconds": row["duration_ns"] / 1e9 if row.get("duration_ns") is not None else None,
    }


def _id(row: dict[str, Any]) -> str | None:
    return row.get("id") or row.get("trace_id")
