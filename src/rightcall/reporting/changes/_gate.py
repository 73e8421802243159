"""The gate: is this run worse than another one, or is the difference chance? Decided at once, or in rounds.

The decision depends only on the verdicts of the trials, not on the order in which they arrive: a round is looked at
when it is complete, together with all rounds before it. A run that was killed and resumed comes to the same decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.store import RunFolder, list_runs, open_run, read_baseline
from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, Tally, Totals, Verdict
from rightcall.values.statistics import (
    CaseOdds,
    Interval,
    Odds,
    Stratum,
    Trials,
    adjusted_odds,
    difference,
    difference_interval,
    exact_odds,
    looks,
    mixture_interval,
    rate,
    run_rate,
)

GateVerdict = Literal["worse", "better", "no worse", "inconclusive"]
ChangeWord = Literal["worse", "likely worse", "better", "likely better", "not told from chance"]
LIKELY = 0.10
"""The highest adjusted probability at which a change of one case is called likely."""
_HALF = 0.5
"""A case whose rate dropped by this much prevents an early end: without this rule, one broken case of fifty was missed
in 56 of 100 simulated runs, with it in none."""
FloorVerdict = Literal["passes", "fails", "inconclusive"]


class GateRule(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a gate."""

    rule_out: float = 0.10
    """The drop that has to be ruled out for the verdict `no worse`."""
    allow_drop: float = 0.0
    """A proven drop up to this size still passes."""
    confidence: float = 0.95
    """1 minus the probability of a false alarm, over all looks together."""
    inconclusive: Literal["pass", "fail"] = "pass"


class GateSide(msgspec.Struct, frozen=True):
    """One case in one run: the verdicts of its trials, and a digest of its question (input and expectations)."""

    trials: Totals
    question: str = ""

    @property
    def measured(self) -> Trials:
        """The trials that passed, of those that were measured."""
        return Trials(self.trials.passed, self.trials.passed + self.trials.failed)

    @property
    def open(self) -> int:
        """The number of trials without an answer: in error, or not measured."""
        return self.trials.error + self.trials.not_measured

    def filled(self, *, passes: bool) -> Trials:
        """Return all trials, with those without an answer counted as passes or as failures."""
        passed, measured = self.measured
        return Trials(passed + (self.open if passes else 0), measured + self.open)


class GatedCase(msgspec.Struct, frozen=True):
    """One compared case: its trials on both sides, and the probability that the difference is chance."""

    case_id: str
    before: Totals
    after: Totals
    chance: float
    """The probability of so few passes if nothing had changed."""
    adjusted: float
    """The same, adjusted for testing every case."""
    told: ChangeWord


class LeftOut(msgspec.Struct, frozen=True):
    """Cases that are not compared, by their ids."""

    changed: tuple[str, ...] = ()
    """Their question changed."""
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """One side has no measured trial."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a gate, and everything it is based on."""

    verdict: GateVerdict
    rule: GateRule
    share: float
    """The share of the error rate that this look may spend; 1.0 for a single look."""
    before: float | None
    """The mean rate of the compared cases before."""
    after: float | None
    difference: float | None
    interval: Interval | None
    odds: Odds | None
    cases: tuple[GatedCase, ...]
    left_out: LeftOut
    open_trials: int
    """The number of trials of compared cases without an answer."""
    open_decides: bool = False
    """Whether the verdict depends on whether those trials count as passed or failed."""
    if_failed: GateVerdict | None = None
    """The verdict if all open trials after had failed, and those before had passed."""
    if_passed: GateVerdict | None = None
    """The verdict if all open trials after had passed, and those before had failed."""

    @property
    def worse_cases(self) -> tuple[GatedCase, ...]:
        """The cases that are worse on their own, the most certain first."""
        return tuple(sorted([case for case in self.cases if case.told == "worse"], key=lambda case: case.adjusted))

    @property
    def may_stop(self) -> bool:
        """Whether a look may end the run early: it is worse, or conclusive and no case lost half of its rate."""
        if self.verdict == "worse":
            return True
        return self.verdict != "inconclusive" and not any([_lost_half(case) for case in self.cases])

    @property
    def exit_code(self) -> int:
        """0 if it passes, 1 if it is worse, 2 if that is inconclusive."""
        if self.open_decides or not self.cases:
            return 2
        if self.verdict == "inconclusive":
            return 2 if self.rule.inconclusive == "fail" else 0
        return 1 if self.verdict == "worse" else 0


