"""Scores tables and files of trajectories, however many: part by part, each into a file of its own."""

from ._fragments import Fragment, Reading
from ._job import Job
from ._planning import find_fragments
from ._scoring import score_fragment

__all__ = ["Fragment", "Job", "Reading", "find_fragments", "score_fragment"]
