"""Comparison of two runs by case and by path, and the flakiness of a run by the trials of each case."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.alignment import common_subsequence
from rightcall.matching.matchers import equal
from rightcall.reporting.store import Trial
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_differences, redacted_value
from rightcall.values.results import (
    CaseResult,
    Difference,
    Source,
    Tally,
    Totals,
    Verdict,
    difference_of,
    success_of,
    value_text,
)
from rightcall.values.statistics import (
    Interval,
    Trials,
    all_of_k_interval,
    cases_like_these,
    mean_of_k,
    pass_all_k,
    pass_any_k,
    rate,
    run_rate,
    these_cases_again,
    trial_variance,
    wilson,
)
from rightcall.values.trajectory import ToolCall, Trajectory

if TYPE_CHECKING:
    from rightcall.reporting.store import RunFolder


Kind = Literal["worse", "better", "other", "edited", "drifted", "only_before", "only_after"]
_RANKS: dict[Kind, int] = {kind: rank for rank, kind in enumerate(get_args(Kind))}
_FEWEST_VALUES = 2
_MOST_DIFFERENCES = 20
_VALUE_WIDTH = 40
# Sorted keys: the order in which a model writes arguments is not a change.
_plain_text = json.JSONEncoder(sort_keys=True, default=repr).encode

Pairs = list[tuple[int, int]]
_STEADY = 20
"""How many trials have to pass before a case may leave quarantine."""


class ScoreChange(msgspec.Struct, frozen=True):
    """The score of one evaluator, before and after; `None` if it has none."""

    evaluator: str
    before: float | None
    after: float | None


class CaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one case.

    `worse`: it passed, and no longer does. `better`: it did not pass, and now does. `other`: another verdict, neither
    of them `passed`. `edited`: its input or expectations changed, so the difference says nothing about the agent.
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
        """Whether its verdict changed."""
        return self.before is not None and self.after is not None and self.before.verdict != self.after.verdict

    @property
    def is_regression(self) -> bool:
        """Whether it passed and no longer does, edited or not."""
        return self.is_flip and self.before is not None and self.before.passed

    @property
    def is_rescored(self) -> bool:
        """Whether only its scores changed, not its path."""
        return self.kind == "drifted" and not self.path

    @property
    def is_quarantined(self) -> bool:
        """Whether the case is in quarantine in the later run that has it, so that its change does not count."""
        side = self.after or self.before
        return side is not None and side.is_quarantined

    @property
    def other_arguments(self) -> tuple[str, ...]:
        """The arguments, such as `search.key`, if only arguments changed in the path; empty if calls changed, too."""
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
        """Whether the agent's answer changed."""
        return self.before is not None and self.after is not None and self.before.answer != self.after.answer


class Comparison(msgspec.Struct, frozen=True):
    """The changes from one run to another: changed verdicts first, and of these the cases that got worse."""

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

    The path and the answer are those of the first repeat with the verdict of the case.
    """

    verdict: Verdict
    score: float | None
    scores: Mapping[str, float | None]
    """Mean scores by evaluator id."""
    path: tuple[ComparedCall, ...]
    answer: bytes
    """A digest of what the agent returned."""
    is_recorded: bool
    """Whether there is a path: an agent that crashed has none."""
    source: Source
    calls: float | None = None
    """The mean number of calls over the repeats that have a path."""
    is_quarantined: bool = False
    question: str = ""
    """A digest of the input and the expectations."""

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`."""
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

    `needed_of` overrides it for single cases. `quarantined` are the ids of cases that do not count. `ignored` are
    arguments that are not compared, such as `key` or, of one tool only, `search.key`. `questions` are digests of the
    inputs and expectations of the cases.

    Only the path of each result stays in memory, not the outputs of its tools.
    """
    tally = Tally(needed, needed_of or {})
    repeats: dict[str, list[CaseSide]] = {}
    for result in results:
        tally.count(result.case_id, result.verdict, result.repeat)
        repeats.setdefault(result.case_id, []).append(_side(result, ignored))
    asked = questions or {}
    return {
        case_id: _merged(
            sides, tally.verdict(case_id), is_quarantined=case_id in quarantined, question=asked.get(case_id, "")
        )
        for case_id, sides in repeats.items()
    }


def sides_in(run: RunFolder, ignored: Collection[str] = ()) -> dict[str, CaseSide]:
    """Return one side per case of a run; `ignored` arguments are not compared. Raises `StoreError`."""
    questions = {trial.case_id: trial.question for trial in run.trials()}
    return sides_of(run.results(), run.needed, run.needed_of, run.quarantined, frozenset(ignored), questions)


def overview(sides: Mapping[str, CaseSide]) -> Overview:
    """Return the totals of a run, without cases in quarantine."""
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
    """Return the arguments, each a tool and a path, whose values differ between cases, as generated ids do.

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
    """Return the same changes without secrets. A changed secret is still a change."""
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
    """Return the argument that contains a difference. Keys may have dots, so the longest match is taken."""
    fitting = [name for name in known if path == name or path.startswith((f"{name}.", f"{name}["))]
    return max(fitting, key=len, default="")


