"""The JSON Schema of reports in JSON: what is written satisfies it, and other things do not."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.reporting.reports.reporting import HOSTILE, hostile_report, report, result
from tests.walls import for_each

from rightcall import ToolCall, Trajectory, load_eval_set, read
from rightcall.cases.verdicts import judge
from rightcall.reporting.reports import Report, json_report, report_schema
from rightcall.values.results import Outcome

DOCS = Path(__file__).parents[3] / "docs"
VALIDATOR = Draft202012Validator(report_schema())


def written(made: Report) -> Any:
    return json.loads("".join(json_report(made)))


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(report_schema())


@for_each("text", HOSTILE)
def test_a_report_satisfies_it_whatever_is_said(text: str) -> None:
    VALIDATOR.validate(written(hostile_report(text)))


@pytest.mark.parametrize("evalset", ["trip.yaml", "trip-path.yaml", "trips.yaml", "shop.yaml"])
@pytest.mark.parametrize("trace", ["trip.json", "trip-names-only.json", "shop.json", "shop-content-off.json"])
def test_results_of_real_traces_satisfy_it(evalset: str, trace: str) -> None:
    cases = load_eval_set(str(DOCS / "examples" / evalset)).cases
    trajectories = list(read(str(DOCS / "examples" / trace)))
    results = [judge(case, trajectory) for case in cases for trajectory in trajectories]

    assert any(one.results for one in results)
    VALIDATOR.validate(written(report(*results)))


def test_values_that_json_does_not_have_and_what_was_not_recorded_satisfy_it() -> None:
    calls = (ToolCall("a", {"x": float("nan")}, 10**400), ToolCall("b"), ToolCall("c", None, "\ud800", error="no"))
    outcome = Outcome(seconds=0.1, cause="raised", error="Boom", traceback="at 1", stdout="hello")
    made = result("odd", "error", trajectory=Trajectory(calls=calls, output=float("inf")), outcome=outcome)

    VALIDATOR.validate(written(report(made, result("none", "not_measured", trajectory=None))))


@pytest.mark.parametrize(
    "change",
    [{"verdict": "fine"}, {"score": "1"}, {"case_id": None}, {"surprise": 1}, {"findings": [{"code": "RC101"}]}],
    ids=str,
)
def test_a_document_that_is_no_report_does_not(change: dict[str, Any]) -> None:
    document = written(report(result("good")))
    document["cases"][0] |= change

    assert not VALIDATOR.is_valid(document)


def test_the_published_schema_is_this_one() -> None:
    assert json.loads((DOCS / "reference" / "report.schema.json").read_text()) == json.loads(
        json.dumps(report_schema())
    )
