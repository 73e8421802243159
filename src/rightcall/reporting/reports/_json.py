"""Reports as JSON, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, EvaluatorTotals, OverallResult, SavedCase, Totals
from rightcall.version import __version__

from ._escaping import escape_commands_in_json
from ._report import Report

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_report(report: Report) -> Iterator[str]:
    """Yield the results as one JSON document, piece by piece.

    `rightcall` is the version that wrote it, `evalset` what was expected, `cases` each result with its evaluations,
    findings and the trajectory that was judged, `totals` the cases by verdict, and `evaluators` the results of each
    evaluator by verdict with their mean score, `overall` the results of all cases together, `notes` other remarks
    about the run.
    """
    yield (
        escape_commands_in_json(dump_json({"rightcall": __version__, "evalset": report.subject}))[:-1] + ', "cases": ['
    )
    cases = report.documents() if report.documents is not None else map(CaseResult.to_json, report.results())
    separator = "\n"
    for case in cases:
        yield separator + escape_commands_in_json(case)
        separator = ",\n"
    evaluators = msgspec.to_builtins(dict(report.evaluators))
    ending = {"totals": msgspec.to_builtins(report.totals), "evaluators": evaluators}
    ending["overall"] = msgspec.to_builtins(report.overall)
    ending["notes"] = list(report.notes)
    yield f"\n], {dump_json(ending)[1:]}\n"


def json_case(result: CaseResult, evidence: str) -> str:
    """Return a result as `to_json` writes it, given what `json_evidence` wrote."""
    return f"{dump_json({'case_id': result.case_id, 'repeat': result.repeat})[:-1]}, {evidence[1:]}"


def json_evidence(result: CaseResult) -> str:
    """Return a result without its case id and repeat, as a JSON object."""
    plain = result.to_plain()
    del plain["case_id"], plain["repeat"]
    return dump_json(plain)


class JsonReport(msgspec.Struct, kw_only=True):
    """A run, or scored traces, with everything: what `--format json` and `--output-file` write."""

    rightcall: str
    evalset: str
    cases: list[SavedCase]
    totals: Totals
    evaluators: dict[str, EvaluatorTotals]
    overall: list[OverallResult] = []
    notes: list[str] = []


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema that every report in JSON satisfies. Later versions may add keys."""
    [root], definitions = msgspec.json.schema_components((JsonReport,), ref_template="#/$defs/{name}")
    return {"$schema": _DIALECT, "title": "A report of Rightcall", **root, "$defs": definitions}
