"""Agents that are commands, in real processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.running.agents.workshop import Workshop, ask
from tests.waiting import until

from rightcall import Trajectory, read
from rightcall.errors import AgentError
from rightcall.running.agents import AgentAnswer, AgentOptions, AgentRequest, load_agent

ECHO = "import json, sys; print(json.dumps(json.load(sys.stdin)))"

SENDER = """
import json, os, sys, urllib.request

def span(name, number):
    trace, parent = os.environ["TRACEPARENT"].split("-")[1:3]
    values = {"tool.name": name, "input.value": json.dumps({"n": number}), "output.value": "1"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    return {"traceId": trace, "spanId": f"{number:016x}", "parentSpanId": parent, "name": name,
            "startTimeUnixNano": str(number), "endTimeUnixNano": str(number + 1), "attributes": attributes}

def document(*spans):
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()

def send(body, kind="application/json", token=None, path="/v1/traces", **headers):
    request = urllib.request.Request(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + path, body, method="POST")
    request.add_header("content-type", kind)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as response:
        return response.status, response.read()

asked = json.load(sys.stdin)["input"]
"""


def command(workshop: Workshop, text: str, *arguments: str) -> str:
    """The name of an agent that is a Python program of this text."""
    workshop.write("program.py", text)
    return " ".join([f"cmd:{sys.executable} program.py", *arguments])


def trajectory(answer: AgentAnswer) -> Trajectory:
    [made] = read(list(answer.documents), grouping="file")
    return made


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it may end between the opening and the reading
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    return until(lambda: not is_alive(pid))


def test_a_command_reads_the_request_and_writes_the_answer(workshop: Workshop) -> None:
    said = workshop.output(command(workshop, ECHO), {"q": "é\ud800"}, turn=2, run="r", session={"user": 1})

    assert {key: said[key] for key in ("case_id", "turn", "run", "session")} == {
        "case_id": "case",
        "turn": 2,
        "run": "r",
        "session": {"user": 1},
    }
    assert said["input"]["q"].startswith("é")
    assert len(said["traceparent"]) == 55


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("{'a': 1}", "{'a': 1}"),
        ('{"a": 1}\\n', {"a": 1}),
        ('{"output": {"a": 1}}', {"a": 1}),
        ('{"output": 1, "other": 2}', {"output": 1, "other": 2}),
        ('{"messages": []}', {"messages": []}),
        ("  12 ", 12),
        ("hello\\nworld\\n", "hello\nworld"),
        ("", None),
        ("null", None),
    ],
)
def test_json_is_the_value_it_is_and_anything_else_is_text(workshop: Workshop, written: str, output: Any) -> None:
    assert workshop.output(command(workshop, f"import sys; sys.stdout.write('''{written}''')"), "x") == output


def test_arguments_are_split_without_a_shell(workshop: Workshop) -> None:
    named = command(workshop, "import json, sys; print(json.dumps(sys.argv[1:]))", "'a b'", "$HOME", ";ls", "*")

    assert workshop.output(named, "x") == ["a b", "$HOME", ";ls", "*"]


def test_a_command_runs_in_the_project_with_its_own_environment(workshop: Workshop, monkeypatch: Any) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector.example")
    named = command(workshop, "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))")
    agent = workshop.load(named, environment={"MODE": "test"})

    folder, environment = ask(agent, "x", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01").output

    assert Path(folder) == workshop.project
    assert environment["MODE"] == "test"
    assert environment["OTEL_EXPORTER_OTLP_PROTOCOL"] == "http/protobuf"
    assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"].startswith("http://127.0.0.1:")
    assert environment["TRACEPARENT"] == "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    assert "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" not in environment
    assert not Path(environment["RIGHTCALL_SPANS_FILE"]).parent.exists()


def test_spans_sent_over_otlp_are_the_calls(workshop: Workshop) -> None:
    text = SENDER + "send(document(span('b', 2)))\nsend(document(span('a', 1)))\nprint('done')"
    agent = workshop.load(command(workshop, text))

    answer = ask(agent, "x")

    assert answer.output == "done"
    assert [(call.name, call.args) for call in trajectory(answer).calls] == [("a", {"n": 1}), ("b", {"n": 2})]


def test_spans_may_be_packed_and_in_protobuf(workshop: Workshop) -> None:
    text = SENDER + (
        "import gzip\n"
        "from google.protobuf import json_format\n"
        "from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest\n"
        "import base64\n"
        "one = span('look', 1)\n"
        "for key in ('traceId', 'spanId', 'parentSpanId'):\n"
        "    one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()\n"
        "body = json_format.Parse(document(one), ExportTraceServiceRequest()).SerializeToString()\n"
        "print(send(gzip.compress(body), 'application/x-protobuf', content_encoding='gzip'))"
    )
    agent = workshop.load(command(workshop, text))

    answer = ask(agent, "x")

    assert answer.output == "(200, b'')"
    assert trajectory(answer).names == ("look",)


def test_spans_on_their_way_when_the_command_ends_are_not_lost(workshop: Workshop) -> None:
    text = SENDER + (
        "import socket\n"
        "host, _, path = os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'].removeprefix('http://').partition('/')\n"
        "body = document(span('look', 1), *(span('x' * 9_000, n) for n in range(2, 40)))\n"
        "link = socket.create_connection(host.split(':'))\n"
        "head = f'POST /{path}/v1/traces HTTP/1.1\\r\\nhost: {host}\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n'\n"
        "link.sendall(head.encode() + body)\n"
        "os._exit(0)"
    )
    agent = workshop.load(command(workshop, text))

    assert all(len(trajectory(ask(agent, "x")).calls) == 39 for _ in range(5))


@pytest.mark.parametrize(
    "left",
    [
        "open(f, 'wb').write(document(span('look', 1)) + b'\\n' + document(span('find', 2)))",
        "json.dump([{'role': 'assistant', 'tool_calls': [{'id': i, 'type': 'function', 'function': "
        "{'name': i, 'arguments': '{}'}} for i in ('look', 'find')]}], open(f, 'w'))",
    ],
    ids=["OTLP lines", "messages"],
)
def test_what_is_left_in_the_file_of_spans_is_read(workshop: Workshop, left: str) -> None:
    agent = workshop.load(command(workshop, f"{SENDER}\nf = os.environ['RIGHTCALL_SPANS_FILE']\n{left}"))

    assert trajectory(ask(agent, "x")).names == ("look", "find")


def test_an_answer_may_bring_its_own_spans_and_messages(workshop: Workshop) -> None:
    text = SENDER + (
        "print(json.dumps({'output': 'hi', 'messages': [{'role': 'user'}], "
        "'spans': json.loads(document(span('look', 1)))}))"
    )
    answer = ask(workshop.load(command(workshop, text)), "x")

    assert (answer.output, answer.messages) == ("hi", [{"role": "user"}])
    assert trajectory(answer).names == ("look",)


def test_requests_at_once_get_their_own_spans(workshop: Workshop) -> None:
    text = SENDER + "import time; time.sleep(0.05)\nsend(document(span(f'tool{asked}', 1)))\nprint(asked)"
    agent = load_agent(command(workshop, text), workshop.project, AgentOptions())

    async def all_at_once() -> list[AgentAnswer]:
        requests = [AgentRequest(input=number, case_id=str(number)) for number in range(8)]
        return await asyncio.gather(*(agent.answer(request) for request in requests))  # type: ignore[arg-type]

    answers = asyncio.run(all_at_once())
    agent.close()

    assert [(one.output, trajectory(one).names) for one in answers] == [(n, (f"tool{n}",)) for n in range(8)]


@pytest.mark.parametrize(
    ("text", "complaint", "told"),
    [
        ("import sys; print('so sorry', file=sys.stderr); sys.exit(3)", "ended with exit code 3: so sorry", "so sorry"),
        ("raise SystemExit('Error: no key\\n  at start\\nversion 3')", "exit code 1: Error: no key$", "version 3"),
        ("1 / 0", "exit code 1: ZeroDivisionError: division by zero", "line 1"),
        ("import os; os.abort()", "was killed by SIGABRT", ""),
        ("import sys; sys.stdout.write('x' * 3_000_000)", "wrote more than the 1,000,000 bytes", ""),
        (
            "import os; open(os.environ['RIGHTCALL_SPANS_FILE'], 'w').write('x' * 2_000_000)",
            "the file of spans has 2,000,000 bytes",
            "",
        ),
    ],
)
def test_a_command_that_fails_is_an_error_that_says_how(
    workshop: Workshop, text: str, complaint: str, told: str
) -> None:
    agent = workshop.load(command(workshop, text), max_bytes=1_000_000)

    with pytest.raises(AgentError, match=complaint) as caught:
        ask(agent, "x" * 100_000)

    assert told in caught.value.traceback


def test_a_command_that_reads_nothing_and_complains_a_lot_still_answers(workshop: Workshop) -> None:
    text = "import sys; sys.stdin.close(); sys.stderr.write('x' * 5_000_000); print('fine')"

    assert workshop.output(command(workshop, text), "x" * 5_000_000) == "fine"


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("cmd:", "needs a program"),
        ("cmd:no-such-program-at-all --x", "no program 'no-such-program-at-all' that can be run, in PATH"),
        ("cmd:./missing.sh", "no program './missing.sh' that can be run, here"),
        ("cmd:python 'open", "cannot be split into arguments: No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_run_is_known_before_anything_runs(
    workshop: Workshop, named: str, complaint: str
) -> None:
    with pytest.raises(AgentError, match=complaint):
        workshop.load(named)


FAMILY = """
import os, subprocess, sys, time
sys.stdin.buffer.read(1)  # the request is sent when everything is in place
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open("pids", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename("pids", "family")
"""


def family(workshop: Workshop) -> list[int]:
    file = workshop.project / "family"
    until(file.exists)
    return [int(pid) for pid in file.read_text().split()]


def test_a_timeout_kills_the_command_and_its_children(workshop: Workshop) -> None:
    # A shell, because it has started its child long before the time is over, on a busy machine too.
    workshop.write("program.sh", "sleep 600 & echo $$ $! > pids; mv pids family; wait")
    agent = workshop.load("cmd:sh program.sh", timeout=2.5)

    with pytest.raises(AgentError, match=r"did not answer within 2.5 s"):
        ask(agent, "x")

    assert [gone(pid) for pid in family(workshop)] == [True, True]


def test_a_cancelled_request_kills_the_command_and_its_children(workshop: Workshop) -> None:
    agent = workshop.load(command(workshop, FAMILY + "time.sleep(600)"))

    async def cancel() -> list[int]:
        task = asyncio.ensure_future(agent.answer(AgentRequest(input="x", case_id="c")))  # type: ignore[arg-type]
        pids = await asyncio.to_thread(family, workshop)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        return pids

    assert [gone(pid) for pid in asyncio.run(cancel())] == [True, True]


def test_a_child_that_is_left_behind_is_not_waited_for_and_killed(workshop: Workshop) -> None:
    agent = workshop.load(command(workshop, FAMILY + "print('done')"))

    begun = time.monotonic()
    answer = ask(agent, "x")

    assert answer.output == "done"
    assert time.monotonic() - begun < 300
    assert [gone(pid) for pid in family(workshop)] == [True, True]


def test_a_command_does_not_outlive_a_worker_that_is_killed(workshop: Workshop) -> None:
    named = command(workshop, FAMILY + "time.sleep(600)")
    worker = (
        "import asyncio, sys; from pathlib import Path; from rightcall.running.agents import *\n"
        "agent = load_agent(sys.argv[1], Path(sys.argv[2]), AgentOptions())\n"
        "asyncio.run(agent.answer(AgentRequest(input='x', case_id='c')))"
    )
    process = subprocess.Popen([sys.executable, "-c", worker, named, str(workshop.project)])
    pids = family(workshop)
    process.kill()
    process.wait()

    assert [gone(pid) for pid in pids] == [True, True]


def test_the_answer_is_json_that_any_language_can_read(workshop: Workshop) -> None:
    said = workshop.output(command(workshop, "import sys; print(repr(sys.stdin.buffer.read()))"), "é")

    assert json.loads(eval(said))["input"] == "é"
