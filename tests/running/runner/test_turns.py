"""In a conversation that is run, a call is one of the turn it was made in, however often the agent shows it again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.projects import make_project
from tests.reading.talks import ANSWERED, ASKED, MADE, log
from tests.running.runner.running import finished_of

from rightcall import read_messages
from rightcall.running.runner import CaseJob
from rightcall.values.trajectory import Trajectory

AGENT = """
import json
from opentelemetry import trace
from tests.reading import talks

TOOLS = {"lookup_order": lambda **args: "ok", "refund": lambda **args: "ok"}

class Result:
    "A run result, as of OpenAI Agents: the whole session, and the answer."
    def __init__(self, turn, ids=True):
        self.final_output = talks.ANSWERED[turn]
        self._items = talks.log(turn + 1, ids)

    def to_input_list(self):
        return self._items

def with_session(input):
    return Result(talks.ASKED.index(input))

def without_ids(input):
    return Result(talks.ASKED.index(input), ids=False)

def older_session(input):
    result = with_session(input)
    old = [talks.says("user", "Hello"), talks.asks_for("refund", {"order_id": 1}, "old"), talks.gives("ok", "old")]
    result._items = [*old, talks.says("assistant", "Hi"), *result._items]
    return result

def silent_in_the_end(input):
    return with_session(input) if input != talks.ASKED[2] else talks.ANSWERED[2]

def span(name, **attributes):
    attributes = {key.replace("__", "."): value for key, value in attributes.items()}
    return trace.get_tracer("framework").start_as_current_span(name, attributes=attributes)

def chat(said, answer):
    texts = {"gen_ai__input__messages": json.dumps(said), "gen_ai__output__messages": json.dumps([answer])}
    with span("chat", gen_ai__operation__name="chat", **texts):
        return answer

def instrumented(input):
    turn = talks.ASKED.index(input)
    said = [*talks.log(turn), talks.says("user", input)]
    with span("invoke_agent support", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="support"):
        if talks.CALLED[turn] is not None:
            name, args = talks.CALLED[turn]
            said += [chat(said, talks.asks_for(name, args, f"c{turn}")), talks.gives("ok", f"c{turn}")]
        chat(said, talks.says("assistant", talks.ANSWERED[turn]))
    return talks.ANSWERED[turn]

def instrumented_with_session(input):
    instrumented(input)
    return with_session(input)

def simulated(input):
    return Result(2)
"""

COMMAND = """
import json, sys
from tests.reading import talks

turn = json.load(sys.stdin)["turn"]
json.dump({"output": talks.ANSWERED[turn], "messages": talks.log(turn + 1)}, sys.stdout)
"""

WAYS = ("with_session", "without_ids", "older_session", "instrumented", "instrumented_with_session")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path, {"agent.py": AGENT, "command.py": COMMAND})
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    return tmp_path


def path_of(agent: str, project: Path, *turns: Any) -> Trajectory:
    [finished] = finished_of(
        agent, [CaseJob(case_id="chat", turns=turns, is_conversation=len(turns) > 1)], project
    ).values()
    assert finished.outcome.error is None
    assert finished.trajectory is not None
    return finished.trajectory


@pytest.mark.parametrize("way", [*(f"agent.py:{way}" for way in WAYS), f"cmd:{sys.executable} command.py"])
def test_calls_that_a_turn_shows_again_are_those_of_the_turns_before(way: str, project: Path) -> None:
    path = path_of(way, project, *ASKED)

    assert [(call.name, call.turn) for call in path.calls] == MADE
    assert len({call.group for call in path.calls}) == 2
    assert path.calls_recorded
    assert (path.input, path.output) == (ASKED[0], ANSWERED[2])
    assert (path.turn_inputs, path.turn_outputs) == (ASKED, ANSWERED)


def test_a_turn_that_shows_nothing_leaves_the_calls_not_recorded(project: Path) -> None:
    path = path_of("agent.py:silent_in_the_end", project, *ASKED)

    assert not path.calls_recorded
    assert any("turn 3" in warning for warning in path.warnings)


def test_a_whole_conversation_that_one_request_comes_back_with_is_read_as_its_turns(project: Path) -> None:
    path = path_of("agent.py:simulated", project, ASKED[0])

    assert [(call.name, call.turn) for call in path.calls] == MADE


def test_what_is_run_and_the_log_of_it_have_the_same_calls(project: Path) -> None:
    assert path_of("agent.py:with_session", project, *ASKED).calls == read_messages(log()).calls
