"""Two runs, compared case by case."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_differences, redacted_value
from rightcall.values.results import CaseResult, Source, Tally, Verdict

from ._path_changes import ComparedCall, PathChange, compared_calls, path_changes

if TYPE_CHECKING:
    from rightcall.reporting.store import RunFolder

Kind = Literal["worse", "better", "other", "edited", "drifted", "only_before", "only_after"]
_RANKS: dict[Kind, int] = {kind: rank for rank, kind in enumerate(get_args(Kind))}
_FEWEST_VALUES = 2


class ScoreChange(msgspec.Struct, frozen=True):
    """The score of one evaluator, before and after; `None` if it has none."""

    evaluator: str
    before: float | None
    after: float | None


class CaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one case.

    `worse`: it passed, and does not now. `better`: it did not pass, and does now. `other`: another verdict, neither
    of them `passed`. `edited`: it asks or expects something else now, so what changed says nothing of the agent.
    `drifted`: the same verdict by another path or with other scores. `only_before` and `only_after`: the case is in one
    run only.
    """

    case_id: str
    kind: Kind
    before: CaseSide | None = None
    after: CaseSide | None = None
    scores: tuple[ScoreChange, ...] = ()
    path: tuple[PathChange, ...] = ()

    @property
    def is_flip(self) -> bool:
        """Whether its verdict is another."""
        return self.before is not None and self.after is not None and self.before.verdict != self.after.verdict

    @property
    def is_regression(self) -> bool:
        """Whether it passed and does not now, edited or not."""
        return self.is_flip and self.before is not None and self.before.passed

    @property
    def is_rescored(self) -> bool:
        """Whether only its scores are others, and its path is the same, as with `--only`."""
        return self.kind == "drifted" and not self.path

    @property
    def is_quarantined(self) -> bool:
        """Whether the case is in quarantine in the later run that has it: its change counts in nothing."""
        side = self.after or self.before
        return side is not None and side.is_quarantined

    @property
    def other_arguments(self) -> tuple[str, ...]:
        """The arguments, such as `search.key`, that alone make the path another; none where a call does."""
        if not all(step.kind == "arguments" for step in self.path):
            return ()
        calls = [call for side in (self.before, self.after) if side is not None for call in side.path]
        known: dict[str, dict[str, None]] = {}
        for call in calls:
            known.setdefault(call.name, {}).update(dict.fromkeys(call.compared or ()))
        found = {(step.name, each.path): None for step in self.path for each in step.differences}
        names = [(tool, _argument(path, known.get(tool, ()))) for tool, path in found]
        return tuple(sorted({f"{tool}.{name}" for tool, name in names})) if all(name for _, name in names) else ()

    @property
    def has_other_answer(self) -> bool:
        """Whether the agent returned something else."""
        return self.before is not None and self.after is not None and self.before.answer != self.after.answer


class Comparison(msgspec.Struct, frozen=True):
    """The changes from one run to another: flips first, and among them the cases that got worse."""

    before: Overview
    after: Overview
    cases: tuple[CaseChange, ...]
    same: int
    """The number of cases that did not change, apart from their answers; they are not listed."""


def compare(before: Mapping[str, CaseSide], after: Mapping[str, CaseSide]) -> Comparison:
    """Compare two runs, given the sides that `sides_of` returns for each."""
    changes = list(_changes(before, after))
    changes.sort(key=_place)
    shared = len(before.keys() & after.keys())
    same = shared - sum(not change.kind.startswith("only") for change in changes)
    return Comparison(overview(before), overview(after), tuple(changes), same)


