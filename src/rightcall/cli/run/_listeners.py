"""The events of a run, and what listens to them: the recording of tools, spans, journal, counts, screen.

The runner knows none of them. Each is called with every event, and takes what it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case, OverallCheck
from rightcall.cases.verdicts import AllCases, JudgingExecutor, error_result
from rightcall.errors import InputError, StoreError
from rightcall.reporting.store import Journal, RunFolder, SpanFile
from rightcall.running import runner
from rightcall.running.runner import CaseFinished, WorkerReplaced
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.redaction import redacted, redacted_value
from rightcall.values.results import Aggregates, CaseResult, Tally, measures_of
from rightcall.values.trajectory import KeptSpans

from .._live import Progress
from .._output import Output
from ._request import RunRequest

if TYPE_CHECKING:
    from concurrent.futures import Future


class CaseJudged(msgspec.Struct, frozen=True):
    """A case was run and judged. It comes among the events of the runner."""

    result: CaseResult


class Waiting(msgspec.Struct, frozen=True):
    """Some time has passed, while evaluators take longer than the agent."""


Event: TypeAlias = runner.Event | CaseJudged | Waiting
"""What happens in a run: what the runner says, and what comes of it here."""
Listener: TypeAlias = Callable[[Event], None]


class Judgements:
    """What is judged of a run at the moment; a context manager, which gives up what is still open."""

    def __init__(self, cases: Mapping[str, Case], timeout: float) -> None:
        self._cases = cases
        # Not in the loop that feeds the workers: an evaluator that takes long costs its case, not the run.
        self._judging = JudgingExecutor(timeout=timeout)
        self._done: SimpleQueue[tuple[CaseFinished, Future[CaseResult]]] = SimpleQueue()
        self._open = 0

    def __enter__(self) -> Judgements:
        return self

    def __exit__(self, *problem: object) -> None:
        self._judging.close()

    @property
    def are_open(self) -> bool:
        """Whether there are cases whose result has not been taken."""
        return self._open > 0

    def submit(self, event: CaseFinished) -> None:
        """Have a case judged that was run, or note that it broke."""
        from concurrent.futures import Future

        self._open += 1
        case = self._cases[event.case_id]
        if event.outcome.error is not None or event.trajectory is None:
            result: Future[CaseResult] = Future()
            result.set_result(error_result(case, event.outcome, event.trajectory))
        else:
            result = self._judging.submit(case, event.trajectory)
        result.add_done_callback(lambda result: self._done.put((event, result)))

    def finished(self, seconds: float = 0.0) -> Iterator[CaseJudged]:
        """Return the results that are there; if there are none, those that come in so many seconds."""
        self._judging.check_deadline()
        while self._open:
            try:
                event, result = self._done.get(timeout=seconds) if seconds else self._done.get_nowait()
            except Empty:
                return
            seconds = 0.0
            self._open -= 1
            yield CaseJudged(msgspec.structs.replace(result.result(), repeat=event.repeat, outcome=event.outcome))


class Recordings:
    """The recording of an eval set, if it is to be made or used.

    Raises:
        InputError: it is to be used, and cannot be read.
    """

    def __init__(self, evalset: str, options: RunRequest, all_cases: Sequence[str]) -> None:
        self._kept_cases = all_cases if options.prune else None
        self._is_made, self._is_used = options.record, options.replay
        self._answers: dict[str, list[Any]] = {}
        self._made: dict[str, list[Any]] = {}
        if not (self._is_made or self._is_used):
            return  # and what it needs is not even loaded
        from rightcall.running.mocking import Recording
        from rightcall.running.project import recording_path

        self._path = recording_path(evalset, options.variant)
        is_there = self._is_used or self._path.exists()
        self._recording = Recording.load(self._path) if is_there else Recording()
        if self._is_used:
            for entry in self._recording.entries:
                self._answers.setdefault(entry.case, []).append(msgspec.to_builtins(entry))

    def of(self, case_id: str) -> list[Any] | None:
        """Return what the tools of a case are to answer; `None` where they are to be run."""
        return self._answers.get(case_id, []) if self._is_used else None

    def __call__(self, event: Event) -> None:
        """Keep what the tools answered the first time that a case is run, if the agent finished it."""
        if not isinstance(event, CaseFinished):
            return
        if self._is_made and event.repeat == 0 and event.outcome.error is None:
            from rightcall.running.mocking import Recording

            self._made[event.case_id] = list(Recording.of_values(event.recorded).entries)

    def save(self) -> None:
        """Write what was recorded. Cases that were not run keep what was recorded of them before."""
        if self._made:
            entries = [entry for made in self._made.values() for entry in made]
            made = self._recording.updated(self._made, entries)
            (made if self._kept_cases is None else made.limited_to(self._kept_cases)).save(self._path)

    def notes(self) -> Iterator[str]:
        """Yield where the recording is, once it is made."""
        if self._made:
            answers, cases = sum(map(len, self._made.values())), len(self._made)
            count = f"{answers:,} answer{'s' * (answers != 1)} of {cases:,} case{'s' * (cases != 1)}"
            yield f"note: recorded {count} in {self._path}"


class SpanListener:
    """Keeps the spans of cases as long as that works: no result is worth less without them."""

    def __init__(self, is_wanted: bool, *, redacts: bool = False) -> None:
        self._is_wanted, self._redacts = is_wanted, redacts
        self._file: SpanFile | None = None
        self.problem: str | None = None
        """Why they are not kept any more, where they were to be."""

    def begin(self, run: RunFolder) -> None:
        """Begin to keep the spans of a run.

        A run that is resumed may have spans though none are wanted now. Then there are lines without any, so that
        what was kept of a case before it was run again is not taken for its spans.
        """
        if self._is_wanted or run.has_spans:
            try:
                self._file = run.span_file()
            except StoreError as problem:
                self.problem = str(problem)

    def __call__(self, event: Event) -> None:
        """Keep the spans of a case that was run."""
        if self._file is None or not isinstance(event, CaseFinished):
            return
        try:
            spans = event.spans or KeptSpans()
            self._file.append(event.case_id, event.repeat, _redacted(spans) if self._redacts else spans)
        except StoreError as problem:
            self.problem = str(problem)
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Counts:
    """Totals of the results of a run, those that an earlier command finished among them."""

    def __init__(
        self,
        cases: Mapping[str, Case],
        overall: Sequence[OverallCheck],
        needed: Mapping[str, int],
        quarantined: Container[str] = (),
    ) -> None:
        self._cases = cases
        self._quarantined = quarantined
        self.tally = Tally(by_case=needed, quarantined=quarantined)
        self.aggregates = Aggregates()
        self.all_cases = AllCases(tuple(cases.values()), overall)
        self.warnings: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Count a result, or a worker that had to be replaced because the agent changed it."""
        if isinstance(event, CaseJudged):
            self.add(event.result)
        elif isinstance(event, WorkerReplaced) and event.was_altered:
            self._replaced[event.reason] += 1

    def add(self, result: CaseResult) -> None:
        """Count a result; one of a case in quarantine only as far as it says something about traces and rules."""
        self.tally.add(result)
        self.warnings.update(result.notes)
        counts = result.case_id not in self._quarantined
        if counts:
            self.aggregates.add(measures_of(result.results))
        seen = self.all_cases.see(self._cases[result.case_id], result, result.trajectory, counts=counts)
        self.all_cases.add(seen, result.case_id)

    def notes(self, *, is_complete: bool) -> Iterator[str]:
        """Return what there is to say of the run as a whole."""
        for reason, times in self._replaced.items():
            yield f"note: {reason}" + (f" ({times:,} times)" if times > 1 else "")
        if is_complete:  # a tool may be called in what was not run
            yield from self.all_cases.notes()


