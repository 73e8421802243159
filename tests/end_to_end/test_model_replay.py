"""Models recorded by `run --record`, and replayed with the network gone: Python agents, and commands by a proxy."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
PYTHON_AGENT = """
import os
import httpx
from rightcall import tool

@tool
def look(city: str) -> str:
    open("looked", "a").write("x")
    return "sunny"

client = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], headers={"authorization": os.environ["OPENAI_API_KEY"]})

def answer(question, session):
    messages = session.setdefault("messages", [])
    messages += [{"role": "user", "content": question}]
    while True:
        asked = {"model": "gpt", "messages": messages, "tools": [{"name": "look"}]}
        said = client.post("chat/completions", json=asked).raise_for_status().json()["choices"][0]["message"]
        messages.append(said)
        for call in said.get("tool_calls", []):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": look("Rome")})
        if not said.get("tool_calls"):
            return said["content"]
"""
COMMAND = """
import json, os, sys, threading, urllib.request
from concurrent.futures import ThreadPoolExecutor

question = json.load(sys.stdin)["input"]

def ask(text, stream=False):
    asked = {"model": "gpt", "messages": [{"role": "user", "content": text}], "stream": stream}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(asked).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.read().decode()
    except urllib.error.HTTPError as problem:
        return str(problem.code)

with ThreadPoolExecutor(4) as pool:
    parallel = [json.loads(text)["choices"][0]["message"]["content"] for text in pool.map(ask, "abcd")]
said = [ask("busy"), ask("busy"), ask(question, stream=True).count("data:"), "".join(parallel)]
print(json.dumps(said))
"""


NODE_COMMAND = """
import { text } from "node:stream/consumers";

const question = JSON.parse(await text(process.stdin)).input;
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };

async function ask(content, stream) {
  const body = JSON.stringify({ model: "gpt", messages: [{ role: "user", content }], stream });
  return fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
}

const parallel = await Promise.all([..."abcd"].map(async (each) => (await ask(each)).json()));
let streamed = "";
for await (const piece of (await ask(question, true)).body) streamed += new TextDecoder().decode(piece);
const errors = [(await ask("busy")).status, (await ask("busy")).status, (await ask("broken")).status];
const said = parallel.map((each) => each.choices[0].message.content).join("");
console.log(JSON.stringify([...errors, streamed.split("data:").length - 1, said]));
"""


class Upstream(BaseHTTPRequestHandler):
    """A model that calls a tool for the first question, streams when asked to, and is busy once."""

    protocol_version = "HTTP/1.1"
    busy: list[int] = []
    number = [0]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = asked["messages"][-1]
        if last["content"] == "busy" and not self.busy:
            self.busy.append(429)
            self._send(429, "application/json", '{"error": "busy"}')
        elif last["content"] == "broken":
            self._send(500, "text/html", "<html>broken")
        elif last["content"] == "cut":
            self.send_response(200)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b"half of an ans")
            self.close_connection = True
        elif asked.get("stream"):
            self._send(200, "text/event-stream", "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n")
        else:
            self._send(200, "application/json", json.dumps({"choices": [{"message": self._said(last)}]}))

    def _said(self, last: dict[str, Any]) -> dict[str, Any]:
        if last["role"] == "user" and last["content"].endswith("?"):
            self.number[0] += 1
            call = {"id": f"call_{self.number[0]}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            return {"role": "assistant", "tool_calls": [call]}
        return {"role": "assistant", "content": f"{last['content']}!"}

    def _send(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("set-cookie", f"session={KEY}")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def upstream() -> Iterator[dict[str, str]]:
    """A model on loopback, until the block ends; yields the variables that lead to it."""
    Upstream.busy.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1/", "OPENAI_API_KEY": KEY}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def recorded_and_replayed(project: Path, agent: str, times: int = 2) -> tuple[str, list[Any]]:
    """Records a run, replays it with the upstream gone and no key; returns the recording and all results."""
    with upstream() as variables:
        first = rightcall("run", agent, "e.yaml", "--record", "--format", "json=0.json", cwd=project, **variables)
    assert first.returncode == 0, first.stdout + first.stderr
    gone = {"OPENAI_BASE_URL": variables["OPENAI_BASE_URL"]}
    for number in range(1, times + 1):
        done = rightcall("run", agent, "e.yaml", "--replay", "--format", f"json={number}.json", cwd=project, **gone)
        assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads((project / f"{number}.json").read_text())["cases"] for number in range(times + 1)]
    return (project / "e.recording.jsonl").read_text(), results


def without_times(cases: Any) -> Any:
    """Results without what differs between two runs: times, durations and ids of spans."""
    changing = r'"(\w*_ns|\w*_time|seconds|duration|span_id|parent_id|trace_id)": [^,}\]]+'
    return json.loads(re.sub(changing, r'"\1": 0', json.dumps(cases)))


def test_a_python_agent_is_replayed_without_its_model_and_its_tools(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PYTHON_AGENT)
    (tmp_path / "e.yaml").write_text(
        "cases: [{id: a, turns: [{input: 'Weather?', expect: {calls: [look], output: 'sunny!'}}, "
        "{input: Thanks, expect: {calls: [], output: 'Thanks!'}}]}]"
    )

    recording, results = recorded_and_replayed(tmp_path, "agent.py:answer")

    assert (tmp_path / "looked").read_text() == "x"
    assert KEY not in recording
    assert [line.count('"answer"') for line in recording.splitlines()] == [0, 1, 1, 1]
    assert without_times(results[0]) == without_times(results[1]) == without_times(results[2])


def test_a_command_is_replayed_by_a_proxy_with_streams_parallel_requests_and_errors(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(COMMAND)
    (tmp_path / "e.yaml").write_text(
        'cases: [{id: a, input: Hi, expect: {output: ["429", {$contains: "busy!"}, 3, "a!b!c!d!"]}}]'
    )

    recording, results = recorded_and_replayed(tmp_path, "cmd:python3 agent.py")

    assert KEY not in recording
    assert len(recording.splitlines()) == 7
    assert without_times(results[0]) == without_times(results[1]) == without_times(results[2])


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_command_of_node_is_replayed_by_a_proxy_with_streams_parallel_requests_and_errors(tmp_path: Path) -> None:
    (tmp_path / "agent.mjs").write_text(NODE_COMMAND)
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hi, expect: {output: [429, 200, 500, 3, a!b!c!d!]}}]")

    recording, results = recorded_and_replayed(tmp_path, "cmd:node agent.mjs")

    assert KEY not in recording
    assert sorted(re.findall(r'"status": (\d+)', recording)) == ["429", "500"]
    assert without_times(results[0]) == without_times(results[1]) == without_times(results[2])


def test_keys_are_made_up_for_a_command_only_where_a_recording_answers(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(COMMAND + "print(os.environ.get('GOOGLE_API_KEY'), file=open('key', 'w'))")
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hi, expect: {calls: []}}]")

    with upstream() as variables:
        rightcall("run", "cmd:python3 agent.py", "e.yaml", "--record", cwd=tmp_path, GEMINI_API_KEY=KEY, **variables)
    recorded_with = (tmp_path / "key").read_text()
    rightcall("run", "cmd:python3 agent.py", "e.yaml", "--replay", cwd=tmp_path, GEMINI_API_KEY=KEY)

    assert (recorded_with, (tmp_path / "key").read_text()) == ("None\n", "not-needed\n")


def test_an_answer_that_breaks_off_reaches_the_command_as_it_is_and_is_not_kept(tmp_path: Path) -> None:
    ending = """
