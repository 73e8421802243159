"""How often the gate is wrong, and how often it notices: simulated agents, through the gate that `rightcall run` has.

    python -m benchmarks.gate --simulate 2000
    python -m benchmarks.gate --commands 40

The first prints a row for each plan and truth, and ends with 1 where a promise is broken: more than 5 % false alarms
in any row, a dead case of 20 that 5 repeats on both sides notice in fewer than 95 %, or looks that save less than a
quarter of the rounds where nothing changed among 50 cases. Rows have seeds of their own, so that each can be repeated
alone. The second gives the command itself: so many times `rightcall run --repeat 5 --gate BASE` with a random agent
that did not change, where at most one run in eight may exit with 1, and half as many times with one that lost a tool,
which has to exit with 1 and name the case each time.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rightcall.reporting.changes import GatePlan, GateRule, GateSide, Rounds
from rightcall.values.results import Totals, Verdict

_MOST_ALARMS = 0.05
_LEAST_NOTICED = 0.95
_MOST_ROUNDS = 0.75
Change = Callable[[list[float]], list[float]]


class Row(NamedTuple):
    """One line of the table: how many cases, how they vary, what changed, and the plan."""

    cases: int
    rates: str
    truth: str
    before: int
    least: int
    most: int


class Counted(NamedTuple):
    """How often each verdict was given, as shares, and the mean number of rounds."""

    worse: float
    no_worse: float
    inconclusive: float
    rounds: float


TRUTHS: dict[str, Change] = {
    "unchanged": lambda rates: rates,
    "every case -10": lambda rates: [max(0.0, rate - 0.10) for rate in rates],
    "a fifth -30": lambda rates: [
        max(0.0, rate - 0.30) if place % 5 == 0 else rate for place, rate in enumerate(rates)
    ],
    "one dead": lambda rates: [0.0, *rates[1:]],
}
_PLANNED = (
    *[(50, "mixed", truth, 10) for truth in TRUTHS],
    *[(50, "flaky", truth, 10) for truth in ("unchanged", "every case -10")],
)
ROWS = (
    *[Row(*known, least, 10) for known in _PLANNED for least in (10, 3)],
    Row(20, "mixed", "unchanged", 10, 3, 10),
    Row(20, "flaky", "unchanged", 10, 3, 10),
    Row(20, "flaky", "every case -10", 10, 3, 10),
    Row(20, "flaky", "one dead", 10, 3, 10),
    Row(20, "mixed", "unchanged", 20, 3, 10),
    Row(20, "mixed", "every case -10", 20, 3, 10),
    *[
        Row(cases, rates, truth, before, after, after)
        for cases, rates, before, after in (
            (20, "mixed", 1, 1),
            (20, "mixed", 5, 5),
            (20, "flaky", 5, 5),
            (50, "mixed", 5, 5),
            (50, "flaky", 20, 5),
            (50, "mixed", 20, 1),
            (10, "flaky", 5, 5),
        )
        for truth in ("unchanged", "every case -10", "one dead")
    ],
)
"""Plans of ten rounds, fixed and with looks after 3, 7 and 10; then plans of one look."""


def simulate(row: Row, times: int) -> Counted:
    """Run an agent before and after so many times, and count what the gate says."""
    chance = random.Random(str(row))
    said: Counter[str] = Counter()
    rounds = 0
    for _ in range(times):
        verdict, looked = _once(row, chance)
        said[verdict] += 1
        rounds += looked
    passes = said["no worse"] + said["better"]
    return Counted(said["worse"] / times, passes / times, said["inconclusive"] / times, rounds / times)


def promises(row: Row, counted: Counted) -> Iterator[str]:
    """Yield the promises that a row breaks."""
    if row.truth == "unchanged" and counted.worse > _MOST_ALARMS:
        yield f"{counted.worse:.1%} false alarms, and at most {_MOST_ALARMS:.0%} are promised"
    is_plain = (row.cases, row.before, row.most, row.truth) == (20, 5, 5, "one dead")
    if is_plain and counted.worse < _LEAST_NOTICED:
        yield f"a dead case is noticed in {counted.worse:.1%}, and at least {_LEAST_NOTICED:.0%} are promised"
    is_early = row.cases == 50 and row.truth == "unchanged" and row.least < row.most
    if is_early and counted.rounds > _MOST_ROUNDS * row.most:
        yield f"{counted.rounds:.1f} of {row.most} rounds, and at most {_MOST_ROUNDS:.0%} of them are promised"


def _once(row: Row, chance: random.Random) -> tuple[str, int]:
    rates = [_rate(row.rates, chance) for _ in range(row.cases)]
    # The case that dies is the steadiest one: a flaky case may have failed before as well, and 4/5 → 0/5 is not enough
    # to tell by itself. A case of rate 0.9 that dies is noticed in 75 to 89 % at 5 trials on both sides.
    if row.truth == "one dead":
        rates.sort(reverse=True)
    names = [f"c{number}" for number in range(row.cases)]
    before = {name: _side(rate, row.before, chance) for name, rate in zip(names, rates, strict=True)}
    plan = GatePlan(
        rule=GateRule(), least=row.least, most=row.most, questions=dict.fromkeys(names, "q"), base=before, base_name="a"
    )
    gating = Rounds(plan)
    after = TRUTHS[row.truth](rates)
    for round_ in range(row.most):
        for name, rate in zip(names, after, strict=True):
            verdict: Verdict = "passed" if chance.random() < rate else "failed"
            gating.add(name, round_, verdict)
        if gating.decision is not None:
            break
    assert gating.decision is not None
    assert gating.decision.gate is not None
    return gating.decision.gate.verdict, gating.decision.rounds


def _rate(kind: str, chance: random.Random) -> float:
    """Draw the true rate of a case: of the mixed ones 60 % always pass and 6 % never do."""
    if kind == "flaky":
        return chance.betavariate(6, 1)
    drawn = chance.random()
    return 1.0 if drawn < 0.60 else 0.0 if drawn < 0.66 else chance.betavariate(4, 1.5)


def _side(rate: float, trials: int, chance: random.Random) -> GateSide:
    passed = sum([chance.random() < rate for _ in range(trials)])
    return GateSide(Totals(passed, trials - passed), "q")


AGENT = """
import os, random
from rightcall import tool

