from ._convention import Convention as Convention
from ._deferrals import (
    ASKED_FOR as ASKED_FOR,
    DEFERRALS as DEFERRALS,
    ELSEWHERE as ELSEWHERE,
    REFUSED as REFUSED,
    REFUSED_BY_USER as REFUSED_BY_USER,
)
from ._envelopes import (
    Envelope as Envelope,
    adk_output as adk_output,
    content_blocks as content_blocks,
    converse_blocks as converse_blocks,
    llamaindex_output as llamaindex_output,
    reads_like_error as reads_like_error,
)
from ._kinds import (
    CONVERSATION_KEYS as CONVERSATION_KEYS,
    GROUP_KEYS as GROUP_KEYS,
    MARKS_OF_ANY_VALUE as MARKS_OF_ANY_VALUE,
    SESSION_KEYS as SESSION_KEYS,
    CallShape as CallShape,
    Kind as Kind,
    Role as Role,
    Shape as Shape,
    agent_name as agent_name,
    groups_of as groups_of,
    is_like_call as is_like_call,
    is_unmarked as is_unmarked,
    kind_of as kind_of,
    lazy_attributes as lazy_attributes,
    shape_of as shape_of,
    tools_of as tools_of,
)
from ._python_calls import is_dspy as is_dspy
from ._span_names import (
    KIND_KEYS as KIND_KEYS,
    has_lost_mark as has_lost_mark,
    is_clean as is_clean,
    is_named_like_call as is_named_like_call,
    may_tell_kind as may_tell_kind,
    name_for_models as name_for_models,
)
from ._tool_calls import (
    CONVENTIONS as CONVENTIONS,
    MERGED as MERGED,
    SPAN_NAMES as SPAN_NAMES,
    WRAPPED_IN_MESSAGES as WRAPPED_IN_MESSAGES,
    convention_by_attributes as convention_by_attributes,
    has_value as has_value,
)
