"""A gate over rounds: when it looks, what it looks at, and when it has spoken.

The decision depends on the verdicts of the trials alone, and not on the order in which they come: a look is taken when
its round is whole, at the trials of the rounds so far. A run that was killed goes on to the same decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Literal

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, Tally, Totals, Verdict
from rightcall.values.statistics import Interval, looks, mixture_interval, run_rate

from ._gate import Gate, GateRule, GateSide, gate

FloorVerdict = Literal["passes", "fails", "inconclusive"]


class GatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a run: a comparison, a rate to reach, cases that have to pass every time."""

    rule: GateRule
    least: int
    """The rounds after which it looks first."""
    most: int
    """The rounds at the end of which it has to decide."""
    questions: Mapping[str, str]
    """The cases of the run, each with the digest of its question."""
    base: Mapping[str, GateSide] | None = None
    base_name: str = ""
    min_rate: float | None = None
    floor_inconclusive: Literal["pass", "fail"] = "fail"
    must: frozenset[str] = frozenset()
    """Cases that have to pass in every trial."""
    rounds_of: Mapping[str, int] = {}
    """The most rounds of single cases that have fewer than the others."""
    needed: Mapping[str, int] = {}
    """How many trials of single cases have to pass, where there is nothing to compare them with; all by default."""

    @property
    def own(self) -> frozenset[str]:
        """The cases that are judged by themselves: those that must pass, and those that the base cannot tell of."""
        base = self.base
        if base is None:
            return self.must if self.min_rate is not None else frozenset(self.questions)
        other = [each for each, asked in self.questions.items() if each not in base or base[each].question != asked]
        return self.must | frozenset(other)

    def rounds(self, case_id: str) -> int:
        """The most rounds of a case."""
        return min(self.most, self.rounds_of.get(case_id, self.most))


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the rate that was asked for is reached."""

    at_least: float
    verdict: FloorVerdict
    rate: float | None
    interval: Interval
    rounds: int
    open_decides: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate said, after a number of rounds."""

    plan: GatePlan
    rounds: int
    gate: Gate | None = None
    gate_rounds: int = 0
    """The rounds that the comparison looked at when it spoke."""
    floor: Floor | None = None
    failed: tuple[str, ...] = ()
    """Cases judged by themselves that failed."""
    unmeasured: tuple[str, ...] = ()
    """Cases judged by themselves that could not be measured."""
    is_identical: bool = False
    """Whether cases were repeated, and each repeat of each case is the same to the byte."""

    @property
    def exit_code(self) -> int:
        """1 where something is worse or failed, 2 where that is inconclusive, else 0."""
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
    """The trials of a run, and what the gate says of them as soon as it has spoken."""

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
        """What the gate said; `None` until it has spoken."""

    def take(self, result: CaseResult) -> None:
        """Count the result of one trial, as `add` does; what the agent did in it is compared as well."""
        self.add(result.case_id, result.repeat, result.verdict, _content(result))

    def add(self, case_id: str, repeat: int, verdict: Verdict, content: bytes = b"") -> None:
        """Count one trial, and look if a round is whole by it. Trials that the plan does not have are passed over.

        `content` is a digest of what the agent did, if that is known.
        """
        found = self._trials.get(case_id)
        if found is None or repeat in found or repeat >= self._plan.rounds(case_id):
            return
        found[repeat] = verdict
        # Without a digest the trial counts as unlike every other one: what is not known is not the same.
        self._contents.setdefault(case_id, set()).add(content or f"{case_id} {repeat}".encode())
        self._left[repeat] -= 1
        while self.decision is None and self._whole < self._plan.most and not self._left[self._whole]:
            self._whole += 1
            self._look()

    def _look(self) -> None:
        """Look at the rounds that are whole, at their trials only."""
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
        own = {each: tally.outlook(each, plan.rounds(each)) for each in plan.questions if each in self._own}
        if is_last or (rounds >= plan.least and (self._has_failed(own) or self._has_passed(tally))):
            self._decide(own)

    def _has_failed(self, own: Mapping[str, Verdict]) -> bool:
        """Whether nothing can turn the decision any more, because something failed."""
        if "failed" in own.values():
            return True
        is_worse = self._gate is not None and self._gate.exit_code == 1
        return is_worse or (self._floor is not None and self._floor.verdict == "fails")

    def _has_passed(self, tally: Tally) -> bool:
        """Whether everything that was asked is answered, and every case judged by itself has passed so far."""
        base, least = self._plan.base, self._plan.min_rate
        if base is None and least is None:  # nothing says that fewer rounds are enough
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
        """The trials of the whole rounds, of cases that are judged by themselves."""
        needed = {each: count for each, count in self._plan.needed.items() if each not in self._plan.must}
        tally = Tally(by_case=needed)
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
        """Say whether the rate is reached; trials without an answer are counted both ways."""
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
    """Return what a gate says of trials that are all there; `None` where the plan has trials that they lack."""
    rounds = Rounds(plan)
    for case_id, repeat, verdict in trials:
        rounds.add(case_id, repeat, verdict)
    return rounds.decision


def _content(result: CaseResult) -> bytes:
    """Return a digest of what the agent did: its calls with arguments and outputs, and its answer; not the times."""
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
