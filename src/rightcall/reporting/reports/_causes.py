"""What cases that did not pass have in common: the cause of each, and cases counted by cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rightcall.values.results import CaseResult, Finding, PlacedFinding, group_words, is_unmeasured, severity

from ._blocks import CaseBlock

_PREAMBLE = "not measured: "
_MOST_NAMED = 5
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


class Cause(msgspec.Struct, frozen=True):
    """What a case is counted under: its verdict, and the code and tool of its worst problem."""

    verdict: str
    """`passed` for a case whose other repeats made up for what failed."""
    code: str = ""
    tool: str = ""
    is_never_called: bool = False
    """Whether the tool was not called at all, rather than fewer times than expected."""

    @property
    def words(self) -> str:
        """The cause in words: `` `search` called out of order``."""
        if self.code == "RC101" and self.tool:
            return f"`{self.tool}` {'never called' if self.is_never_called else 'not called often enough'}"
        said = group_words(self.code, self.tool) if self.code else "no reason given"
        return f"`{self.tool}` {said}" if self.tool else said


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
    for placed in reported_findings(block.result):
        worst = placed.finding
        return Cause(verdict, worst.code, worst.tool, worst.message.endswith(" was never called"))
    return Cause(verdict)


def by_weight(counts: Iterable[CauseCount]) -> list[CauseCount]:
    """Return causes in the order of the pages: what failed before what is in error, and the commonest first."""
    return sorted(counts, key=lambda each: (_rank(each.cause.verdict), -each.cases, each.cause.code, each.cause.tool))


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
