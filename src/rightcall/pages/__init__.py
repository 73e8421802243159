"""Web pages from plain data: results and headers in, HTML text out; they know no server and no store."""

from ._case import CALLS_A_PAGE, CasePage, HistoryEntry, Neighbours, Sibling, brief_case_page, case_html, case_page
from ._comparison import (
    Changes,
    ComparePage,
    VerdictsPage,
    changes_of,
    compare_html,
    verdict_rows,
    verdicts_html,
)
from ._environment import policy, render, script, stylesheet
from ._facts import RunFacts, facts_of, report_facts
from ._groups import Group, Grouping, RunCounts, ToolTotal
from ._keys import case_key, key_of
from ._links import Crumb, Links
from ._message import MessagePage, message_html
from ._report import check_installed, html_report
from ._rows import CaseRow, row_of
from ._run import ROWS_A_PAGE, Choice, RunPage, run_html, run_page
from ._runs import RunLine, RunsPage, picture, runs_html
from ._texts import Shown, shown_text, visible
from ._times import When, when
from ._tool import CallLine, ToolPage, call_line, histogram, quantile, tool_html

__all__ = [
    "CALLS_A_PAGE",
    "ROWS_A_PAGE",
    "CallLine",
    "CasePage",
    "CaseRow",
    "Changes",
    "Choice",
    "ComparePage",
    "Crumb",
    "Group",
    "Grouping",
    "HistoryEntry",
    "Links",
    "MessagePage",
    "Neighbours",
    "RunCounts",
    "RunFacts",
    "RunLine",
    "RunPage",
    "RunsPage",
    "Shown",
    "Sibling",
    "ToolPage",
    "ToolTotal",
    "VerdictsPage",
    "When",
    "brief_case_page",
    "call_line",
    "case_html",
    "case_key",
    "case_page",
    "changes_of",
    "check_installed",
    "compare_html",
    "facts_of",
    "histogram",
    "html_report",
    "key_of",
    "message_html",
    "picture",
    "policy",
    "quantile",
    "render",
    "report_facts",
    "row_of",
    "run_html",
    "run_page",
    "runs_html",
    "script",
    "shown_text",
    "stylesheet",
    "tool_html",
    "verdict_rows",
    "verdicts_html",
    "visible",
    "when",
]
