"""Scores of many rows as a run to look at: some rows of each kind of failure, judged with all details."""

from __future__ import annotations

from typing import Any

from rightcall.reporting.store import Sample
from rightcall.scale.lake import Counting, Job, Summary, exemplars

from ._aside import aside
from ._keeping import Keeping


def keep_run(options: Any, job: Job, counting: Counting, summary: Summary, seconds: float) -> str:
    """Keep a run that stands for all rows, and say what it is called.

    Raises:
        InputError: the input is not what it was any more.
        StoreError: the run cannot be kept.
    """
    keeping = Keeping(options.runs_folder, options.request(), {**options.kept(), "out": job.out})
    groups = tuple([(group.code, group.tool, group.rows) for group in summary.groups])
    try:
        with aside():
            for result in exemplars(job, counting):
                keeping.take(result)
    finally:
        keeping.close()
    sample = Sample(summary.rows - summary.no_case, groups, summary.more_groups)
    keeping.finish(summary.totals, summary.evaluators, seconds, is_complete=True, sample=sample)
    return keeping.run.short_id
