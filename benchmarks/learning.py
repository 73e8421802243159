"""How good learned expectations are: which good runs they accept that they were not learned from, and which faults.

    python -m benchmarks.learning                     # a simulated agent
    python -m benchmarks.learning --tau-bench FILE    # and tau-bench's published airline trajectories

Two designs and what `rightcall accept --learn` does. *Path*: the whole path of the runs, with groups, and nothing else
allowed. *Chain*: the calls that all runs make in the same order, with the least and the most calls of each tool. Ends
with 1 where a promise is broken: from ten runs 90 % of fresh good runs accepted, 90 % of faults refused, leave-one-out
within ten points; on tau-bench 80 % of left-out good runs accepted, 60 % of failed runs refused after two good ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rightcall import ToolCall, Trajectory, read_messages
from rightcall.cases.learning import DraftJudge, Learned, Lesson, learn, learn_at
from rightcall.cases.mutants import Pool, mutants_of

Design = Callable[[Sequence[Trajectory], Sequence[str]], Learned]
_TRIAL = DraftJudge({})
_FRESH = 50


def simulated(chance: random.Random) -> Trajectory:
    """Return a good run: a login now and then, one or two searches, two checks in any order, ids that differ."""
    found = [f"P{chance.randrange(100, 999)}" for _ in range(3)]
    item = chance.choice(found)
    calls = [ToolCall("log_in", {"user": "ann"}, "ok")] if chance.random() < 0.5 else []
    calls += [ToolCall("search", {"query": "laptop"}, found)] * (2 if chance.random() < 0.3 else 1)
    checks = [ToolCall("details", {"id": item}, {"price": 9}), ToolCall("check", {"id": item}, {"stock": 4})]
    chance.shuffle(checks)
    ticket = f"T-{chance.randrange(1000, 9999)}"
    calls += [*checks, ToolCall("reserve", {"id": item, "quantity": 1, "request": ticket}, {"reserved": item})]
    calls += [ToolCall("mail", {"to": "ann", "about": item}, "sent")] if chance.random() < 0.4 else []
    return Trajectory(calls=tuple(calls), input="Reserve a laptop", output=f"Reserved {item}.")


def is_good(run: Trajectory) -> bool:
    """Whether the simulated agent could have made a run."""
    names = [call.name for call in run.calls]
    core = [name for name in names if name not in ("log_in", "mail")]
    searches = core.count("search")
    if names.count("log_in") > 1 or names.count("mail") > 1 or searches not in (1, 2):
        return False
    ordered = (
        core[:searches] == ["search"] * searches
        and sorted(core[searches:-1]) == ["check", "details"]
        and core[-1] == "reserve"
        and ("log_in" not in names or names[0] == "log_in")
        and ("mail" not in names or names[-1] == "mail")
    )
    return ordered and all([_has_good_args(call, run) for call in run.calls])


def _has_good_args(call: ToolCall, run: Trajectory) -> bool:
    args: Any = call.args or {}
    found = next(each.output for each in run.calls if each.name == "search")
    item = next((each.args or {}).get("id") for each in run.calls if each.name == "reserve")
    wanted = {
        "log_in": {"user": "ann"},
        "search": {"query": "laptop"},
        "details": {"id": item},
        "check": {"id": item},
        "reserve": {"id": item, "quantity": 1, "request": args.get("request")},
        "mail": {"to": "ann", "about": item},
    }
    ticket = str(args.get("request", "T-1000"))
    return wanted.get(call.name) == args and item in found and ticket.startswith("T-") and ticket[2:].isdigit()


def path_design(runs: Sequence[Trajectory], tools: Sequence[str]) -> Learned:
    """Return the whole path of the runs."""
    return learn_at(2, runs, tools)


def chain_design(runs: Sequence[Trajectory], tools: Sequence[str]) -> Learned:
    """Return the calls that all runs make in the same order, and how often each tool is called."""
    chain: list[ToolCall] = [call for call in runs[0].calls if not call.internal]
    for run in runs[1:]:
        chain = _common(chain, [call for call in run.calls if not call.internal])
    counts: dict[str, Any] = {}
    for tool in sorted({name for run in runs for name in run.names}):
        seen = [run.names.count(tool) for run in runs]
        counts[tool] = seen[0] if min(seen) == max(seen) else f"{min(seen)}..{max(seen)}"
    calls = {"expected": [{"name": call.name, "args": call.args or {}} for call in chain], "match": "in_order"}
    return Learned({"calls": calls} | ({"counts": counts} if counts else {}), {}, 2, len(runs))


def _common(one: Sequence[ToolCall], two: Sequence[ToolCall]) -> list[ToolCall]:
    """Return the heaviest common subsequence: a name counts 1, and the share of equal arguments up to 1 more."""
    best: list[list[tuple[float, list[ToolCall]]]] = [[(0.0, [])] * (len(two) + 1) for _ in range(len(one) + 1)]
    for row, first in enumerate(one):
        for column, second in enumerate(two):
            choices = [best[row][column + 1], best[row + 1][column]]
            if first.name == second.name:
                a, b = first.args or {}, second.args or {}
                same = {key: value for key, value in a.items() if key in b and b[key] == value}
                weight, chain = best[row][column]
                share = len(same) / max(1, len(a.keys() | b.keys()))
                choices.append((weight + 1 + share, [*chain, ToolCall(first.name, same, None)]))
            best[row + 1][column + 1] = max(choices, key=lambda each: each[0])
    return best[-1][-1][1]


def ours(runs: Sequence[Trajectory], tools: Sequence[str]) -> Learned:
    """Return what `rightcall accept --learn` writes."""
    lesson = learn(runs, tools=tools)
    return lesson.learned if lesson is not None else Learned({"calls": []}, {}, 0, len(runs))


DESIGNS: dict[str, Design] = {"path": path_design, "chain": chain_design, "accept --learn": ours}


def faults_of(run: Trajectory, others: Sequence[Trajectory]) -> list[Trajectory]:
    """Return copies of a good run with one fault each that the agent could not have made by chance."""
    pool = Pool.of({str(number): each for number, each in enumerate((run, *others))})
    made = [
        each for each in mutants_of(run, pool) if not each.operator.startswith(("tool-", "answer", "argument-added"))
    ]
    return [each.trajectory for each in made if not is_good(each.trajectory)]


def simulation(sets: int) -> bool:
    """Print a row for each number of runs and each design; return whether ten runs reach the bars."""
    print("| good runs | design | fresh good runs accepted | faults refused | leave-one-out |")
    print("| --- | --- | --- | --- | --- |")
    reached = True
    for count in (2, 3, 5, 10, 20):
        for name, design in DESIGNS.items():
            figures = [_simulated_set(count, seed, design, name == "accept --learn") for seed in range(sets)]
            fresh, refused, left = [sum(column) / len(column) for column in zip(*figures, strict=True)]
            said = f"{left:.0%}" if name == "accept --learn" else "–"
            print(f"| {count} | {name} | {fresh:.0%} | {refused:.0%} | {said} |", flush=True)
            if count == 10 and name == "accept --learn":
                reached = fresh >= 0.9 and refused >= 0.9 and abs(left - fresh) <= 0.1
    return reached


def _simulated_set(count: int, seed: int, design: Design, is_ours: bool) -> tuple[float, float, float]:
    chance = random.Random(f"{count}-{seed}")
    runs = [simulated(chance) for _ in range(count)]
    learned = design(runs, ())
    fresh = [simulated(chance) for _ in range(_FRESH)]
    accepted = sum([_TRIAL.accepts(learned, [run]) for run in fresh]) / len(fresh)
    faults = faults_of(fresh[0], fresh[1:5])
    refused = sum([not _TRIAL.accepts(learned, [fault]) for fault in faults]) / len(faults)
    lesson: Lesson | None = learn(runs) if is_ours else None
    left = lesson.accepted / lesson.left_out if lesson is not None and lesson.left_out else 0.0
    return accepted, refused, left


def tau_bench(file: Path) -> bool:
    """Print what is accepted and refused of tau-bench's runs; return whether the bars are reached."""
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    runs: dict[int, list[tuple[bool, Trajectory]]] = defaultdict(list)
    for record in json.loads(content):
        runs[record["task_id"]].append((record["reward"] == 1, read_messages(record["traj"])))
    tools = sorted({name for each in runs.values() for _, run in each for name in run.names})
    print("\n| design | left-out good runs accepted | failed runs refused, after two good ones |")
    print("| --- | --- | --- |")
    reached = False
    for name, design in DESIGNS.items():
        accepted, refused = _left_out(runs, design, tools), _refused(runs, design, tools)
        print(f"| {name} | {accepted[True]} of {accepted.total()} | {refused[True]} of {refused.total()} |", flush=True)
        if name == "accept --learn":
            reached = accepted[True] >= 0.8 * accepted.total() and refused[True] >= 0.6 * refused.total()
    return reached


def _left_out(runs: dict[int, list[tuple[bool, Trajectory]]], design: Design, tools: Sequence[str]) -> Counter[bool]:
    counted: Counter[bool] = Counter()
    for each in runs.values():
        good = [run for is_right, run in each if is_right]
        for number, run in enumerate(good if len(good) >= 3 else ()):
            others = [*good[:number], *good[number + 1 :]]
            counted[_TRIAL.accepts(design(others, tools), [run])] += 1
    return counted


def _refused(runs: dict[int, list[tuple[bool, Trajectory]]], design: Design, tools: Sequence[str]) -> Counter[bool]:
    counted: Counter[bool] = Counter()
    for each in runs.values():
        good = [run for is_right, run in each if is_right]
        if len(good) in (2, 3):
            learned = design(good[:2], tools)
            counted.update([not _TRIAL.accepts(learned, [run]) for is_right, run in each if not is_right])
    return counted


def main() -> int:
    """Run the simulation, and tau-bench where its file is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=40, help="sets of runs for each row")
    parser.add_argument("--tau-bench", type=Path, help="tau-bench's published trajectories")
    options = parser.parse_args()
    reached = simulation(options.sets)
    if options.tau_bench is not None:
        reached = tau_bench(options.tau_bench) and reached
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
