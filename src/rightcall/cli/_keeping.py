"""Scored traces, kept as a run, so that they can be looked at, reported and compared like one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rightcall.reporting.store import Journal, RunFolder, Sample, case_digest, commit_of, create_run, file_digest
from rightcall.scale.local import Request
from rightcall.values.redaction import redacted, redacted_overall
from rightcall.values.results import CaseResult, EvaluatorTotals, OverallResult, Totals


class Keeping:
    """Keeps results in the folder of a new run, whose agent is not named: nobody knows which it was.

    Raises:
        StoreError: the folder cannot be made.
    """

    def __init__(self, runs: Path, request: Request, options: dict[str, Any]) -> None:
        cases = request.cases()
        self._digests = {case.id: case_digest(case) for case in cases}
        self._redacts = options["redact"] is True
        commit, branch = commit_of(Path.cwd())
        self.run: RunFolder = create_run(
            runs,
            commit=commit,
            branch=branch,
            agent="",
            evalset=request.evalset or "",
            evalset_hash=file_digest(request.evalset) if request.evalset else "",
            options=options,
            planned=len(cases) or None,
        )
        self._journal: Journal = self.run.journal()

    def take(self, result: CaseResult) -> None:
        """Keep a result. Raises `StoreError`."""
        self._journal.append(redacted(result) if self._redacts else result, self._digests.get(result.case_id, ""))

    def close(self) -> None:
        """Keep no more."""
        self._journal.close()

    def finish(
        self,
        totals: Totals,
        evaluators: dict[str, EvaluatorTotals],
        seconds: float,
        *,
        is_complete: bool,
        overall: tuple[OverallResult, ...] = (),
        sample: Sample | None = None,
    ) -> None:
        """Note how it came out. Raises `StoreError`."""
        kept = tuple(map(redacted_overall, overall)) if self._redacts else overall
        self.run = self.run.finish(
            totals, evaluators, seconds, is_complete=is_complete, overall=kept, sample=sample, journal=self._journal
        )
