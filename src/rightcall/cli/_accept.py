"""`rightcall accept`: expectations from what was observed, or from what good runs have in common."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rightcall.cases.accepting import CaseOutcome, Observed, accept, cases_to_fill, new_eval_set
from rightcall.cases.evalsets import Case, EvalSet, load_eval_set, parse_eval_set, select_cases
from rightcall.cases.learning import LearnedCase, Lesson, Lessons, learn_eval_set
from rightcall.cases.mutants import Golden, mutated_case, pool_of, try_case
from rightcall.errors import InputError, RightcallError, StoreError
from rightcall.reporting.reports import diff_lines
from rightcall.reporting.store import RunFolder, open_run
from rightcall.scale.local import Observing
from rightcall.values.decoding import Edit
from rightcall.values.results import count_text
from rightcall.values.trajectory import Trajectory

from ._files import check_replaceable, replace_file
from ._options import GroupedCommand, Whole, joining_options, option, request_of, runs_folder, runs_option, sources_of
from ._output import Screen, print_error

_MOST_NAMED = 30
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_MARK = "\ufeff"
_LEVELS = {
    2: "the whole path, and nothing else",
    1: "what changes something, and the lookups that all runs make",
    0: "what changes something, in any order; lookups are ignored",
}
_SHORT = {2: "the whole path", 1: "the lookups as well"}
_KINDS = {"learned": "updated", "unchanged": "passes", "left": "left"}
_FEW = 3
_MOST_TRIED = 100
"""The most cases whose learned expectations are tried on mutants, to report what they notice."""


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
        # A new eval set does not say yet what has to be read from traces.
        is_there = options["evalset"] is not None and os.path.lexists(options["evalset"])
        request = request_of(options if is_there else {**options, "evalset": None})
        self._sources = sources_of(options, request)
        self._observing = Observing(request, self._sources)

    def run(self) -> int:
        check_replaceable(self._path)
        outcomes = self._update() if self._run is not None or os.path.lexists(self._path) else self._create()
        if self._observing.unmatched:
            print_error(f"{count_text(self._observing.unmatched, 'trace')} not looked at: no case matches")
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
        observed = self._observed(chosen, eval_set.cases)
        text = content.decode()
        if self._options["learns"]:
            learning = Learning(self._options, self._screen)
            after, outcomes = learning.update(text.removeprefix(_MARK), eval_set, observed)
            if after != text.removeprefix(_MARK) and not self._options["dry_run"]:
                replace_file(self._path, content, (_MARK * text.startswith(_MARK) + after).encode())
            return outcomes
        made = accept(text.removeprefix(_MARK), eval_set, observed)
        _print_diff(self._screen, made.before, made.edits, self._path, self._path)
        if made.edits and not self._options["dry_run"]:
            replace_file(self._path, content, (_MARK * text.startswith(_MARK) + made.after).encode())
        self._print(made.outcomes, eval_set)
        return made.outcomes

    def _observed(self, chosen: Sequence[Case], known: Sequence[Case]) -> dict[str, Observed]:
        if self._run is not None:
            return _observed_in(self._run, chosen)
        found = self._observing.by_case(chosen, known)
        return {case.id: Observed(found.get(case.id, [])) for case in chosen}

    def _create(self) -> Sequence[CaseOutcome]:
        if self._options["tags"]:
            raise click.UsageError(f"--tag chooses cases of an eval set, and {self._path} does not exist yet")
        trajectories = [trajectory for _, trajectory in self._sources.trajectories()]
        if self._options["learns"]:
            learning = Learning(self._options, self._screen)
            text, outcomes = learning.create(trajectories, self._path)
            if not self._options["dry_run"]:
                replace_file(self._path, None, text.encode())
            return outcomes
        made = new_eval_set(trajectories, self._path, self._options["case_attribute"], self._options["cases"])
        _print_diff(self._screen, "", [Edit(0, 0, made.text)], os.devnull, self._path)
        if not self._options["dry_run"]:
            replace_file(self._path, None, made.text.encode())
        self._print(made.outcomes)
        return made.outcomes

    def _print(self, outcomes: Sequence[CaseOutcome], eval_set: EvalSet | None = None) -> None:
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
    """Return the run that the command line names.

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
    # A run of selected cases says nothing about the others, so these are not reported as having no trace.
    was_limited = any([run.header.options.get(name) for name in ("cases", "tags")])
    ran = {result.case_id for result in results}
    observed = {case.id: Observed() for case in chosen if not was_limited or case.id in ran}
    for result in results:
        if result.case_id not in observed:
            continue
        value = observed[result.case_id]
        if result.outcome is not None and result.outcome.error is not None:
            finding = result.findings[0].finding if result.findings else None
            value.trouble = (finding.code if finding is not None else "", result.outcome.error)
        elif result.trajectory is not None:
            value.trajectories.append(result.trajectory)
    return observed


def _print_diff(screen: Screen, before: str, edits: Sequence[Edit], old_name: str, new_name: str) -> None:
    for number, line in enumerate(diff_lines(before, edits, old_name, new_name)):
        screen.line((line, "bold" if number < 2 else _STYLES.get(line[:1], "")))


