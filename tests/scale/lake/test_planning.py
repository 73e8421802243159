"""Parts of the input: every row in one of them, whatever the files look like, and always the same ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyarrow import parquet
from tests.sampling import examples
from tests.scale.lake.lakes import CUT, PLAN, rows, score, scores, write_lines, write_table

from rightcall.errors import InputError
from rightcall.reading import Reading
from rightcall.scale.columns import Plan
from rightcall.scale.lake import Cut, batches, find_fragments


def _rows(file: Path, cut: Cut) -> list[Any]:
    """The rows of all parts of a file, and what is wrong with them."""
    return [
        (row, rows.problems.get(number))
        for fragment in find_fragments([str(file)], PLAN, cut=cut)
        for rows in batches(fragment)
        for number, row in enumerate(rows.batch.to_pylist())
    ]


@examples(40)
@given(count=st.integers(0, 120), group=st.integers(1, 70), united=st.integers(1, 50), most=st.integers(1, 60))
def test_each_row_of_a_table_is_in_exactly_one_part(
    tmp_path_factory: pytest.TempPathFactory, count: int, group: int, united: int, most: int
) -> None:
    table = write_table(tmp_path_factory.mktemp("table") / "a.parquet", rows(count), group)

    parts = _rows(table, Cut(rows=united, most_rows=most))

    assert parts == _rows(table, Cut())
    assert len(parts) == count


@examples(60)
@given(
    lines=st.lists(
        st.sampled_from(["", "  ", "{", "é" * 9, '{"calls": ["search", "book"]}', '{"id": 7, "calls": []}'])
    ),
    size=st.integers(1, 90),
    ending=st.sampled_from(["", "\n"]),
)
def test_each_line_is_in_exactly_one_part_wherever_the_bytes_are_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, ending: str
) -> None:
    file = tmp_path_factory.mktemp("lines") / "a.jsonl"
    file.write_bytes("\n".join(['{"id": "first", "calls": ["search"]}', *lines]).encode() + ending.encode())

    parts = _rows(file, Cut(size=size))

    assert parts == _rows(file, Cut())
    assert len(parts) == 1 + len([line for line in lines if line.strip()])


def test_names_of_parts_are_readable_and_say_the_same_every_time(tmp_path: Path) -> None:
    write_table(tmp_path / "monday" / "trips of day.parquet", rows(50))
    write_table(tmp_path / "tuesday" / "trips of day.parquet", rows(50))

    names = [fragment.file for fragment in find_fragments([str(tmp_path)], PLAN, cut=CUT)]

    assert names == [fragment.file for fragment in find_fragments([str(tmp_path)], PLAN, cut=CUT)]
    assert len(set(names)) == len(names) == 6
    assert all(name.startswith("trips_of_day-0") and name.endswith(".parquet") for name in names)


def test_a_part_is_another_one_when_plan_file_or_reading_change(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a.parquet", rows(5))
    known = {
        find_fragments([str(table)], PLAN)[0].fingerprint,
        find_fragments([str(table)], Plan.of_expectation("order: [search]"))[0].fingerprint,
        find_fragments([str(table)], PLAN, Reading(grouping="trace"))[0].fingerprint,
    }
    write_table(tmp_path / "a.parquet", rows(6))
    known.add(find_fragments([str(table)], PLAN)[0].fingerprint)

    assert len(known) == 4


def test_small_row_groups_are_scored_together_and_large_ones_in_parts(tmp_path: Path) -> None:
    small = write_table(tmp_path / "small.parquet", rows(50), group=8)
    large = write_table(tmp_path / "large.parquet", rows(70), group=70)

    parts = [fragment.part for fragment in find_fragments([str(small), str(large)], PLAN, cut=CUT)]

    assert parts == [
        "row group 1 to 2, rows 1 to 16",
        "row group 3 to 4, rows 17 to 32",
        "row group 5 to 7, rows 33 to 50",
        "row group 1, rows 1 to 23",
        "row group 1, rows 24 to 46",
        "row group 1, rows 47 to 70",
    ]


def test_rows_without_an_id_say_where_they_stand(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a.parquet", [{"calls": []}, {"id": "b", "calls": []}, {"calls": []}], group=1)
    lines = write_lines(tmp_path / "b.jsonl", [{"calls": []}, {"trace_id": "t", "calls": []}, {"calls": []}])
    score(table, tmp_path / "tables", cut=Cut(rows=1))
    score(lines, tmp_path / "lines", cut=Cut(size=20))

    assert {row["id"] for row in scores(tmp_path / "tables")} == {f"{table}#1", "b", f"{table}#3"}
    assert {row["id"] for row in scores(tmp_path / "lines")} == {f"{lines}@0", "t", f"{lines}@45"}


def test_a_table_of_names_alone_is_enough(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"calls": [["search", "book"], ["book"], []]}), tmp_path / "a.parquet")

    score(tmp_path / "a.parquet", tmp_path / "out")

    assert [row["verdict"] for row in scores(tmp_path / "out")] == ["passed", "failed", "failed"]


def test_lines_hold_arguments_as_text_or_as_objects_packed_or_not(tmp_path: Path) -> None:
    expected = Plan.of_expectation("args: [{search: {n: 1}}]")
    objects = [{"id": "1", "calls": [{"name": "search", "args": args}]} for args in ({"n": 1}, '{"n": 1}', {"n": 2})]
    text = "".join([json.dumps(row) + "\n" for row in objects])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(text)
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(text.encode()))

    score(tmp_path / "in", tmp_path / "out", expected)

    assert [row["verdict"] for row in scores(tmp_path / "out")] == ["passed", "passed", "failed"] * 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("7", "the line is 7; it should be an object with calls"),
        ('{"id": "x"}', "calls are missing"),
        ('{"id": "x", "calls": 7}', "calls is 7; it should be a list"),
        ('{"id": "x", "calls": [7]}', "call 1: 7 has no name"),
        ('{"id": "x", "calls": [{"name": 7}]}', "call 1: {'name': 7} has no name"),
        ('{"id": "x", "calls": ["a", {"name": "b", "turn": "c"}]}', "call 2: turn is 'c'; it should be int64"),
        ('{"id": {}, "calls": []}', "id is {}; it should be string"),
        ('{"id": "x", "calls": [], "duration_ns": 1e400}', "duration_ns is inf; it should be int64"),
    ],
)
def test_a_line_that_is_no_trajectory_is_an_error_of_that_row_alone(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"id": "good", "calls": ["search", "book"]}}\n{line}\n{{"id": "last", "calls": []}}\n')

    score(file, tmp_path / "out")

    first, second, third = scores(tmp_path / "out")
    assert (first["id"], first["verdict"]) == ("good", "passed")
    assert second["verdict"] == "error"
    assert problem in second["error"]
    assert second["id"] == ("x" if '"x"' in line else f"{file}@44")
    assert (third["id"], third["verdict"]) == ("last", "failed")


def test_a_table_of_something_else_is_refused_with_its_columns(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"name": ["x"], "price": [1]}), tmp_path / "a.parquet")

    with pytest.raises(InputError, match=r"a\.parquet: neither trajectories .* its columns are name, price"):
        find_fragments([str(tmp_path / "a.parquet")], PLAN)


def test_a_file_that_cannot_be_read_is_told_and_costs_that_file(tmp_path: Path) -> None:
    write_table(tmp_path / "good.parquet", rows(5))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing more")
    problems: list[str] = []

    found = find_fragments([str(tmp_path)], PLAN, complain=lambda problem: problems.append(str(problem)))

    assert [fragment.path for fragment in found] == [str(tmp_path / "good.parquet")]
    [problem] = problems
    assert "bad.parquet: damaged Parquet data" in problem


@pytest.mark.parametrize(
    ("expected", "fields"),
    [
        ({"order": ["search"]}, {"name"}),
        ({"args": [{"name": "search", "args": {"n": 1}}]}, {"name", "args"}),
        ({"steps": 3}, {"name", "args"}),
    ],
    ids=["names", "arguments", "anything"],
)
def test_of_calls_no_more_is_read_than_the_plan_looks_at(
    tmp_path: Path, expected: dict[str, Any], fields: set[str]
) -> None:
    [fragment] = find_fragments([str(write_table(tmp_path / "a.parquet", rows(30), 50))], PLAN)

    [read] = batches(fragment, Plan.of_expectation(expected).fields)

    assert {field.name for field in read.batch.schema.field("calls").type.value_type} == fields
