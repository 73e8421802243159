"""Scores tables and files of trajectories, however many: part by part, each into a file of its own."""

from ._counting import A_RULE, Counting
from ._exemplars import exemplars
from ._fragments import Fragment, Reading
from ._job import Job
from ._lines import line_row
from ._planning import Cut, find_fragments
from ._reading import batches, table_batches, table_schema
from ._scoring import score_fragment, score_lines
from ._summarising import summarise, write_summary
from ._summary import Example, RuleCount, Slow, Summary
from ._workers import Scorers

__all__ = [
    "A_RULE",
    "Counting",
    "Cut",
    "Example",
    "Fragment",
    "Job",
    "Reading",
    "RuleCount",
    "Scorers",
    "Slow",
    "Summary",
    "batches",
    "exemplars",
    "find_fragments",
    "line_row",
    "score_fragment",
    "score_lines",
    "summarise",
    "table_batches",
    "table_schema",
    "write_summary",
]
