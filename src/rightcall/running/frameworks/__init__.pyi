from ._adapters import (
    ToolInventory as ToolInventory,
    find_tools as find_tools,
    logging_calls as logging_calls,
    stand_in_for_frameworks as stand_in_for_frameworks,
    unreached_names as unreached_names,
)
from ._dispatch import DispatchedCall as DispatchedCall, log_document as log_document
from ._tool_objects import FoundTool as FoundTool