@tool
def search(query: str) -> str:
    return query

@tool
def reserve(item: str) -> str:
    return item

def answer(query: str, rate: float) -> str:
    search(query)
    if random.random() < rate and not (os.path.exists("lost") and query == "steady"):
        reserve(query)
    return "done"
"""
_RATES = {
    "steady": 1.0,
    "sure": 1.0,
    "laptop": 0.7,
    "phone": 0.85,
    "two": 0.5,
    "tablet": 0.9,
    "mouse": 0.95,
    "desk": 0.6,
}


def commands(times: int) -> int:
    """Give the command itself, with a random agent that did not change, and with one that lost a tool."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        cases = [
            {"id": name, "input": {"query": name, "rate": rate}, "expect": {"calls": ["search", "reserve"]}}
            for name, rate in _RATES.items()
        ]
        (place / "agent.py").write_text(AGENT)
        (place / "shop.json").write_text(json.dumps({"cases": cases}))
        _command(place, "--repeat", "5")
        _baseline(place)
        alarms = Counter([_command(place, "--repeat", "5", "--gate", "base.json")[0] for _ in range(times)])
        print(f"unchanged: {times} runs, exit codes {dict(sorted(alarms.items()))}", flush=True)
        (place / "lost").touch()
        noticed = [_command(place, "--repeat", "5", "--gate", "base.json") for _ in range(times // 2)]
        found = sum([code == 1 and "steady 5/5 → 0/5" in last for code, last in noticed])
        print(f"without a tool: {found} of {len(noticed)} exit with 1 and name the case, such as: {noticed[0][1]}")
    return 1 if alarms[1] > times / 8 or found < len(noticed) else 0


def _command(place: Path, *options: str) -> tuple[int, str]:
    """Return the exit code of a run, and the last line that it printed."""
    command = [sys.executable, "-m", "rightcall", "run", "agent.py:answer", "shop.json", *options]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout.rstrip().splitlines() or [done.stderr])[-1]


def _baseline(place: Path) -> None:
    command = [sys.executable, "-m", "rightcall", "baseline", "last", "--to", "base.json"]
    subprocess.run(command, cwd=place, capture_output=True, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__.partition("\n")[0])
    parser.add_argument("--simulate", type=int, default=2000, metavar="N", help="runs of each row")
    parser.add_argument("--commands", type=int, metavar="N", help="runs of the command itself, instead")
    parser.add_argument("--row", type=int, action="append", help="only this row, from 1; repeatable")
    asked = parser.parse_args(arguments)
    if asked.commands:
        return commands(asked.commands)
    print("| row | cases | rates | truth | before | plan | worse | no worse | inconclusive | rounds |")
    print("| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    broken: list[str] = []
    for number, row in enumerate(ROWS, start=1):
        if asked.row and number not in asked.row:
            continue
        found = simulate(row, asked.simulate)
        plan = f"{row.least}..{row.most}" if row.least < row.most else str(row.most)
        shares = " | ".join([f"{share:.1%}" for share in found[:3]])
        known = f"{number} | {row.cases} | {row.rates} | {row.truth} | {row.before} | {plan}"
        print(f"| {known} | {shares} | {found.rounds:.1f} |", flush=True)
        broken += [f"row {number}: {problem}" for problem in promises(row, found)]
    for problem in broken:
        print(problem, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