def gate(
    before: Mapping[str, GateSide], after: Mapping[str, GateSide], rule: GateRule | None = None, share: float = 1.0
) -> Gate:
    """Compare two runs case by case, by trials.

    Worse: all cases together are, or one of them is on its own. Better: all together are. No worse: a drop of
    `rule_out` is ruled out. Inconclusive: none of these. Trials without an answer are counted both ways; if the two
    verdicts differ, the result is inconclusive.
    """
    asked = rule or GateRule()
    shared = [case_id for case_id in before if case_id in after and before[case_id].question == after[case_id].question]
    pairs = {case_id: (before[case_id], after[case_id]) for case_id in shared}
    # The figures shown are of measured trials only; the verdict is computed both ways if trials are open.
    seen = _Weighed([(old.measured, new.measured) for old, new in pairs.values()], asked, share)
    failed = _Weighed(_filled(pairs, passes=False), asked, share) if _has_open(pairs) else seen
    passed = _Weighed(_filled(pairs, passes=True), asked, share) if _has_open(pairs) else seen
    decides = failed.verdict != passed.verdict
    return Gate(
        verdict="inconclusive" if decides else failed.verdict,
        rule=asked,
        share=share,
        before=seen.before,
        after=seen.after,
        difference=seen.difference,
        interval=seen.interval,
        odds=seen.odds,
        cases=_gated(pairs, seen),
        left_out=_left_out(before, after, pairs),
        open_trials=sum([old.open + new.open for old, new in pairs.values()]),
        open_decides=decides,
        if_failed=failed.verdict if _has_open(pairs) else None,
        if_passed=passed.verdict if _has_open(pairs) else None,
    )


_Pairs = Mapping[str, tuple[GateSide, GateSide]]


def _is_measured(old: GateSide, new: GateSide) -> bool:
    return bool(old.measured.measured and new.measured.measured)


class _Weighed:
    """Pairs of trials, compared at one look."""

    def __init__(self, pairs: Sequence[tuple[Trials, Trials]], rule: GateRule, share: float) -> None:
        compared = [(old, new) for old, new in pairs if old.measured and new.measured]
        strata = [Stratum(old.measured, old.passed, new.measured, new.passed) for old, new in compared]
        self.level = (1.0 - rule.confidence) * share
        self.before, self.after = run_rate([old for old, _ in compared]), run_rate([new for _, new in compared])
        self.difference = difference(strata) if strata else None
        self.interval = difference_interval(strata, 1.0 - self.level) if strata else None
        self.odds = exact_odds(strata) if strata else None
        self.of_cases = adjusted_odds(strata)
        self.verdict = self._verdict(rule)

    def _verdict(self, rule: GateRule) -> GateVerdict:
        if self.odds is None or self.interval is None:
            return "inconclusive"
        half = self.level / 2.0
        if self.odds.worse <= half and self.interval.high < -rule.allow_drop:
            return "worse"
        if any([odds.adjusted_worse <= half for odds in self.of_cases]):
            return "worse"
        if self.odds.better <= half and self.interval.low > 0.0:
            return "better"
        return "no worse" if self.interval.low > -rule.rule_out else "inconclusive"

    def word(self, odds: CaseOdds) -> ChangeWord:
        half = self.level / 2.0
        if odds.adjusted_worse <= LIKELY:
            return "worse" if odds.adjusted_worse <= half else "likely worse"
        if odds.adjusted_better <= LIKELY:
            return "better" if odds.adjusted_better <= half else "likely better"
        return "not told from chance"


def _has_open(pairs: _Pairs) -> bool:
    return any([old.open or new.open for old, new in pairs.values()])


def _filled(pairs: _Pairs, *, passes: bool) -> list[tuple[Trials, Trials]]:
    """Count open trials one way after, and the other way before."""
    return [(old.filled(passes=not passes), new.filled(passes=passes)) for old, new in pairs.values()]


