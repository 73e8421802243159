"""The JSON format of a report: its keys, and their JSON Schema."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.reporting.changes import Steadiness
from rightcall.reporting.store import GateRecord
from rightcall.values.results import CaseRepeats, EvaluatorTotals, OverallResult, Quarantine, SavedCase, Totals, Verdict
from rightcall.values.statistics import Interval

from ._report import Report

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class CaseTrialCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The repeats of one case: the number by verdict, how many have to pass, and the resulting verdict."""

    verdict: Verdict
    passed: int
    failed: int
    not_measured: int
    error: int
    needed: int


class RunRates(msgspec.Struct, frozen=True, kw_only=True):
    """Rates over the repeats of all cases; `None` if too few were measured."""

    rate: float | None
    """The mean rate of the cases."""
    again: Interval | None
    """Its 95 % interval if these cases are run again."""
    like_these: Interval | None
    """Its 95 % interval for other cases like these."""
    flaky: list[str]
    """The ids of cases with both passed and failed repeats."""


class JsonReport(msgspec.Struct, kw_only=True):
    """A complete report of a run or of scored traces, as `--format json` and `--output-file` write it."""

    rightcall: str
    evalset: str
    cases: list[SavedCase]
    totals: Totals
    evaluators: dict[str, EvaluatorTotals]
    overall: list[OverallResult] = []
    notes: list[str] = []
    exit_code: int = 0
    """1 if anything failed, 2 if something could not be measured, else 0."""
    trials: dict[str, CaseTrialCounts] = {}
    """By case id; empty if no case was repeated."""
    rates: RunRates | None = None
    gate: GateRecord | None = None
    quarantined: dict[str, Quarantine] = {}
    """By case id: cases that are not counted in `totals`, in `rates` or by the gate."""
    comparison: dict[str, Any] | None = None


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema that every report in JSON satisfies. Later versions may add keys."""
    [root], definitions = msgspec.json.schema_components((JsonReport,), ref_template="#/$defs/{name}")
    return {"$schema": _DIALECT, "title": "A report of Rightcall", **root, "$defs": definitions}


def trial_keys(report: Report) -> dict[str, Any]:
    """Return the keys of a report with repeated cases: `trials` by case, and `rates`."""
    return {
        "trials": {case_id: msgspec.to_builtins(_trials(each)) for case_id, each in report.repeats.items()},
        "rates": msgspec.to_builtins(_rates(report.steadiness)),
    }


def _trials(case: CaseRepeats) -> CaseTrialCounts:
    return CaseTrialCounts(verdict=case.verdict, needed=case.needed, **msgspec.structs.asdict(case.totals))


def _rates(run: Steadiness) -> RunRates:
    flaky = [case.case_id for case in run.flaky]
    return RunRates(rate=run.rate, again=run.again, like_these=run.like_these, flaky=flaky)
