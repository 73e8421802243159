"""Decorators that mark functions as tools, and the capture of the spans that calls leave in this process."""

from ._capturing import Captured, capture
from ._decorators import mock_tool_span, mockable, tool, traced
from ._flowing import flowing
from ._marks import Marks, marks_of, tools_are_marked
from ._standing import Answer, Observer, StandIn, observer, stand_in

__all__ = [
    "Answer",
    "Captured",
    "Marks",
    "Observer",
    "StandIn",
    "capture",
    "flowing",
    "marks_of",
    "mock_tool_span",
    "mockable",
    "observer",
    "stand_in",
    "tool",
    "tools_are_marked",
    "traced",
]
