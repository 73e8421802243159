"""What the results of frameworks hold: an answer, and the messages by which the calls are known.

They are known by their methods, so that no framework is imported.
"""

from __future__ import annotations

import json
from typing import Any

from ._agent import Answer
from ._outputs import plain


def answer_in(result: Any) -> Answer:
    """The answer in what a function or a method gave back.

    A run result of Pydantic AI stands for its `output`, one of OpenAI Agents for its `final_output`; the messages of
    either show the calls, so that neither needs an instrumentation. Anything else is the output itself.
    """
    if isinstance(result, type):
        return Answer(output=plain(result))
    if callable(getattr(result, "new_messages_json", None)) and hasattr(result, "output"):
        return Answer(output=plain(result.output), messages=json.loads(result.new_messages_json()))
    if callable(getattr(result, "to_input_list", None)) and hasattr(result, "final_output"):
        return Answer(output=plain(result.final_output), messages=plain(result.to_input_list()))
    return Answer(output=plain(result))
