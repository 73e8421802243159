from ._capture import (
    Captured as Captured,
    ToolAnswer as ToolAnswer,
    ToolObserver as ToolObserver,
    ToolStub as ToolStub,
    bound as bound,
    capture as capture,
    captured_trajectory as captured_trajectory,
    dispatching as dispatching,
    propagate as propagate,
    thread_patches as thread_patches,
    tool_observer as tool_observer,
    tool_stub as tool_stub,
)
from ._decorated_call import (
    as_arguments as as_arguments,
    output_attribute as output_attribute,
    plain_arguments as plain_arguments,
    plain_value as plain_value,
)
from ._decorators import mock_tool_span as mock_tool_span, mockable as mockable, tool as tool, traced as traced
from ._tool_marks import (
    Marks as Marks,
    declared_parameters as declared_parameters,
    marked_tools as marked_tools,
    marks_of as marks_of,
    tools_are_marked as tools_are_marked,
)
