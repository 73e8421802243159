"""Web pages from plain data: results and headers in, HTML text out; they know no server and no store."""

from ._case import CALLS_A_PAGE, CasePage, HistoryEntry, Neighbours, Sibling, brief_case_page, case_html, case_page
from ._environment import policy, render, script, stylesheet
from ._keys import case_key, key_of
from ._links import Crumb, Links
from ._message import MessagePage, message_html
from ._rows import CaseRow, row_of
from ._rules import group_words
from ._texts import Shown, shown_text
from ._times import When, when

__all__ = [
    "CALLS_A_PAGE",
    "CasePage",
    "CaseRow",
    "Crumb",
    "HistoryEntry",
    "Links",
    "MessagePage",
    "Neighbours",
    "Shown",
    "Sibling",
    "When",
    "brief_case_page",
    "case_html",
    "case_key",
    "case_page",
    "group_words",
    "key_of",
    "message_html",
    "policy",
    "render",
    "row_of",
    "script",
    "shown_text",
    "stylesheet",
    "when",
]
