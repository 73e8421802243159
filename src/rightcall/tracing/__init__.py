"""Decorators that mark functions as tools, and the capture of the spans that calls leave in this process."""

from ._capturing import Captured, capture, captured_trajectory
from ._decorators import mock_tool_span, mockable, tool, traced
from ._flowing import flowing, let_flow
from ._marks import Marks, marks_of, tools_are_marked
from ._recording import plain_arguments
from ._standing import Answer, Observer, StandIn, observer, stand_in

__all__ = [
    "Answer",
    "Captured",
    "Marks",
    "Observer",
    "StandIn",
    "capture",
    "captured_trajectory",
    "flowing",
    "let_flow",
    "marks_of",
    "mock_tool_span",
    "mockable",
    "observer",
    "plain_arguments",
    "stand_in",
    "tool",
    "tools_are_marked",
    "traced",
]
