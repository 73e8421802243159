"""A worker and its channel, from inside."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.projects import make_project
from tests.running.runner.running import finished_of

from rightcall.running.runner import CaseJob, _worker
from rightcall.running.runner._case_record import frame

AGENT = """
import threading

def answer(word: str) -> int:
    return threading.active_count()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has to notice that the parent is gone")
def test_an_agent_that_runs_alone_has_a_process_without_other_threads(tmp_path: Path) -> None:
    project = make_project(tmp_path, {"agent.py": AGENT})

    finished = finished_of("agent.py:answer", [CaseJob(case_id="a", turns=({"word": "x"},))], project)

    path = finished["a"].trajectory
    assert path is not None
    assert path.output == 1


def test_messages_arrive_in_order_whoever_receives_them() -> None:
    inward, outward = os.pipe()
    channel = _worker.Channel(inward, outward)
    text = b"".join([frame({"number": number}) for number in range(3)])
    os.write(outward, text[:20])

    received = _worker._listened_to(channel)
    first = received()
    os.write(outward, text[20:])

    assert [first, received(), received()] == [{"number": 0}, {"number": 1}, {"number": 2}]
