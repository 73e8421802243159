from ._capturing import Captured as Captured, capture as capture, captured_trajectory as captured_trajectory
from ._decorators import mock_tool_span as mock_tool_span, mockable as mockable, tool as tool, traced as traced
from ._flowing import flowing as flowing, let_flow as let_flow
from ._marks import Marks as Marks, marks_of as marks_of, tools_are_marked as tools_are_marked
from ._recording import plain_arguments as plain_arguments
from ._standing import (
    Answer as Answer,
    Observer as Observer,
    StandIn as StandIn,
    observer as observer,
    stand_in as stand_in,
)
