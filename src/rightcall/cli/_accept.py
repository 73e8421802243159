"""`rightcall accept`: expectations from what was observed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rightcall.cases.accepting import CaseOutcome, Observed, accept, new_eval_set
from rightcall.cases.evalsets import Case, EvalSet, load_eval_set, select_cases
from rightcall.errors import InputError, RightcallError, StoreError
from rightcall.reporting.reports import diff_lines
from rightcall.reporting.store import RunFolder, open_run
from rightcall.scale.local import Observing
from rightcall.values.decoding import Edit

from ._numbers import Whole
from ._options import GroupedCommand, joining_options, option, request_of, runs_folder, runs_option, sources_of
from ._output import check_replaceable, replace_file
from ._terminal import Screen, print_error

_MOST_NAMED = 30
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_MARK = "\ufeff"


@click.command(name="accept", cls=GroupedCommand)
@click.argument("traces", nargs=-1, required=True, metavar="TRACES...|RUN")
@option("What", "--evalset", metavar="FILE", help="The eval set to edit, or to write if there is none.")
@joining_options
@option("How", "--learn", "learns", is_flag=True, help="Write one expectation that all good runs of a case meet.")
@option(
    "How",
    "--golden",
    type=click.Choice(["passed", "all"]),
    default="passed",
    help="Which runs are good, with --learn: those that pass now (the default), or all.",
)
@option(
    "How",
    "--strict",
    type=Whole(0, 2),
    help="With --learn, 2: the whole path; 1: what changes something, and the lookups that all runs make; "
    "0: what changes something. By default the strictest that holds for runs that are left out.",
)
@runs_option
@option("Output", "--dry-run", is_flag=True, help="Show the edit, and write nothing.")
def command(**options: Any) -> int:
    """Update an eval set with what was observed: each expectation that fails becomes one that passes.

    TRACES are files or folders. Without --evalset one RUN is meant, and the eval set it was made with. Everything
    else in the eval set stays as it is, and the edit is printed as a diff. With --learn, the runs of a case may differ:
    what they have in common is written, with the number of runs behind each line.
    Exit code: 0 every case passes now, 1 a case that fails was left alone, 2 a case could not be measured.
    """
    return _Accepting(options).run()


class _Accepting:
    """One run of the command."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._run = _run(options) if options["evalset"] is None else None
        self._path = options["evalset"] or (self._run.header.evalset if self._run is not None else "")
        self._screen = Screen()
        # An eval set that is to be written has nothing yet that traces could be read for.
        is_there = options["evalset"] is not None and os.path.lexists(options["evalset"])
        request = request_of(options if is_there else {**options, "evalset": None})
        self._sources = sources_of(options, request)
        self._observing = Observing(request, self._sources)

    def run(self) -> int:
        check_replaceable(self._path)
        outcomes = self._update() if self._run is not None or os.path.lexists(self._path) else self._create()
        if self._observing.unmatched:
            print_error(f"not looked at, because they belong to no case: {self._observing.unmatched:,} trajectories")
        left = [outcome for outcome in outcomes if outcome.kind == "left"]
        if any(outcome.is_failed for outcome in left):
            return 1
        return 2 if left or self._sources.unreadable else 0

    def _update(self) -> Sequence[CaseOutcome]:
        content = _content(self._path)
        eval_set = load_eval_set(self._path)
        if eval_set.format != "native":
            raise InputError(
                f"{self._path}: is an eval set of {_OWNERS[eval_set.format]}; convert it first: "
                f"rightcall convert {self._path}"
            )
        chosen = select_cases(eval_set.cases, self._options["cases"], self._options["tags"])
        observed = self._observed(chosen)
        text = content.decode()
        if self._options["learns"]:
            from ._accept_learn import Learning

            learning = Learning(self._options, self._screen)
            after, outcomes = learning.update(text.removeprefix(_MARK), eval_set, observed)
            if after != text.removeprefix(_MARK) and not self._options["dry_run"]:
                replace_file(self._path, content, (_MARK * text.startswith(_MARK) + after).encode())
            return outcomes
        made = accept(text.removeprefix(_MARK), eval_set, observed)
        self._show(made.before, made.edits, self._path)
        if made.edits and not self._options["dry_run"]:
            replace_file(self._path, content, (_MARK * text.startswith(_MARK) + made.after).encode())
        self._tell(made.outcomes, eval_set)
        return made.outcomes

    def _observed(self, chosen: Sequence[Case]) -> dict[str, Observed]:
        if self._run is not None:
            return _observed_in(self._run, chosen)
        found = self._observing.by_case(chosen)
        return {case.id: Observed(found.get(case.id, [])) for case in chosen}

    def _create(self) -> Sequence[CaseOutcome]:
        if self._options["tags"]:
            raise click.UsageError(f"--tag chooses cases of an eval set, and {self._path} does not exist yet")
        trajectories = [trajectory for _, trajectory in self._sources.trajectories()]
        if self._options["learns"]:
            from ._accept_learn import Learning

            learning = Learning(self._options, self._screen)
            text, outcomes = learning.create(trajectories, self._path)
            if not self._options["dry_run"]:
                replace_file(self._path, None, text.encode())
            return outcomes
        made = new_eval_set(trajectories, self._path, self._options["case_attribute"], self._options["cases"])
        self._show("", [Edit(0, 0, made.text)], os.devnull)
        if not self._options["dry_run"]:
            replace_file(self._path, None, made.text.encode())
        self._tell(made.outcomes)
        return made.outcomes

    def _show(self, before: str, edits: Sequence[Edit], old_name: str) -> None:
        for number, line in enumerate(diff_lines(before, edits, old_name, self._path)):
            self._screen.line((line, "bold" if number < 2 else _STYLES.get(line[:1], "")))

    def _tell(self, outcomes: Sequence[CaseOutcome], eval_set: EvalSet | None = None) -> None:
        places = {case.id: str(case.source) for case in eval_set.cases} if eval_set is not None else {}
        left = [outcome for outcome in outcomes if outcome.kind == "left"]
        for outcome in left[:_MOST_NAMED]:
            place, code = places.get(outcome.case_id, self._path), f"{outcome.code} " if outcome.code else ""
            self._screen.line(f"{place}: {code}{outcome.case_id}: left alone: {outcome.reason}")
        if len(left) > _MOST_NAMED:
            self._screen.line(f"… and {len(left) - _MOST_NAMED:,} more left alone")
        if unrecorded := sum(outcome.unrecorded for outcome in outcomes):
            self._screen.line(
                f"note: the arguments of {unrecorded:,} calls were not recorded; names alone are expected"
            )
        self._screen.line(_summary(outcomes, "written" if eval_set is None else "updated", self._options["dry_run"]))


