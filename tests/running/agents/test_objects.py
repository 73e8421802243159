"""Agents that are objects with `ainvoke`, `invoke` or `run`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running.agents.workshop import Workshop, ask

from rightcall.reading import Turn, read_turns

GRAPH = """
from dataclasses import dataclass, field

@dataclass
class Message:
    type: str
    content: object
    tool_calls: list = field(default_factory=list)

class Graph:
    def __init__(self):
        self.channels = {"messages": None, "other": None}
        self.threads = {}

    async def ainvoke(self, given, config):
        thread = self.threads.setdefault(config["configurable"]["thread_id"], [])
        for role, text in given["messages"]:
            thread.append(Message("human", text))
        thread.append(Message("ai", "", [{"name": "look", "args": {"turn": len(thread)}, "id": "1"}]))
        thread.append(Message("ai", [{"type": "text", "text": f"{len(thread)} "}, {"text": "messages"}]))
        return {"messages": list(thread)}

    def invoke(self, given, config):
        raise AssertionError("ainvoke comes first")

graph = Graph()
"""


@pytest.mark.parametrize(
    ("methods", "seen", "is_async"),
    [
        ("async def ainvoke(self, x): return ['ainvoke', x]", "ainvoke", True),
        ("def invoke(self, x): return ['invoke', x]\n    def run(self, x): return ['run', x]", "invoke", False),
        ("def run(self, x): return ['run', x]\n    def __call__(self, x): return ['call', x]", "run", False),
        ("async def run(self, x): return ['run', x]", "run", True),
    ],
)
def test_an_object_is_asked_by_the_first_method_it_has(
    workshop: Workshop, methods: str, seen: str, is_async: bool
) -> None:
    workshop.write("agent.py", f"class Agent:\n    {methods}\nagent = Agent()")
    agent = workshop.load("agent.py")

    assert agent.is_async is is_async
    assert ask(agent, {"x": 1}).output == [seen, {"x": 1}]


def test_a_text_becomes_the_message_of_a_user_and_the_last_message_the_output(workshop: Workshop) -> None:
    workshop.write("agent.py", GRAPH)

    assert workshop.output("agent.py:graph", "hello") == "2 messages"


def test_a_graph_gets_an_object_as_it_is(workshop: Workshop) -> None:
    workshop.write("agent.py", GRAPH)

    assert workshop.output("agent.py", {"messages": [("user", "a"), ("user", "b")]}) == "3 messages"


def test_the_turns_of_one_run_are_one_conversation_and_each_has_its_own_calls(workshop: Workshop) -> None:
    workshop.write("agent.py", GRAPH)
    agent = workshop.load("agent.py")

    first, second, other = (
        ask(agent, "hello", run=run, turn=turn) for run, turn in [("case#1", 0), ("case#1", 1), ("case#2", 0)]
    )

    assert [first.output, second.output, other.output] == ["2 messages", "5 messages", "2 messages"]
    path = read_turns([Turn(messages=answer.messages, asked="hello") for answer in (first, second)])
    assert [(call.args, call.turn) for call in path.calls] == [({"turn": 1}, 0), ({"turn": 4}, 1)]


def test_requests_without_a_run_are_conversations_of_their_own(workshop: Workshop) -> None:
    workshop.write("agent.py", GRAPH)
    agent = workshop.load("agent.py")

    assert [ask(agent, "hello").output for _ in range(2)] == ["2 messages", "2 messages"]


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("{'messages': [('user', 'a'), ('ai', 'b')]}", "b"),
        ("{'messages': [{'role': 'assistant', 'content': 'b'}]}", "b"),
        ("{'messages': [{'role': 'assistant', 'content': ['b', {'text': 'c'}]}]}", "bc"),
        ("{'messages': [{'role': 'assistant', 'content': [{'image': 1}]}]}", [{"image": 1}]),
        ("{'messages': []}", {"messages": []}),
        ("{'answer': 1}", {"answer": 1}),
        ("type('Result', (), {'output': 5})()", 5),
        ("'text'", "text"),
    ],
)
def test_the_output_is_what_a_person_would_read(workshop: Workshop, result: str, output: Any) -> None:
    workshop.write("agent.py", f"class Agent:\n    def run(self, x): return {result}\nagent = Agent()")

    assert workshop.output("agent.py", "x") == output
