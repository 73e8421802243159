"""What scores come to: the same as counting them one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st
from pyarrow import parquet
from tests.sampling import examples
from tests.scale.lake.lakes import CUT, rows, score, scores, write_table

from rightcall.scale.columns import SCORES, Plan
from rightcall.scale.lake import A_RULE, Counting, Job, Summary, exemplars, score_fragment, summarise
from rightcall.values.results import Totals

_NAMES = st.sampled_from(["a", "b", "ü", ""])
_VERDICTS = st.sampled_from(["passed", "failed", "not_measured", "error"])
_SCORE = st.none() | st.floats(0, 1)
_ROW = st.fixed_dictionaries(
    {
        "id": st.none() | st.text(max_size=3),
        "case_id": st.none() | _NAMES,
        "verdict": _VERDICTS,
        "score": _SCORE,
        "measures": st.none()
        | st.lists(st.fixed_dictionaries({"evaluator": _NAMES, "verdict": _VERDICTS, "score": _SCORE}), max_size=3),
        "diagnoses": st.none()
        | st.lists(
            st.fixed_dictionaries(
                {"evaluator": _NAMES, "code": st.sampled_from(["RC101", "RC103", "RC999"]), "tool": st.none() | _NAMES}
            ),
            max_size=4,
        ),
        "seconds": st.none() | st.floats(0, 9),
        "error": st.none() | st.sampled_from(["broken", "it belongs to no case"]),
    }
)


def _took(id: str | None, seconds: float) -> dict[str, Any]:
    return {**dict.fromkeys(SCORES.names), "id": id, "verdict": "passed", "seconds": seconds}


@example(made=[*[_took(None, 1.0) for _ in range(5)], _took("0", 1.0)], size=9, ends=set())
@example(made=[*[_took("b", 1.0) for _ in range(5)], _took("a", 1.0)], size=1, ends=set())
@examples(50)
@given(made=st.lists(_ROW, max_size=30), size=st.integers(1, 31), ends=st.sets(st.integers(0, 30)))
def test_counting_by_columns_is_counting_one_by_one(made: list[dict[str, Any]], size: int, ends: set[int]) -> None:
    counting, part = Counting(2), Counting(2)
    for first in range(0, len(made), size):
        batch = pa.RecordBatch.from_pylist(made[first : first + size], schema=SCORES)
        part.add(batch, "file", first)
        if first in ends:
            counting.merge(part)
            part = Counting(2)
    counting.merge(part)

    summary = counting.summary(["a", "z"])

    known = [row for row in made if row["error"] != "it belongs to no case"]
    verdicts = Counter(row["verdict"] for row in known)
    problems = Counter(
        problem for row in made for problem in {(each["code"], each["tool"] or "") for each in row["diagnoses"] or []}
    )
    scored = [row["score"] for row in made if row["score"] is not None]
    took = [(-row["seconds"], row["id"] or "") for row in made if row["seconds"]]
    assert summary.rows == len(made)
    assert summary.no_case == len(made) - len(known)
    assert summary.totals == Totals(*[verdicts[name] for name in ("passed", "failed", "not_measured", "error")])
    assert summary.scores == tuple([[min(9, int(score * 10)) for score in scored].count(bar) for bar in range(10)])
    largest = sorted([(-count, *problem) for problem, count in problems.items()])
    assert [(-group.rows, group.code, group.tool) for group in summary.groups] == largest[:10]
    assert summary.more_groups == len(largest[10:])
    assert [(-slow.seconds, slow.id) for slow in summary.slowest] == sorted(took)[:5]
    assert summary.unmet_cases == len({"a", "z"} - {row["case_id"] for row in made})
    assert summary.mean_score == (pytest.approx(sum(scored) / len(scored)) if scored else None)
    _check_evaluators(summary, made)
    _check_exemplars(counting, made)


def _check_evaluators(summary: Summary, made: list[dict[str, Any]]) -> None:
    measures = [each for row in made for each in row["measures"] or []]
    assert set(summary.evaluators) == {each["evaluator"] for each in measures}
    for name, totals in summary.evaluators.items():
        mine = [each for each in measures if each["evaluator"] == name]
        counts = Counter(each["verdict"] for each in mine)
        assert (totals.passed, totals.failed) == (counts["passed"], counts["failed"])
        assert (totals.not_measured, totals.error) == (counts["not_measured"], counts["error"])
        found = [each["score"] for each in mine if each["score"] is not None]
        assert totals.mean_score == (pytest.approx(sum(found) / len(found)) if found else None)


def _check_exemplars(counting: Counting, made: list[dict[str, Any]]) -> None:
    expected: dict[Any, list[int]] = {}
    for number, row in enumerate(made):
        for each in row["diagnoses"] or []:
            places = expected.setdefault((each["evaluator"], each["code"], each["tool"] or ""), [])
            if number not in places:
                places.append(number)
    assert {rule: [place.row for place in places] for rule, places in counting.exemplars.items()} == {
        rule: places[:2] for rule, places in expected.items()
    }


@pytest.mark.parametrize(
    ("totals", "more", "code"),
    [
        (Totals(passed=1), {}, 0),
        (Totals(passed=1, failed=1, error=1), {"failed_parts": 1}, 1),
        (Totals(passed=1, error=1), {}, 2),
        (Totals(passed=1, not_measured=1), {}, 2),
        (Totals(), {"no_case": 1}, 2),
        (Totals(passed=1), {"failed_parts": 1}, 2),
        (Totals(passed=1), {"unmet_cases": 1}, 2),
        (Totals(passed=1), {"no_case": 1}, 0),
    ],
)
def test_exit_codes_are_those_of_every_command(totals: Totals, more: dict[str, Any], code: int) -> None:
    assert Summary(rows=2, totals=totals, **more).exit_code == code


def test_any_folder_of_scores_can_be_summarised(tmp_path: Path) -> None:
    write_table(tmp_path / "in" / "a.parquet", rows(30))
    score(tmp_path / "in", tmp_path / "out")
    parquet.write_table(pa.table({"x": [1]}), tmp_path / "out" / "other.parquet")
    whole = summarise(str(tmp_path / "out"))
    for number, path in enumerate((tmp_path / "out").glob("*-*.parquet")):
        path.rename(path.with_name(f"part-{number}.parquet"))

    summary = summarise(str(tmp_path / "out"))

    assert summary.rows == 30
    assert summary.totals == whole.totals
    assert summary.groups == whole.groups


def test_some_rows_of_each_kind_of_failure_are_judged_with_all_their_details(tmp_path: Path) -> None:
    write_table(tmp_path / "in" / "a.parquet", rows(200))
    plan = Plan.of_expectation("order: [search, book]\nnever: [pay]\ncounts: {mail: '<= 1'}")
    with Job([str(tmp_path / "in")], plan, str(tmp_path / "out"), cut=CUT) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, job.out)
        counting = job.count()
        found = list(exemplars(job, counting))
        few = list(exemplars(job, counting, most=len(counting.exemplars)))

    told = {(each.expectation, each.finding.code, each.finding.tool) for one in found for each in one.findings}
    assert told == set(counting.exemplars)
    assert all(not result.passed and result.trajectory is not None and result.results for result in found)
    assert len({result.case_id for result in found}) == len(found) <= A_RULE * len(told)
    assert len(few) <= len(counting.exemplars)


def test_a_row_that_failed_is_an_example_though_a_call_in_it_that_nobody_looked_at_is_broken(tmp_path: Path) -> None:
    plan = Plan.of_expectation({"args": [{"name": "search", "args": {"n": 1}}]})
    calls = [{"name": "mail", "args": "{oops"}, {"name": "search", "args": '{"n": 2}'}]
    source = write_table(tmp_path / "in" / "a.parquet", [{"id": "half", "calls": calls}])
    with Job([str(source)], plan, str(tmp_path / "out")) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, str(tmp_path / "out"))

        [result] = exemplars(job, job.count())

    assert (result.case_id, result.verdict) == ("half", "failed")
    assert [finding.finding.code for finding in result.findings] == ["RC104"]


def test_a_line_that_cannot_be_read_is_an_error_whatever_case_it_would_belong_to(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("cases:\n  - {id: one, expect: {order: [search]}}\n")
    (tmp_path / "in.jsonl").write_text('{"case_id": "one", "calls": ["search"]}\nnot JSON\n')

    score(tmp_path / "in.jsonl", tmp_path / "out", Plan.of_eval_set(tmp_path / "set.yaml"))

    assert [row["verdict"] for row in scores(tmp_path / "out")] == ["passed", "error"]
