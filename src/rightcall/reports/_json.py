"""Everything, for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

import rightcall
from rightcall.decoding import dump_json
from rightcall.results import CaseResult, Totals


def json_report(results: Sequence[CaseResult], totals: Totals, subject: str) -> str:
    """The results as one JSON document.

    `rightcall` is the version that wrote it, `evalset` what was expected, `totals` the cases by verdict, `cases` each
    result with its evaluations, findings and the trajectory that was judged.
    """
    cases = ",\n".join(dump_json(_case(result)) for result in results)
    head = dump_json({"rightcall": rightcall.__version__, "evalset": subject, "totals": msgspec.to_builtins(totals)})
    return f'{head[:-1]}, "cases": [\n{cases}\n]}}'


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "case_id": result.case_id,
        "repeat": result.repeat,
        "verdict": result.verdict,
        "score": result.score,
        "source": msgspec.to_builtins(result.source),
        "findings": msgspec.to_builtins(result.findings),
        "warnings": list(result.warnings),
        "evaluations": [json.loads(evaluation.to_json()) for evaluation in result.results],
        "trajectory": msgspec.to_builtins(result.trajectory),
    }
