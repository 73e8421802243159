"""Results of recorded traces do not depend on who scores them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reading.traces import call, line, span

from rightcall.errors import InputError
from rightcall.reporting.reports import json_case
from rightcall.scale.local import Request, Scoring, Sources

_FILLING = "x" * 30_000


def _run(trace: int, tool: str = "search", **named: str) -> list[dict[str, Any]]:
    trace_id = f"{trace:032x}"
    root = span(trace * 10, {"filling": _FILLING, **named}, traceId=trace_id)
    return [root, call(trace * 10 + 1, tool, json.dumps({"n": trace}), parent=trace * 10, traceId=trace_id)]


def _large_file(path: Path, count: int = 1_400) -> Path:
    """Runs of which every tenth goes on twenty lines later, and every hundredth calls something else."""
    later: list[bytes] = []
    with path.open("wb") as file:
        for trace in range(count):
            spans = _run(
                trace, "delete" if trace % 100 == 7 else "search", **{"rightcall.case.id": f"case-{trace % 3}"}
            )
            if trace % 10:
                file.write(line(*spans))
            else:
                file.write(line(spans[0]))
                later.append(line(spans[1]))
            if len(later) == 2:
                file.write(later.pop(0))
        file.write(b"".join(later))
    return path


def _results(request: Request, *files: Path, workers: int, complaints: list[str] | None = None) -> list[Any]:
    complain = (complaints if complaints is not None else []).append
    sources = Sources(request, [str(file) for file in files], complain=lambda problem: complain(str(problem)))
    return [(scored.result, scored.evidence) for scored in Scoring(request, sources, workers=workers).results()]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = _large_file(tmp_path_factory.mktemp("large") / "traces.jsonl")
    yield path
    path.unlink()


def test_two_workers_find_what_one_finds_in_the_same_order(large: Path) -> None:
    request = Request(expectation=(b"never: [delete]", "--expect"), wants_evidence="all")

    alone, together = (_results(request, large, workers=workers) for workers in (1, 2))

    assert len(alone) == 1_400
    assert sum(not result.passed for result, _ in alone) == 14
    assert [(result, _judged(evidence)) for result, evidence in together] == [
        (result, _judged(evidence)) for result, evidence in alone
    ]


def _judged(evidence: str) -> Any:
    return json.loads(evidence)["trajectory"]


def test_repeats_of_a_case_are_numbered_across_workers(large: Path, tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: case-0, expect: {calls: [search]}}, {id: case-2, expect: {calls: [search]}}]")

    results = _results(Request(evalset=str(evalset)), large, workers=2)

    assert [result.repeat for result, _ in results if result.case_id == "case-0"] == list(range(467))
    assert {result.case_id for result, _ in results} == {"case-0", "case-2"}


def test_a_file_that_cannot_be_read_costs_that_file(large: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("remember the milk")
    complaints: list[str] = []

    results = _results(
        Request(expectation=(b"never: [delete]", "--expect")), notes, large, workers=2, complaints=complaints
    )

    assert len(results) == 1_400
    assert len(complaints) == 1
    assert complaints[0].startswith(str(notes))


def test_nothing_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        _results(Request(expectation=(b"never: [delete]", "--expect")), tmp_path / "missing", workers=2)


def _small(tmp_path: Path, *names: str | None) -> Path:
    path = tmp_path / "traces.jsonl"
    named = [{"rightcall.case.id": name} if name else {} for name in names]
    path.write_bytes(b"".join(line(*_run(number + 1, **name)) for number, name in enumerate(named)))
    return path


@pytest.mark.parametrize(
    ("join", "names", "expected"),
    [
        ("auto", (None, None), [("one", "passed"), ("two", "passed")]),
        ("auto", (None, "one"), [("one", "passed"), ("two", "not_measured")]),
        ("auto", (None,), [("one", "not_measured"), ("two", "not_measured")]),
        ("order", (None,), [("one", "passed"), ("two", "not_measured")]),
        ("order", ("two", "one", None), [("one", "passed"), ("two", "passed")]),
        ("attribute", (None, None), [("one", "not_measured"), ("two", "not_measured")]),
    ],
)
def test_order_decides_only_where_nothing_else_does(
    join: Any, names: tuple[str | None, ...], expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}, {id: two, expect: {calls: [search]}}]")

    results = _results(Request(evalset=str(evalset), join=join), _small(tmp_path, *names), workers=1)

    assert [(result.case_id, result.verdict) for result, _ in results] == expected


def test_a_case_without_a_trace_is_written_as_any_other(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}, {id: two, expect: {calls: [search]}}]")
    request = Request(evalset=str(evalset), wants_evidence="all")

    results = _results(request, _small(tmp_path, "one"), workers=1)

    written = [json.loads(json_case(result, evidence)) for result, evidence in results]
    assert [(case["case_id"], case["verdict"]) for case in written] == [("one", "passed"), ("two", "not_measured")]
    assert written[0].keys() == written[1].keys()


def test_strangers_are_counted(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}]")
    request = Request(evalset=str(evalset))
    scoring = Scoring(request, Sources(request, [str(_small(tmp_path, "one", "other", None))], complain=print))

    list(scoring.results())

    assert scoring.strangers == 2
