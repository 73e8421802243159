"""Results for people and machines: each report reads results, nothing else."""

from ._concise import concise_lines, concise_notes, summary
from ._json import json_report

__all__ = ["concise_lines", "concise_notes", "json_report", "summary"]
