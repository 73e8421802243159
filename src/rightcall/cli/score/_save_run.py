"""Scored traces saved as a run, to be viewed, reported and compared like the run of an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rightcall.reporting.store import Journal, RunFolder, Sample, case_digest, commit_of, create_run, file_digest
from rightcall.scale.request import Request
from rightcall.values.redaction import redacted, redacted_overall
from rightcall.values.results import CaseResult, EvaluatorTotals, OverallResult, Totals

from .._stored import runs_folder


class SavedRun:
    """A new run folder for results. Its agent has no name, because a trace does not say which agent it was.

    Args:
        request: What the traces were checked against.
        options: Those of the command.
        more: What else the header of the run keeps.

    Raises:
        StoreError: the folder cannot be made.
    """

    def __init__(self, request: Request, options: dict[str, Any], **more: Any) -> None:
        cases = request.expected.cases
        self._digests = {case.id: case_digest(case) for case in cases}
        self._redacts = options["redact"] is True
        commit, branch = commit_of(Path.cwd())
        kept = {"cases": list(options["cases"]), "tags": list(options["tags"])}
        self.run: RunFolder = create_run(
            runs_folder(options["runs"]),
            commit=commit,
            branch=branch,
            agent="",
            evalset=request.evalset or "",
            evalset_hash=file_digest(request.evalset) if request.evalset else "",
            options={**kept, "fail_fast": options["fail_fast"], "redact": options["redact"], **more},
            planned=len(cases) or None,
        )
        self._journal: Journal = self.run.journal()

    def add(self, result: CaseResult) -> None:
        """Save a result. Raises `StoreError`."""
        self._journal.append(redacted(result) if self._redacts else result, self._digests.get(result.case_id, ""))

    def close(self) -> None:
        """Close the journal."""
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
        """Write the totals. Raises `StoreError`."""
        kept = tuple(map(redacted_overall, overall)) if self._redacts else overall
        self.run = self.run.finish(
            totals, evaluators, seconds, is_complete=is_complete, overall=kept, sample=sample, journal=self._journal
        )
