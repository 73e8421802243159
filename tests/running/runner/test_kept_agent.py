"""An agent that is kept between cases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.projects import make_project
from tests.running.runner.running import HOSTILE, job, none_left

from rightcall.errors import AgentError
from rightcall.running.runner import KeptAgent, RunOptions

COUNTING = """
from rightcall import tool

heard = []

@tool
def note(word: str) -> int:
    heard.append(word)
    return len(heard)

def answer(word: str, deed: str) -> int:
    return note(word)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    make_project(tmp_path, {"here.txt": "here", "counting.py": COUNTING})
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert none_left()


def test_the_same_process_serves_one_case_after_the_other(project: Path) -> None:
    kept = KeptAgent("counting.py:answer", str(project), RunOptions())

    outputs = []
    for word in ("first", "second", "first"):
        trajectory = kept.run(job(word)).trajectory
        assert trajectory is not None
        outputs.append(trajectory.output)
    kept.close()

    assert outputs == [1, 2, 3]


@pytest.mark.parametrize("entry", ["answer", "answer_waiting"])
@pytest.mark.parametrize(
    ("deed", "cause"),
    [("raise", "raised"), ("exit at once", "died"), ("spin", "timed_out"), ("alter", ""), ("patch", "")],
)
def test_whatever_an_agent_does_costs_its_own_case(project: Path, entry: str, deed: str, cause: str) -> None:
    kept = KeptAgent(f"{HOSTILE}:{entry}", str(project), RunOptions(timeout=3))

    deeds = enumerate(("nothing", deed, "nothing"))
    causes = [kept.run(job(f"case {number}", each)).outcome.cause for number, each in deeds]
    kept.close()

    assert causes == ["", cause, ""]


def test_an_agent_that_cannot_be_loaded_is_told_each_time(project: Path) -> None:
    kept = KeptAgent("missing.py:answer", str(project), RunOptions())

    for _ in range(2):
        with pytest.raises(AgentError, match=r"no file missing\.py"):
            kept.run(job("case"))


def test_a_closed_agent_is_started_again_when_it_is_needed(project: Path) -> None:
    kept = KeptAgent("counting.py:answer", str(project), RunOptions())
    kept.run(job("first"))
    kept.close()

    again = kept.run(job("second")).trajectory
    kept.close()

    assert again is not None
    assert again.output == 1
