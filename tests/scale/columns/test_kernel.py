"""Scores of rows are what the evaluators say of the same trajectories."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st
from tests.sampling import examples, sample
from tests.scale.columns.lottery import Lottery, cut

from rightcall import InputError, Trajectory, judge
from rightcall.scale.columns import SCORES, TRAJECTORIES, Plan, score_batch, trajectory_of

ORDER = Plan.of_expectation("order: [search, book]")


def rows(*calls: Any, **columns: Any) -> pa.RecordBatch:
    """Rows with these calls, named r0, r1 and so on."""
    made = [{"id": f"r{number}", "calls": each} for number, each in enumerate(calls)]
    for name, values in columns.items():
        for row, value in zip(made, values, strict=True):
            row[name] = value
    return pa.RecordBatch.from_pylist(made)


def ordinary(trajectory: Trajectory, plan: Plan) -> tuple[Any, ...]:
    """What the ordinary evaluators say of the trajectory of a row."""
    [case] = plan.cases
    results = [check.evaluator.evaluate(trajectory, check.criteria) for check in case.checks]
    # Several evaluators are weighed by whoever judges a case; of one, its verdict is the case's.
    whole: Any = results[0] if len(results) == 1 else judge(case, trajectory)
    causes = [
        (each.evaluator, code, tool or None)
        for each in results
        if not each.passed
        for code, tool in sorted({(finding.code, finding.tool) for finding in each.findings})
    ]
    return whole.verdict, whole.score, [(each.evaluator, each.verdict, each.score) for each in results], causes


def read(row: dict[str, Any]) -> Trajectory | str:
    """The trajectory of a row, or why it cannot be read."""
    try:
        return trajectory_of(row)
    except InputError as problem:
        return str(problem)


def columnar(score: dict[str, Any]) -> tuple[Any, ...]:
    """What the columns say of a row, in the same form."""
    measures = [tuple(each.values()) for each in score["measures"]]
    return score["verdict"], score["score"], measures, [tuple(each.values()) for each in score["diagnoses"]]


@pytest.mark.corpus
@pytest.mark.parametrize("seed", sample(range(50), "seeds of rows", 20))
def test_2_000_rows_are_scored_as_the_evaluators_judge_them(seed: int) -> None:
    """With 20 seeds, 40,000 trajectories held against 200 expectations; with all, 100,000 against 500."""
    lottery = Lottery(seed)
    for _ in range(10):
        plan, batch = Plan.of_expectation(lottery.expectation()), lottery.batch(200)

        scores = score_batch(batch, plan)

        assert scores.num_rows == batch.num_rows
        for row, score in zip(batch.to_pylist(), scores.to_pylist(), strict=True):
            found = read(row)
            if isinstance(found, Trajectory):
                assert columnar(score) == ordinary(found, plan), (plan.text, row)
            elif plan.scopes[0].fields is None:  # what a plan does not look at is not read
                assert score["error"] == found


@examples(40)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 50), min_size=1, max_size=5))
@example(3707, [1])  # two rows with the same calls in another order, the arguments of one call unknown
def test_the_scores_do_not_depend_on_how_rows_are_cut_into_batches(seed: int, sizes: list[int]) -> None:
    lottery = Lottery(seed)
    plan, batch = Plan.of_expectation(lottery.expectation()), lottery.batch(100)

    parts = [score_batch(part, plan) for part in cut(batch, itertools.cycle(sizes))]

    assert pa.Table.from_batches(parts).combine_chunks().to_batches()[0].equals(score_batch(batch, plan))


def test_a_row_is_explained_by_the_order_of_its_own_calls() -> None:
    plan = Plan.of_expectation({"args": ["book", {"name": "book", "args": {"to": "Rome"}}]})
    other, unknown = {"name": "book", "args": '{"to": "Oslo"}'}, {"name": "book", "args": None}
    both = [{"id": "first", "calls": [other, unknown]}, {"id": "second", "calls": [unknown, other]}]

    scores = score_batch(pa.RecordBatch.from_pylist(both, schema=TRAJECTORIES), plan).to_pylist()

    assert [score["verdict"] for score in scores] == ["not_measured"] * 2
    for row, score in zip(both, scores, strict=True):
        assert columnar(score) == ordinary(trajectory_of(row), plan)
        assert score == score_batch(pa.RecordBatch.from_pylist([row], schema=TRAJECTORIES), plan).to_pylist()[0]


def test_a_row_is_explained_by_the_places_of_its_own_calls() -> None:
    """Calls are paired by position, so that one of another tool before them decides which of two is at fault."""
    wanted = [{"name": name, "args": {"q": 1}} for name in "abc"]
    plan = Plan.of_expectation({"calls": wanted})
    made = [{"name": name, "args": f'{{"q": {q}}}'} for name, q in (("a", 2), ("c", 1), ("b", 2), ("c", 1))]
    other = {"name": "z", "args": "{}"}
    both = [{"id": "first", "calls": [*made, other]}, {"id": "second", "calls": [other, *made]}]

    for batches in [both], [[row] for row in both]:
        scores = [
            score for each in batches for score in score_batch(pa.RecordBatch.from_pylist(each), plan).to_pylist()
        ]

        assert scores[0]["diagnoses"] != scores[1]["diagnoses"]
        for row, score in zip(both, scores, strict=True):
            assert columnar(score) == ordinary(trajectory_of(row), plan)


def test_each_row_has_a_score_in_its_place() -> None:
    scores = score_batch(rows(["search", "book"], ["book", "search"], [], ["search"]), ORDER)

    assert scores.schema == SCORES
    assert scores.column("id").to_pylist() == ["r0", "r1", "r2", "r3"]
    assert scores.column("verdict").to_pylist() == ["passed", "failed", "failed", "failed"]
    assert scores.column("score").to_pylist() == [1.0, 0.5, 0.0, 0.5]
    assert scores.column("diagnoses").to_pylist()[3] == [{"evaluator": "order", "code": "RC101", "tool": "book"}]


def test_an_empty_batch_has_no_scores() -> None:
    batch = pa.RecordBatch.from_pylist([], schema=TRAJECTORIES)

    assert score_batch(batch, ORDER).num_rows == 0


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"calls": None}, "calls are missing"),
        ({"calls": [{"name": None}]}, "a call named"),
        ({"calls": [{"name": ""}]}, "a call named"),
        ({"calls": [{"name": "book", "args": "{"}]}, "the arguments of call 1 are not JSON"),
        ({"calls": [{"name": "book", "args": "[1]"}]}, "the arguments of call 1 are [1]; they should be an object"),
    ],
)
def test_a_row_that_cannot_be_read_is_an_error_of_that_row(row: dict[str, Any], problem: str) -> None:
    good = {"id": "good", "calls": [{"name": "book", "args": '{"to": "Rome"}'}]}
    batch = pa.RecordBatch.from_pylist([{"id": "bad", **row}, good], schema=TRAJECTORIES)

    bad, fine = score_batch(
        batch, Plan.of_expectation({"args": [{"name": "book", "args": {"to": "Rome"}}]})
    ).to_pylist()

    assert (bad["verdict"], bad["score"], bad["measures"]) == ("error", None, None)
    assert problem in bad["error"]
    assert (fine["verdict"], fine["error"]) == ("passed", None)


def test_what_the_plan_does_not_look_at_is_not_read() -> None:
    batch = pa.RecordBatch.from_pylist([{"calls": [{"name": "search", "args": "{"}, {"name": "book", "args": "{}"}]}])

    assert score_batch(batch, ORDER).column("verdict").to_pylist() == ["passed"]


def test_lists_of_one_size_are_taken() -> None:
    column = pa.array([["search", "book"], ["book", "book"]], pa.list_(pa.string(), 2))
    batch = pa.RecordBatch.from_arrays([column], ["calls"])

    assert score_batch(batch.slice(1), ORDER).column("score").to_pylist() == [0.5]


def test_arguments_may_be_called_arguments() -> None:
    batch = pa.RecordBatch.from_pylist([{"calls": [{"name": "book", "arguments": '{"to": "Rome"}'}]}])

    for expect in ({"args": [{"name": "book", "args": {"to": "Rome"}}]}, {"steps": 1, "args": ["book"]}):
        assert score_batch(batch, Plan.of_expectation(expect)).column("verdict").to_pylist() == ["passed"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
        pa.list_view(pa.string()),
        pa.large_list_view(pa.string()),
        pa.list_(pa.string_view()),
        pa.list_(pa.struct([("name", pa.large_string())])),
    ],
    ids=str,
)
def test_names_are_taken_in_every_type_that_holds_them(kind: pa.DataType) -> None:
    calls: Any = [["search", "book"], ["book"]]
    if pa.types.is_struct(kind.value_type):
        calls = [[{"name": name} for name in row] for row in calls]
    batch = pa.RecordBatch.from_arrays([pa.array(calls, kind)], ["calls"])

    assert score_batch(batch, ORDER).column("score").to_pylist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (pa.RecordBatch.from_pylist([{"names": ["a"]}]), "has a column 'calls'; this one has names"),
        (pa.RecordBatch.from_pylist([{"calls": "a"}]), "'calls' is a list of names or of structs, not string"),
        (pa.RecordBatch.from_pylist([{"calls": [1]}]), "'calls' is a list of names or of structs, not list"),
        (pa.RecordBatch.from_pylist([{"calls": [{"tool": "a"}]}]), "the calls have no 'name'; they have tool"),
    ],
    ids=["no calls", "text", "numbers", "no names"],
)
def test_a_table_of_something_else_is_refused_as_a_whole(batch: pa.RecordBatch, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        score_batch(batch, ORDER)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pa.array([b"\x01\xff"]), "01ff"),
        (pa.array([7]), "7"),
        (pa.array(["é"], pa.large_string()), "é"),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.array([None], pa.null()), None),
    ],
    ids=["bytes", "numbers", "large", "dictionary", "null"],
)
def test_ids_are_taken_as_tables_have_them(column: pa.Array, shown: str | None) -> None:
    batch = pa.RecordBatch.from_arrays([column, pa.array([["search"]])], ["id", "calls"])

    assert score_batch(batch, ORDER).column("id").to_pylist() == [shown]


def test_times_may_be_timestamps_and_durations() -> None:
    call = pa.array([{"name": "a", "start_ns": 1, "end_ns": 3}], pa.struct([("name", pa.string()), *_TIMES]))
    calls = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), call)
    duration = pa.array([2], pa.duration("s"))
    batch = pa.RecordBatch.from_arrays([calls, duration], ["calls", "duration_ns"])

    [score] = score_batch(batch, Plan.of_expectation({"call_seconds": 1, "seconds": 1})).to_pylist()

    assert [each["verdict"] for each in score["measures"]] == ["failed", "failed"]
    assert score["seconds"] == 2.0


_TIMES = [("start_ns", pa.timestamp("s")), ("end_ns", pa.timestamp("s"))]


@pytest.mark.parametrize(
    ("name", "column"),
    [("id", [[1]]), ("output", [{"a": 1}]), ("duration_ns", ["x"]), ("metadata", [1.5]), ("turn_outputs", ["x"])],
)
def test_a_column_of_another_type_is_refused_by_name(name: str, column: list[Any]) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([["search"]]), pa.array(column)], ["calls", name])

    with pytest.raises(InputError, match=f"the column '{name}' holds .*; it should hold"):
        score_batch(batch, ORDER)


def test_text_that_is_not_utf_8_is_told_in_escapes() -> None:
    data = pa.py_buffer(b"se\xffarchbook")
    names = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(pa.array([0, 7, 11], pa.int32()).buffers()[1]), data]
    )
    batch = pa.RecordBatch.from_arrays([pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), names)], ["calls"])

    [score] = score_batch(batch, Plan.of_expectation({"calls": ["book"]})).to_pylist()

    assert score["diagnoses"] == [{"evaluator": "calls", "code": "RC102", "tool": "se\\xffarch"}]


def test_more_names_than_a_byte_can_hold_are_told_apart() -> None:
    strange = [f"tool-{number}" for number in range(600)]
    plan = Plan.of_expectation({"calls": ["search", "book"]})
    calls = [["search", "book"], ["search", "book", "tool-7"], ["tool-599", "search", "book"], strange[:20]]

    scores = score_batch(rows(*calls, *[[name] for name in strange]), plan).to_pylist()

    assert [score["verdict"] for score in scores[:4]] == ["passed", "failed", "failed", "failed"]
    assert scores[1]["diagnoses"] == [{"evaluator": "calls", "code": "RC102", "tool": "tool-7"}]
    assert scores[2]["diagnoses"] == [{"evaluator": "calls", "code": "RC102", "tool": "tool-599"}]


def test_more_expected_names_than_a_byte_can_hold_are_compared_all_the_same() -> None:
    names = [f"tool-{number}" for number in range(300)]
    plan = Plan.of_expectation({"order": names})

    scores = score_batch(rows(names, names[:150]), plan)

    assert scores.column("score").to_pylist() == [1.0, 0.5]


EVALSET = """
cases:
  - {id: first, expect: {order: [search]}}
  - {id: second, expect: {order: [book], counts: {search: 0}}, metadata: {trace_id: t2}}
