"""Run folders: the header of a run, the journal of its results, its spans, and how to find and resume it."""

from ._commits import commit_of
from ._digest import case_digest, file_digest, files_digest
from ._header import Header, Sample
from ._journal import Entry, Journal, JournalReading, Line
from ._runs import RUNS, Run, create_run, list_runs, open_run, run_folder
from ._seals import Seal
from ._spans import RunSpans, SpanFile, SpanIndex

__all__ = [
    "RUNS",
    "Entry",
    "Header",
    "Journal",
    "JournalReading",
    "Line",
    "Run",
    "RunSpans",
    "Sample",
    "Seal",
    "SpanFile",
    "SpanIndex",
    "case_digest",
    "commit_of",
    "create_run",
    "file_digest",
    "files_digest",
    "list_runs",
    "open_run",
    "run_folder",
]
