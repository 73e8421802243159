"""Agents of Google's ADK, with a stand-in for the parts of ADK that are used; it has their names and methods."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.running.agents.workshop import Workshop, ask

from rightcall import read_messages
from rightcall.errors import AgentError, MissingExtraError

AGENTS = """
class BaseAgent:
    name = "shop"
    def __init__(self, reply): self.reply = reply
"""

SESSIONS = """
class InMemorySessionService:
    def __init__(self): self.sessions = {}
    async def get_session(self, *, app_name, user_id, session_id):
        return self.sessions.get((app_name, user_id, session_id))
    async def create_session(self, *, app_name, user_id, session_id, state):
        self.sessions[app_name, user_id, session_id] = {"state": state, "said": []}
"""

TYPES = """
from pydantic import BaseModel

class Part(BaseModel):
    text: str | None = None
    thought: bool | None = None
    function_call: dict | None = None

class Content(BaseModel):
    role: str
    parts: list[Part] = []
"""

RUNNERS = """
class Event:
    def __init__(self, content, final): self.content, self.final = content, final
    def is_final_response(self): return self.final

class Runner:
    def __init__(self, *, app_name, session_service, agent):
        self.app_name, self.sessions, self.agent = app_name, session_service, agent
    async def run_async(self, *, user_id, session_id, new_message):
        session = await self.sessions.get_session(app_name=self.app_name, user_id=user_id, session_id=session_id)
        session["said"].append(new_message.parts[0].text)
        for content, final in self.agent.reply(self.app_name, user_id, session):
            yield Event(content, final)
"""

AGENT = """
from google.adk.agents.base import BaseAgent
from google.genai.types import Content, Part

def reply(app_name, user_id, session):
    call = Part(function_call={"name": "look", "args": {"n": len(session["said"])}})
    yield Content(role="model", parts=[call]), False
    yield None, False
    told = Part(text=f"{app_name} {user_id} {session['state']} {session['said']}")
    yield Content(role="model", parts=[Part(text="hm", thought=True), told]), True

root_agent = BaseAgent(reply)
"""


@pytest.fixture(autouse=True)
def adk(workshop: Workshop) -> Iterator[None]:
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "google"}
    kit = {"adk/agents/base": AGENTS, "adk/sessions/__init__": SESSIONS, "adk/runners": RUNNERS, "genai/types": TYPES}
    for name, text in kit.items():
        workshop.write(f"kit/google/{name}.py", text)
    workshop.write("shop/__init__.py", "from . import agent")
    workshop.write("shop/agent.py", AGENT)
    path = str(workshop.project / "kit")
    sys.path.insert(0, path)
    yield
    sys.path.remove(path)
    for name in [name for name in sys.modules if name.split(".")[0] == "google"]:
        del sys.modules[name]
    sys.modules.update(held)


@pytest.mark.parametrize("named", ["shop", "shop/agent.py", "shop.agent:root_agent", "shop:root_agent"])
def test_an_agent_says_what_its_last_final_response_says(workshop: Workshop, named: str) -> None:
    assert workshop.output(named, "hello") == "shop user {} ['hello']"


@pytest.mark.parametrize(
    ("session", "told"),
    [
        ({"app_name": "app", "user_id": "me", "state": {"a": 1}}, "app me {'a': 1}"),
        ({"appName": "app", "userId": "me"}, "app me {}"),
        ({"a": 1}, "shop user {'a': 1}"),
        ({}, "shop user {}"),
    ],
)
def test_a_session_begins_as_the_case_says(workshop: Workshop, session: dict[str, Any], told: str) -> None:
    assert workshop.output("shop", "hello", session=session) == f"{told} ['hello']"


def test_turns_of_one_run_share_a_session_and_runs_do_not(workshop: Workshop) -> None:
    agent = workshop.load("shop")

    answers = [ask(agent, text, run=run) for text, run in [("a", "1"), ("b", "1"), ("c", "2"), ("d", "")]]

    assert [answer.output.split("{} ")[1] for answer in answers] == ["['a']", "['a', 'b']", "['c']", "['d']"]
    assert [call.args for call in read_messages(answers[1].messages).calls] == [{"n": 2}]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"parts": [{"text": "hi"}]}, "hi"), ({"role": "user", "parts": [{"text": "hi"}]}, "hi"), ({"q": 1}, '{"q": 1}')],
)
def test_an_input_is_said_to_the_agent(workshop: Workshop, given: Any, said: str) -> None:
    assert workshop.output("shop", given).endswith(f"['{said}']")


@pytest.mark.parametrize(
    ("given", "session", "complaint"),
    [
        ({"parts": 5}, None, "cannot be sent to it"),
        ("hi", 5, "the session of an ADK agent is an object, not 5"),
        ("hi", {"state": 5}, "the state of a session is an object, not 5"),
    ],
)
def test_what_cannot_be_said_is_an_error(workshop: Workshop, given: Any, session: Any, complaint: str) -> None:
    with pytest.raises(AgentError, match=complaint):
        workshop.output("shop", given, session=session)


def test_an_agent_without_the_kit_says_what_to_install(workshop: Workshop) -> None:
    agent = workshop.load("shop")
    sys.modules["google.adk.runners"] = None  # type: ignore[assignment]

    with pytest.raises(MissingExtraError, match="pip install google-adk"):
        ask(agent, "hello")
