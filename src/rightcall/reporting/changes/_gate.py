"""The gate: is this run worse than another one, or is the difference chance? And what it compares with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.store import RunFolder, list_runs, open_run, read_baseline
from rightcall.values.results import Totals, Verdict
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
    rate,
    run_rate,
)

GateVerdict = Literal["worse", "better", "no worse", "inconclusive"]
ChangeWord = Literal["worse", "likely worse", "better", "likely better", "not told from chance"]
LIKELY = 0.10
"""The adjusted chance up to which a change of one case is called likely."""
_HALF = 0.5
"""The loss of rate of one case that no early end may overlook: without this rule a dead case of fifty was missed in
56 of 100 simulated runs, with it in none."""


class GateRule(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate asks."""

    rule_out: float = 0.10
    """The drop that has to be ruled out before it says `no worse`."""
    allow_drop: float = 0.0
    """A drop that may be proven and still passes."""
    confidence: float = 0.95
    """1 minus the chance of any wrong alarm, over all looks together."""
    inconclusive: Literal["pass", "fail"] = "pass"


class GateSide(msgspec.Struct, frozen=True):
    """One case on one side: the verdicts of its trials, and a digest of what was asked and expected."""

    trials: Totals
    question: str = ""

    @property
    def measured(self) -> Trials:
        """The trials that passed, of those with an answer."""
        return Trials(self.trials.passed, self.trials.passed + self.trials.failed)

    @property
    def open(self) -> int:
        """Trials without an answer: in error, or not measured."""
        return self.trials.error + self.trials.not_measured

    def filled(self, *, passes: bool) -> Trials:
        """All trials, those without an answer taken for passes or for failures."""
        passed, measured = self.measured
        return Trials(passed + (self.open if passes else 0), measured + self.open)


class GatedCase(msgspec.Struct, frozen=True):
    """One compared case: its trials on both sides, and what they tell."""

    case_id: str
    before: Totals
    after: Totals
    chance: float
    """How likely as few passes are if nothing changed."""
    adjusted: float
    """The same, adjusted for looking at every case."""
    told: ChangeWord


class LeftOut(msgspec.Struct, frozen=True):
    """Cases that are not compared, by their ids."""

    changed: tuple[str, ...] = ()
    """Their question is another one now."""
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """No trial of one side has an answer."""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says, and everything it says it by."""

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
    """Trials of compared cases without an answer."""
    open_decides: bool = False
    """Whether the verdict would be another one if those trials had passed instead of failed."""
    if_failed: GateVerdict | None = None
    """The verdict if all open trials after had failed, and those before had passed."""
    if_passed: GateVerdict | None = None
    """The verdict the other way round."""

    @property
    def worse_cases(self) -> tuple[GatedCase, ...]:
        """The cases that are worse by themselves, the surest first."""
        return tuple(sorted([case for case in self.cases if case.told == "worse"], key=lambda case: case.adjusted))

    @property
    def may_stop(self) -> bool:
        """Whether a look may end the run: it is worse, or it is not and no case has lost half of its rate."""
        if self.verdict == "worse":
            return True
        return self.verdict != "inconclusive" and not any([_lost_half(case) for case in self.cases])

    @property
    def exit_code(self) -> int:
        """0 where it passes, 1 where it is worse, 2 where that is inconclusive."""
        if self.open_decides or not self.cases:
            return 2
        if self.verdict == "inconclusive":
            return 2 if self.rule.inconclusive == "fail" else 0
        return 1 if self.verdict == "worse" else 0


def gate(
    before: Mapping[str, GateSide], after: Mapping[str, GateSide], rule: GateRule | None = None, share: float = 1.0
) -> Gate:
    """Compare two runs case by case, by trials.

    Worse: the cases together are, or one of them is by itself. Better: they are together. No worse: a drop of
    `rule_out` is ruled out. Inconclusive: none of these. Trials without an answer are counted both ways; if the two
    verdicts differ, it is inconclusive.
    """
    asked = rule or GateRule()
    shared = [case_id for case_id in before if case_id in after and before[case_id].question == after[case_id].question]
    pairs = {case_id: (before[case_id], after[case_id]) for case_id in shared}
    # What is shown is what was measured; what decides is measured both ways where trials are open.
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
    """All trials, with those open after taken one way and those open before the other way."""
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
        open=tuple(
            [each for each, (old, new) in pairs.items() if not (old.measured.measured and new.measured.measured)]
        ),
    )


def _lost_half(case: GatedCase) -> bool:
    before, after = rate(GateSide(case.before).measured), rate(GateSide(case.after).measured)
    return before is not None and after is not None and after <= before - _HALF


class Base(msgspec.Struct, frozen=True):
    """What a run is compared with."""

    name: str
    """What people call it: its branch and its id, or its file."""
    kept: str
    """What finds it again when the run is resumed, though its branch has newer runs by then."""
    sides: Mapping[str, GateSide]


def gate_base(name: str, evalset: str, runs: Path) -> Base:
    """Find what a run is compared with.

    Args:
        name: A baseline file, a branch, or a run as `open_run` takes it.
        evalset: The eval set. Of a branch, the newest finished run of it is meant.
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

    Cases in quarantine count in nothing, and are not among them.
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
