"""Everything, for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

import msgspec

import rightcall
from rightcall.decoding import dump_json
from rightcall.results import CaseResult, Totals


def json_report(cases: Iterable[str], totals: Callable[[], Totals], subject: str) -> Iterator[str]:
    """The results as one JSON document, piece by piece; `cases` are what `json_case` made of each.

    `rightcall` is the version that wrote it, `evalset` what was expected, `cases` each result with its evaluations,
    findings and the trajectory that was judged, and `totals`, asked for at the end, the cases by verdict.
    """
    yield dump_json({"rightcall": rightcall.__version__, "evalset": subject})[:-1] + ', "cases": ['
    separator = "\n"
    for case in cases:
        yield separator + case
        separator = ",\n"
    yield f'\n], "totals": {dump_json(msgspec.to_builtins(totals()))}}}\n'


def json_case(result: CaseResult, evidence: str) -> str:
    """A result as a JSON object; `evidence` is what `json_evidence` made of it."""
    told = {
        "case_id": result.case_id,
        "repeat": result.repeat,
        "verdict": result.verdict,
        "score": result.score,
        "source": msgspec.to_builtins(result.source),
        "findings": msgspec.to_builtins(result.findings),
        "warnings": list(result.warnings),
    }
    return f"{dump_json(told)[:-1]}, {evidence[1:]}"


def json_evidence(result: CaseResult) -> str:
    """What a result is made of, as a JSON object: its evaluations, and the trajectory that was judged."""
    evaluations = [json.loads(evaluation.to_json()) for evaluation in result.results]
    return dump_json({"evaluations": evaluations, "trajectory": msgspec.to_builtins(result.trajectory)})
