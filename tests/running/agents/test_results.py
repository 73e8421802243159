"""Run results of Pydantic AI and OpenAI Agents, by whichever agent they are given back.

The messages are those that the frameworks themselves dump.
"""

from __future__ import annotations

import pytest
from tests.running.agents.workshop import Workshop, ask

from rightcall import read_messages

PYDANTIC_AI = """
import json

MESSAGES = [
    {"parts": [{"content": "Weather?", "part_kind": "user-prompt"}], "kind": "request"},
    {
        "parts": [{"tool_name": "look", "args": '{"city": "Rome"}', "tool_call_id": "1", "part_kind": "tool-call"}],
        "kind": "response",
    },
    {
        "parts": [{"tool_name": "look", "content": "sunny", "tool_call_id": "1", "part_kind": "tool-return"}],
        "kind": "request",
    },
    {"parts": [{"content": "Sunny.", "part_kind": "text"}], "kind": "response"},
]

class Result:
    output = "Sunny."

    def new_messages_json(self):
        return json.dumps(MESSAGES).encode()

class Agent:
    async def run(self, question):
        return Result()

agent = Agent()

async def answer(question):
    return Result()

def answer_plainly(question):
    yield "wait"
    yield Result()
"""
OPENAI_AGENTS = """
class Result:
    final_output = "Sunny."

    def to_input_list(self):
        return [
            {"role": "user", "content": "Weather?"},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"city": "Rome"}'},
            {"type": "function_call_output", "call_id": "1", "output": "sunny"},
            {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "Sunny."}]},
        ]

async def answer(question):
    return Result()

def answer_plainly(question):
    return Result()
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PYDANTIC_AI, "agent"),
        (PYDANTIC_AI, "answer"),
        (PYDANTIC_AI, "answer_plainly"),
        (OPENAI_AGENTS, "answer"),
        (OPENAI_AGENTS, "answer_plainly"),
    ],
)
def test_a_run_result_stands_for_its_output_and_its_messages_show_the_calls(
    workshop: Workshop, text: str, name: str
) -> None:
    workshop.write("agent.py", text)

    answer = ask(workshop.load(f"agent.py:{name}"), "Weather?")

    assert answer.output == "Sunny."
    [call] = read_messages(answer.messages).calls
    assert (call.name, call.args, call.output) == ("look", {"city": "Rome"}, "sunny")


def test_a_class_that_would_make_such_results_is_no_result(workshop: Workshop) -> None:
    workshop.write("agent.py", PYDANTIC_AI + "\ndef kind(question):\n    return Result\n")

    answer = ask(workshop.load("agent.py:kind"), "Weather?")

    assert answer.messages is None