class CaseSide(msgspec.Struct, frozen=True, kw_only=True):
    """One case in one run: its verdict, and the mean of its scores over all repeats.

    The path and the answer are those of the first repeat that has the verdict of the case.
    """

    verdict: Verdict
    score: float | None
    scores: Mapping[str, float | None]
    """By the id of the evaluator."""
    path: tuple[ComparedCall, ...]
    answer: bytes
    """A digest of what the agent returned."""
    is_recorded: bool
    """Whether there is a path at all: an agent that broke has none."""
    source: Source
    calls: float | None = None
    """The mean number of calls over the repeats that have a path."""
    is_quarantined: bool = False
    question: str = ""
    """A digest of what was asked and expected."""

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing else."""
        return self.verdict == "passed"


class Overview(msgspec.Struct, frozen=True):
    """The totals of a run: cases, passed cases, mean score by evaluator, and mean calls per case."""

    cases: int
    passed: int
    scores: Mapping[str, float | None]
    calls: float | None


def sides_of(
    results: Iterable[CaseResult],
    needed: int | None = None,
    needed_of: Mapping[str, int] | None = None,
    quarantined: Container[str] = (),
    ignored: Collection[str] = (),
    questions: Mapping[str, str] | None = None,
) -> dict[str, CaseSide]:
    """Return one side per case, by case id; `needed` is how many repeats must pass, all by default.

    `needed_of` says it of single cases, and comes first. `quarantined` are the ids of cases that count in nothing.
    `ignored` are arguments that are not compared, such as `key` or, of one tool only, `search.key`. `questions` are
    digests of what the cases ask and expect.

    Only the path of each result stays in memory, not the outputs of its tools.
    """
    tally = Tally(needed, needed_of)
    repeats: dict[str, list[CaseSide]] = {}
    for result in results:
        tally.add(result)
        repeats.setdefault(result.case_id, []).append(_side(result, ignored))
    asked = questions or {}
    return {
        case_id: _merged(
            sides, tally.verdict(case_id), is_quarantined=case_id in quarantined, question=asked.get(case_id, "")
        )
        for case_id, sides in repeats.items()
    }


def sides_in(run: RunFolder, ignored: Collection[str] = ()) -> dict[str, CaseSide]:
    """Return what a run has of each of its cases, without arguments that are `ignored`. Raises `StoreError`."""
    questions = {trial.case_id: trial.question for trial in run.trials()}
    return sides_of(run.results(), run.needed, run.needed_of, run.quarantined, frozenset(ignored), questions)


def overview(sides: Mapping[str, CaseSide]) -> Overview:
    """Return the totals of a run. Cases in quarantine are not among them."""
    sides = {case_id: side for case_id, side in sides.items() if not side.is_quarantined}
    evaluators = dict.fromkeys(evaluator for side in sides.values() for evaluator in side.scores)
    means = {name: mean(side.scores.get(name) for side in sides.values()) for name in evaluators}
    calls = mean(side.calls for side in sides.values())
    return Overview(len(sides), sum(side.passed for side in sides.values()), means, calls)


def mean(scores: Iterable[float | None]) -> float | None:
    """Return the mean of the known scores; `None` if there are none."""
    given = [score for score in scores if score is not None]
    return sum(given) / len(given) if given else None


def varying_arguments(changes: Iterable[CaseChange]) -> frozenset[tuple[str, str]]:
    """Return the arguments, each a tool and a path, that have other values in most cases, as generated ids have.

    Cases in which nothing else differs have changed in the same way.
    """
    values: dict[tuple[str, str], list[tuple[str | None, str | None]]] = {}
    for change in changes:
        for step in change.path:
            for each in step.differences:
                values.setdefault((step.name, each.path), []).append((each.expected, each.actual))
    return frozenset(
        [
            argument
            for argument, pairs in values.items()
            if len(pairs) >= _FEWEST_VALUES and 2 * len(set(pairs)) > len(pairs)
        ]
    )


def redacted_comparison(comparison: Comparison) -> Comparison:
    """Return the same changes without secrets. A secret that was replaced by another is still a change."""
    return msgspec.structs.replace(comparison, cases=tuple([_redacted_change(change) for change in comparison.cases]))


def _changes(before: Mapping[str, CaseSide], after: Mapping[str, CaseSide]) -> Iterator[CaseChange]:
    for case_id in dict.fromkeys((*before, *after)):
        old, new = before.get(case_id), after.get(case_id)
        if old is None or new is None:
            yield CaseChange(
                case_id=case_id, kind="only_after" if old is None else "only_before", before=old, after=new
            )
        elif (change := _change(case_id, old, new)) is not None:
            yield change


def _change(case_id: str, old: CaseSide, new: CaseSide) -> CaseChange | None:
    scores = tuple(_score_changes(old, new))
    path = path_changes(old.path, new.path) if old.is_recorded and new.is_recorded else ()
    is_edited = bool(old.question and new.question and old.question != new.question)
    if old.verdict == new.verdict and not scores and not path and not is_edited:
        return None
    kind: Kind = "drifted"
    if is_edited:
        kind = "edited"
    elif old.verdict != new.verdict:
        kind = "worse" if old.passed else "better" if new.passed else "other"
    return CaseChange(case_id=case_id, kind=kind, before=old, after=new, scores=scores, path=path)


def _score_changes(old: CaseSide, new: CaseSide) -> Iterator[ScoreChange]:
    for evaluator in dict.fromkeys((*old.scores, *new.scores)):
        before, after = old.scores.get(evaluator), new.scores.get(evaluator)
        if before != after:
            yield ScoreChange(evaluator, before, after)


def _argument(path: str, known: Iterable[str]) -> str:
    """Return the argument that a difference is in; keys may have dots, so the longest that fits is meant."""
    fitting = [name for name in known if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(fitting, key=len, default="")


def _place(change: CaseChange) -> tuple[int, str, int, int]:
    """Sort by kind of change, then by position in the eval set."""
    side = change.after or change.before
    source = side.source if side is not None else None
    return (_RANKS[change.kind], *((source.file, source.line, source.column) if source is not None else ("", 0, 0)))


def _side(result: CaseResult, ignored: Collection[str]) -> CaseSide:
    trajectory = result.trajectory
    # A digest, because answers are compared and never shown here, and may be megabytes.
    answer = dump_json(trajectory.output) if trajectory is not None else ""
    path = compared_calls(trajectory, ignored)
    return CaseSide(
        verdict=result.verdict,
        score=result.score,
        scores={evaluation.evaluator: evaluation.score for evaluation in result.results},
        path=path,
        calls=float(len(path)) if trajectory is not None else None,
        answer=blake2b(answer.encode(errors="surrogatepass"), digest_size=16).digest(),
        is_recorded=trajectory is not None,
        source=result.source,
    )


def _merged(repeats: list[CaseSide], verdict: Verdict, *, is_quarantined: bool, question: str) -> CaseSide:
    shown = next((side for side in repeats if side.verdict == verdict), repeats[0])
    evaluators = dict.fromkeys(evaluator for side in repeats for evaluator in side.scores)
    return msgspec.structs.replace(
        shown,
        verdict=verdict,
        is_quarantined=is_quarantined,
        question=question,
        score=mean(side.score for side in repeats),
        calls=mean(side.calls for side in repeats),
        scores={name: mean(side.scores.get(name) for side in repeats) for name in evaluators},
    )


def _redacted_change(change: CaseChange) -> CaseChange:
    sides = [side for side in (change.before, change.after) if side is not None]
    seen = [call.args for side in sides for call in side.path]
    path = [
        msgspec.structs.replace(step, differences=redacted_differences(step.differences, *seen))
        if step.differences
        else step
        for step in change.path
    ]
    before, after = _redacted_side(change.before), _redacted_side(change.after)
    return msgspec.structs.replace(change, before=before, after=after, path=tuple(path))


def _redacted_side(side: CaseSide | None) -> CaseSide | None:
    if side is None:
        return None
    path = tuple([msgspec.structs.replace(call, args=redacted_value(call.args)) for call in side.path])
    return msgspec.structs.replace(side, path=path)
