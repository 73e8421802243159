"""Trajectories and results as text, for people and for machines: each module reads them, and nothing else."""

from ._characters import cell_count, fit, printable, wrap
from ._concise import concise_lines, concise_notes, summary
from ._diff import diff_lines
from ._json import json_case, json_evidence, json_report
from ._junit import junit_report
from ._paper import Line, Paper, Part
from ._report import Report
from ._trajectory import trajectory_lines

__all__ = [
    "Line",
    "Paper",
    "Part",
    "Report",
    "cell_count",
    "concise_lines",
    "concise_notes",
    "diff_lines",
    "fit",
    "json_case",
    "json_evidence",
    "json_report",
    "junit_report",
    "printable",
    "summary",
    "trajectory_lines",
    "wrap",
]
