"""`rightcall accept --learn`: what the good runs of a case have in common, with how sure it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.cases.accepting import CaseOutcome, Observed, cases_to_fill
from rightcall.cases.evalsets import EvalSet, parse_eval_set
from rightcall.cases.learning import LearnedCase, Lesson, Lessons, learn_eval_set
from rightcall.cases.mutants import Golden, mutated_case, pool_of, try_case
from rightcall.reporting.reports import diff_lines
from rightcall.values.results import count_text
from rightcall.values.trajectory import Trajectory

from ._terminal import Screen

_LEVELS = {
    2: "the whole path, and nothing else",
    1: "what changes something, and the lookups that all runs make",
    0: "what changes something, in any order; lookups are ignored",
}
_SHORT = {2: "the whole path", 1: "the lookups as well"}
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_KINDS = {"learned": "updated", "unchanged": "passes", "left": "left"}
_MOST_NAMED = 30
_FEW = 3
_MOST_TRIED = 100
"""Cases whose learned expectations are tried on mutants, for the line that says what they notice."""


class Learning:
    """One edit of an eval set, or a new one."""

    def __init__(self, options: Mapping[str, Any], screen: Screen) -> None:
        self._options = options
        self._screen = screen

    def update(
        self, text: str, eval_set: EvalSet, observed: Mapping[str, Observed]
    ) -> tuple[str, Sequence[CaseOutcome]]:
        """Return the new text of an eval set and the outcome of its cases, and print both. Raises `RightcallError`."""
        made = self._learned(text, eval_set, observed, golden=self._options["golden"])
        self._show(text, made, eval_set.path)
        return made.after, self._tell(made, eval_set)

    def create(self, trajectories: Sequence[Trajectory], path: str) -> tuple[str, Sequence[CaseOutcome]]:
        """Return the text of a new eval set, with a case for each attribute or input. Raises `RightcallError`."""
        chosen = self._options["case_attribute"], self._options["cases"]
        empty, groups = cases_to_fill(
            trajectories, path, *chosen, fits_by_input=self._options.get("fits_by_input", False)
        )
        eval_set = parse_eval_set(empty, path)
        observed = {case_id: Observed(group) for case_id, group in groups.items()}
        made = self._learned(empty, eval_set, observed, golden="all")
        self._show("", made, os.devnull)
        return made.after, self._tell(made, eval_set)

    def _learned(self, text: str, eval_set: EvalSet, observed: Mapping[str, Observed], golden: Any) -> Lessons:
        return learn_eval_set(text, eval_set, observed, golden=golden, strict=self._options["strict"])

    def _show(self, before: str, made: Lessons, old_name: str) -> None:
        from rightcall.values.decoding import Edit

        edits = made.edits if before else [Edit(0, 0, made.after)]
        new_name = old_name if before else self._options["evalset"]
        for number, line in enumerate(diff_lines(before, edits, old_name, new_name)):
            self._screen.line((line, "bold" if number < 2 else _STYLES.get(line[:1], "")))

    def _tell(self, made: Lessons, eval_set: EvalSet) -> list[CaseOutcome]:
        cases = {case.id: case for case in parse_eval_set(made.after, eval_set.path).cases}
        taught = [each for each in made.cases if each.lesson is not None]
        golden = [Golden(cases[each.case_id], each.runs) for each in taught[:_MOST_TRIED]]
        pool = pool_of(golden)
        noticed = {each.case.id: self._noticed(each, pool) for each in golden}
        for each in taught[:_MOST_NAMED]:
            self._tell_case(each, noticed.get(each.case_id, ""))
        left = [each for each in made.cases if each.kind == "left"]
        # Lines are those of the file as it is afterwards, which with --dry-run is as it was.
        places = {case.id: case.source for case in (eval_set.cases if self._options["dry_run"] else cases.values())}
        for each in left[:_MOST_NAMED]:
            code = f"{each.code} " if each.code else ""
            self._screen.line(f"{places[each.case_id]}: {code}{each.case_id}: left alone: {each.reason}")
        self._screen.line(_summary(made.cases, self._options["dry_run"]))
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

    def _tell_case(self, found: LearnedCase, noticed: str) -> None:
        lesson = found.lesson
        if lesson is None:
            return
        note = "" if found.kind == "learned" else ", as it says already"
        self._screen.line((found.case_id, "bold"), f": learned from {_runs(len(found.runs))}{note}")
        for line in (*_sureness(lesson), noticed):
            if line:
                self._screen.line(f"   {line}")


def _sureness(lesson: Lesson) -> list[str]:
    """Return the level, how many left-out runs it accepts, and why it is not a stricter one."""
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


def _summary(cases: Sequence[LearnedCase], dry_run: bool) -> str:
    kinds = [each.kind for each in cases]
    verb = "would be learned" if dry_run else "learned"
    parts = [f"{count_text(kinds.count('learned'), 'case')} {verb}" if "learned" in kinds else "nothing to change"]
    if "unchanged" in kinds:
        parts.append(f"{kinds.count('unchanged'):,} unchanged")
    if "left" in kinds:
        parts.append(f"{kinds.count('left'):,} left alone")
    return ", ".join(parts)
