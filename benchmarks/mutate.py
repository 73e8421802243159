"""What it takes to try an eval set on faults: 1,000 cases of ten calls.

    python -m benchmarks.mutate

prints the CPU time of `rightcall mutate` without reading and printing, and the time of judging the same trajectories
bare, each by all expectations of its case. Ends with 1 where it takes more than 40 s, or 1.3 times the bare time.
"""

from __future__ import annotations

import json
import sys
from time import process_time

from rightcall import ToolCall, Trajectory, judge
from rightcall.cases.evalsets import parse_eval_set
from rightcall.cases.mutants import Golden, mutants_of, mutate, pool_of

_CASES = 1_000
_CALLS = 10
_MOST_SECONDS = 40.0
_MOST_RATIO = 1.3


def main() -> int:
    """Measure, print, and compare with the limits."""
    runs = {f"case{number}": _run(number) for number in range(_CASES)}
    text = json.dumps({"cases": [{"id": case_id, "expect": _expect(run)} for case_id, run in runs.items()]})
    eval_set = parse_eval_set(text, "set.json")
    begun = process_time()
    report = mutate(eval_set, {case_id: [run] for case_id, run in runs.items()}, text=text).report
    took = process_time() - begun
    golden = [Golden(case, (runs[case.id],)) for case in eval_set.cases]
    pool = pool_of(golden)
    made = [(each.case, mutant.trajectory) for each in golden for mutant in mutants_of(each.original, pool)]
    begun = process_time()
    for case, trajectory in made:
        judge(case, trajectory)
    bare = process_time() - begun
    print(f"{len(made):,} mutants, {report.noticed:,} of {report.counted:,} noticed")
    print(f"mutate: {took:.1f} s of CPU, {took / len(made) * 1e6:.0f} µs a mutant (at most {_MOST_SECONDS:.0f} s)")
    print(f"judging them bare: {bare:.1f} s; ratio {took / bare:.2f} (at most {_MOST_RATIO})")
    return 0 if took <= _MOST_SECONDS and took <= _MOST_RATIO * bare else 1


def _run(number: int) -> Trajectory:
    calls = [
        ToolCall(f"tool{(number + place) % 17}", {"id": f"P{number}-{place}", "n": place, "who": "ann"}, {"ok": place})
        for place in range(_CALLS)
    ]
    return Trajectory(calls=tuple(calls), input="go", output=f"Done with P{number}.")


def _expect(run: Trajectory) -> dict[str, object]:
    """Return expectations with gaps, as people write them: names in order, some arguments, an answer."""
    calls = [{call.name: {"id": (call.args or {})["id"]}} for call in run.calls]
    path = {"expected": calls, "match": "in_order"}
    return {"calls": path, "output": {"$contains": "Done"}, "counts": {"tool1": "<= 2"}}


if __name__ == "__main__":
    sys.exit(main())
