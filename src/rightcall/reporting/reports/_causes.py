"""What cases that did not pass have in common: the cause of each, and cases counted by cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rightcall.values.results import (
    Alignment,
    CaseResult,
    Difference,
    EvaluationResult,
    Finding,
    PlacedFinding,
    RulesJustification,
    Step,
    ToolCallCountEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
    group_words,
    is_unmeasured,
    severity,
)

from ._blocks import CaseBlock
from ._expected_paths import order_text

_PREAMBLE = "not measured: "
_MOST_NAMED = 5
_MOST_ARGUMENTS = 3
_LONGEST_NAME = 40
_LONGEST_RULE = 100
_BOUNDS = {
    "<=": "called more than {}",
    "<": "called {} or more",
    ">=": "called less than {}",
    ">": "called {} or less",
    "!=": "called {}",
}
_GRAVEST = (
    "RC107",
    "RC101",
    "RC104",
    "RC106",
    "RC105",
    "RC103",
    "RC102",
    "RC108",
    "RC112",
    "RC111",
    "RC113",
    "RC114",
    "RC115",
)


class Problem(msgspec.Struct, frozen=True, order=True, gc=False):
    """What a finding has in common with others: its code, its tool, and words that follow the tool's name."""

    code: str
    tool: str = ""
    words: str = ""
    """Such as `amount differs`, or `called out of order` where nothing more is known."""

    @property
    def sentence(self) -> str:
        """The problem in words: `` `search` called out of order``."""
        return f"`{self.tool}` {self.words}" if self.tool else self.words

    @property
    def general(self) -> Problem:
        """The same as far as its code and its tool say it."""
        return Problem(self.code, self.tool, group_words(self.code, self.tool))


class Cause(msgspec.Struct, frozen=True):
    """What a case is counted under: its verdict, and its worst problem."""

    verdict: str
    """`passed` for a case whose other repeats made up for what failed."""
    problem: Problem = Problem("", words="no reason given")


class CauseCount(msgspec.Struct):
    """How many cases have a cause, and the first of them."""

    cause: Cause
    cases: int = 0
    names: list[str] = []

    def add(self, block: CaseBlock) -> None:
        """Count a case."""
        self.cases += 1
        if len(self.names) < _MOST_NAMED:
            self.names.append(block.name)


def cause_of(block: CaseBlock) -> Cause:
    """Return the cause of a case that did not pass."""
    verdict = "passed" if block.is_note else block.result.verdict
    for worst in problems_of(block.result, 1):
        return Cause(verdict, worst)
    return Cause(verdict)


def by_weight(counts: Iterable[CauseCount]) -> list[CauseCount]:
    """Return causes in the order of the pages: what failed before what is in error, and the commonest first."""
    return sorted(counts, key=lambda each: (_rank(each.cause.verdict), -each.cases, each.cause.problem))


def firsts_of(causes: Sequence[Cause], blocks: Iterable[CaseBlock]) -> dict[Cause, CaseBlock]:
    """Return the first case of each of these causes. No more cases are read than it takes to find them."""
    wanted, found = set(causes), dict[Cause, CaseBlock]()
    for block in blocks:
        if not wanted:
            break
        if not block.result.passed and (cause := cause_of(block)) in wanted:
            wanted.remove(cause)
            found[cause] = block
    return found


def problems_of(result: CaseResult, most: int | None = None) -> tuple[Problem, ...]:
    """Return the problems of a case, the worst first, each once; of at most so many findings."""
    by_name = {one.evaluator: one for one in result.results}
    return tuple(
        dict.fromkeys(
            [
                Problem(each.finding.code, each.finding.tool, _words(each.finding, by_name.get(each.expectation)))
                for each in reported_findings(result)[:most]
            ]
        )
    )