def _place(change: CaseChange) -> tuple[int, str, int, int]:
    """Return a sort key: the kind of change, then the position in the eval set."""
    side = change.after or change.before
    source = side.source if side is not None else None
    return (_RANKS[change.kind], *((source.file, source.line, source.column) if source is not None else ("", 0, 0)))


def _side(result: CaseResult, ignored: Collection[str]) -> CaseSide:
    trajectory = result.trajectory
    # A digest is enough: answers are compared but never shown here, and may be megabytes.
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


class ComparedCall(msgspec.Struct, frozen=True):
    """The part of a call that is compared: its tool and its arguments, `None` if they were not recorded."""

    name: str
    args: Mapping[str, Any] | None = None
    ignored: tuple[str, ...] = ()
    """Arguments of this call that are not compared. They stay in `args`, where redaction looks for secrets."""

    @property
    def compared(self) -> Mapping[str, Any] | None:
        """The arguments that are compared."""
        if not self.ignored or self.args is None:
            return self.args
        return {name: value for name, value in self.args.items() if name not in self.ignored}


class PathChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of a path.

    `swapped`: the call and `other` changed places. `earlier`: the call is now made before `other`; `later`: after it.
    `removed` and `added`: calls in one path only, with their number in `times`. `arguments`: the same call with other
    arguments; in `differences` the old values are the expected ones.
    """

    kind: Literal["swapped", "earlier", "later", "removed", "added", "arguments"]
    name: str
    other: str = ""
    times: int = 1
    differences: tuple[Difference, ...] = ()


Calls = Sequence[ComparedCall]


def compared_call(call: ToolCall, ignored: Collection[str] = ()) -> ComparedCall:
    """Return the compared part of a call. `ignored` has arguments of all tools, `key`, or of one, `search.key`."""
    args = None if "args" in call.unrecorded else call.args
    if not ignored:
        return ComparedCall(call.name, args)
    left_out = [name for name in args or () if name in ignored or f"{call.name}.{name}" in ignored]
    return ComparedCall(call.name, args, tuple(left_out))


def compared_calls(trajectory: Trajectory | None, ignored: Collection[str] = ()) -> tuple[ComparedCall, ...]:
    """Return the path of a trajectory. Calls whose order was not recorded are sorted."""
    if trajectory is None:
        return ()
    made = [compared_call(call, ignored) for call in trajectory.calls]
    for first, end in trajectory.unordered:
        made[first:end] = sorted(made[first:end], key=_text)
    return tuple(made)


def path_changes(before: Calls, after: Calls) -> tuple[PathChange, ...]:
    """Return the changes from one path to another: moves, removed calls, added calls, then arguments.

    Equal calls are aligned first, then calls of the same name. Arguments that one side did not record are not compared.
    Paths with more than `limits.aligned_calls` calls are compared only by how often each tool was called.
    """
    if list(map(_text, before)) == list(map(_text, after)):
        return ()
    # Alignment takes time and memory proportional to the product of the lengths.
    if max(len(before), len(after)) > DEFAULT_LIMITS.aligned_calls:
        return (*_counted("removed", _names(before), _names(after)), *_counted("added", _names(after), _names(before)))
    in_place = _in_place(before, after)
    moved = _leftovers(in_place, before, after)
    pairs = sorted([*in_place, *moved])
    gone = Counter(_names(before)) - Counter([before[first].name for first, _ in pairs])
    new = Counter(_names(after)) - Counter([after[second].name for _, second in pairs])
    return (
        *dict.fromkeys(_moves(in_place, moved, before)),
        *[PathChange("removed", name, times=times) for name, times in gone.items()],
        *[PathChange("added", name, times=times) for name, times in new.items()],
        *_other_arguments(pairs, before, after),
    )


def _names(path: Sequence[ComparedCall]) -> list[str]:
    return [call.name for call in path]


def _counted(kind: Literal["removed", "added"], these: Sequence[str], others: Sequence[str]) -> list[PathChange]:
    return [PathChange(kind, name, times=times) for name, times in (Counter(these) - Counter(others)).items()]


def _text(call: ComparedCall) -> str:
    return _plain_text([call.name, call.compared])


def _in_place(before: Calls, after: Calls) -> Pairs:
    """Return pairs of positions that increase on both sides: equal calls, and between them calls of the same name."""
    anchors = _common([_text(call) for call in before], [_text(call) for call in after])
    pairs = list(anchors)
    for (first, second), (end, other_end) in pairwise([(-1, -1), *anchors, (len(before), len(after))]):
        if end > first + 1 and other_end > second + 1:
            between = _common(_names(before[first + 1 : end]), _names(after[second + 1 : other_end]))
            pairs += [(first + 1 + one, second + 1 + two) for one, two in between]
    return sorted(pairs)


def _common(before: Sequence[str], after: Sequence[str]) -> Pairs:
    ids: dict[str, int] = {}
    numbered = [ids.setdefault(text, len(ids)) for text in before]
    return common_subsequence(numbered, [ids.setdefault(text, len(ids)) for text in after])


def _leftovers(in_place: Pairs, before: Calls, after: Calls) -> Pairs:
    """Pair the calls that are out of place: equal calls first, then calls of the same name in order."""
    left = set(range(len(before))) - {first for first, _ in in_place}
    free = set(range(len(after))) - {second for _, second in in_place}
    pairs: Pairs = []
    for key in (_text, lambda call: call.name):
        waiting: dict[str, list[int]] = {}
        for position in sorted(free, reverse=True):
            waiting.setdefault(key(after[position]), []).append(position)
        for position in sorted(left):
            if places := waiting.get(key(before[position])):
                pairs.append((position, places.pop()))
        left -= {first for first, _ in pairs}
        free -= {second for _, second in pairs}
    return sorted(pairs)


def _moves(in_place: Pairs, moved: Pairs, before: Sequence[ComparedCall]) -> Iterator[PathChange]:
    """Yield a move for each call that is out of place, named by the calls that it passed."""
    firsts, seconds = [first for first, _ in in_place], [second for _, second in in_place]
    for first, second in moved:
        old, new = bisect_left(firsts, first), bisect_left(seconds, second)
        passed = [before[place].name for place in firsts[min(old, new) : max(old, new)]]
        name = before[first].name
        if len(passed) == 1:
            yield PathChange("swapped", *((name, passed[0]) if new > old else (passed[0], name)))
        elif passed:
            yield PathChange("later", name, passed[-1]) if new > old else PathChange("earlier", name, passed[0])


def _other_arguments(pairs: Pairs, before: Calls, after: Calls) -> Iterator[PathChange]:
    for first, second in pairs:
        old, new = before[first].compared, after[second].compared
        if old is not None and new is not None:
            found = tuple(islice(_differences(dict(old), dict(new), ""), _MOST_DIFFERENCES))
            if found:
                yield PathChange("arguments", before[first].name, differences=found)


def _differences(old: Any, new: Any, path: str) -> Iterator[Difference]:
    """Yield where two values differ, leaf by leaf. Both are plain data: `$` has no special meaning."""
    if equal(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            below = f"{path}.{key}" if path else key
            if key not in new:
                yield Difference(below, value_text(old[key], _VALUE_WIDTH), None)
            elif key not in old:
                yield Difference(below, None, value_text(new[key], _VALUE_WIDTH))
            else:
                yield from _differences(old[key], new[key], below)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    else:
        yield difference_of(path, old, new)


class CaseTrials(msgspec.Struct, frozen=True):
    """The verdicts of all repeats of one case, in the order of the repeats."""

    case_id: str
    verdicts: tuple[Verdict, ...]

    @property
    def totals(self) -> Totals:
        """The number of trials by verdict."""
        return Totals.of(self.verdicts)

    @property
    def measured(self) -> Trials:
        """The trials that passed, of those that were measured."""
        return Trials(self.verdicts.count("passed"), self.verdicts.count("passed") + self.verdicts.count("failed"))

    @property
    def open(self) -> int:
        """The number of trials without an answer: in error, or not measured. They never count as failures."""
        return len(self.verdicts) - self.measured.measured

    @property
    def is_flaky(self) -> bool:
        """Whether some trials passed and some failed."""
        passed, measured = self.measured
        return 0 < passed < measured

    @property
    def rate(self) -> float | None:
        """The share of measured trials that passed; `None` if none was measured."""
        return rate(self.measured)

    @property
    def interval(self) -> Interval | None:
        """The 95 % confidence interval of the rate."""
        return wilson(self.measured)

    def all_of(self, k: int) -> float | None:
        """Return the probability that all of `k` tries pass; `None` if fewer were measured."""
        return pass_all_k(self.measured, k)


class Steadiness(msgspec.Struct, frozen=True):
    """The trials of all cases of a run. Cases in quarantine are listed, but not counted."""

    cases: tuple[CaseTrials, ...]
    quarantined: frozenset[str] = frozenset()
    """The ids of cases in quarantine."""

    @property
    def counted(self) -> tuple[CaseTrials, ...]:
        """The cases that are not in quarantine."""
        return tuple([case for case in self.cases if case.case_id not in self.quarantined])

    @property
    def may_leave(self) -> tuple[CaseTrials, ...]:
        """The cases in quarantine with at least twenty trials, all of which passed."""
        apart = [case for case in self.cases if case.case_id in self.quarantined]
        return tuple([case for case in apart if len(case.verdicts) >= _STEADY and set(case.verdicts) == {"passed"}])

    @property
    def trials(self) -> list[Trials]:
        """The measured trials of each counted case."""
        return [case.measured for case in self.counted]

    @property
    def most_trials(self) -> int:
        """The largest number of trials of a case; 1 if there are no cases."""
        return max([len(case.verdicts) for case in self.cases], default=1)

    @property
    def rate(self) -> float | None:
        """The mean rate of the cases. Each counts the same, however often it ran."""
        return run_rate(self.trials)

    @property
    def again(self) -> Interval | None:
        """The interval of the rate if the same cases are run again."""
        return these_cases_again(self.trials)

    @property
    def like_these(self) -> Interval | None:
        """The interval of the rate for other cases like these."""
        return cases_like_these(self.trials)

    @property
    def variance(self) -> float | None:
        """The variance of trials of one case; `None` if no case has two."""
        return trial_variance(self.trials)

    @property
    def flaky(self) -> tuple[CaseTrials, ...]:
        """The cases with both passed and failed trials."""
        return tuple([case for case in self.counted if case.is_flaky])

    def all_of(self, k: int) -> tuple[float | None, int]:
        """Return the mean probability that all of `k` tries pass, and the number of cases behind it."""
        return mean_of_k(pass_all_k, self.trials, k)

    def any_of(self, k: int) -> tuple[float | None, int]:
        """Return the mean probability that at least one of `k` tries passes, and the number of cases behind it."""
        return mean_of_k(pass_any_k, self.trials, k)

    def all_of_interval(self, k: int) -> Interval | None:
        """Return the interval of the mean probability that all of `k` tries pass."""
        return all_of_k_interval(self.trials, k)


def steadiness(trials: Iterable[Trial], quarantined: Iterable[str] = ()) -> Steadiness:
    """Group trials by case, in the order in which the cases were first seen."""
    found: dict[str, dict[int, Verdict]] = {}
    for trial in trials:
        found.setdefault(trial.case_id, {})[trial.repeat] = trial.verdict
    return _collected(found, frozenset(quarantined))


def _collected(found: dict[str, dict[int, Verdict]], quarantined: frozenset[str] = frozenset()) -> Steadiness:
    ordered = {case_id: [verdicts[repeat] for repeat in sorted(verdicts)] for case_id, verdicts in found.items()}
    cases = [CaseTrials(case_id, tuple(verdicts)) for case_id, verdicts in ordered.items()]
    return Steadiness(tuple(cases), quarantined)


def steadiness_by(key: str, results: Iterable[CaseResult]) -> Steadiness:
    """Group trials by case, with verdicts from a key of the traces' metadata, such as `reward`.

    `true` and numbers from 1 on are passes, `false` and smaller numbers failures; anything else is not measured.
    """
    found: dict[str, dict[int, Verdict]] = {}
    for result in with_success(key, results):
        found.setdefault(result.case_id, {})[result.repeat] = result.verdict
    return _collected(found)


def with_success(key: str, results: Iterable[CaseResult]) -> list[CaseResult]:
    """Replace the verdicts of results with those in a key of their traces' metadata."""
    found = []
    for result in results:
        metadata = result.trajectory.metadata if result.trajectory is not None else {}
        found.append(msgspec.structs.replace(result, verdict=success(metadata.get(key))))
    return found


def success(value: Any) -> Verdict:
    """Return the verdict for a success value in the metadata of a trace."""
    found = success_of(value)
    return "not_measured" if found is None else "passed" if found else "failed"
