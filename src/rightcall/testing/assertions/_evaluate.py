"""Assert that an agent passes an eval set, or that it has not become worse than a baseline."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypedDict, Unpack, cast

import msgspec

from rightcall.cases.evalsets import (
    Case,
    EvalSet,
    askable_cases,
    cases_with_tags,
    load_eval_set_with_code,
    quarantined_cases,
    select_cases,
)
from rightcall.cases.verdicts import judge_outcome
from rightcall.errors import AgentError, CheckFailedError, CriteriaError, InputError, NotMeasuredError, nearest, shown
from rightcall.reporting.changes import Decision, GatePlan, GateRule, Rounds, gate_base
from rightcall.reporting.reports import gate_record
from rightcall.reporting.store import (
    RUNS,
    GateRecord,
    case_digest,
    commit_of,
    create_run,
    file_digest,
    files_digest,
)
from rightcall.running.project import agent_files, agent_folder, load_configuration
from rightcall.running.runner import DEFAULT_TIMEOUT, CaseFinished, CaseJob, RunOptions, RunPlan, run
from rightcall.values.redaction import redacted_text
from rightcall.values.results import Aggregates, CaseResult, Tally, measures_of

from ._delivery import Problem, hide_internal_frames, problem_of, raise_or_keep

_ENDINGS = (".test.json", ".evalset.json", ".yaml", ".yml")
_MOST_DETAILED = 10
_MOST_NAMED = 50
_REMEDY = "load it with load_eval_set_with_code(…, trust=True)"


class _Options(msgspec.Struct, frozen=True):
    """The options of an evaluation."""

    repeat: int | None = None
    min_repeat_pass: int | None = None
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    workers: int = 0
    runs: Path | None = None
    least: int | None = None
    """The number of repeats after which a gate first decides; by default all."""
    gate: str | None = None
    rule: GateRule = GateRule()
    must: tuple[str, ...] = ()
    min_rate: float | None = None
    floor_inconclusive: Literal["pass", "fail"] = "fail"

    @property
    def is_gated(self) -> bool:
        """Whether a gate decides."""
        return self.gate is not None or self.min_rate is not None or bool(self.must)


@hide_internal_frames
def evaluate(
    eval_set: str | Path | EvalSet,
    agent: str | None = None,
    *,
    repeat: int | tuple[int, int] | None = None,
    min_repeat_pass: int | None = None,
    cases: Sequence[str] = (),
    tags: Sequence[str] = (),
    timeout: float | None = None,
    workers: int = 0,
    runs: str | Path | None = None,
    gate: str | None = None,
    **rule: Unpack[EvaluationGate],
) -> tuple[CaseResult, ...]:
    """Run an agent over an eval set, and raise unless every case passes or, with a `gate`, if it has become worse.

    Args:
        eval_set: An eval set, its file in any format, or a folder with such files.
        agent: The name of the agent, such as `shop/agent.py:answer`, `module:function`, or the folder of an ADK agent;
            by default the agent that the eval set or the project's configuration names.
        repeat: How often each case is run; by default as the case says, or once. With a gate also `(3, 10)`: from 3 to
            10 times, until the gate can decide.
        min_repeat_pass: How many repeats of a case have to pass; all by default.
        cases: Globs of the ids of cases to run.
        tags: Tags of the cases to run.
        timeout: Seconds that a case may take.
        workers: The number of processes; 0 for one per core.
        runs: A folder to keep the run of each eval set in; by default none is kept.
        gate: A baseline file, or a run or branch in `runs` or `.rightcall/runs`, to compare with.
        rule: Options of the gate: `must`, `min_rate`, `rule_out`, `allow_drop`, `confidence`, `inconclusive`.

    Returns:
        The result of every case and repeat, in the order of the file.

    Raises:
        CheckFailedError: a case failed or, with a gate, the agent is worse.
        NotMeasuredError: none failed, but one could not be measured: the agent crashed, or nothing was recorded.
        RightcallError: the agent or the eval set cannot be loaded.
    """
    __tracebackhide__ = True
    is_gated = gate is not None or rule.get("min_rate") is not None or bool(rule.get("must"))
    least, most = _rounds(repeat, is_gated=is_gated)
    _check(agent, most, min_repeat_pass, is_gated=is_gated)
    chosen = (tuple(cases), tuple(tags), timeout, workers, Path(runs) if runs is not None else None)
    options = _with_rule(_Options(most, min_repeat_pass, *chosen, least=least, gate=gate), rule)
    return _delivered([_Evaluation(agent, one, options).carry_out() for one in _eval_sets(eval_set)])


def _with_rule(options: _Options, given: EvaluationGate) -> _Options:
    """Add the options of the gate. Raises `CriteriaError`."""
    asked: dict[str, Any] = dict(given)
    must, min_rate = asked.pop("must", ()), asked.pop("min_rate", None)
    check_share("min_rate", min_rate)
    return msgspec.structs.replace(
        options,
        rule=gate_rule(cast(GateOptions, asked)),
        must=(must,) if isinstance(must, str) else tuple(must),
        min_rate=min_rate,
        floor_inconclusive=asked.get("inconclusive", "fail"),
    )


def _delivered(done: Sequence[tuple[list[CaseResult], list[Problem], str]]) -> tuple[CaseResult, ...]:
    """Return all results, or raise their problems."""
    __tracebackhide__ = True
    results = [result for found, _, _ in done for result in found]
    problems = [problem for _, bad, _ in done for problem in bad]
    if problems:
        raise_or_keep(_summary(problems, results))
    skip("\n".join([text for _, _, text in done if text]))
    return tuple(results)


class _Evaluation:
    """Runs an agent over one eval set and judges it."""

    def __init__(self, agent: str | None, eval_set: EvalSet, options: _Options) -> None:
        self._agent, self._home = _agent_of(agent, eval_set)
        self._eval_set = eval_set
        self._options = options
        chosen = askable_cases(select_cases(eval_set.cases, options.cases, options.tags))
        self._cases = {case.id: case for case in chosen}
        self._results: dict[tuple[str, int], CaseResult] = {}
        self._quarantined = quarantined_cases(chosen)
        self._repeats = {case.id: self._times(case) for case in chosen}
        self._rounds = self._gate_rounds() if options.is_gated else None

    def _times(self, case: Case) -> int:
        """Return how often a case is run at most; if a gate may stop early, its own number is an upper limit."""
        asked, least = self._options.repeat, self._options.least
        if asked is not None and least is not None and least < asked and case.is_repeat_own:
            return min(asked, case.repeat or asked)
        return asked or case.repeat or 1

    def _gate_rounds(self) -> Rounds:
        options = self._options
        base = None if options.gate is None else gate_base(options.gate, self._eval_set.path, options.runs or RUNS)
        most = max(self._repeats.values())
        counted = {case_id: case for case_id, case in self._cases.items() if case_id not in self._quarantined}
        others = {case.id for case in self._eval_set.cases if case.id not in counted}
        plan = GatePlan(
            rule=self._options.rule,
            least=min(self._options.least or most, most),
            most=most,
            rounds_of=self._repeats,
            questions={case.id: case_digest(case).partition("-")[0] for case in counted.values()},
            base=None if base is None else {each: side for each, side in base.sides.items() if each not in others},
            base_name="" if base is None else base.name,
            min_rate=options.min_rate,
            floor_inconclusive=options.floor_inconclusive,
            must=cases_with_tags(counted.values(), options.must, "must"),
            needed=self._needed(),
        )
        return Rounds(plan)

    def carry_out(self) -> tuple[list[CaseResult], list[Problem], str]:
        """Return all results, the problem of each case that did not pass, and the message of an inconclusive gate."""
        began = monotonic()
        places = self._places()
        jobs = [
            CaseJob.of(self._cases[case_id], repeat) for case_id, repeat in sorted(places, key=lambda each: each[1])
        ]
        plan = RunPlan(agent=self._agent, project=str(self._home), jobs=jobs, total=len(jobs))
        timeout = self._options.timeout or self._eval_set.timeout or DEFAULT_TIMEOUT
        options = RunOptions(workers=self._options.workers, timeout=timeout, answers=self._answers())
        with closing(run(plan, options)) as events:  # type: ignore[type-var]
            for event in events:
                if isinstance(event, CaseFinished):
                    case = self._cases[event.case_id]
                    result = judge_outcome(case, event.outcome, event.trajectory, event.repeat)
                    self._results[event.case_id, event.repeat] = result
                    if self._has_decided(result):
                        break
        ordered = [self._results[place] for place in places if place in self._results]
        tally = Tally(needed_of=self._needed(), quarantined=self._quarantined)
        for result in ordered:
            tally.count(result.case_id, result.verdict, result.repeat)
        if self._options.runs is not None:
            self._keep(self._options.runs, ordered, tally, monotonic() - began)
        record = self._gate_record()
        if record is None:
            return ordered, list(self._problems(tally)), ""
        problem = gate_problem(record, ordered)
        return ordered, [problem] if problem is not None else [], inconclusive_text(record)

    def _gate_record(self) -> GateRecord | None:
        """Return the decision of the gate, if there is one."""
        decision = self._rounds.decision if self._rounds is not None else None
        return gate_record(decision) if decision is not None else None

    def _has_decided(self, result: CaseResult) -> bool:
        """Give a result to the gate, and return whether it has decided."""
        if self._rounds is None:
            return False
        self._rounds.take(result)
        return self._rounds.decision is not None

    def _places(self) -> list[tuple[str, int]]:
        """Return each case and repeat, in the order of the file."""
        return [(case_id, repeat) for case_id, often in self._repeats.items() for repeat in range(often)]

    def _needed(self) -> dict[str, int]:
        """Return how many repeats have to pass, for each case that says so; at most as many as are run."""
        asked = self._options.min_repeat_pass
        found = {case.id: case.min_repeat_pass if asked is None else asked for case in self._cases.values()}
        return {each: min(needed, self._repeats[each]) for each, needed in found.items() if needed is not None}

    def _answers(self) -> list[str]:
        """Return the files and folders with expectations, which the agent should not open."""
        return [self._eval_set.path, *([str(self._options.runs)] if self._options.runs is not None else [])]

    def _problems(self, tally: Tally) -> Iterator[Problem]:
        for case in [case for case in self._cases.values() if case.id not in self._quarantined]:
            verdict = tally.verdict(case.id)
            repeats = [self._results[case.id, repeat] for repeat in range(self._repeats[case.id])]
            worst = next((result for result in repeats if result.verdict == verdict), repeats[0])
            problem = problem_of(case, worst) if verdict != "passed" else None
            if problem is not None:
                yield problem

    def _keep(self, runs: Path, results: Sequence[CaseResult], tally: Tally, seconds: float) -> None:
        files = agent_files(self._agent, self._home)
        digest = files_digest(files) if files else None
        commit, branch = commit_of(Path.cwd())
        kept = create_run(
            runs,
            commit=commit,
            branch=branch,
            agent=self._agent,
            agent_hash=digest,
            evalset=self._eval_set.path,
            evalset_hash=file_digest(self._eval_set.path),
            options={
                "repeat": max(self._repeats.values()),
                "needed": self._needed(),
                "quarantined": msgspec.to_builtins(self._quarantined),
            },
        )
        journal, aggregates = kept.journal(), Aggregates()
        for result in results:
            journal.append(result, case_digest(self._cases[result.case_id], self._agent, digest, None))
            aggregates.add(() if result.case_id in self._quarantined else measures_of(result.results))
        journal.close()
        kept.finish(
            tally.totals(),
            aggregates.by_evaluator(),
            seconds,
            is_complete=True,
            rate=tally.rate(),
            gate=self._gate_record(),
            journal=journal,
        )


def _rounds(repeat: Any, *, is_gated: bool) -> tuple[Any, Any]:
    """Return the least and the most repeats; None for both if the cases decide. Raises `CriteriaError`."""
    if not isinstance(repeat, tuple):
        return repeat, repeat
    if len(repeat) != 2 or not all([isinstance(each, int) for each in repeat]) or not 1 <= repeat[0] <= repeat[1]:
        raise CriteriaError(f"repeat is a number from 1, or the least and the most, not {shown(repeat)}")
    if not is_gated:
        raise CriteriaError(f"repeat={repeat} stops when a gate has decided: give gate=… or min_rate=… as well")
    return repeat[0], repeat[1]


def _check(agent: Any, repeat: Any, needed: Any, *, is_gated: bool) -> None:
    if is_gated and needed is not None:
        raise CriteriaError("min_repeat_pass and gate both decide: give one of them")
    if agent is not None and not isinstance(agent, str):
        raise AgentError(f"an agent is run in other processes, so name it: 'file.py:function', not {shown(agent)}")
    if repeat is not None and (not isinstance(repeat, int) or repeat < 1):
        raise CriteriaError(f"repeat is a number from 1, not {shown(repeat)}")
    if needed is not None and not 1 <= needed <= (repeat or 1):
        repeat = repeat or 1
        raise CriteriaError(f"min_repeat_pass is from 1 to {repeat}, the number of repeats, not {needed}")


def _eval_sets(given: str | Path | EvalSet) -> list[EvalSet]:
    if isinstance(given, EvalSet):
        return [given]
    path = Path(given)
    if not path.is_dir():
        return [_with_code(given)]
    files = sorted([file for file in path.rglob("*") if file.name.endswith(_ENDINGS) and file.is_file()])
    if not files:
        raise InputError(f"{path} has no eval sets: no file in it ends in {', '.join(_ENDINGS)}")
    return [_with_code(file) for file in files]


def _with_code(file: str | Path) -> EvalSet:
    return load_eval_set_with_code(file, remedy=_REMEDY)


def _agent_of(agent: str | None, eval_set: EvalSet) -> tuple[str, Path]:
    if agent is not None:
        return agent, Path.cwd()
    path = Path(eval_set.path)
    if eval_set.agent is not None:
        return eval_set.agent, agent_folder(eval_set.agent, path, False, "name it in evaluate(…)")
    configuration = load_configuration(path.resolve().parent)
    if isinstance(named := configuration.values.get("agent"), str):
        return named, configuration.folder
    raise AgentError(f"{path} names no agent: add `agent:` to it, or name one in evaluate(…)")


def _summary(problems: Sequence[Problem], results: Sequence[CaseResult]) -> Problem:
    """Combine the problems of all cases into one exception, failures first."""
    graver = sorted(problems, key=lambda each: not isinstance(each, CheckFailedError))
    if len(graver) == 1:
        return graver[0]
    kind = CheckFailedError if isinstance(graver[0], CheckFailedError) else NotMeasuredError
    total = len({result.case_id for result in results})
    first, _, _ = str(graver[0]).partition("\n")
    lines = [f"{first}, and {len(graver) - 1:,} more of {total:,} cases did not pass"]
    for number, each in enumerate(graver[:_MOST_NAMED]):
        lines += ["", str(each)] if number < _MOST_DETAILED else [str(each).partition("\n")[0]]
    if len(graver) > _MOST_NAMED:
        lines.append(f"and {len(graver) - _MOST_NAMED:,} more cases")
    return kind("\n".join(lines), tuple([result for each in graver for result in each.results]))


class GateOptions(TypedDict, total=False):
    """Options of a gate, as keyword arguments: those of `rightcall run --gate`, with the same defaults."""

    rule_out: float
    """The drop of the pass rate that has to be ruled out for `no worse`; 0.10 by default."""
    allow_drop: float
    """A drop of the pass rate that is accepted even if it is certain; 0 by default."""
    confidence: float
    """1 minus the rate of false alarms; 0.95 by default."""
    inconclusive: Literal["pass", "fail"]
    """Whether an inconclusive result passes, which is the default and skips a test of pytest, or fails."""


class EvaluationGate(GateOptions, total=False):
    """Options of the gate of `evaluate`."""

    must: Sequence[str]
    """Tags of cases that have to pass every time, whatever the gate decides."""
    min_rate: float | None
    """The pass rate that has to be reached with the given confidence; an inconclusive result fails by default."""


@hide_internal_frames
def gate(
    results: Sequence[CaseResult], base: str, *, runs: str | Path = RUNS, **rule: Unpack[GateOptions]
) -> GateRecord:
    """Compare the pass rates of results with those of a base, case by case, and raise if they are worse.

    An inconclusive result skips the test in pytest, so that it is visible; elsewhere it passes. With
    `inconclusive="fail"` it raises.

    Args:
        results: The results of one eval set, all repeats of each case, as `evaluate` returns them.
        base: A baseline file, a run, or a branch, which stands for its newest finished run of the eval set.
        runs: The folder of all runs.
        rule: Options of the gate: `rule_out`, `allow_drop`, `confidence`, `inconclusive`.

    Returns:
        The decision of the gate.

    Raises:
        CheckFailedError: the results are worse, or a case that the base lacks failed.
        NotMeasuredError: the verdict depends on trials that could not be measured, or nothing could be compared, or it
            is inconclusive and that is to fail.
        RightcallError: the base cannot be read, or the results are not of one eval set.
    """
    __tracebackhide__ = True
    record = gate_record(_decision(results, base, Path(runs), gate_rule(rule)))
    problem = gate_problem(record, results)
    if problem is not None:
        raise_or_keep(problem)
    skip(inconclusive_text(record))
    return record


def _decision(results: Sequence[CaseResult], base: str, runs: Path, rule: GateRule) -> Decision:
    evalset, questions, quarantined = _questions(results)
    found = gate_base(base, evalset, runs)
    often: dict[str, int] = {}
    for result in [result for result in results if result.case_id not in quarantined]:
        often[result.case_id] = max(often.get(result.case_id, 0), result.repeat + 1)
    if not often:
        raise InputError("every case is in quarantine, so there is nothing to compare")
    most = max(often.values())
    plan = GatePlan(
        rule=rule,
        least=most,
        most=most,
        questions={case_id: questions[case_id] for case_id in often},
        base={case_id: side for case_id, side in found.sides.items() if case_id not in quarantined},
        base_name=found.name,
        rounds_of=often,
    )
    rounds = Rounds(plan)
    for result in results:
        rounds.take(result)
    if rounds.decision is None:
        raise InputError("repeats are missing; give all results that `evaluate` returned")
    return rounds.decision


def gate_rule(given: GateOptions) -> GateRule:
    """Return the rule of a gate with these options. Raises `CriteriaError`."""
    rule: dict[str, Any] = dict(given)
    for name in rule:
        if name not in GateRule.__struct_fields__:
            raise CriteriaError(f"a gate has no {name!r:.40}; {nearest(name, GateRule.__struct_fields__)}")
    inconclusive = rule.get("inconclusive", "pass")
    for name, share in [(name, share) for name, share in rule.items() if name != "inconclusive"]:
        check_share(name, share)
    if inconclusive not in ("pass", "fail"):
        raise CriteriaError(f"inconclusive is 'pass' or 'fail', not {shown(inconclusive)}")
    return GateRule(**rule)


def check_share(name: str, share: Any) -> None:
    """Raise `CriteriaError` unless a value is a number from 0 to 1, or `None` (not given)."""
    if share is None:
        return
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0.0 <= share <= 1.0:
        raise CriteriaError(f"{name} is a share from 0 to 1, not {shown(share)}")


def gate_problem(record: GateRecord, results: Sequence[CaseResult]) -> Problem | None:
    """Return the exception for a gate that does not pass; `None` if it passes."""
    if not record.exit_code:
        return None
    shown = {*record.failed, *record.unmeasured, *[case.case_id for case in record.worse_cases]}
    about = tuple([result for result in results if result.case_id in shown and not result.passed])
    kind = CheckFailedError if record.exit_code == 1 else NotMeasuredError
    return kind(redacted_text("\n".join(record.told) or record.reason), about)


def inconclusive_text(record: GateRecord) -> str:
    """Return the message of a gate that is inconclusive and passes; empty for any other."""
    is_decided = record.exit_code or record.verdict != "inconclusive"
    return "" if is_decided else redacted_text("\n".join(record.told))


def skip(text: str) -> None:
    """Skip the running test of pytest with this message; do nothing without a message, or outside of pytest."""
    if text and "pytest" in sys.modules and "PYTEST_CURRENT_TEST" in os.environ:
        sys.modules["pytest"].skip(text)


def _questions(results: Sequence[CaseResult]) -> tuple[str, dict[str, str], frozenset[str]]:
    """Return the eval set of the results, digests of what each case asks and expects, and the quarantined cases."""
    files = {result.source.file for result in results}
    if len(files) != 1:
        raise InputError(f"a gate compares the results of one eval set, not of {len(files):,}")
    [file] = files
    eval_set = _with_code(file)
    questions = {case.id: case_digest(case).partition("-")[0] for case in eval_set.cases}
    return file, questions, frozenset(quarantined_cases(eval_set.cases))
