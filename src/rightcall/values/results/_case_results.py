"""The result of one case, and of many: totals, repeats counted, overall results, and faults that were noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from time import gmtime, strftime
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.errors import InputError
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.statistics import Trials, rate, run_rate
from rightcall.values.trajectory import NOT_UNDERSTOOD_NOTE, Trajectory

from ._result import EvaluationResult, Finding, Judged, SavedResult, Verdict, plain_result, restored_result
from ._signs import SIGNS

_SHOWN_ORDER: tuple[Verdict, ...] = ("passed", "failed", "error", "not_measured")
# A failure comes first because nothing unknown can undo it: a rule that was broken stays broken.
GRAVITY: dict[Verdict, int] = {"failed": 0, "error": 1, "not_measured": 2, "passed": 3}
"""The rank of each verdict: the lower, the graver."""
Cause: TypeAlias = Literal["", "raised", "timed_out", "died", "memory", "output", "mock", "read", "model"]
"""Why there is nothing to judge; empty if there is.

`raised`: the agent raised. `timed_out`: it took longer than it may. `died`: its process ended or was stopped.
`memory`: it took more memory than it may. `output`: what it returned, or did, cannot be kept. `mock`: it called a
tool in a way that no mock or recording answers. `read`: it opened a file that says what is expected of it.
"""


class Source(msgspec.Struct, frozen=True):
    """A place in a file that the user wrote: file, line and column from 1, and the line itself."""

    file: str
    line: int
    column: int
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class PlacedFinding(msgspec.Struct, frozen=True):
    """A finding, the expectation it is about, and where that is written."""

    expectation: str
    """The key in `expect`."""
    finding: Finding
    source: Source


class ExpectationSources(msgspec.Struct, frozen=True):
    """Where the calls that one expectation lists are written, one after the other; of very many, the first ones."""

    expectation: str
    """The key in `expect`."""
    path: str
    """Which part of the criteria lists them, such as `expected`, or `expected_turns[1]`."""
    sources: tuple[Source, ...]


class CaseResult(Judged, msgspec.Struct, frozen=True, kw_only=True):
    """The results of all evaluators for one case. It passes if all of them pass.

    The score is the weighted mean of their scores; there is none if one of them has none.
    """

    case_id: str
    verdict: Verdict
    score: float | None
    source: Source
    trajectory: Trajectory | None = None
    results: tuple[EvaluationResult, ...] = ()
    findings: tuple[PlacedFinding, ...] = ()
    written: tuple[ExpectationSources, ...] = ()
    """Where the calls of expectations that did not pass are written."""
    warnings: tuple[str, ...] = ()
    repeat: int = 0
    """Which of several trajectories of one case was judged, from 0; or the number that its trace has."""
    is_repeat_told: bool = False
    """Whether the trace has the number of the repeat."""
    outcome: Outcome | None = None
    """The outcome of running the agent, if it was run for this result."""

    @property
    def number(self) -> int:
        """The number of the repeat for display: from 1, unless the trace has another one."""
        return self.repeat if self.is_repeat_told else self.repeat + 1

    @property
    def repeat_note(self) -> str:
        """Which repeat it is, to follow the id of the case; empty for the first, unless the trace has its number."""
        return f" (repeat {self.number})" if self.repeat or self.is_repeat_told else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the warnings that no finding repeats."""
        # RC304 quotes what was not understood; the warning beside it would say the same.
        if not any([placed.finding.code == "RC304" for placed in self.findings]):
            return self.warnings
        return tuple([warning for warning in self.warnings if not warning.startswith(NOT_UNDERSTOOD_NOTE)])

    def to_json(self) -> str:
        """Return the result as one line of JSON, complete; `from_json` reads it."""
        return dump_json(self.to_plain())

    def to_plain(self) -> dict[str, Any]:
        """Return the result as plain data. The results of evaluators are `evaluations`, with their details."""
        plain: dict[str, Any] = {
            "case_id": self.case_id,
            "repeat": self.repeat,
            **({"is_repeat_told": True} if self.is_repeat_told else {}),
            "verdict": self.verdict,
            "score": self.score,
            "source": msgspec.to_builtins(self.source),
            "findings": msgspec.to_builtins(self.findings),
            "warnings": list(self.warnings),
            "evaluations": [plain_result(result) for result in self.results],
            "trajectory": None if self.trajectory is None else _plain_trajectory(self.trajectory),
        }
        if self.written:
            plain["written"] = msgspec.to_builtins(self.written)
        if self.outcome is not None:
            plain["outcome"] = msgspec.to_builtins(self.outcome)
        return plain

    @classmethod
    def from_json(cls, text: str | bytes) -> CaseResult:
        """Read the result that `to_json` wrote.

        Raises:
            InputError: the text is not such a result.
        """
        return cls.from_plain(load_json(text))

    @classmethod
    def from_plain(cls, plain: Any) -> CaseResult:
        """Read the result that `to_plain` returned. Raises `InputError` if it is not one."""
        try:
            saved = msgspec.convert(plain, SavedCase, strict=True)
        except msgspec.ValidationError as problem:
            raise InputError(f"not the saved result of a case: {problem}") from None
        values = {name: getattr(saved, name) for name in cls.__struct_fields__ if name != "results"}
        return cls(**values, results=tuple([restored_result(result) for result in saved.evaluations]))