def _gated(pairs: _Pairs, seen: _Weighed) -> tuple[GatedCase, ...]:
    odds = iter(seen.of_cases)
    cases: list[GatedCase] = []
    for case_id, (old, new) in pairs.items():
        if _is_measured(old, new):
            found = next(odds)
            cases.append(
                GatedCase(case_id, old.trials, new.trials, found.worse, found.adjusted_worse, seen.word(found))
            )
    return tuple(cases)


def _left_out(before: Mapping[str, GateSide], after: Mapping[str, GateSide], pairs: _Pairs) -> LeftOut:
    return LeftOut(
        changed=tuple([case_id for case_id in before if case_id in after and case_id not in pairs]),
        only_before=tuple([case_id for case_id in before if case_id not in after]),
        only_after=tuple([case_id for case_id in after if case_id not in before]),
        open=tuple([each for each, (old, new) in pairs.items() if not _is_measured(old, new)]),
    )


def _lost_half(case: GatedCase) -> bool:
    before, after = rate(GateSide(case.before).measured), rate(GateSide(case.after).measured)
    return before is not None and after is not None and after <= before - _HALF


class Base(msgspec.Struct, frozen=True):
    """The run or baseline that a run is compared with."""

    name: str
    """The name to show: its branch and its id, or its file."""
    kept: str
    """The name by which a resumed run finds it again, even if its branch has newer runs by then."""
    sides: Mapping[str, GateSide]


def gate_base(name: str, evalset: str, runs: Path) -> Base:
    """Find the run or baseline to compare with.

    Args:
        name: A baseline file, a branch, or a run as `open_run` takes it.
        evalset: The eval set. A branch means its newest finished run of this eval set.
        runs: The folder of all runs.

    Raises:
        StoreError: there is none, it cannot be read, or it is not finished.
    """
    if Path(name).is_file():
        baseline = read_baseline(Path(name))
        return Base(name, name, {each: GateSide(case.trials, case.question) for each, case in baseline.cases.items()})
    run = _of_branch(name, evalset, runs) or open_run(name, runs)
    if run.header.finished is None:
        raise StoreError(f"run {run.short_id} is not complete, so nothing is compared with it; resume it first")
    if run.header.sample is not None:
        raise StoreError(f"run {run.short_id} keeps only examples of its results, so its trials cannot be counted")
    called = f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id
    return Base(called, run.folder.name, gate_sides_in(run))


def gate_sides_in(run: RunFolder) -> dict[str, GateSide]:
    """Return the trials of each case of a run, with the digest of its question. Raises `StoreError`.

    Cases in quarantine are left out.
    """
    run.check()
    verdicts: dict[str, list[Verdict]] = {}
    questions: dict[str, str] = {}
    quarantined = run.quarantined
    for trial in [trial for trial in run.trials() if trial.case_id not in quarantined]:
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
        questions[trial.case_id] = trial.question
    return {case_id: GateSide(Totals.of(found), questions[case_id]) for case_id, found in verdicts.items()}


def _of_branch(name: str, evalset: str, runs: Path) -> RunFolder | None:
    meant = Path(evalset).resolve()
    for folder in reversed(list_runs(runs)):
        run = open_run(str(folder))
        header = run.header
        if header.branch == name and header.finished is not None and Path(header.evalset).resolve() == meant:
            return run
    return None


class GatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is checked for: a comparison, a minimum rate, cases that have to pass every time."""

    rule: GateRule
    least: int
    """The number of rounds before the first look."""
    most: int
    """The number of rounds after which it has to decide."""
    questions: Mapping[str, str]
    """The cases of the run, each with the digest of its question."""
    base: Mapping[str, GateSide] | None = None
    base_name: str = ""
    min_rate: float | None = None
    floor_inconclusive: Literal["pass", "fail"] = "fail"
    must: frozenset[str] = frozenset()
    """Cases that have to pass in every trial."""
    rounds_of: Mapping[str, int] = {}
    """The most rounds for single cases that have fewer than the others."""
    needed: Mapping[str, int] = {}
    """How many trials of single cases have to pass if there is nothing to compare them with; all by default."""

    @property
    def own(self) -> frozenset[str]:
        """The cases judged on their own: those that must pass, and those that cannot be compared with the base."""
        base = self.base
        if base is None:
            return self.must if self.min_rate is not None else frozenset(self.questions)
        other = [each for each, asked in self.questions.items() if each not in base or base[each].question != asked]
        return self.must | frozenset(other)

    def rounds(self, case_id: str) -> int:
        """Return the most rounds of a case."""
        return min(self.most, self.rounds_of.get(case_id, self.most))


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the required rate is reached."""

    at_least: float
    verdict: FloorVerdict
    rate: float | None
    interval: Interval
    rounds: int
    open_decides: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a gate after some rounds."""

    plan: GatePlan
    rounds: int
    gate: Gate | None = None
    gate_rounds: int = 0
    """The number of rounds on which the comparison was decided."""
    floor: Floor | None = None
    failed: tuple[str, ...] = ()
    """Cases judged on their own that failed."""
    unmeasured: tuple[str, ...] = ()
    """Cases judged on their own that could not be measured."""
    is_identical: bool = False
    """Whether cases were repeated, and the agent did exactly the same in all repeats of each case."""

    @property
    def exit_code(self) -> int:
        """1 if something is worse or failed, 2 if that is inconclusive, else 0."""
        codes = {1} if self.failed else {2} if self.unmeasured else {0}
        if self.gate is not None:
            codes.add(self.gate.exit_code)
        if self.floor is not None:
            codes.add(self._floor_code(self.floor))
        return 1 if 1 in codes else max(codes)

    def _floor_code(self, floor: Floor) -> int:
        if floor.verdict == "inconclusive":
            return 2 if floor.open_decides or self.plan.floor_inconclusive == "fail" else 0
        return 1 if floor.verdict == "fails" else 0


class Rounds:
    """Collect the trials of a run, and decide as soon as possible."""

    def __init__(self, plan: GatePlan) -> None:
        self._plan = plan
        self._own = plan.own
        self._trials: dict[str, dict[int, Verdict]] = {case_id: {} for case_id in plan.questions}
        self._contents: dict[str, set[bytes]] = {}
        self._left = [0] * plan.most
        for case_id in plan.questions:
            for place in range(plan.rounds(case_id)):
                self._left[place] += 1
        self._shares = {look.rounds: look.share for look in looks(plan.least, plan.most)}
        self._whole = 0
        self._gate: Gate | None = None
        self._gate_rounds = 0
        self._floor: Floor | None = None
        self.decision: Decision | None = None
        """The decision; `None` until there is one."""

    def take(self, result: CaseResult) -> None:
        """Count the result of one trial as `add` does, with a digest of what the agent did."""
        self.add(result.case_id, result.repeat, result.verdict, _content(result))

    def add(self, case_id: str, repeat: int, verdict: Verdict, content: bytes = b"") -> None:
        """Count one trial, and look if it completes a round. Trials that are not in the plan are ignored.

        `content` is a digest of what the agent did, if that is known.
        """
        found = self._trials.get(case_id)
        if found is None or repeat in found or repeat >= self._plan.rounds(case_id):
            return
        found[repeat] = verdict
        # Without a digest, the trial counts as different from every other one.
        self._contents.setdefault(case_id, set()).add(content or f"{case_id} {repeat}".encode())
        self._left[repeat] -= 1
        while self.decision is None and self._whole < self._plan.most and not self._left[self._whole]:
            self._whole += 1
            self._look()

    def _look(self) -> None:
        """Look at the complete rounds."""
        plan, rounds = self._plan, self._whole
        is_last = rounds == plan.most
        if self._gate is None and plan.base is not None and rounds in self._shares:
            found = gate(plan.base, self._compared(), plan.rule, self._shares[rounds])
            if is_last or found.may_stop:
                self._gate, self._gate_rounds = found, rounds
        if self._floor is None and plan.min_rate is not None and rounds >= plan.least:
            reached = self._reached(plan.min_rate)
            self._floor = reached if is_last or reached.verdict != "inconclusive" else None
        tally = self._tally()
        own = {each: tally.verdict(each, plan.rounds(each)) for each in plan.questions if each in self._own}
        if is_last or (rounds >= plan.least and (self._has_failed(own) or self._has_passed(tally))):
            self._decide(own)

    def _has_failed(self, own: Mapping[str, Verdict]) -> bool:
        """Return whether the decision is final, because something failed."""
        if "failed" in own.values():
            return True
        is_worse = self._gate is not None and self._gate.exit_code == 1
        return is_worse or (self._floor is not None and self._floor.verdict == "fails")

    def _has_passed(self, tally: Tally) -> bool:
        """Return whether all checks are decided, and every case judged on its own has passed so far."""
        base, least = self._plan.base, self._plan.min_rate
        if base is None and least is None:  # no check could be decided early
            return False
        if (base is not None and self._gate is None) or (least is not None and self._floor is None):
            return False
        return all([tally.verdict(case_id) == "passed" for case_id in self._own])

    def _decide(self, own: Mapping[str, Verdict]) -> None:
        self.decision = Decision(
            plan=self._plan,
            rounds=self._whole,
            gate=self._gate,
            gate_rounds=self._gate_rounds,
            floor=self._floor,
            failed=tuple([case_id for case_id, verdict in own.items() if verdict == "failed"]),
            unmeasured=tuple([case_id for case_id, verdict in own.items() if verdict not in ("failed", "passed")]),
            is_identical=self._whole > 1 and all([len(found) == 1 for found in self._contents.values()]),
        )

    def _tally(self) -> Tally:
        """Return a tally of the complete rounds, for cases that are judged on their own."""
        needed = {each: count for each, count in self._plan.needed.items() if each not in self._plan.must}
        tally = Tally(needed_of=needed)
        for case_id in sorted(self._own):
            for repeat, verdict in self._seen(case_id).items():
                tally.count(case_id, verdict, repeat)
        return tally

    def _seen(self, case_id: str) -> dict[int, Verdict]:
        return {repeat: verdict for repeat, verdict in self._trials[case_id].items() if repeat < self._whole}

    def _compared(self) -> dict[str, GateSide]:
        return {
            case_id: GateSide(Totals.of(self._seen(case_id).values()), question)
            for case_id, question in self._plan.questions.items()
        }

    def _reached(self, asked: float) -> Floor:
        """Return whether the rate is reached; trials without an answer are counted both ways."""
        sides = list(self._compared().values())
        passed = sum([side.trials.passed for side in sides])
        failed = sum([side.trials.failed for side in sides])
        unknown = sum([side.open for side in sides])
        error = 1.0 - self._plan.rule.confidence
        verdicts = {
            _floor_verdict(mixture_interval(passed, failed + unknown, error), asked),
            _floor_verdict(mixture_interval(passed + unknown, failed, error), asked),
        }
        decides = len(verdicts) > 1
        return Floor(
            at_least=asked,
            verdict="inconclusive" if decides else verdicts.pop(),
            rate=run_rate([side.measured for side in sides]),
            interval=mixture_interval(passed, failed, error),
            rounds=self._whole,
            open_decides=decides,
        )


def one_look(plan: GatePlan, trials: Iterable[tuple[str, int, Verdict]]) -> Decision | None:
    """Decide on trials that are already complete; `None` if some trials of the plan are missing."""
    rounds = Rounds(plan)
    for case_id, repeat, verdict in trials:
        rounds.add(case_id, repeat, verdict)
    return rounds.decision


def _content(result: CaseResult) -> bytes:
    """Return a digest of what the agent did: its calls with arguments and outputs, and its answer, without times."""
    if result.trajectory is None:
        error = result.outcome.error if result.outcome is not None else None
        return blake2b(dump_json(error).encode(errors="surrogatepass"), digest_size=16).digest()
    calls = [[call.name, call.args, call.output, call.error] for call in result.trajectory.calls]
    text = dump_json([calls, result.trajectory.output])
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _floor_verdict(interval: Interval, asked: float) -> FloorVerdict:
    if interval.low >= asked:
        return "passes"
    return "fails" if interval.high < asked else "inconclusive"