try:
    print(json.dumps(ask("cut")))
except Exception as problem:
    print(json.dumps(type(problem).__name__))
"""
    (tmp_path / "agent.py").write_text(COMMAND.partition("with ThreadPoolExecutor")[0] + ending)
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hi, expect: {output: IncompleteRead}}]")

    with upstream() as variables:
        done = rightcall(
            "run", "cmd:python3 agent.py", "e.yaml", "--record", "--format", "json", cwd=tmp_path, **variables
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "never retrieved" not in done.stdout + done.stderr
    recording = tmp_path / "e.recording.jsonl"
    assert not recording.exists() or "half of an ans" not in recording.read_text()


def test_a_request_that_is_not_in_the_recording_is_an_error_of_its_case(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PYTHON_AGENT)
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hello, expect: {output: 'Hello!'}}]")
    recorded_and_replayed(tmp_path, "agent.py:answer", times=0)
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hello there, expect: {output: 'Hello!'}}]")

    done = rightcall("run", "agent.py:answer", "e.yaml", "--replay", cwd=tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9")

    assert done.returncode == 2
    assert "RC508 a: the request to 'gpt' is not in the recording of 'a'" in done.stdout
    assert 'messages[0].content: recorded "Hello", now "Hello there"' in done.stdout


def test_pruning_drops_the_cases_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PYTHON_AGENT)
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hello, expect: {output: 'Hello!'}}]")
    (tmp_path / "e.recording.jsonl").write_text('{"case": "old", "tool": "look", "args": {}, "output": 1}\n')

    with upstream() as variables:
        done = rightcall("run", "agent.py:answer", "e.yaml", "--record", "--prune", cwd=tmp_path, **variables)

    assert done.returncode == 0
    assert {json.loads(line)["case"] for line in (tmp_path / "e.recording.jsonl").read_text().splitlines()} == {"a"}


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--prune"], "give --record as well"), (["--live", "model"], "give one of them as well")],
)
def test_options_about_a_recording_need_one(tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "agent.py").write_text("def answer(question): return question")
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: Hello, expect: {output: Hello}}]")

    done = rightcall("run", "agent.py:answer", "e.yaml", *options, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