class SavedCase(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The JSON form of the result of a case."""

    case_id: str
    repeat: int
    verdict: Verdict
    score: float | None
    source: Source
    findings: tuple[PlacedFinding, ...]
    warnings: tuple[str, ...]
    evaluations: tuple[SavedResult, ...]
    trajectory: Trajectory | None
    is_repeat_told: bool = False
    written: tuple[ExpectationSources, ...] = ()
    outcome: Outcome | None = None


class Totals(msgspec.Struct, frozen=True):
    """The number of cases by verdict. A case with repeats has the worst verdict among them."""

    passed: int = 0
    failed: int = 0
    not_measured: int = 0
    error: int = 0

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Totals:
        """Count verdicts."""
        counts = Counter(verdicts)
        return cls(counts["passed"], counts["failed"], counts["not_measured"], counts["error"])

    @property
    def exit_code(self) -> int:
        """1 if a case failed; 2 if one could not be measured, or there was none; 0 if all passed."""
        # As with POSIX `diff` and `grep`: 1 is an answer, 2 means that there is none.
        if self.failed:
            return 1
        return 2 if self.error or self.not_measured or not self.passed else 0

    @property
    def measured(self) -> Trials:
        """The cases that passed, of those that passed or failed; errors and what was not measured do not count."""
        return Trials(self.passed, self.passed + self.failed)

    @property
    def rate(self) -> float | None:
        """The share of these that passed; `None` if there are none."""
        return rate(self.measured)

    def __str__(self) -> str:
        counts = [(getattr(self, verdict), SIGNS[verdict].word) for verdict in _SHOWN_ORDER]
        return ", ".join([f"{count:,} {word}" for count, word in counts if count]) or "no cases"


def success_of(value: Any) -> bool | None:
    """Return whether a value of a source means success: `true`, or a number from 1 on; `None` if it is neither."""
    if not isinstance(value, (bool, int, float)) or value != value:  # text, nothing, or not a number
        return None
    return bool(value >= 1)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several together: a failure before an error, an error before what was not measured."""
    return min(verdicts, key=GRAVITY.__getitem__, default="passed")


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of one run of an agent."""

    seconds: float = 0.0
    """The time it took, by a monotonic clock."""
    cause: Cause = ""
    error: str | None = None
    """The error in one sentence; `None` if the agent returned."""
    traceback: str | None = None
    stdout: str = ""
    """The last part of what it printed: of a Python agent on standard output and standard error."""
    stderr: str = ""
    """The last part of what a command wrote to standard error."""


def _plain_trajectory(trajectory: Trajectory) -> Any:
    """Return a trajectory as plain data, the same each time: sets are sorted."""
    # A set has another order in each process, and what is written must be the same each time.
    plain = msgspec.to_builtins(trajectory)
    for call in plain["calls"]:
        call["unrecorded"].sort()
    if not plain["messages"]:
        del plain["messages"]  # only runs that are kept have any
    return plain


Measure = tuple[str, Verdict, float | None]
"""The id of an evaluator, its verdict and its score of one case."""
OTHER = "(other)"
"""The column of answers that are none of the classes."""


class EvaluatorTotals(msgspec.Struct, frozen=True):
    """The number of results of one evaluator, by verdict, and the mean of their scores."""

    passed: int = 0
    failed: int = 0
    not_measured: int = 0
    error: int = 0
    mean_score: float | None = None
    """`None` if no result has a score: what was not measured, or failed with an error, does not count as zero."""


class Aggregates:
    """Results of evaluators, counted by their ids."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Counter[Verdict]] = {}
        self._scores: dict[str, tuple[float, int]] = {}

    def add(self, measures: Iterable[Measure]) -> None:
        """Count the results of one case."""
        for evaluator, verdict, score in measures:
            self._verdicts.setdefault(evaluator, Counter())[verdict] += 1
            if score is not None:
                total, count = self._scores.get(evaluator, (0.0, 0))
                self._scores[evaluator] = total + score, count + 1

    def by_evaluator(self) -> dict[str, EvaluatorTotals]:
        """Return the totals of each evaluator, by its id, in the order in which they were first seen."""
        totals = {}
        for evaluator, counts in self._verdicts.items():
            total, count = self._scores.get(evaluator, (0.0, 0))
            mean = total / count if count else None
            verdicts = counts["passed"], counts["failed"], counts["not_measured"], counts["error"]
            totals[evaluator] = EvaluatorTotals(*verdicts, mean)
        return totals


def measures_of(results: Iterable[EvaluationResult]) -> tuple[Measure, ...]:
    """Return the evaluator, verdict and score of each result of a case."""
    return tuple([(result.evaluator, result.verdict, result.score) for result in results])


class ClassFigures(msgspec.Struct, frozen=True):
    """One class: how often it was expected and found, and its precision, recall and F1."""

    name: str
    expected: int
    found: int
    right: int
    precision: float
    recall: float
    f1: float


class Classification(msgspec.Struct, frozen=True):
    """Expected and actual classes of all cases.

    `matrix` has a row for each class that was expected and, in it, how often each class was found: the classes in
    order and, last, whatever is none of them.
    """

    classes: tuple[str, ...]
    matrix: tuple[tuple[int, ...], ...]
    figures: tuple[ClassFigures, ...]
    accuracy: float
    cases: int
    left_out: int = 0
    """Cases that do not say which class is expected."""


class OverallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one evaluator for all cases together. Without a score if it was not measured, or in error."""

    evaluator: str
    verdict: Verdict
    score: float | None = None
    threshold: float = 1.0
    reason: str = ""
    """In one sentence, what the score is or why there is none."""
    source: Source
    classification: Classification | None = None
    details: Any = None
    """Additional data of a custom evaluator."""

    def __str__(self) -> str:
        return f"{self.evaluator}: {SIGNS[self.verdict].word}: {self.reason}"


class Quarantine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case that runs and is shown, and counts in nothing: why, and the last day on which that holds."""

    reason: str
    until: str = ""
    """A day such as `2026-12-31`; empty if it has no end."""

    @property
    def is_over(self) -> bool:
        """Whether its last day, in UTC, has passed: the case counts again."""
        return bool(self.until) and self.until < _today()

    @property
    def days_left(self) -> int | None:
        """The number of days until its last one, negative if it is over; `None` if it has no end."""
        if not self.until:
            return None
        from datetime import date  # for `check` alone

        return (date.fromisoformat(self.until) - date.fromisoformat(_today())).days

    def __str__(self) -> str:
        until = f" until {self.until}" if self.until else ""
        return f"in quarantine{until}: {self.reason}"


def _today() -> str:
    # ISO days compare like strings, so that nothing has to be imported for them.
    return strftime("%Y-%m-%d", gmtime())


class CaseRepeats(msgspec.Struct, frozen=True):
    """All repeats of one case, in their order, and the verdict that they give together."""

    verdict: Verdict
    verdicts: tuple[Verdict, ...]
    needed: int
    """How many of them have to pass."""

    @property
    def totals(self) -> Totals:
        """The number of repeats by verdict."""
        return Totals.of(self.verdicts)


class Tally(msgspec.Struct):
    """The verdicts of cases, each of which may have been run several times.

    A case passes if all its repeats pass or, with `needed`, if that many do. It fails if repeats in error or not
    measured could not have changed that. Other repeats never make up for an error, or for one that was not measured.
    """

    needed: int | None = None
    """How many repeats of a case have to pass; all by default."""
    needed_of: Mapping[str, int] = {}
    """The same for single cases, by their ids; these come first."""
    quarantined: Container[str] = ()
    """The ids of cases in quarantine, which have verdicts but are in no total."""
    counted: dict[str, list[tuple[int, Verdict]]] = {}
    """The verdict of each repeat of each case, with the number of the repeat, as they came."""

    def count(self, case_id: str, verdict: Verdict, repeat: int = 0) -> None:
        """Count the verdict of one repeat. Repeats are listed in their order, whatever order they finish in."""
        self.counted.setdefault(case_id, []).append((repeat, verdict))

    def verdict(self, case_id: str, planned: int | None = None) -> Verdict:
        """Return the verdict of a case so far; with `planned`, its verdict if all the rest of its repeats pass."""
        verdicts = [verdict for _, verdict in self.counted[case_id]]
        repeats, failed = len(verdicts) if planned is None else planned, verdicts.count("failed")
        needed = self.needed_of.get(case_id, self.needed)
        # A repeat in error, or not measured, may have passed: it can keep a case from failing, never make it pass.
        if (failed > 0) if needed is None else (repeats - failed < needed):
            return "failed"
        return worst([verdict for verdict in verdicts if verdict != "failed"])

    def is_lost(self, case_id: str, planned: int) -> bool:
        """Whether a case cannot pass any more, however the rest of its `planned` repeats end."""
        return case_id not in self.quarantined and self.verdict(case_id, planned) != "passed"

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each case so far."""
        return {case_id: self.verdict(case_id) for case_id in self.counted}

    def totals(self) -> Totals:
        """Return the number of cases by verdict; those in quarantine are not among them."""
        return Totals.of([self.verdict(case_id) for case_id in self.counted if case_id not in self.quarantined])

    def rate(self) -> float | None:
        """Return the pass rate of the run: the mean of its cases' rates, without those in quarantine."""
        counted = [verdicts for case_id, verdicts in self.counted.items() if case_id not in self.quarantined]
        return run_rate([Totals.of([verdict for _, verdict in each]).measured for each in counted])

    def repeats(self, *, always: bool = False) -> dict[str, CaseRepeats]:
        """Return all repeats of each case; nothing if no case has more than one, unless `always`."""
        if not always and all([len(verdicts) == 1 for verdicts in self.counted.values()]):
            return {}
        return {case_id: self._repeats(case_id) for case_id in self.counted}

    def _repeats(self, case_id: str) -> CaseRepeats:
        in_order = sorted(self.counted[case_id], key=lambda trial: trial[0])
        verdicts = tuple([verdict for _, verdict in in_order])
        needed = self.needed_of.get(case_id, self.needed)
        return CaseRepeats(self.verdict(case_id), verdicts, len(verdicts) if needed is None else needed)


class Survivor(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that a case let pass."""

    operator: str
    fault: str = msgspec.field(name="told")
    """The fault in words; the file of a run has it as `told`."""
    line: str = ""
    """The line that would notice it, if it is added to the case; empty if none was found."""
    calls: tuple[str, ...] = ()
    """The calls with the fault in them."""


class MutatedCase(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one case, counted by operator."""

    case_id: str
    expected: tuple[str, ...] = ()
    """The calls of the trajectory that passes."""
    cells: dict[str, tuple[int, int]] = {}
    """For each operator how many faults were noticed, and how many counted."""
    survivors: tuple[Survivor, ...] = ()
    set_aside: dict[str, int] = {}
    """How many were not counted, by reason."""
    unmeasured: int = 0
    """How many could not be judged."""
    left_out: int = 0
    """How many were not tried, because there were too many."""

    @property
    def noticed(self) -> int:
        """How many faults of the agent were noticed."""
        return sum([noticed for operator, (noticed, _) in self.cells.items() if operator not in WORLD_OPERATORS])

    @property
    def counted(self) -> int:
        """How many faults of the agent counted."""
        return sum([counted for operator, (_, counted) in self.cells.items() if operator not in WORLD_OPERATORS])


WORLD_OPERATORS = ("tool-fails", "tool-output")
"""Faults of tools, not of the agent: shown, but not in the score."""


class MutationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an eval set would notice if the agent went wrong."""

    evalset: str
    operators: tuple[str, ...]
    cases: tuple[MutatedCase, ...]
    not_tried: dict[str, tuple[str, ...]] = {}
    """Ids of cases that were not tried, by reason."""
    run: str = ""

    @property
    def noticed(self) -> int:
        """How many faults of the agent were noticed."""
        return sum([case.noticed for case in self.cases])

    @property
    def counted(self) -> int:
        """How many faults of the agent counted."""
        return sum([case.counted for case in self.cases])

    @property
    def share(self) -> float:
        """The share that was noticed; 1.0 if nothing counted."""
        return self.noticed / self.counted if self.counted else 1.0

    @property
    def set_aside(self) -> dict[str, int]:
        """How many were not counted, by reason."""
        total: dict[str, int] = {}
        for case in self.cases:
            for reason, number in case.set_aside.items():
                total[reason] = total.get(reason, 0) + number
        return total