_OWNERS = {"uipath": "UiPath", "adk": "ADK"}


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def _summary(outcomes: Sequence[CaseOutcome], done: str, dry_run: bool) -> str:
    """Return the last line: how many cases there were, by outcome."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    verb = f"would be {done}" if dry_run else done
    parts = [f"{count_text(kinds['updated'], 'case')} {verb}" if kinds["updated"] else "nothing to change"]
    if kinds["passes"]:
        parts.append(f"{kinds['passes']:,} already {'passes' if kinds['passes'] == 1 else 'pass'}")
    if kinds["left"]:
        codes = sorted({outcome.code for outcome in outcomes if outcome.kind == "left" and outcome.code})
        parts.append(f"{kinds['left']:,} left alone" + (f" ({', '.join(codes)})" if codes else ""))
    return ", ".join(parts)


class Learning:
    """Learns the expectations of an eval set, or of a new one."""

    def __init__(self, options: Mapping[str, Any], screen: Screen) -> None:
        self._options = options
        self._screen = screen

    def update(
        self, text: str, eval_set: EvalSet, observed: Mapping[str, Observed]
    ) -> tuple[str, Sequence[CaseOutcome]]:
        """Return the new text of an eval set and the outcome of its cases, and print both. Raises `RightcallError`."""
        made = self._learned(text, eval_set, observed, golden=self._options["golden"])
        _print_diff(self._screen, text, made.edits, eval_set.path, eval_set.path)
        return made.after, self._print(made, eval_set)

    def create(self, trajectories: Sequence[Trajectory], path: str) -> tuple[str, Sequence[CaseOutcome]]:
        """Return the text of a new eval set, with a case for each attribute or input. Raises `RightcallError`."""
        chosen = self._options["case_attribute"], self._options["cases"]
        empty, groups = cases_to_fill(
            trajectories, path, *chosen, fits_by_input=self._options.get("fits_by_input", False)
        )
        eval_set = parse_eval_set(empty, path)
        observed = {case_id: Observed(group) for case_id, group in groups.items()}
        made = self._learned(empty, eval_set, observed, golden="all")
        _print_diff(self._screen, "", [Edit(0, 0, made.after)], os.devnull, path)
        return made.after, self._print(made, eval_set)

    def _learned(self, text: str, eval_set: EvalSet, observed: Mapping[str, Observed], golden: Any) -> Lessons:
        return learn_eval_set(text, eval_set, observed, golden=golden, strict=self._options["strict"])

    def _print(self, made: Lessons, eval_set: EvalSet) -> list[CaseOutcome]:
        cases = {case.id: case for case in parse_eval_set(made.after, eval_set.path).cases}
        taught = [each for each in made.cases if each.lesson is not None]
        golden = [Golden(cases[each.case_id], each.runs) for each in taught[:_MOST_TRIED]]
        pool = pool_of(golden)
        noticed = {each.case.id: self._noticed(each, pool) for each in golden}
        for each in taught[:_MOST_NAMED]:
            self._print_case(each, noticed.get(each.case_id, ""))
        left = [each for each in made.cases if each.kind == "left"]
        # Lines are those of the file after the edit; with --dry-run there is none.
        places = {case.id: case.source for case in (eval_set.cases if self._options["dry_run"] else cases.values())}
        for each in left[:_MOST_NAMED]:
            code = f"{each.code} " if each.code else ""
            self._screen.line(f"{places[each.case_id]}: {code}{each.case_id}: left alone: {each.reason}")
        self._screen.line(_learned_summary(made.cases, self._options["dry_run"]))
        return [
            CaseOutcome(each.case_id, _KINDS[each.kind], each.code, each.reason, each.is_failed)  # type: ignore[arg-type]
            for each in made.cases
        ]

    def _noticed(self, golden: Golden, pool: Any) -> str:
        case = mutated_case(try_case(golden, pool))
        if not case.counted:
            return ""
        missed = f"; not: {case.survivors[0].fault}" if case.survivors else ""
        return f"notices {100 * case.noticed // case.counted} % of {count_text(case.counted, 'mutant')}{missed}"

    def _print_case(self, found: LearnedCase, noticed: str) -> None:
        lesson = found.lesson
        if lesson is None:
            return
        note = "" if found.kind == "learned" else ", as it says already"
        self._screen.line((found.case_id, "bold"), f": learned from {_runs(len(found.runs))}{note}")
        for line in (*_sureness(lesson), noticed):
            if line:
                self._screen.line(f"   {line}")


def _sureness(lesson: Lesson) -> list[str]:
    """Return the level, how many left-out runs it accepts, and why it is not stricter."""
    lines = [_LEVELS[lesson.learned.level]]
    if lesson.left_out:
        lines.append(f"left out in turn, {lesson.accepted} of {lesson.left_out} are accepted by what the others teach")
    for level, accepted, left_out in lesson.weaker_than:
        lines.append(f"not {_SHORT[level]}: {accepted} of {left_out} would be accepted")
    if lesson.learned.runs < _FEW:
        number = lesson.learned.runs
        few = "only 1 good run: what it did" if number == 1 else f"only {_runs(number)}: what all of them did"
        lines.append(f"! {few} may be luck; record some more")
    return lines


def _runs(count: int) -> str:
    return count_text(count, "good run")


def _learned_summary(cases: Sequence[LearnedCase], dry_run: bool) -> str:
    kinds = [each.kind for each in cases]
    verb = "would be learned" if dry_run else "learned"
    parts = [f"{count_text(kinds.count('learned'), 'case')} {verb}" if "learned" in kinds else "nothing to change"]
    if "unchanged" in kinds:
        parts.append(f"{kinds.count('unchanged'):,} unchanged")
    if "left" in kinds:
        parts.append(f"{kinds.count('left'):,} left alone")
    return ", ".join(parts)
