"""The JSON Schema of reports in JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.values.results import EvaluatorTotals, OverallResult, SavedCase, Totals

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
    """The JSON Schema that every report in JSON satisfies. Keys that are new in a later version are no break."""
    [root], definitions = msgspec.json.schema_components((JsonReport,), ref_template="#/$defs/{name}")
    return {"$schema": _DIALECT, "title": "A report of Rightcall", **root, "$defs": definitions}
