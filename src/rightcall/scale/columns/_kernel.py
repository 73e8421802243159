"""Score rows of trajectories: the expectations, the case of each row, and the rows of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.evalsets import (
    Case,
    Check,
    CodeFinder,
    EvalSet,
    OverallCheck,
    convert_eval_set,
    load_expectation,
    parse_eval_set,
)
from rightcall.cases.verdicts import (
    CASE_ATTRIBUTE,
    CaseFinder,
    JoinRule,
    JudgingExecutor,
    has_async_evaluators,
    join_rule,
    recorded_repeat,
)
from rightcall.errors import ConfigurationError, InputError
from rightcall.judging import Criteria, NameScope, Scope
from rightcall.reading import CASES, REPEATS
from rightcall.scale.request import Choice, Request
from rightcall.values.decoding import decode_json, dump_json
from rightcall.values.results import CaseResult, EvaluationResult, success_of

from ._class_scores import ClassScorer, Kinds
from ._coded_batch import (
    NOT_SCORED,
    Calls,
    Causes,
    Measured,
    NamesScorer,
    Outcome,
    Outcomes,
    Scored,
    packed,
)
from ._rows import SCORES, conforming, trajectory_of, with_readable_texts

if TYPE_CHECKING:
    from concurrent.futures import Future


_AT_ONCE = 1_000
"""How many rows evaluators judge at a time."""
_STRANGER = Outcome("not_measured", error="it belongs to no case")
_encode = msgspec.msgpack.Encoder(order="deterministic").encode
DOUBT = "rightcall.doubt"
"""The column that says why it is unknown whether a case applies. A batch that has it is joined already."""
_CASES = (CASE_ATTRIBUTE, *CASES)
_REPEATS = ("rightcall.repeat", *REPEATS)
TOLD_COLUMNS = frozenset({*_CASES, *_REPEATS})
"""Columns of a table of trajectories that name the case of a row, and its repeat."""


def score_batch(batch: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """Score trajectories: return a row for each, in their order, with the columns of `SCORES`.

    A row that cannot be read is an error of that row; what the plan does not look at is not read. There is no I/O in
    here, and nothing is kept but what evaluators said of rows of the same kind: the same rows and the same plan give
    the same scores wherever, whenever and in whatever batches they are scored.

    Raises:
        InputError: the batch has no column of calls, or a column has the wrong type.
    """
    batch, _ = joined_rows(batch, plan)
    known = conforming(batch, plan.fields)
    doubts = batch.column(DOUBT).to_pylist() if DOUBT in batch.schema.names else None
    labels = labels_of(batch, plan.compare_with)
    try:
        return _Scoring(known, plan, doubts, labels).scores()
    except UnicodeDecodeError:  # hardly any string is not UTF-8, and looking takes time
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
        """Return the index in the plan of the case of each row; -1 if there is none."""
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
        """Mark rows as not measured if it is unknown whether their case applies."""
        for row, doubt in enumerate(self._doubts or ()):
            if doubt:
                reason = f"it is unknown whether this case applies: {doubt}"
                self._numbers[row] = self._outcomes.number(Outcome("not_measured", error=reason))

    def _score_by_codes(self, cases: Sequence[int]) -> None:
        """Score the rows of cases that depend only on what calls are encoded by."""
        by_case = self._rows_by_case(cases)
        for place, rows in by_case.items():
            if place < 0:
                self._note(rows, [(self._outcomes.number(_STRANGER), b"")] * len(rows))
            elif (scope := self._plan.scopes[place]).parts and scope.names <= self._calls.code_of.keys():
                odd = self._odd | self._rows_with_groups() if scope.reads_groups else self._odd
                coded = [row for row in rows if row not in odd] if odd else rows
                scorer = _CaseScorer(scope, self._calls, self._outcomes)
                self._note(coded, scorer.scored(coded))

    def _rows_by_case(self, cases: Sequence[int]) -> dict[int, Sequence[int]]:
        """Return the rows of each case that have no outcome yet."""
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
        """Have evaluators judge the remaining rows."""
        rows = [row for row, number in enumerate(self._numbers) if number < 0]
        known: dict[bytes, Scored] = {}
        for first in range(0, len(rows), _AT_ONCE):
            chosen = rows[first : first + _AT_ONCE]
            documents = self._batch.take(pa.array(chosen, pa.int64())).to_pylist()
            scopes = [self._plan.scopes[cases[row]] for row in chosen]
            self._note(chosen, self._judged(documents, scopes, known))

    def _judged(
        self, rows: Iterable[dict[str, Any]], scopes: Iterable[CaseScope], known: dict[bytes, Scored]
    ) -> list[Scored]:
        with JudgingExecutor() as judging:
            waiting = [self._submitted(row, scope, judging, known) for row, scope in zip(rows, scopes, strict=True)]
            return [found if isinstance(found, tuple) else self._of_result(found.result()) for found in waiting]

    def _submitted(
        self, row: dict[str, Any], scope: CaseScope, judging: JudgingExecutor, known: dict[bytes, Scored]
    ) -> Scored | Future[CaseResult]:
        """Return the result of a row, or its future if an evaluator waits."""
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
            else ClassScorer(check, part, kinds, calls, outcomes, number_of)
            for check, part, kinds in zip(checks, scope.parts, scope.kinds, strict=True)
        ]

    def scored(self, rows: Sequence[int]) -> list[Scored]:
        """Return the outcomes of rows."""
        scored = [scorer.scored(rows) for scorer in self._scorers]
        return scored[0] if len(scored) == 1 else [self._weighing.together(row) for row in zip(*scored, strict=True)]


class _Weighing:
    """Combines the results of the evaluators of one case into outcomes."""

    def __init__(self, checks: Sequence[Check], outcomes: Outcomes) -> None:
        self._checks, self._outcomes = checks, outcomes
        self._measured: list[Measured] = []
        self._numbers: dict[tuple[int, ...], int] = {}

    def alone(self, measured: Measured) -> int:
        """Return the number of the outcome, if there is only one evaluator."""
        return self._outcomes.number(Outcome.of(self._checks, [measured]))

    def noted(self, measured: Measured) -> int:
        """Return a number for the result of one of several evaluators, to be combined with the others."""
        self._measured.append(measured)
        return len(self._measured) - 1

    def together(self, scored: Sequence[Scored]) -> Scored:
        """Combine the results of all evaluators for one row into its outcome."""
        if NOT_SCORED in scored:
            return NOT_SCORED
        key = tuple([number for number, _ in scored])
        number = self._numbers.get(key)
        if number is None:
            outcome = Outcome.of(self._checks, [self._measured[each] for each in key])
            number = self._numbers[key] = self._outcomes.number(outcome)
        return number, packed([cause for _, causes in scored for cause in causes])


def _key(row: dict[str, Any], case: Case) -> bytes:
    """Return the key under which the verdict of equal rows is cached."""
    return _encode((case.id, {name: value for name, value in row.items() if name not in ("id", "trace_id", "case_id")}))


def _texts(batch: pa.RecordBatch, name: str) -> list[str | None]:
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    texts: list[str | None] = batch.column(name).to_pylist()
    return texts


def _first_of(batch: pa.RecordBatch, *names: str) -> pa.Array:
    """Return the first value of some columns in each row that is not null."""
    columns = [batch.column(name) for name in names if name in batch.schema.names]
    return pc.coalesce(*columns) if columns else pa.nulls(batch.num_rows, pa.string())


class CaseScope(msgspec.Struct, frozen=True):
    """The scopes of the checks of a case, in their order; none if a check may depend on anything."""

    case: Case
    parts: tuple[Scope, ...] = ()
    is_repeatable: bool = True
    """Whether a trajectory always gets the same verdict: custom code and judges may answer differently."""
    reads_groups: bool = False
    """Whether calls of one group have no order, so that runs with such calls are judged by evaluators."""
    kinds: tuple[Kinds, ...] = ()
    """For each part, what was said of rows so far."""

    @classmethod
    def of(cls, case: Case) -> CaseScope:
        """Derive what the verdict of a case depends on from its checks."""
        found = [check.scope for check in case.checks]
        parts = tuple([part for part in found if part is not None])
        own = any([check.evaluator.fingerprint for check in case.checks])
        is_repeatable = not own and not has_async_evaluators(case)
        reads_groups = any([_reads_groups(check) for check in case.checks])
        known = parts if len(parts) == len(found) else ()
        return cls(case, known, is_repeatable, reads_groups, tuple([Kinds() for _ in known]))

    @property
    def names(self) -> frozenset[str]:
        """The tools that the verdict depends on."""
        return frozenset().union(*[part.names for part in self.parts])

    @property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are read; `None` if that may be all of them."""
        if not self.parts:
            return None
        read = {field for part in self.parts if (field := part.reads) is not None}
        beside = (*(("error",) if "output" in read else ()), *(("group",) if self.reads_groups else ()))
        return frozenset({"name", "internal", "unrecorded", *read, *beside})


