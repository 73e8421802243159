"""Judges one case: a case and a trajectory in, a result out."""

from ._joining import CASE_ATTRIBUTE, Join, Joining
from ._judging import broken, judge, judge_run, unjudged, waits
from ._waiting import Judging

__all__ = ["CASE_ATTRIBUTE", "Join", "Joining", "Judging", "broken", "judge", "judge_run", "unjudged", "waits"]
