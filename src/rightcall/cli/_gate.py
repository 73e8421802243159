"""The gate on the command line: what it compares with, what it asks, and what it prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.cases.evalsets import Case
from rightcall.errors import InputError, nearest
from rightcall.reporting.changes import Base, GatePlan, GateRule, gate, gate_sides_in
from rightcall.reporting.reports import gate_lines
from rightcall.reporting.store import RunFolder
from rightcall.values.results import count_text

from ._runs import name_of
from ._terminal import Screen

_RULE = ("rule_out", "allow_drop", "confidence", "inconclusive")


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
        options: Those of the gate, with `least` and `most` rounds and how many are `needed` of each case.
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
        needed=options["needed"],
    )


def _must(cases: list[Case], tags: Iterable[str]) -> frozenset[str]:
    known = {tag for case in cases for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"--must: no case has the tag {tag!r:.200}; {nearest(tag, sorted(known))}")
    return frozenset([case.id for case in cases if set(case.tags) & set(tags)])