def _reads_groups(check: Check) -> bool:
    return isinstance(check.criteria, Criteria) and check.criteria.parallel == "recorded"


class Plan(Choice, frozen=True, kw_only=True, dict=True):
    """An eval set, or one expectation for all rows, as text: it means the same wherever it is sent.

    Frozen, hashable, and pickled as its fields alone. Custom evaluators are not text: they are imported from `folder`,
    which has to exist wherever rows are scored.
    """

    text: bytes
    """An eval set in the native format, or the YAML or JSON of an `expect`."""
    name: str
    """The file that it comes from, for messages."""
    is_eval_set: bool = False
    folder: str = ""
    """The folder of the eval set, where the code that it names is searched for."""

    @classmethod
    def of_eval_set(cls, path: str | Path, **options: Any) -> Plan:
        """The plan of an eval set in any format. `options` are `case_globs`, `tags`, `case_ids`, `join`, `trust`
        and `home`. Raises as `of_request` does.
        """
        return cls.of_request(Request(evalset=str(path), **options))

    @classmethod
    def of_request(cls, request: Request) -> Plan:
        """Return the plan of what a command asks for.

        Raises:
            ConfigurationError: rows have no order to be joined by.
            DocumentError: the eval set or the expectation is wrong.
            InputError: it cannot be read, or no case is selected.
        """
        if request.expectation is not None:
            return cls.of_expectation(*request.expectation, trust=request.trust)
        if request.join == "order":
            raise ConfigurationError("rows of tables have no fixed order; join them to cases by case_id or trace_id")
        loaded = request.expected.loaded
        if loaded is None:
            raise InputError("no eval set is given")
        path = Path(request.evalset or "")
        is_native = loaded[0].format == "native"
        plan = cls(
            text=path.read_bytes() if is_native else convert_eval_set(path).encode(),
            name=str(request.evalset),
            is_eval_set=True,
            folder=str(path.resolve().parent),
            **{field: getattr(request, field) for field in Choice.__struct_fields__},
        )
        if is_native:  # the text is what was loaded already
            plan.__dict__["_loaded"] = loaded
        plan.cases  # noqa: B018 - mistakes are reported now
        return plan

    @classmethod
    def of_expectation(
        cls, expected: str | bytes | Mapping[str, Any], name: str = "expectation", *, trust: bool = False
    ) -> Plan:
        """Return the plan of one expectation for all rows: the YAML of an `expect`, or the same as an object.

        Raises:
            DocumentError: the expectation is wrong.
        """
        text = expected if isinstance(expected, (str, bytes)) else dump_json(dict(expected))
        plan = cls(
            text=text.encode() if isinstance(text, str) else text, name=name, folder=str(Path.cwd()), trust=trust
        )
        plan.cases  # noqa: B018 - as above
        return plan

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases; of an expectation for all rows, the one case that all of them belong to."""
        if not self.is_eval_set:
            return (load_expectation(self.text, self.name, find_code=self._finder())(""),)
        known = self._loaded[0].cases
        chosen = self.of(known) if known or self.case_globs or self.tags else []
        if not chosen and self.every is None:
            raise InputError(f"{self.name}: no cases selected")
        return tuple(chosen if self.every is None else [*chosen, self.every])

    @cached_property
    def every(self) -> Case | None:
        """What the eval set expects of every row, as the case of those that belong to no other; the last of `cases`."""
        return self._loaded[0].every if self.is_eval_set else None

    @cached_property
    def rule(self) -> JoinRule:
        """How rows are joined to cases."""
        return join_rule(self.join)

    @cached_property
    def overall(self) -> tuple[OverallCheck, ...]:
        """The evaluators of all cases together."""
        return self._loaded[0].overall if self.is_eval_set else ()

    @property
    def code_files(self) -> list[Path]:
        """The files of code that the eval set names, and those beside them, which they may import."""
        return self._loaded[1].files_found() if self.is_eval_set else []

    @cached_property
    def _loaded(self) -> tuple[EvalSet, CodeFinder]:
        finder = self._finder()
        return parse_eval_set(self.text, self.name, find_code=finder), finder

    def _finder(self) -> CodeFinder:
        return CodeFinder(Path(self.folder, Path(self.name).name), self.trust, home=self.home)

    @cached_property
    def scopes(self) -> tuple[CaseScope, ...]:
        """The scope of each case."""
        return tuple([CaseScope.of(case) for case in self.cases])

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The fields of calls that are read for any case; `None` if that may be all of them."""
        if self.every is not None or any([case.when is not None for case in self.cases]):
            return None  # what a case applies to may be anything
        seen = [scope.fields for scope in self.scopes]
        known = [fields for fields in seen if fields is not None]
        return frozenset().union(*known) if len(known) == len(seen) else None

    def joining(self) -> CaseFinder | None:
        """Return what finds the cases of rows; `None` if there is one case for all."""
        if not self.is_eval_set:
            return None
        cases = self.cases if self.every is None else self.cases[:-1]
        # Rows have their case in the column `case_id` by now, wherever it was found.
        join = "attribute" if self.rule.kind in ("key", "file") else self.join
        return CaseFinder(cases, join, every=self.every)


