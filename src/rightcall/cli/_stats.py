"""`rightcall stats`: how steady the cases of a run, or of recorded traces, are, and what that says about chance."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from rightcall.errors import InputError, nearest
from rightcall.reporting.changes import Steadiness, steadiness, steadiness_by, with_success
from rightcall.reporting.paths import CasePaths, case_paths
from rightcall.reporting.reports import parting_lines, plan_lines, steadiness_lines
from rightcall.reporting.store import RunFolder
from rightcall.values.redaction import redacted
from rightcall.values.results import CaseResult, Source, count_text

from ._numbers import Whole
from ._options import GroupedCommand, no_redact_option, option, reading_of, reading_options, trace_files
from ._runs import opened
from ._terminal import Screen

_TRIES = 5


@click.command(name="stats", cls=GroupedCommand)
@click.argument("run", metavar="[RUN|TRACES]", default="last")
@option("What", "--case", "case_id", metavar="ID", help="Show where the runs of this case diverge.")
@option(
    "What", "--by", metavar="KEY", help="Count as success what traces say under this key of metadata, such as reward."
)
@option("What", "--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@option(
    "Output",
    "-k",
    "k",
    type=Whole(1, 1_000),
    help="How many tries all have to pass; 5 by default, or as many as there are.",
)
@option("Output", "--plan", is_flag=True, help="Show how many repeats it takes to detect a drop.")
@reading_options
@no_redact_option
def command(run: str, k: int | None, case_id: str | None, by: str | None, plan: bool, **options: Any) -> int:
    """Show how steady cases are: pass rates, intervals, the chance that all of k tries pass.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`, the default. Repeats come from
    `rightcall run --repeat`, or from recorded traces that say which repeat they are. With --by, files or folders of
    such TRACES can be counted as they are, without an eval set. The exit code is 0.
    """
    subject = _Traces(run, by, options) if _is_of_traces(run) else _Run(run, by, options["runs"])
    screen = Screen()
    if case_id is not None:
        lines = parting_lines(_paths(subject, case_id, redacts=not options["no_redact"]), screen.paper())
    elif plan:
        counted = subject.steadiness()
        lines = plan_lines(counted, counted.most_trials)
    else:
        counted = subject.steadiness()
        screen.line(_headline(subject, counted))
        tries = k or min(_TRIES, counted.most_trials)
        name = run if by is None else f"{run} --by {by}"
        lines = steadiness_lines(counted, tries, screen.paper(), name, has_every_k=True)
    for line in lines:
        screen.line(*line)
    return 0


def _is_of_traces(name: str) -> bool:
    """Whether a name is that of a file or folder of traces: it is there, and is not the folder of a run."""
    return os.path.exists(name) and not os.path.isfile(os.path.join(name, "run.json"))


class _Run:
    """The trials of a run, by their verdicts or by what their traces call success."""

    def __init__(self, name: str, by: str | None, runs: str | None) -> None:
        self._run: RunFolder = opened(name, runs)
        self._run.check()
        self._by = by
        self.name = f"run {self._run.short_id}"
        self.about = self._run.header.agent or self._run.header.evalset

    def steadiness(self) -> Steadiness:
        """Return its trials. Raises `InputError`."""
        if self._by is None:
            return steadiness(self._run.trials(), self._run.quarantined)
        return _counted_by(self._by, list(self._run.results()), self.name)

    def results(self) -> list[CaseResult]:
        """Return its results."""
        return list(self._run.results())


class _Traces:
    """The trials in recorded traces that say which case they are of, by what they themselves call success."""

    def __init__(self, path: str, by: str | None, options: dict[str, Any]) -> None:
        if by is None:
            raise InputError(f"{path}: traces have no verdicts; give --by with a key of their metadata, such as reward")
        self._by = by
        self.name = path
        self.about = f"by {by}"
        self._results = _recorded(list(trace_files((path,))), options)
        if not self._results:
            raise InputError(f"{path}: no trace names its case, in `rightcall.case.id` or `task_id`")

    def steadiness(self) -> Steadiness:
        """Return its trials. Raises `InputError`."""
        return _counted_by(self._by, self._results, self.name)

    def results(self) -> list[CaseResult]:
        """Return a result for each trace, with the verdict that it has by the key."""
        return with_success(self._by, self._results)


def _recorded(files: Sequence[str], options: dict[str, Any]) -> list[CaseResult]:
    """Return the traces that say which case they are of, as results without a verdict."""
    from rightcall.cases.verdicts import CASE_ATTRIBUTE

    often: Counter[str] = Counter()
    found: list[CaseResult] = []
    for file in files:
        for trajectory in reading_of(options).read(file):
            named = trajectory.metadata.get(CASE_ATTRIBUTE)
            if named is None:
                continue
            case_id = str(named)
            source = Source(file, 1, 1)
            # The order of arrival, because two files may both begin with repeat 0.
            found.append(
                CaseResult(
                    case_id=case_id,
                    verdict="not_measured",
                    score=None,
                    source=source,
                    trajectory=trajectory,
                    repeat=often[case_id],
                )
            )
            often[case_id] += 1
    return found


def _counted_by(key: str, results: Sequence[CaseResult], name: str) -> Steadiness:
    """Count by a key of the metadata of traces. Raises `InputError` where none of them has it."""
    counted = steadiness_by(key, results)
    if not any([case.measured.measured for case in counted.cases]):
        known = {name for result in results if result.trajectory for name in result.trajectory.metadata}
        raise InputError(
            f"no trace of {name} has {key!r:.80} as true, false or a number; {nearest(key, sorted(known))}"
        )
    return counted


def _headline(subject: _Run | _Traces, counted: Steadiness) -> str:
    trials = {len(case.verdicts) for case in counted.cases}
    each = f" × {min(trials)}" if len(trials) == 1 else f" × {min(trials)} to {max(trials)}" if trials else ""
    parts = [subject.name, count_text(len(counted.cases), "case") + each, subject.about]
    return "  ".join([part for part in parts if part])


def _paths(subject: _Run | _Traces, case_id: str, *, redacts: bool) -> CasePaths:
    everything = subject.results()
    results = [result for result in everything if result.case_id == case_id]
    if not results:
        known = tuple(dict.fromkeys([result.case_id for result in everything]))
        raise InputError(f"{subject.name} has no case {case_id!r:.80}; {nearest(case_id, known)}")
    results.sort(key=lambda result: result.repeat)
    return case_paths(case_id, [redacted(result) for result in results] if redacts else results)
