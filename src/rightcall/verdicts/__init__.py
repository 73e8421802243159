"""Judges one case: a case and a trajectory in, a result out; and all cases together."""

from ._joining import CASE_ATTRIBUTE, Join, Joining
from ._judging import broken, judge, judge_run, unjudged, waits, weighted
from ._names import ToolNames
from ._overall import Overall, exit_code
from ._waiting import Judging

__all__ = [
    "CASE_ATTRIBUTE",
    "Join",
    "Joining",
    "Judging",
    "Overall",
    "ToolNames",
    "broken",
    "exit_code",
    "judge",
    "judge_run",
    "unjudged",
    "waits",
    "weighted",
]