def _run(options: dict[str, Any]) -> RunFolder:
    """The run that the command line names.

    Raises:
        StoreError: there is no such run, or it was kept without its secrets.
    """
    if len(options["traces"]) != 1:
        raise click.UsageError("give traces with --evalset and the file to edit, or one run")
    run = open_run(options["traces"][0], runs_folder(options["runs"]))
    if not run.header.evalset:
        raise StoreError(
            f"run {run.short_id} was checked against one expectation, not an eval set; accept its traces instead"
        )
    if run.header.options.get("redact") is True:
        raise StoreError(
            f"run {run.short_id} was kept with --redact: what its secrets were is not known, and must not be expected; "
            "run the eval set again without --redact"
        )
    return run


def _observed_in(run: RunFolder, chosen: Sequence[Case]) -> dict[str, Observed]:
    """Return what a run observed of some cases. A case that the agent did not finish was not observed."""
    results = list(run.results())
    # A run of some cases says nothing of the others: they are not left alone for want of a trace.
    was_limited = any([run.header.options.get(name) for name in ("cases", "tags")])
    ran = {result.case_id for result in results}
    observed = {case.id: Observed() for case in chosen if not was_limited or case.id in ran}
    for result in results:
        if result.case_id not in observed:
            continue
        held = observed[result.case_id]
        if result.outcome is not None and result.outcome.error is not None:
            finding = result.findings[0].finding if result.findings else None
            held.trouble = (finding.code if finding is not None else "", result.outcome.error)
        elif result.trajectory is not None:
            held.trajectories.append(result.trajectory)
    return observed


_OWNERS = {"uipath": "UiPath", "adk": "ADK"}


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _summary(outcomes: Sequence[CaseOutcome], done: str, dry_run: bool) -> str:
    """The last line: how many cases there were, by outcome."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    verb = f"would be {done}" if dry_run else done
    parts = [f"{_count(kinds['updated'])} {verb}" if kinds["updated"] else "nothing to change"]
    if kinds["passes"]:
        parts.append(f"{kinds['passes']:,} already {'passes' if kinds['passes'] == 1 else 'pass'}")
    if kinds["left"]:
        codes = sorted({outcome.code for outcome in outcomes if outcome.kind == "left" and outcome.code})
        parts.append(f"{kinds['left']:,} left alone" + (f" ({', '.join(codes)})" if codes else ""))
    return ", ".join(parts)


def _count(cases: int) -> str:
    return f"{cases:,} case" + ("" if cases == 1 else "s")
