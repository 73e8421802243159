from ._argument_keys import key_of as key_of
from ._asides import stopped_to_call as stopped_to_call
from ._framework_states import (
    answer_in as answer_in,
    given_in as given_in,
    question_in as question_in,
    returned_in as returned_in,
)
from ._langgraph import OPEN as OPEN
from ._log import Log as Log, refused as refused
from ._logs import CONVERSATION_COLUMNS as CONVERSATION_COLUMNS, logs_in as logs_in
from ._message_attributes import Side as Side, message_attributes as message_attributes
from ._message_exchange import Exchange as Exchange, exchanges_of as exchanges_of, has_messages as has_messages
from ._parts import text_of as text_of, writer_of as writer_of
from ._prompt_history import turns_in_log as turns_in_log, words_of as words_of, words_shared as words_shared
from ._refusals import UNCONFIRMED as UNCONFIRMED
from ._requests import Requests as Requests
from ._span_messages import (
    Conversation as Conversation,
    SpanMessages as SpanMessages,
    messages_in as messages_in,
    messages_in_event as messages_in_event,
    told_by_task as told_by_task,
)
from ._step_parts import IN_CODE as IN_CODE