class ProgressListener:
    """Draws the line that says how far the run is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __call__(self, event: Event) -> None:
        """Count a result, or draw the line again."""
        if isinstance(event, CaseJudged):
            self._progress.take(event.result)
        else:
            self._progress.draw()


class JournalListener:
    """Writes each result to the journal, and shows it when it is on the disk and not before."""

    def __init__(
        self,
        journal: Journal,
        digests: Mapping[str, str],
        output: Output,
        progress: Progress,
        *,
        redacts: bool,
        is_decided_later: bool,
    ) -> None:
        self._journal, self._digests, self._redacts = journal, digests, redacts
        self._is_decided_later = is_decided_later
        self._output, self._progress = output, progress
        self._unshown: list[CaseResult] = []

    def __call__(self, event: Event) -> None:
        """Write a result, and show those that are on the disk by now. Raises `StoreError`."""
        if isinstance(event, CaseJudged):
            result = event.result
            self._journal.append(redacted(result) if self._redacts else result, self._digests[result.case_id])
            if not result.passed and not self._is_decided_later:  # repeats of a case are shown together, at the end
                self._unshown.append(result)
        if self._journal.sync_if_due() and self._unshown:
            self._progress.clear()
            self._show()

    def close(self) -> None:
        """Close the journal, and show what is left."""
        self._journal.close()
        self._show()

    def _show(self) -> None:
        for result in self._unshown:
            self._output.show(result)
        self._unshown.clear()


def _redacted(spans: KeptSpans) -> KeptSpans:
    """Return spans without secrets, or none if they do not fit any more."""
    try:
        made = KeptSpans(dump_json(redacted_value(load_json(spans.text))), spans.left_out)
        made.check()
    except InputError:
        return spans.without_spans()
    return made
