"""Rows of trajectories in, rows of scores out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.errors import InputError
from rightcall.evalsets import Case
from rightcall.verdicts import Judging

from ._calls import Calls
from ._classes import ClassScorer
from ._names import NamesRule, NamesScorer
from ._outcomes import Measured, Outcome, Outcomes
from ._plan import Plan
from ._rows import trajectory_of
from ._schema import SCORES
from ._sights import CaseSight

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
        InputError: the batch has no column of calls, or one of another type than it should have.
    """
    return _Scoring(batch, plan).scores()


class _Scoring:
    """A batch while it is scored."""

    def __init__(self, batch: pa.RecordBatch, plan: Plan) -> None:
        self._batch, self._plan = batch, plan
        self._calls = Calls(batch, frozenset().union(*[sight.names for sight in plan.sights]))
        self._odd = self._calls.odd_rows(batch)
        self._outcomes = Outcomes()
        self._scorers: dict[int, _CaseScorer | None] = {}
        self._numbers = [-1] * batch.num_rows

    def scores(self) -> pa.RecordBatch:
        cases = self._cases()
        self._score_by_codes(cases)
        self._score_others(cases)
        columns = {
            "id": _first_of(self._batch, "id", "trace_id"),
            "case_id": self._case_ids(cases),
            "seconds": self._seconds(),
            **self._outcomes.columns(self._numbers),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in SCORES.names], schema=SCORES)

    def _cases(self) -> Sequence[int]:
        """The case of each row, by its place in the plan; -1 where there is none."""
        joining = self._plan.joining()
        if joining is None:
            return [0] * self._batch.num_rows
        places = {case.id: place for place, case in enumerate(self._plan.cases)}
        named = _texts(self._batch, "case_id")
        found = map(joining.case_named, named, _texts(self._batch, "trace_id"))
        return [-1 if case is None else places[case.id] for case in found]

    def _score_by_codes(self, cases: Sequence[int]) -> None:
        """Score the rows of cases that look at nothing but what calls are coded by."""
        numbers, odd = self._numbers, self._odd
        for row, (case, (begin, end)) in enumerate(zip(cases, self._calls.rows(), strict=True)):
            if case < 0:
                numbers[row] = self._outcomes.number(_STRANGER)
                continue
            scorer = self._scorers.get(case) if case in self._scorers else self._scorer(case)
            if scorer is not None and row not in odd:
                numbers[row] = scorer.number(begin, end)

    def _scorer(self, place: int) -> _CaseScorer | None:
        sight = self._plan.sights[place]
        is_coded = bool(sight.parts) and sight.names <= self._calls.code_of.keys()
        if not self._calls.has_all_names and sight.sees_others:
            is_coded = False
        found = self._scorers[place] = _CaseScorer(sight, self._calls, self._outcomes) if is_coded else None
        return found

    def _score_others(self, cases: Sequence[int]) -> None:
        """Score the other rows in the ordinary way."""
        rows = [row for row, number in enumerate(self._numbers) if number < 0]
        known: dict[bytes, int] = {}
        for first in range(0, len(rows), _AT_ONCE):
            chosen = rows[first : first + _AT_ONCE]
            held = self._batch.take(pa.array(chosen, pa.int64())).to_pylist()
            sights = [self._plan.sights[cases[row]] for row in chosen]
            for row, number in zip(chosen, self._judged(held, sights, known), strict=True):
                self._numbers[row] = number

    def _judged(
        self, rows: Iterable[dict[str, Any]], sights: Iterable[CaseSight], known: dict[bytes, int]
    ) -> list[int]:
        with Judging() as judging:
            waiting = [self._submitted(row, sight, judging, known) for row, sight in zip(rows, sights, strict=True)]
            return [self._number(key, found, known) for key, found in waiting]

    def _submitted(self, row: dict[str, Any], sight: CaseSight, judging: Judging, known: dict[bytes, int]) -> Any:
        """A row on its way to be judged: by what it is known again, and its outcome, or who will have it."""
        key = _key(row, sight.case) if sight.is_repeatable else b""
        if key in known:
            return key, None
        try:
            trajectory = trajectory_of(row)
        except InputError as problem:
            return b"", Outcome("error", error=str(problem))
        return key, judging.submit(sight.case, trajectory)

    def _number(self, key: bytes, found: Any, known: dict[bytes, int]) -> int:
        if found is None:
            return known[key]
        outcome = found if isinstance(found, Outcome) else Outcome.of_result(found.result())
        number = self._outcomes.number(outcome)
        if key:
            known[key] = number
        return number

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

    def __init__(self, sight: CaseSight, calls: Calls, outcomes: Outcomes) -> None:
        self._checks, self._outcomes = sight.case.checks, outcomes
        self._scorers = [
            NamesScorer(part, calls, check.evaluator.id)
            if isinstance(part, NamesRule)
            else ClassScorer(check, part, calls)
            for check, part in zip(self._checks, sight.parts, strict=True)
        ]
        # Scorers give the same object for the same outcome, and hold it.
        self._numbers: dict[tuple[int, ...], int] = {}

    def number(self, begin: int, end: int) -> int:
        """The number of the outcome of a row; -1 where it has to be judged in the ordinary way."""
        try:
            measured = [scorer.measured(begin, end) for scorer in self._scorers]
        except InputError:
            return -1
        key = tuple(map(id, measured))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._new(measured)
        return number

    def _new(self, measured: Sequence[Measured | None]) -> int:
        said = [each for each in measured if each is not None]
        return self._outcomes.number(Outcome.of(self._checks, said)) if len(said) == len(measured) else -1


def _key(row: dict[str, Any], case: Case) -> bytes:
    """By what the verdict of a row is known again."""
    return _encode((case.id, {name: value for name, value in row.items() if name not in ("id", "trace_id", "case_id")}))


def _texts(batch: pa.RecordBatch, name: str) -> list[str | None]:
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    texts: list[str | None] = batch.column(name).cast(pa.string()).to_pylist()
    return texts


def _first_of(batch: pa.RecordBatch, *names: str) -> pa.Array:
    """The first of some columns that has a value, in each row."""
    held = [batch.column(name).cast(pa.string()) for name in names if name in batch.schema.names]
    return pc.coalesce(*held) if held else pa.nulls(batch.num_rows, pa.string())
