from ._carriers import (
    Carriers as Carriers,
    Conversation as Conversation,
    carriers_among as carriers_among,
    messages_in as messages_in,
    messages_in_event as messages_in_event,
)
from ._conversations import Log as Log, logs_in as logs_in
from ._message_log import Exchange as Exchange, exchanges_of as exchanges_of, has_messages as has_messages
from ._message_text import text_of as text_of, writer_of as writer_of
from ._requests import Requests as Requests, key_of as key_of
from ._states import (
    answer_in as answer_in,
    given_in as given_in,
    question_in as question_in,
    returned_in as returned_in,
)
from ._threads import steps_up as steps_up, words_of as words_of, words_shared as words_shared
