from ._adapter import FoundTool as FoundTool
from ._adapters import (
    logging_calls as logging_calls,
    stand_in_for_frameworks as stand_in_for_frameworks,
)
from ._dispatch import DispatchedCall as DispatchedCall, log_document as log_document
from ._found_tools import (
    ToolInventory as ToolInventory,
    find_tools as find_tools,
    unreached_names as unreached_names,
)