"""


def test_rows_are_held_against_the_cases_they_name(tmp_path: Any) -> None:
    (tmp_path / "set.yaml").write_text(EVALSET)
    plan = Plan.of_eval_set(tmp_path / "set.yaml")
    batch = rows(*[["search"]] * 4, case_id=["first", None, None, "third"], trace_id=["t1", "t2", "first", "t4"])

    scores = score_batch(batch, plan).to_pylist()

    assert [score["case_id"] for score in scores] == ["first", "second", "first", None]
    assert [score["verdict"] for score in scores] == ["passed", "failed", "passed", "not_measured"]
    assert [len(score["measures"] or ()) for score in scores] == [1, 2, 1, 0]
    assert scores[3]["error"] == "it belongs to no case"


def test_how_long_a_run_took_is_in_its_score() -> None:
    batch = rows(["search"], ["book"], duration_ns=[1_500_000_000, None])

    assert score_batch(batch, ORDER).column("seconds").to_pylist() == [1.5, None]


def test_scores_can_be_sent_to_whoever_reads_json() -> None:
    scores = score_batch(rows(["search"]), ORDER).to_pylist()

    assert json.loads(json.dumps(scores)) == scores


def test_odd_rows_are_read_no_further_than_others() -> None:
    odd = [{"name": "search", "args": "{", "internal": True}, {"name": "search"}, {"name": "book"}]
    batch = pa.RecordBatch.from_pylist([{"id": "odd", "calls": odd}], schema=TRAJECTORIES)

    assert score_batch(batch, ORDER).column("verdict").to_pylist() == ["passed"]
