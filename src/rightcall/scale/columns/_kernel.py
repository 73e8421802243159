"""Rows of trajectories in, rows of scores out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import JudgingExecutor, has_async_evaluators
from rightcall.errors import InputError
from rightcall.judging import NameScope
from rightcall.values.results import CaseResult, EvaluationResult

from ._coded_batch import NOT_SCORED, Calls, Causes, Measured, Outcome, Outcomes, Scored, packed
from ._conform import SCORES, conforming, with_readable_texts
from ._joined_rows import DOUBT, joined_rows, labels_of, repeats_of
from ._plan import CaseScope, Plan
from ._row_scorers import ClassScorer, NamesScorer
from ._rows import trajectory_of

if TYPE_CHECKING:
    from concurrent.futures import Future

_AT_ONCE = 1_000
"""Rows that are judged in the ordinary way at a time."""
_STRANGER = Outcome("not_measured", error="it belongs to no case")
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def score_batch(batch: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """The scores of trajectories: a row each, in their order, with the columns of `SCORES`.

    A row that cannot be read is an error of that row; what the plan does not look at is not read. There is no I/O in
    here, and nothing is kept: the same rows and the same plan give the same scores wherever, whenever and in whatever
    batches they are scored.

    Raises:
        InputError: the batch has no column of calls, or a column of another type than it should have.
    """
    batch, _ = joined_rows(batch, plan)
    known = conforming(batch, plan.fields)
    doubts = batch.column(DOUBT).to_pylist() if DOUBT in batch.schema.names else None
    labels = labels_of(batch, plan.compare_with)
    try:
        return _Scoring(known, plan, doubts, labels).scores()
    except UnicodeDecodeError:  # hardly any text is not UTF-8, and looking takes time
        return _Scoring(with_readable_texts(known), plan, doubts, labels).scores()


class _Scoring:
    """A batch while it is scored."""

    def __init__(
        self, batch: pa.RecordBatch, plan: Plan, doubts: Sequence[str | None] | None, labels: pa.Array
    ) -> None:
        self._batch, self._plan = batch, plan
        self._doubts, self._labels = doubts, labels
        self._calls = Calls(batch, frozenset().union(*[scope.names for scope in plan.scopes]))
        self._odd = self._calls.odd_rows(batch)
        self._grouped: set[int] | None = None
        self._outcomes = Outcomes()
        self._numbers = [-1] * batch.num_rows
        self._causes: list[Causes] = [b""] * batch.num_rows

    def scores(self) -> pa.RecordBatch:
        cases = self._cases()
        self._note_doubts()
        self._score_by_codes(cases)
        self._score_others(cases)
        columns = {
            "id": _first_of(self._batch, "id", "trace_id"),
            "case_id": self._case_ids(cases),
            "repeat": repeats_of(self._batch),
            "label": self._labels,
            "seconds": self._seconds(),
            **self._outcomes.columns(self._numbers, self._causes),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in SCORES.names], schema=SCORES)

    def _cases(self) -> Sequence[int]:
        """The case of each row, by its place in the plan; -1 where there is none."""
        joining = self._plan.joining()
        if joining is None:
            return [0] * self._batch.num_rows
        places = {case.id: place for place, case in enumerate(self._plan.cases)}
        named = _texts(self._batch, "case_id")
        if self._doubts is not None:  # each row has the case that it fits, or none
            return [-1 if name is None else places[name] for name in named]
        found = map(joining.case_named, named, _texts(self._batch, "trace_id"))
        return [-1 if case is None else places[case.id] for case in found]

    def _note_doubts(self) -> None:
        """Take rows where it is unknown whether their case applies as not measured."""
        for row, doubt in enumerate(self._doubts or ()):
            if doubt:
                reason = f"it is unknown whether this case applies: {doubt}"
                self._numbers[row] = self._outcomes.number(Outcome("not_measured", error=reason))

    def _score_by_codes(self, cases: Sequence[int]) -> None:
        """Score the rows of cases that look at nothing but what calls are coded by."""
        by_case = self._rows_by_case(cases)
        bounds = list(self._calls.rows())
        for place, rows in by_case.items():
            if place < 0:
                self._note(rows, [(self._outcomes.number(_STRANGER), b"")] * len(rows))
            elif (scope := self._plan.scopes[place]).parts and scope.names <= self._calls.code_of.keys():
                odd = self._odd | self._rows_with_groups() if scope.reads_groups else self._odd
                coded = [row for row in rows if row not in odd] if odd else rows
                scorer = _CaseScorer(scope, self._calls, self._outcomes)
                whole = len(coded) == len(bounds)
                self._note(coded, scorer.scored(bounds if whole else [bounds[row] for row in coded]))

    def _rows_by_case(self, cases: Sequence[int]) -> dict[int, Sequence[int]]:
        """The rows of each case that have no outcome yet."""
        if self._doubts is None and not self._plan.is_eval_set:
            return {0: range(len(cases))} if cases else {}
        by_case: dict[int, list[int]] = {}
        for row, case in enumerate(cases):
            if self._numbers[row] < 0:
                by_case.setdefault(case, []).append(row)
        return {**by_case}

    def _rows_with_groups(self) -> set[int]:
        if self._grouped is None:
            self._grouped = self._calls.rows_with_groups()
        return self._grouped

    def _note(self, rows: Sequence[int], scored: Iterable[Scored]) -> None:
        numbers, causes = self._numbers, self._causes
        for row, found in zip(rows, scored, strict=True):
            numbers[row], causes[row] = found

    def _score_others(self, cases: Sequence[int]) -> None:
        """Score the other rows in the ordinary way."""
        rows = [row for row, number in enumerate(self._numbers) if number < 0]
        known: dict[bytes, Scored] = {}
        for first in range(0, len(rows), _AT_ONCE):
            chosen = rows[first : first + _AT_ONCE]
            held = self._batch.take(pa.array(chosen, pa.int64())).to_pylist()
            scopes = [self._plan.scopes[cases[row]] for row in chosen]
            self._note(chosen, self._judged(held, scopes, known))

    def _judged(
        self, rows: Iterable[dict[str, Any]], scopes: Iterable[CaseScope], known: dict[bytes, Scored]
    ) -> list[Scored]:
        with JudgingExecutor() as judging:
            waiting = [self._submitted(row, scope, judging, known) for row, scope in zip(rows, scopes, strict=True)]
            return [found if isinstance(found, tuple) else self._of_result(found.result()) for found in waiting]

    def _submitted(
        self, row: dict[str, Any], scope: CaseScope, judging: JudgingExecutor, known: dict[bytes, Scored]
    ) -> Scored | Future[CaseResult]:
        """The result of a row, or the future that will have it where an evaluator waits."""
        try:
            trajectory = trajectory_of(row)
        except InputError as problem:
            return self._outcomes.number(Outcome("error", error=str(problem))), b""
        case = scope.case
        if has_async_evaluators(case) or not case.checks:
            return judging.submit(case, trajectory)
        key = _key(row, case) if scope.is_repeatable else b""
        if (found := known.get(key)) is None:
            results = [check.evaluator.evaluate(trajectory, check.criteria) for check in case.checks]
            outcome = Outcome.of(case.checks, [Measured.of(result) for result in results])
            found = self._outcomes.number(outcome), self._causes_of(results)
            if key:
                known[key] = found
        return found

    def _of_result(self, result: CaseResult) -> Scored:
        return self._outcomes.number(Outcome.of_result(result)), self._causes_of(result.results)

    def _causes_of(self, results: Iterable[EvaluationResult]) -> Causes:
        return packed([number for result in results for number in self._outcomes.causes(result)])

    def _case_ids(self, cases: Sequence[int]) -> pa.Array:
        if not self._plan.is_eval_set:
            return pa.nulls(len(cases), pa.string())
        ids = pa.array([case.id for case in self._plan.cases], pa.string())
        return ids.take(pa.array([None if case < 0 else case for case in cases], pa.int32()))

    def _seconds(self) -> pa.Array:
        if "duration_ns" not in self._batch.schema.names:
            return pa.nulls(self._batch.num_rows, pa.float64())
        return pc.divide(self._batch.column("duration_ns").cast(pa.float64()), 1e9)


class _CaseScorer:
    """Scores rows of one case by the codes of their calls."""

    def __init__(self, scope: CaseScope, calls: Calls, outcomes: Outcomes) -> None:
        checks = scope.case.checks
        self._weighing = _Weighing(checks, outcomes)
        number_of = self._weighing.alone if len(checks) == 1 else self._weighing.noted
        self._scorers = [
            NamesScorer(check, part, calls, outcomes, number_of)
            if isinstance(part, NameScope)
            else ClassScorer(check, part, calls, outcomes, number_of)
            for check, part in zip(checks, scope.parts, strict=True)
        ]

    def scored(self, bounds: Sequence[tuple[int, int]]) -> list[Scored]:
        """The outcomes of rows."""
        scored = [scorer.scored(bounds) for scorer in self._scorers]
        return scored[0] if len(scored) == 1 else [self._weighing.together(row) for row in zip(*scored, strict=True)]


class _Weighing:
    """What evaluators of one case say, weighed into outcomes."""

    def __init__(self, checks: Sequence[Check], outcomes: Outcomes) -> None:
        self._checks, self._outcomes = checks, outcomes
        self._measured: list[Measured] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    def alone(self, measured: Measured) -> int:
        """The number of the outcome, where there is one evaluator."""
        return self._outcomes.number(Outcome.of(self._checks, [measured]))

    def noted(self, measured: Measured) -> int:
        """A number for what one of several evaluators says, until the others have spoken."""
        self._measured.append(measured)
        return len(self._measured) - 1

    def together(self, scored: Sequence[Scored]) -> Scored:
        """The outcome of what all evaluators say of one row."""
        if NOT_SCORED in scored:
            return NOT_SCORED
        key = tuple([number for number, _ in scored])
        number = self._numbers.get(key)
        if number is None:
            outcome = Outcome.of(self._checks, [self._measured[each] for each in key])
            number = self._numbers[key] = self._outcomes.number(outcome)
        return number, packed([cause for _, causes in scored for cause in causes])


def _key(row: dict[str, Any], case: Case) -> bytes:
    """By what the verdict of a row is known again."""
    return _encode((case.id, {name: value for name, value in row.items() if name not in ("id", "trace_id", "case_id")}))


def _texts(batch: pa.RecordBatch, name: str) -> list[str | None]:
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    texts: list[str | None] = batch.column(name).to_pylist()
    return texts


def _first_of(batch: pa.RecordBatch, *names: str) -> pa.Array:
    """The first of some columns that has a value, in each row."""
    held = [batch.column(name) for name in names if name in batch.schema.names]
    return pc.coalesce(*held) if held else pa.nulls(batch.num_rows, pa.string())
