"""Messages of users and models in runs that are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.reading.corpus import recordings

from rightcall.reporting.store import RunFolder, list_runs, open_run

SECRET = "sk-proj-" + "a1B2" * 12
AGENT = """
import json, sys
question = json.load(sys.stdin)["input"]
call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
messages = [
    {"role": "user", "content": question},
    {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "assistant", "content": "Here it is."},
]
print(json.dumps({"output": "Here it is.", "messages": messages}))
"""
COMMAND = f"cmd:{sys.executable} agent.py"


def kept_run(folder: Path) -> RunFolder:
    [run] = list_runs(folder / ".rightcall" / "runs")
    return open_run(str(run))


def texts(folder: Path) -> list[str]:
    [result] = list(kept_run(folder).results())
    assert result.trajectory is not None
    return [message.text for message in result.trajectory.messages]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    case = {"id": "one", "input": f"My key is {SECRET}", "expect": {"calls": ["search"]}}
    (tmp_path / "set.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    return tmp_path


def test_a_run_keeps_what_its_model_said(project: Path) -> None:
    done = rightcall("run", COMMAND, "set.json", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert texts(project) == [f"My key is {SECRET}", "I look it up.", "Here it is."]


def test_no_spans_means_no_messages(project: Path) -> None:
    rightcall("run", COMMAND, "set.json", "--no-spans", cwd=project)

    assert texts(project) == []


def test_redaction_reaches_messages(project: Path) -> None:
    rightcall("run", COMMAND, "set.json", "--redact", cwd=project)

    assert SECRET not in "".join(texts(project))
    assert texts(project)[1:] == ["I look it up.", "Here it is."]


def test_scored_traces_have_messages_only_if_they_are_kept(tmp_path: Path) -> None:
    (tmp_path / "trip.json").write_bytes(recordings()["pydantic-ai/trip-pkg2-fmt5"]["otlp.json"])
    (tmp_path / "calls.yaml").write_text("counts: {book_flight: '<= 9'}", encoding="utf-8")
    plain = rightcall("score", "trip.json", "--expect", "calls.yaml", "--format", "json", cwd=tmp_path)
    rightcall("score", "trip.json", "--expect", "calls.yaml", "--keep", cwd=tmp_path)

    assert texts(tmp_path)[0] == "Book me a trip from Tokyo to Paris."
    assert texts(tmp_path)[-1] == "Trip booked."
    assert '"messages"' not in plain.stdout
