"""Web pages from plain data: results and headers in, HTML text out; they know no server and no store."""

from ._case import CALLS_A_PAGE, CasePage, HistoryEntry, Neighbours, Sibling, brief_case_page, case_html, case_page
from ._environment import policy, render, script, stylesheet
from ._facts import RunFacts, facts_of, report_facts
from ._groups import Group, Grouping, RunCounts
from ._keys import case_key, key_of
from ._links import Crumb, Links
from ._message import MessagePage, message_html
from ._rows import CaseRow, row_of
from ._rules import group_words
from ._run import ROWS_A_PAGE, Choice, RunPage, run_html, run_page
from ._texts import Shown, shown_text
from ._times import When, when

__all__ = [
    "CALLS_A_PAGE",
    "ROWS_A_PAGE",
    "CasePage",
    "CaseRow",
    "Choice",
    "Crumb",
    "Group",
    "Grouping",
    "HistoryEntry",
    "Links",
    "MessagePage",
    "Neighbours",
    "RunCounts",
    "RunFacts",
    "RunPage",
    "Shown",
    "Sibling",
    "When",
    "brief_case_page",
    "case_html",
    "case_key",
    "case_page",
    "facts_of",
    "group_words",
    "key_of",
    "message_html",
    "policy",
    "render",
    "report_facts",
    "row_of",
    "run_html",
    "run_page",
    "script",
    "shown_text",
    "stylesheet",
    "when",
]
