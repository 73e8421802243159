"""Trajectories and results as text, for people and for machines: each module reads them, and nothing else."""

from ._changes import change_words, comparison_lines, score_words, totals_words, verdict_lines
from ._characters import cell_count, fit, printable, wrap
from ._concise import concise_lines, concise_report, ending
from ._details import detail_lines
from ._diff import diff_lines
from ._durations import duration_text, seconds_between, seconds_text
from ._escaping import unobeyed, unobeyed_json
from ._full import diagnosis, full_lines, full_report
from ._github import github_report, github_summary
from ._headlines import headline
from ._json import json_case, json_evidence, json_report
from ._json_schema import report_schema
from ._junit import junit_report
from ._markdown import markdown_report
from ._marks import order_text
from ._overall import overall_line
from ._paper import Line, Paper, Part
from ._paths import Path, paths_of
from ._redacting import redacted_report
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
    "change_words",
    "comparison_lines",
    "concise_lines",
    "concise_report",
    "detail_lines",
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
    "overall_line",
    "paths_of",
    "printable",
    "redacted_report",
    "report_schema",
    "rows",
    "score_words",
    "seconds_between",
    "seconds_text",
    "side_by_side",
    "summary",
    "totals_words",
    "trajectory_lines",
    "unobeyed",
    "unobeyed_json",
    "verdict_lines",
    "wrap",
]
