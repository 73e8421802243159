"""`rightcall score` without `--out`: score recorded traces here, report when all are done, and save them as a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

import msgspec

from rightcall.cases.evalsets import quarantined_cases
from rightcall.reporting.reports import Report
from rightcall.scale.local import Scored, Scoring
from rightcall.scale.request import Request
from rightcall.values import redaction
from rightcall.values.results import (
    Aggregates,
    CaseResult,
    EvaluatorTotals,
    OverallResult,
    Tally,
    Totals,
    count_text,
    measures_of,
)

from .._options import runs_folder, sources_of
from .._output import Output, Screen, print_error, stdout_guard

if TYPE_CHECKING:
    from rightcall.judging.models import Compared
    from rightcall.reporting.store import GateRecord, Journal, RunFolder, Sample

    from .._gate import ScoreGate
    from ._servers import Sender

_IN_MEMORY = 256
"""The most results that are kept in memory. A result has its trajectory, which can have some MB of arguments and
outputs; later ones are lines of JSON in a file."""
_SENDING = ("push", "push_to", "push_dry_run", "webhook")
"""The options that send verdicts elsewhere."""


class Spool(msgspec.Struct):
    """Results in order: the first in memory, the others in a temporary file that only this process can open."""

    files: ExitStack
    """Closes the file."""
    first: list[Scored] = []
    file: IO[bytes] | None = None

    def add(self, scored: Scored) -> None:
        """Keep a result."""
        if len(self.first) < _IN_MEMORY:
            self.first.append(scored)
            return
        if self.file is None:
            import tempfile

            self.file = self.files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is entered here
        self.file.write(scored.document().encode() + b"\n")

    def results(self) -> Iterator[CaseResult]:
        """Yield the results in order: first those in memory, then those in the file."""
        yield from [scored.whole() for scored in self.first]
        yield from map(CaseResult.from_json, self._lines())

    def documents(self) -> Iterator[CaseResult | str]:
        """Yield the results, as JSON if they are encoded already."""
        yield from [scored.result if scored.evidence is None else scored.document() for scored in self.first]
        yield from self._lines()

    def _lines(self) -> Iterator[str]:
        place = 0
        while self.file is not None:
            self.file.seek(place)  # several readers may take turns
            line = self.file.readline()
            if not line:
                return
            place = self.file.tell()
            yield line[:-1].decode()


class LocalScoring:
    """One run of the command."""

    def __init__(self, request: Request, options: dict[str, Any], senders: Sequence[Sender] | None = None) -> None:
        self._request, self._options = request, options
        if senders is None and any([options[name] for name in _SENDING]):
            from ._servers import senders_of

            senders = senders_of(options)
        self._senders = senders or ()
        self.is_sent = True
        """Whether verdicts were sent everywhere they had to be."""
        self._output = Output(options)
        self._gate: ScoreGate | None = None
        if options["gate"] is not None or options["min_rate"] is not None or options["must"]:
            from .._gate import ScoreGate

            self._gate = ScoreGate(request, options)
        cases = request.expected.cases
        self._needed = {case.id: case.min_repeat_pass for case in cases if case.min_repeat_pass is not None}
        apart = [case for case in cases if case.quarantine is not None]
        self._quarantined = quarantined_cases(apart) if apart else {}
        self._tally = Tally(needed_of=self._needed, quarantined=self._quarantined)
        self._warnings: Counter[str] = Counter()
        self._is_decided_at_once = self._gate is None and not self._needed and not self._quarantined
        """Whether each trace counts by itself, so that it can be shown before the others are read."""
        evidence = "all" if options["keep"] or self._senders else self._output.wants_results
        self._aggregates = Aggregates() if evidence == "all" else None
        """The results of each evaluator, which only complete reports and runs have."""
        calls_alone = not evidence and self._is_decided_at_once and request.expected.is_about_calls
        self._sources = sources_of(options, request, calls_alone=calls_alone)
        self._scoring = Scoring(request, self._sources, workers=options["workers"], evidence=evidence)
        self._saved: SavedRun | None = None
        self._comparison = None if request.compare_with is None else Comparison(request.compare_with)
        self._is_complete = True

    def run(self) -> int:
        """Score, report, and return the exit code. Raises `RightcallError`."""
        started = perf_counter()
        with ExitStack() as files:
            if self._request.expected.has_code or self._request.expected.waits:  # both may print in other threads
                files.enter_context(stdout_guard())
            spool = Spool(files)
            try:
                self._score(spool)
            finally:
                if self._saved is not None:
                    self._saved.close()
            if self._scoring.unmatched:
                print_error(f"{count_text(self._scoring.unmatched, 'trace')} not judged: no case matches")
            report = self._report(spool, perf_counter() - started)
            if self._saved is not None:
                self._saved.finish(
                    report.totals,
                    report.evaluators,
                    report.seconds,
                    is_complete=self._is_complete,
                    rate=self._tally.rate(),
                    overall=report.overall,
                    gate=report.gate,
                )
            self._output.finish(report)
        if self._comparison is not None:
            self._print_comparison(self._comparison)
        self.is_sent = all([sender.finish() for sender in self._senders])
        return report.exit_code or (0 if self.is_sent else 2)

    def _print_comparison(self, comparison: Comparison) -> None:
        """Print the comparison after a text report; if a document is printed, on standard error."""
        on_screen = [each for each in self._options["formats"] if "=" not in each]
        is_text = all([each in ("full", "concise") for each in on_screen])
        screen = Screen()
        for line in comparison.lines():
            if is_text:
                screen.line(line)
            else:
                print_error(line.strip("\n"))

    def _score(self, spool: Spool) -> None:
        """Score, and count, report and keep each result."""
        with closing(self._scoring.results()) as results:
            for scored in results:
                result = scored.result
                self._tally.count(result.case_id, result.verdict, result.repeat)
                is_quarantined = result.case_id in self._quarantined
                if self._aggregates is not None and not is_quarantined:
                    self._aggregates.add(scored.measures or measures_of(result.results))
                if self._comparison is not None:
                    self._comparison.add(result, scored.label)
                if result.warnings:
                    self._warnings.update(result.notes)
                if self._is_decided_at_once:
                    self._output.show(result)
                wanted = self._output.wants_results if self._is_decided_at_once else "all"
                if wanted == "all" or (wanted == "bad" and not result.passed):
                    spool.add(scored)
                if self._options["keep"] or self._senders:
                    self._pass_on(scored.whole())
                # How many traces a case has is not known yet, so a case that does not need all of them may still pass.
                is_last = not result.passed and result.case_id not in self._needed and not is_quarantined
                if self._options["fail_fast"] and is_last:
                    self._is_complete = False
                    return

    def _pass_on(self, result: CaseResult) -> None:
        """Keep a result for good, and give it to what sends verdicts elsewhere."""
        if self._options["keep"]:
            if self._saved is None:  # made with the first result: traces that cannot be read leave no run behind
                self._saved = SavedRun(self._request, self._options)
            self._saved.add(result)
        for sender in self._senders:
            sender.add(result, self._saved.run.short_id if self._saved is not None else "")

    def _report(self, spool: Spool, seconds: float) -> Report:
        """Return the report of all results, with the decision of a gate."""
        gate = None
        if self._gate is not None and self._is_complete:
            gate = self._gate.record(self._tally.repeats(always=True))
        all_cases = self._scoring.all_cases
        tells_all = self._is_complete and all_cases.is_asked
        return Report(
            results=spool.results,
            totals=self._tally.totals(),
            evaluators={} if self._aggregates is None else self._aggregates.by_evaluator(),
            overall=all_cases.results() if tells_all else (),
            subject=self._options["evalset"] or self._options["expect"] or "",
            seconds=seconds,
            run_id=self._saved.run.short_id if self._saved is not None else "",
            notes=tuple(all_cases.notes()) if tells_all else (),
            warnings=self._warnings,
            documents=spool.documents,
            repeats=self._tally.repeats(always=gate is not None),
            quarantined={each: known for each, known in self._quarantined.items() if each in self._tally.counted},
            gate=gate,
            unread=self._sources.unreadable,
            comparison=None if self._comparison is None else self._comparison.plain(),
        )


_NO_TRACE = "RC303"


class Comparison:
    """The verdicts beside those of the source of the traces."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._compared: list[Compared] = []
        self._unsaid = self._unmeasured = 0

    def add(self, result: CaseResult, label: bool | None) -> None:
        """Add a result, and whether its source calls the run a success."""
        if any([placed.finding.code == _NO_TRACE for placed in result.findings]):
            return
        if label is None:
            self._unsaid += 1
        elif result.verdict in ("passed", "failed"):
            from rightcall.judging.models import Compared

            self._compared.append(Compared(f"{result.case_id}{result.repeat_note}", label, result.passed, result.score))
        else:
            self._unmeasured += 1

    def lines(self) -> Iterator[str]:
        """Yield the lines about how far our verdicts agree with those of the source."""
        from rightcall.judging.models import Agreement

        from .._judge_check import agreement_lines

        yield f"\nverdicts against `{self._key}` of the source\n"
        yield from agreement_lines(Agreement.of(self._compared), self._key, "verdict")
        if self._unsaid:
            yield f"\nnot compared, because the source does not say: {self._unsaid:,}"
        if self._unmeasured:
            yield f"not compared, because there is no verdict: {self._unmeasured:,}"

    def plain(self) -> dict[str, Any]:
        """Return the comparison as plain data for JSON."""
        from rightcall.judging.models import Agreement

        from .._judge_check import plain_agreement

        beside = {"key": self._key, "not_said": self._unsaid, "not_measured": self._unmeasured}
        return plain_agreement(Agreement.of(self._compared), **beside)


