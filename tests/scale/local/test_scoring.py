"""Results of recorded traces do not depend on who scores them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.reading.corpus import inputs, names
from tests.reading.traces import call, line, span
from tests.sampling import sample
from tests.walls import for_each

from rightcall.errors import InputError
from rightcall.reading import Reading
from rightcall.scale.local import Scored, Scoring, Sources
from rightcall.scale.request import Request
from rightcall.values.trajectory import Trajectory

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


def _scored(request: Request, *files: Path, workers: int, complaints: list[str] | None = None) -> list[Scored]:
    complain = (complaints if complaints is not None else []).append
    sources = Sources(Reading(), [str(file) for file in files], complain=lambda problem: complain(str(problem)))
    return list(Scoring(request, sources, workers=workers, evidence="all").results())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = _large_file(tmp_path_factory.mktemp("large") / "traces.jsonl")
    yield path
    path.unlink()


def test_two_workers_find_what_one_finds_in_the_same_order(large: Path) -> None:
    request = Request(expectation=(b"never: [delete]", "--expect"))

    alone, together = (_scored(request, large, workers=workers) for workers in (1, 2))

    assert len(alone) == 1_400
    assert sum(not each.result.passed for each in alone) == 14
    assert [_but_for_seconds(each) for each in together] == [_but_for_seconds(each) for each in alone]
    assert sum(each.evidence is not None for each in together) > 1_000  # most were scored by a worker


def _but_for_seconds(scored: Scored) -> Any:
    """A result as JSON, without what differs between two runs of the same."""
    document = json.loads(scored.document())
    for result in document["evaluations"]:
        del result["evaluation_time"]
    return document


def test_repeats_of_a_case_are_numbered_across_workers(large: Path, tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: case-0, expect: {calls: [search]}}, {id: case-2, expect: {calls: [search]}}]")

    results = [each.result for each in _scored(Request(evalset=str(evalset)), large, workers=2)]

    assert [result.repeat for result in results if result.case_id == "case-0"] == list(range(467))
    assert {result.case_id for result in results} == {"case-0", "case-2"}


def test_a_file_that_cannot_be_read_costs_that_file(large: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("remember the milk")
    complaints: list[str] = []

    results = _scored(
        Request(expectation=(b"never: [delete]", "--expect")), notes, large, workers=2, complaints=complaints
    )

    assert len(results) == 1_400
    assert len(complaints) == 1
    assert complaints[0].startswith(str(notes))


def test_nothing_that_can_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        _scored(Request(expectation=(b"never: [delete]", "--expect")), tmp_path / "missing", workers=2)


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

    scored = _scored(Request(evalset=str(evalset), join=join), _small(tmp_path, *names), workers=1)

    assert [(each.result.case_id, each.result.verdict) for each in scored] == expected


def test_a_case_without_a_trace_is_written_as_any_other(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}, {id: two, expect: {calls: [search]}}]")

    scored = _scored(Request(evalset=str(evalset)), _small(tmp_path, "one"), workers=1)

    written = [json.loads(each.document()) for each in scored]
    assert [(case["case_id"], case["verdict"]) for case in written] == [("one", "passed"), ("two", "not_measured")]
    assert written[0].keys() == written[1].keys()


def test_trajectories_of_no_case_are_counted(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}]")
    request = Request(evalset=str(evalset))
    scoring = Scoring(request, Sources(Reading(), [str(_small(tmp_path, "one", "other", None))], complain=print))

    list(scoring.results())

    assert scoring.unmatched == 2


def test_a_file_joined_by_order_is_read_once(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}]")
    sources = _CountedSources(Reading(), [str(_small(tmp_path, None))], complain=print)

    results = list(Scoring(Request(evalset=str(evalset)), sources, workers=1).results())

    assert [each.result.verdict for each in results] == ["passed"]
    assert sources.times == 1


class _CountedSources(Sources):
    times: int = 0

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        self.times += 1
        return super().trajectories()


def test_more_trajectories_than_are_held_are_joined_by_order_all_the_same(tmp_path: Path) -> None:
    count = 300
    evalset, traces = tmp_path / "set.json", tmp_path / "traces.jsonl"
    evalset.write_text(json.dumps({"cases": [{"id": f"c{n}", "expect": {"calls": ["search"]}} for n in range(count)]}))
    runs = [_run(n + 1, "search" if n % 7 else "delete", filling="") for n in range(count)]
    traces.write_bytes(b"".join(line(*spans) for spans in runs))

    scored = _scored(Request(evalset=str(evalset)), traces, workers=1)

    assert [each.result.passed for each in scored] == [bool(n % 7) for n in range(count)]
    assert [each.result.case_id for each in scored] == [f"c{n}" for n in range(count)]


def test_a_request_for_fewer_cases_does_not_load_the_eval_set_again(tmp_path: Path) -> None:
    evalset = tmp_path / "set.yaml"
    evalset.write_text("cases: [{id: one, expect: {calls: [search]}}, {id: two, expect: {calls: [search]}}]")
    request = Request(evalset=str(evalset))
    [one, _] = request.expected.cases
    evalset.unlink()

    assert request.only(frozenset(["one"])).expected.cases == (one,)


@for_each(
    ("expectation", "is_about_calls"),
    [
        ("calls: [search]", True),
        ("{calls: [{search: {n: 1}}], never: [delete]}", True),
        ("order: [search, book]", True),
        ("order: {criteria: [search], agent: clerk}", True),
        ("calls: [{search: {n: {$from: input}}}]", False),
        ("never: [{search: {n: {$from: input}}}]", False),
        ("output: x", False),
        ("{calls: [search], tokens: 10}", False),
        ("{calls: [search], seconds: 10}", False),
    ],
)
def test_what_runs_returned_and_took_is_asked_for_if_a_verdict_may_depend_on_it(
    expectation: str, is_about_calls: bool
) -> None:
    assert Request(expectation=(expectation.encode(), "x")).expected.is_about_calls is is_about_calls


@for_each(
    "document",
    [
        {"when": {"input": "x"}, "expect": {"calls": ["search"]}},
        {"expect": {"calls": [["search"], ["book"]]}},
        {"expect": {"output": "x"}},
    ],
)
def test_one_case_that_looks_at_more_than_calls_is_enough(tmp_path: Path, document: dict[str, Any]) -> None:
    evalset = tmp_path / "set.json"
    plain = {"id": "one", "expect": {"calls": ["search"]}}
    evalset.write_text(json.dumps({"cases": [plain, {"id": "two", **document}]}))

    assert not Request(evalset=str(evalset)).expected.is_about_calls
    assert Request(evalset=str(evalset), case_ids=frozenset(["one"])).expected.is_about_calls


@pytest.mark.corpus
def test_calls_are_the_same_if_nothing_else_is_asked_for() -> None:
    for run in sample(names(), "calls alone", 40):
        for name, data in inputs(run).items():
            whole = list(Reading().read(data))
            bare = list(Reading(calls_alone=True).read(data))
            rest = {"input": None, "output": None, "turn_inputs": (), "turn_outputs": (), "usage": None}

            assert bare == [msgspec.structs.replace(each, **rest) for each in whole], f"{run}/{name}"