def joined_rows(batch: pa.RecordBatch, plan: Plan) -> tuple[pa.RecordBatch, list[int] | None]:
    """Return a batch whose rows name their cases, and for each row the number of the row that it was made from.

    A row that fits several cases is repeated for each. The numbers are `None` if rows stay as they are.

    Raises:
        InputError: the batch has no column of calls, or a column has the wrong type.
    """
    if DOUBT in batch.schema.names:
        return batch, None
    batch = _with_case_and_repeat(batch, plan)
    finder = plan.joining()
    if finder is None or not (finder.by_fit or plan.every is not None):
        return batch, None
    rows: list[int] = []
    names: list[str | None] = []
    doubts: list[str | None] = []
    for number, row in enumerate(conforming(batch).to_pylist()):
        try:
            matches = finder.matches(trajectory_of(row))
        except InputError:  # the row is an error when it is judged, whatever case it is of
            matches = []
        rows += [number] * max(1, len(matches))
        names += [match.case.id for match in matches] or [None]
        doubts += [match.doubt or None for match in matches] or [None]
    made = batch.take(pa.array(rows, pa.int64()))
    made = with_column(made, "case_id", pa.array(names, pa.string()))
    return with_column(made, DOUBT, pa.array(doubts, pa.string())), rows


def _with_case_and_repeat(batch: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """Return a batch with the columns `case_id` and `repeat`, if other columns or the metadata have them."""
    names = batch.schema.names
    key = plan.rule.name if plan.rule.kind == "key" else ""
    if key:
        column = _as_texts(batch.column(key)) if key in names else _of_metadata(batch, key)
        batch = with_column(batch, "case_id", column)
    elif "case_id" not in names:
        found = next((name for name in _CASES if name in names), None)
        batch = batch if found is None else with_column(batch, "case_id", _as_texts(batch.column(found)))
    if "repeat" not in names:
        found = next((name for name in _REPEATS if name in names), None)
        batch = batch if found is None else with_column(batch, "repeat", batch.column(found))
    return batch


def _as_texts(column: pa.Array) -> pa.Array:
    texts = [None if value is None else str(value) for value in column.to_pylist()]
    return pa.array(texts, pa.string())


def _of_metadata(batch: pa.RecordBatch, key: str) -> pa.Array:
    values = [metadata.get(key) for metadata in metadata_of(batch)]
    return pa.array([str(each) if isinstance(each, (str, int)) else None for each in values], pa.string())


def metadata_of(batch: pa.RecordBatch) -> list[Mapping[str, Any]]:
    """Return the metadata of each row; empty if there are none, or they cannot be read."""
    if "metadata" not in batch.schema.names:
        return [{}] * batch.num_rows
    return [_object(text) for text in batch.column("metadata").to_pylist()]


def _object(text: Any) -> Mapping[str, Any]:
    try:
        value = decode_json(text) if isinstance(text, (str, bytes)) else text
    except InputError:
        return {}
    return value if isinstance(value, Mapping) else {}


def repeats_of(batch: pa.RecordBatch) -> pa.Array:
    """Return the number of the repeat of each row, if it has one."""
    if "repeat" in batch.schema.names and batch.column("repeat").null_count < batch.num_rows:
        repeats = batch.column("repeat").to_pylist()
    elif "metadata" in batch.schema.names:
        repeats = [metadata.get("repeat") for metadata in metadata_of(batch)]
    else:
        return pa.nulls(batch.num_rows, pa.int64())
    return pa.array([recorded_repeat({"repeat": each}) for each in repeats], pa.int64())


def labels_of(batch: pa.RecordBatch, key: str | None) -> pa.Array:
    """Return whether the source calls each row a success, by a key of its metadata; null if it does not say."""
    if key is None:
        return pa.nulls(batch.num_rows, pa.bool_())
    values = (
        batch.column(key).to_pylist()
        if key in batch.schema.names
        else [metadata.get(key) for metadata in metadata_of(batch)]
    )
    return pa.array([success_of(each) for each in values], pa.bool_())


def with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return a batch with a column, which replaces one of the same name."""
    if name in batch.schema.names:
        return batch.set_column(batch.schema.get_field_index(name), name, column)
    return batch.append_column(name, column)