def _words(finding: Finding, one: EvaluationResult | None) -> str:
    """Return what a finding says of its tool, as far as other cases may have it in common."""
    code, general = finding.code, group_words(finding.code, finding.tool)
    if not finding.tool:
        return general
    if code == "RC101":
        return "not called often enough" if " is missing" in finding.message else "never called"
    if finding.ended is not None:
        return finding.ended
    details = one.details if one is not None else None
    if isinstance(details, ToolCallCountEvaluatorJustification):
        checks = [check for check in details.checks if check.tool == finding.tool and not check.holds]
        if not checks:
            return general
        times = "once" if checks[0].expected == 1 else f"{checks[0].expected:,} times"
        return _BOUNDS.get(checks[0].operator, "not called {}").format(times)
    if isinstance(details, RulesJustification) and code == "RC116":
        broken = [f"rules[{number}]" for number in range(len(details.rules))]
        rule = details.rules[broken.index(finding.path)].rule if finding.path in broken else ""
        return f"breaks “{rule[:_LONGEST_RULE].replace('`', '')}”" if rule else general
    return _of_step(code, *_step_of(finding, details)) or general


def _step_of(finding: Finding, details: object) -> tuple[Step | None, Sequence[Step]]:
    """Return the step of an alignment that a finding is about, and all steps of that alignment."""
    if isinstance(details, ToolTrajectoryEvaluatorJustification):
        alignments = [turn.alignment for turn in details.turns]
    else:
        found = getattr(details, "alignment", None)
        alignments = [found] if isinstance(found, Alignment) else []
    at = finding.actual.position if finding.actual is not None else None
    for alignment in alignments if at is not None else ():
        for step in alignment.steps:
            if step.actual == at:
                return step, alignment.steps
    return None, ()


def _of_step(code: str, step: Step | None, steps: Sequence[Step]) -> str:
    if step is None:
        return ""
    if code == "RC103":
        order = order_text(step, steps)
        return f"called {order}" if order else ""
    names = _arguments(step.differences)
    if not names:
        return ""
    if code == "RC117":
        return f"{names} made up"
    several = len(set(map(_argument, step.differences))) > 1
    if code == "RC106":
        return f"returned other {names}" if several else f"returned another {names}"
    return f"{names} {'differ' if several else 'differs'}" if code == "RC104" else ""


def _arguments(differences: Sequence[Difference]) -> str:
    """Return the names of what differs, of values inside of others the outermost: `amount and currency`."""
    names = list(dict.fromkeys(map(_argument, differences)))
    if not all(names):
        return ""
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_ARGUMENTS]]
    if len(names) > _MOST_ARGUMENTS:
        return f"{', '.join(shown)} and {len(names) - _MOST_ARGUMENTS:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _argument(difference: Difference) -> str:
    return difference.name.removeprefix("output.").partition(".")[0].partition("[")[0]


def reported_findings(result: CaseResult) -> list[PlacedFinding]:
    """Return the findings of a case that did not pass, the worst first, each message once.

    A finding that only says "not measured" is left out if another one says what was not measured.
    """
    if result.passed:
        return []
    blamed = {one.evaluator for one in result.results if not one.passed}
    mine = [each for each in result.findings if each.expectation in blamed or not result.results] or result.findings
    once = {(each.finding.code, each.finding.message): each for each in reversed(mine)}
    reported = [each for each in reversed(once.values()) if not each.finding.message.startswith(_PREAMBLE)]
    return sorted(reported or list(mine[:1]), key=lambda each: _weight(result, each.finding))


def _weight(result: CaseResult, finding: Finding) -> int:
    """Return the rank of a finding: those that decided the verdict come first."""
    if result.verdict == "error" and finding.code >= "RC4":
        return -1
    if result.verdict == "not_measured" and is_unmeasured(finding.code):
        return -1
    return _GRAVEST.index(finding.code) if finding.code in _GRAVEST else len(_GRAVEST)


def _rank(verdict: str) -> int:
    return 8 if verdict == "passed" else severity(verdict)  # type: ignore[arg-type]
