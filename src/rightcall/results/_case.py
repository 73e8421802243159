"""The result of judging one case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from rightcall.trajectory import Trajectory

from ._findings import Finding
from ._result import EvaluationResult, Verdict

_BY_GRAVITY: tuple[Verdict, ...] = ("error", "failed", "not_measured")


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


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """What all evaluators say of one case. It passes when every one of them passes.

    The score is the weighted mean of theirs; there is none where one of them has none.
    """

    case_id: str
    verdict: Verdict
    score: float | None
    source: Source
    trajectory: Trajectory | None = None
    results: tuple[EvaluationResult, ...] = ()
    findings: tuple[PlacedFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    repeat: int = 0
    """Which of several trajectories of one case was judged, from 0."""

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing else."""
        return self.verdict == "passed"


class Totals(msgspec.Struct, frozen=True):
    """How many cases there were, by verdict. A case with repeats has the gravest verdict among them."""

    passed: int = 0
    failed: int = 0
    not_measured: int = 0
    error: int = 0

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Totals:
        """The totals of these verdicts."""
        counts = Counter(verdicts)
        return cls(counts["passed"], counts["failed"], counts["not_measured"], counts["error"])

    @property
    def exit_code(self) -> int:
        """1 where a case failed; 2 where one could not be measured, or there was none; 0 where all passed."""
        if self.failed:
            return 1
        return 2 if self.error or self.not_measured or not self.passed else 0

    def __str__(self) -> str:
        named = (("passed", self.passed), ("failed", self.failed), ("in error", self.error))
        counts = [f"{count:,} {name}" for name, count in (*named, ("not measured", self.not_measured)) if count]
        return ", ".join(counts) or "no cases"


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of several together: an error before a failure, a failure before what was not measured."""
    given = set(verdicts)
    return next((verdict for verdict in _BY_GRAVITY if verdict in given), "passed")
