"""The gate on the command line: what it compares with, what it asks, and what it prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.errors import InputError, StoreError, nearest
from rightcall.reporting.changes import GatePlan, GateRule, GateSide, gate
from rightcall.reporting.reports import gate_lines
from rightcall.reporting.store import RunFolder, list_runs, open_run, read_baseline
from rightcall.values.results import Totals, Verdict, count_text

from ._runs import name_of
from ._terminal import Screen

_RULE = ("rule_out", "allow_drop", "confidence", "inconclusive")


class Base(msgspec.Struct, frozen=True):
    """What a run is compared with."""

    name: str
    """What people call it: its branch and its id, or its file."""
    kept: str
    """What finds it again when the run is resumed, though its branch has newer runs by then."""
    sides: Mapping[str, GateSide]


def print_gate(before: RunFolder, after: RunFolder, options: dict[str, Any]) -> int:
    """Print whether one run is worse than another, and return the exit code. Raises `StoreError`."""
    said = gate(gate_sides_in(before), gate_sides_in(after), gate_rule(options))
    screen = Screen()
    screen.line(f"{name_of(before)} → {name_of(after)}   {count_text(len(said.cases), 'case')}")
    for line in gate_lines(said, name_of(before), screen.paper()):
        screen.line(*line)
    return said.exit_code


def gate_rule(options: Mapping[str, Any]) -> GateRule:
    """Return what the gate asks, by the options that were given."""
    return GateRule(**{name: options[name] for name in _RULE if options.get(name) is not None})


def gate_sides_in(run: RunFolder) -> dict[str, GateSide]:
    """The trials of each case of a run, with the digest of its question. Raises `StoreError`."""
    run.check()
    verdicts: dict[str, list[Verdict]] = {}
    questions: dict[str, str] = {}
    for trial in run.trials():
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
        questions[trial.case_id] = trial.question
    return {case_id: GateSide(Totals.of(found), questions[case_id]) for case_id, found in verdicts.items()}


def gate_base(name: str, evalset: str, runs: Path) -> Base:
    """Find what a run is compared with: a baseline file, a run, or the newest finished run of a branch.

    Raises:
        StoreError: there is none, it cannot be read, or it is not finished.
    """
    if Path(name).is_file():
        baseline = read_baseline(Path(name))
        return Base(name, name, {each: GateSide(case.trials, case.question) for each, case in baseline.cases.items()})
    run = _of_branch(name, evalset, runs) or open_run(name, runs)
    if run.header.finished is None:
        raise StoreError(f"run {run.short_id} is not complete, so nothing is compared with it; resume it first")
    if run.header.sample is not None:
        raise StoreError(f"run {run.short_id} keeps only examples of its results, so its trials cannot be counted")
    return Base(name_of(run), run.folder.name, gate_sides_in(run))


def gate_plan(
    options: Mapping[str, Any],
    base: Base | None,
    cases: Iterable[Case],
    questions: Mapping[str, str],
    others: frozenset[str],
    rounds_of: Mapping[str, int] | None = None,
) -> GatePlan:
    """Return what is asked of a run.

    Args:
        options: Those of the gate, with `least` and `most` rounds and `min_repeat_pass`.
        base: What the run is compared with, if anything.
        cases: The cases of the run.
        questions: The digest of the question of each.
        others: Cases of the eval set that were not chosen. The base may have them; they are not missing.
        rounds_of: The rounds of cases that have fewer than `most`.

    Raises:
        InputError: no case has a tag of `--must`.
    """
    chosen = list(cases)
    return GatePlan(
        rule=gate_rule(options),
        least=options["least"],
        most=options["most"],
        questions=questions,
        base=None if base is None else {each: side for each, side in base.sides.items() if each not in others},
        base_name="" if base is None else base.name,
        min_rate=options["min_rate"],
        floor_inconclusive=options["inconclusive"] or "fail",
        must=_must(chosen, options["must"]) & frozenset(questions),
        rounds_of=rounds_of or {},
        needed={case.id: options["min_repeat_pass"] for case in chosen if options["min_repeat_pass"] is not None},
    )


def _must(cases: list[Case], tags: Iterable[str]) -> frozenset[str]:
    known = {tag for case in cases for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"--must: no case has the tag {tag!r:.200}; {nearest(tag, sorted(known))}")
    return frozenset([case.id for case in cases if set(case.tags) & set(tags)])


def _of_branch(name: str, evalset: str, runs: Path) -> RunFolder | None:
    """Return the newest finished run of a branch with an eval set."""
    meant = Path(evalset).resolve()
    for folder in reversed(list_runs(runs)):
        run = open_run(str(folder))
        header = run.header
        if header.branch == name and header.finished is not None and Path(header.evalset).resolve() == meant:
            return run
    return None
