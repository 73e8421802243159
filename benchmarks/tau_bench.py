"""τ-bench's published run of the airline agent, judged by its own gold actions, beside the reward it gave.

    python -m benchmarks.tau_bench FILE [--write SET]

FILE is `historical_trajectories/gpt-4o-airline.json` of τ-bench, also packed with gzip: 50 tasks, four trials each. The
gold actions of a task become one `any_order` without extra calls, with exact arguments; tools that change nothing are
left out, and so are calls that failed. Texts that the user must be told have to be in the answer of any turn. Ends with
1 where fewer than 195 of the 200 verdicts are those of τ-bench.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rightcall.cases.verdicts import CASE_ATTRIBUTE
from rightcall.reading import Reading, read
from rightcall.scale.local import Scored, Scoring, Sources
from rightcall.scale.request import Request

_CHANGES = frozenset(
    {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    }
)
"""Tools that change the airline's data. τ-bench compares the data after the run with those after the gold actions."""
_LEAST = 195


def eval_set(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return an eval set with a case for each task: its gold actions and the texts that the user must be told."""
    tools = {
        call["function"]["name"]
        for record in records
        for message in record["traj"]
        for call in message.get("tool_calls") or ()
    }
    tasks = {str(record["task_id"]): record["info"]["task"] for record in records}
    most = max([len(task["outputs"]) for task in tasks.values()])
    return {
        "name": "tau-bench-airline",
        "defaults": {
            "args": "exact",
            "extra": "forbid",
            "failed": "ignore_suspected",
            "ignore_tools": sorted(tools - _CHANGES),
        },
        "evaluators": {f"says_{number}": {"type": "final-output"} for number in range(1, most + 1)},
        "cases": [{"id": task_id, "expect": _expected(task)} for task_id, task in tasks.items()],
    }


def _expected(task: dict[str, Any]) -> dict[str, Any]:
    gold = [{action["name"]: action["kwargs"]} for action in task["actions"] if action["name"] in _CHANGES]
    expected: dict[str, Any] = {"calls": [{"any_order": gold}] if gold else []}
    for number, text in enumerate(task["outputs"], 1):
        expected[f"says_{number}"] = {"criteria": {"$regex": _as_told(text)}, "turn": "any"}
    return expected


def _as_told(text: str) -> str:
    """A text as τ-bench looks for it: in any case, and commas in what the agent says do not count."""
    return "(?i)" + ",*".join([re.escape(sign) for sign in text])


def judged(file: Path, evalset: Path) -> Iterator[Scored]:
    """Yield the results of all runs, as `rightcall score FILE --evalset SET --compare-with reward` has them."""
    request = Request(evalset=str(evalset), compare_with="reward")
    reading = Reading(metadata_attributes=(CASE_ATTRIBUTE, *request.expected.kept))
    return Scoring(request, Sources(reading, [str(file)], complain=print), workers=1).results()


def main(words: Sequence[str] | None = None) -> int:
    """Judge the file, and print how far the verdicts agree with the rewards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", type=Path, help="write the eval set here, to score with `rightcall score`")
    options = parser.parse_args(words)
    data = options.file.read_bytes()
    records = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    calls = sum([len(trajectory.calls) for trajectory in read(options.file)])
    unfinished = {(str(each["task_id"]), each["trial"]) for each in records if not each["info"].get("reward_info")}
    with TemporaryDirectory() as folder:
        evalset = options.write or Path(folder, "tau-bench-airline.json")
        evalset.write_text(json.dumps(eval_set(records), indent=1), encoding="utf-8")
        results = list(judged(options.file, evalset))
    return _report(results, calls, unfinished)


def _report(results: Sequence[Scored], calls: int, unfinished: set[tuple[str, int]]) -> int:
    cases = {scored.result.case_id for scored in results}
    print(f"{len(results)} runs of {len(cases)} tasks, {calls:,} calls")
    equal, differing, apart = 0, [], []
    for scored in results:
        result = scored.result
        is_equal = result.verdict == ("passed" if scored.label else "failed")
        equal += is_equal
        line = f"  task {result.case_id}, trial {result.number}: reward {int(bool(scored.label))}, {result.verdict}"
        if (result.case_id, result.number) in unfinished:
            apart.append(line)
        if not is_equal:
            reason = result.findings[0].finding.message if result.findings else "nothing to object"
            differing.append(f"{line}: {reason[:100]}")
    print(f"{equal} of {len(results)} verdicts are those of the reward; the others:")
    print("\n".join(differing))
    print(f"{len(apart)} runs were ended by the limit of 30 steps, so that τ-bench computed no reward and wrote 0:")
    print("\n".join(apart))
    return 0 if equal >= _LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
