"""What the gate says of many pairs of runs."""

from __future__ import annotations

from random import Random

import msgspec
from tests.snapshots import Drawn, drawn, line
from tests.values.statistics.kept_figures import rounded

from rightcall.reporting.changes import GateRule, GateSide, gate
from rightcall.values.results import Totals

FILE = "gates.txt"


def groups() -> list[str]:
    """What pairs of runs are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each pair of runs."""
    return drawn(_GROUPS, group)


def _pair(random: Random) -> str:
    """Cases before and after, of which some lost or gained much, are open, are missing, or are other ones now."""
    size, trials = random.choice((1, 3, 8, 25)), random.choice((1, 4, 10))
    shift = random.choice((-0.9, -0.5, -0.2, 0.0, 0.0, 0.4))
    before, after = {}, {}
    for number in range(size):
        chance = random.choice((0.5, 0.9, 1.0))
        before[f"case {number}"] = _side(random, trials, chance)
        after[f"case {number}"] = _side(random, trials, chance + shift * random.choice((1, 1, 0)))
    for side, name in ((before, "gone"), (after, "new")):
        if random.random() < 0.3:
            side[name] = _side(random, trials, 1.0)
    rule = GateRule(
        rule_out=random.choice((0.1, 0.3)),
        allow_drop=random.choice((0.0, 0.0, 0.2)),
        confidence=random.choice((0.8, 0.95)),
        inconclusive=random.choice(("pass", "fail")),
    )
    said = gate(before, after, random.choice((None, rule)), random.choice((1.0, 0.2)))
    worse = [case.case_id for case in said.worse_cases]
    found = [msgspec.to_builtins(said), worse, said.may_stop, said.exit_code]
    return line((before, after), rounded(found), said.verdict, said.exit_code, said.may_stop, *worse[:1])


def _side(random: Random, trials: int, chance: float) -> GateSide:
    passed = sum([random.random() < chance for _ in range(trials)])
    lost = random.choice((0, 0, 0, 0, 1, trials))
    error, not_measured = (lost, 0) if random.random() < 0.5 else (0, lost)
    failed = max(0, trials - passed - lost)
    left = trials - failed - lost
    question = random.choice(("", *["asked"] * 9))
    return GateSide(Totals(left, failed, not_measured, error), question)


_GROUPS: Drawn = {"pair": (_pair, 100)}
