"""Judges: a question about a run in, a judgement out; or the reason why there is none."""

from ._agreement import Agreement, Compared
from ._asking import Ruling, ask_callable, ask_endpoint
from ._blocks import Block, calls_of
from ._endpoint import Sampling, delay_before, retry_after
from ._labels import read_labels
from ._problem import JudgeError
from ._question import FIXED, Question, Rubric, prompt_text
from ._reply import Reply, RubricReply, parse_reply
from ._settings import CACHE, PREFIX, Settings

__all__ = [
    "CACHE",
    "FIXED",
    "PREFIX",
    "Agreement",
    "Block",
    "Compared",
    "JudgeError",
    "Question",
    "Reply",
    "Rubric",
    "RubricReply",
    "Ruling",
    "Sampling",
    "Settings",
    "ask_callable",
    "ask_endpoint",
    "calls_of",
    "delay_before",
    "parse_reply",
    "prompt_text",
    "read_labels",
    "retry_after",
]