class SavedRun:
    """A new run folder for results. Its agent has no name, because a trace does not say which agent it was.

    Args:
        request: What the traces were checked against.
        options: The options of the command.
        more: Further entries in the header of the run.

    Raises:
        StoreError: the folder cannot be made.
    """

    def __init__(self, request: Request, options: dict[str, Any], **more: Any) -> None:
        # Imported late: `secrets`, `hashlib` and what else a run folder needs take a tenth of a short command.
        from pathlib import Path

        from rightcall.reporting import store

        cases = request.expected.cases
        self._digests = {case.id: store.case_digest(case) for case in cases}
        self._redacts = options["redact"] is True
        commit, branch = store.commit_of(Path.cwd())
        kept: dict[str, Any] = {"cases": list(options["cases"]), "tags": list(options["tags"])}
        kept["quarantined"] = msgspec.to_builtins(quarantined_cases(cases))
        kept |= {"needed": {case.id: case.min_repeat_pass for case in cases if case.min_repeat_pass is not None}}
        self.run: RunFolder = store.create_run(
            runs_folder(options["runs"]),
            commit=commit,
            branch=branch,
            agent="",
            evalset=request.evalset or "",
            evalset_hash=store.file_digest(request.evalset) if request.evalset else "",
            options={**kept, "fail_fast": options["fail_fast"], "redact": options["redact"], **more},
            planned=len(cases) or None,
        )
        self._journal: Journal = self.run.journal()

    def add(self, result: CaseResult) -> None:
        """Save a result. Raises `StoreError`."""
        kept = redaction.redacted(result) if self._redacts else result
        self._journal.append(kept, self._digests.get(result.case_id, ""))

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def finish(
        self,
        totals: Totals,
        evaluators: Mapping[str, EvaluatorTotals],
        seconds: float,
        *,
        is_complete: bool,
        rate: float | None,
        overall: tuple[OverallResult, ...] = (),
        gate: GateRecord | None = None,
        sample: Sample | None = None,
    ) -> None:
        """Write the totals. Raises `StoreError`."""
        kept = tuple(map(redaction.redacted_overall, overall)) if self._redacts else overall
        self.run = self.run.finish(
            totals,
            dict(evaluators),
            seconds,
            is_complete=is_complete,
            rate=rate,
            overall=kept,
            gate=gate,
            sample=sample,
            journal=self._journal,
        )
