"""Why a call was asked for and not made, as frameworks say it."""

from __future__ import annotations

ASKED_FOR = "approval was asked for"
"""Why a call was withheld that may still be made."""
REFUSED = "approval was refused"
REFUSED_BY_USER = "refused by the user"
ELSEWHERE = "deferred: the tool is run elsewhere"
DEFERRALS = {
    "pydantic_ai.exceptions.ApprovalRequired": ASKED_FOR,
    "pydantic_ai.exceptions.CallDeferred": ELSEWHERE,
    "langgraph.errors.GraphInterrupt": ASKED_FOR,
    "workflows.runtime.types.results.WaitingForEvent": ASKED_FOR,
}
"""Exceptions by which a tool says that its call is not made now, and why.

LangGraph and LlamaIndex call it again with the answer.
"""
