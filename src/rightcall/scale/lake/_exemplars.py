"""Some rows of each kind of failure, judged once more with everything that explains them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import judge
from rightcall.scale.columns import plain_rows, trajectory_of
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import Trajectory

from ._counting import A_RULE, Counting
from ._fragments import Fragment
from ._job import Job
from ._reading import batches

MOST = 1_000
"""How many are kept in all."""


def exemplars(job: Job, counting: Counting, most: int = MOST) -> Iterator[CaseResult]:
    """The results of some rows of each rule that was broken: of each rule one at least, as far as there is room.

    Results are named as `score` names them: by their case, or by their row where there is one expectation for all.

    Raises:
        InputError: the input is not what it was any more.
    """
    chosen = _chosen(counting, most)
    times: Counter[str] = Counter()
    for fragment in job.ready([fragment for fragment in job.fragments if fragment.file in chosen]):
        for name, trajectory in _rows(fragment, sorted(chosen[fragment.file])):
            case = _case(job, trajectory)
            if case is not None:
                yield _named(judge(case, trajectory), name, times)


def _chosen(counting: Counting, most: int) -> dict[str, set[int]]:
    """The rows to keep, by file: first one of each rule, the rules that were broken most before the others."""
    rules = sorted(counting.exemplars, key=lambda rule: (-counting.rows_of(*rule[1:]), rule))
    chosen: dict[str, set[int]] = {}
    count = 0
    for turn in range(A_RULE):
        for rule in rules:
            place = next(iter(counting.exemplars[rule][turn : turn + 1]), None)
            if place is not None and count < most and place.row not in chosen.setdefault(place.file, set()):
                chosen[place.file].add(place.row)
                count += 1
    return chosen


def _rows(fragment: Fragment, wanted: list[int]) -> Iterator[tuple[str, Trajectory]]:
    """Those rows of a fragment that are wanted, each by its name. No more is read than has to be."""
    first = 0
    for rows in batches(fragment) if wanted else ():
        while wanted and wanted[0] < first + rows.batch.num_rows:
            [row] = plain_rows(rows.batch.slice(wanted.pop(0) - first, 1))
            # What cannot be read of it was not looked at when it failed.
            yield str(row.get("id") or row.get("trace_id") or ""), trajectory_of(row, leniently=True)
        if not wanted:
            return
        first += rows.batch.num_rows


def _case(job: Job, trajectory: Trajectory) -> Case | None:
    joining = job.plan.joining()
    return job.plan.cases[0] if joining is None else joining.case_of(trajectory)


def _named(result: CaseResult, row: str, times: Counter[str]) -> CaseResult:
    name = result.case_id or row
    times[name] += 1
    if result.case_id:
        return replace(result, repeat=times[name] - 1)
    return replace(result, case_id=name if times[name] == 1 else f"{name}#{times[name]}")
