"""Trajectories and results as text, for people and for machines: each module reads them, and nothing else."""

from ._changes import comparison_lines, verdict_lines
from ._characters import cell_count, fit, printable, wrap
from ._concise import concise_lines, concise_report, ending
from ._diff import diff_lines
from ._durations import duration_text
from ._full import diagnosis, full_lines, full_report
from ._github import github_report, github_summary
from ._headlines import headline
from ._json import json_case, json_evidence, json_report
from ._junit import junit_report
from ._markdown import markdown_report
from ._marks import order_text
from ._paper import Line, Paper, Part
from ._paths import Path, paths_of
from ._report import Report
from ._side_by_side import side_by_side, summary
from ._trajectory import trajectory_lines
from ._tree import Lane, Row, rows

__all__ = [
    "Lane",
    "Line",
    "Paper",
    "Part",
    "Path",
    "Report",
    "Row",
    "cell_count",
    "comparison_lines",
    "concise_lines",
    "concise_report",
    "diagnosis",
    "diff_lines",
    "duration_text",
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
    "order_text",
    "paths_of",
    "printable",
    "rows",
    "side_by_side",
    "summary",
    "trajectory_lines",
    "verdict_lines",
    "wrap",
]
