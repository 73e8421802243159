from ._ask import (
    CACHE as CACHE,
    PREFIX as PREFIX,
    Ruling as Ruling,
    Sampling as Sampling,
    Settings as Settings,
    ask_callable as ask_callable,
    ask_endpoint as ask_endpoint,
    delay_before as delay_before,
    retry_after as retry_after,
)
from ._judges import Agreement as Agreement, Compared as Compared, read_labels as read_labels
from ._reply import (
    FIXED as FIXED,
    JudgeError as JudgeError,
    Question as Question,
    QuestionBlock as QuestionBlock,
    Reply as Reply,
    Rubric as Rubric,
    RubricReply as RubricReply,
    calls_of as calls_of,
    parse_reply as parse_reply,
    prompt_text as prompt_text,
)
