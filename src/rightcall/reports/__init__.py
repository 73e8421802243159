"""Trajectories and results as text, for people and for machines: each module reads them, and nothing else."""

from ._changes import comparison_lines, verdict_lines
from ._characters import cell_count, fit, printable, wrap
from ._concise import concise_lines, concise_report, ending
from ._diff import diff_lines
from ._full import diagnosis, full_lines, full_report
from ._github import github_report, github_summary
from ._headlines import headline
from ._json import json_case, json_evidence, json_report
from ._junit import junit_report
from ._markdown import markdown_report
from ._paper import Line, Paper, Part
from ._report import Report
from ._side_by_side import side_by_side, summary
from ._trajectory import trajectory_lines

__all__ = [
    "Line",
    "Paper",
    "Part",
    "Report",
    "cell_count",
    "comparison_lines",
    "concise_lines",
    "concise_report",
    "diagnosis",
    "diff_lines",
    "ending",
    "fit",
    "full_lines",
    "full_report",
    "github_report",
    "github_summary",
    "headline",
    "json_case",
    "json_evidence",
    "json_report",
    "junit_report",
    "markdown_report",
    "printable",
    "side_by_side",
    "summary",
    "trajectory_lines",
    "verdict_lines",
    "wrap",
]
