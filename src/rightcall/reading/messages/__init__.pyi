from ._acting_text import IN_CODE as IN_CODE
from ._conversation_reader import key_of as key_of
from ._event_lines import sent_events as sent_events
from ._framework_states import (
    OPEN as OPEN,
    answer_in as answer_in,
    given_in as given_in,
    question_in as question_in,
    results_in_state as results_in_state,
    returned_in as returned_in,
)
from ._log import Log as Log, refused as refused
from ._log_splitter import CONVERSATION_COLUMNS as CONVERSATION_COLUMNS, logs_in as logs_in
from ._message_exchange import (
    Exchange as Exchange,
    exchanges_of as exchanges_of,
    has_messages as has_messages,
    stopped_to_call as stopped_to_call,
)
from ._parts import text_of as text_of, writer_of as writer_of
from ._refusals import UNCONFIRMED as UNCONFIRMED
from ._requests import (
    Requests as Requests,
    turns_in_log as turns_in_log,
    words_of as words_of,
    words_shared as words_shared,
)
from ._span_messages import (
    Conversation as Conversation,
    Side as Side,
    SpanMessages as SpanMessages,
    message_attributes as message_attributes,
    messages_in as messages_in,
    messages_in_event as messages_in_event,
    told_by_task as told_by_task,
)
