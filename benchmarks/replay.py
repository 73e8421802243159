"""What a replay costs: 200 cases from a recording, against the same agent with mocked tools and a function for a model.

    python -m benchmarks.replay

Both are whole commands with one worker, measured in CPU seconds of the command and all it started, in turns, so that a
busy machine slows both. The bar is 1.5.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

CASES, ROUNDS, BAR = 200, 5, 1.5
AGENT = """
import httpx
from rightcall import tool

@tool
def look(city: str) -> str:
    return "sunny"

client = httpx.Client(base_url="http://127.0.0.1:9/v1/")  # where nothing listens

def recorded(messages):
    asked = {"model": "gpt", "messages": messages, "tools": [{"name": "look"}]}
    return client.post("chat/completions", json=asked).json()["choices"][0]["message"]

def function(messages):
    last = messages[-1]
    if last["role"] == "user":
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        return {"role": "assistant", "tool_calls": [call]}
    return {"role": "assistant", "content": last["content"] + "!"}

def loop(question, model):
    messages = [{"role": "user", "content": question}]
    while True:
        said = model(messages)
        messages.append(said)
        for call in said.get("tool_calls", []):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": look("Rome")})
        if not said.get("tool_calls"):
            return said["content"]

def replayed(question):
    return loop(question, recorded)

def mocked(question):
    return loop(question, function)
"""


def main() -> int:
    """Measures both, prints the ratio, and gives 1 if it is above the bar."""
    with tempfile.TemporaryDirectory(prefix="rightcall-replay-") as held:
        folder = Path(held)
        _write(folder)
        ratios = []
        for _ in range(ROUNDS):
            mocked = _seconds(folder, "agent.py:mocked", "mocked.json")
            ratios.append(_seconds(folder, "agent.py:replayed", "replayed.json", "--replay") / mocked)
    ratio = median(ratios)
    print(f"replayed / mocked: {ratio:.2f} of CPU (of {ROUNDS} rounds; {CASES} cases; bar {BAR})")
    return int(ratio > BAR)


def _write(folder: Path) -> None:
    (folder / "agent.py").write_text(AGENT, "utf-8")
    expect = {"calls": ["look"], "output": "sunny!"}
    cases = [{"id": f"c{number}", "input": f"q{number}?", "expect": expect} for number in range(CASES)]
    (folder / "replayed.json").write_text(json.dumps({"cases": cases}), "utf-8")
    mocks = {"look": {"returns": "sunny"}}
    (folder / "mocked.json").write_text(json.dumps({"cases": [{**case, "mocks": mocks} for case in cases]}), "utf-8")
    lines = [json.dumps(line) for case in cases for line in _recorded(case["id"], case["input"])]
    (folder / "replayed.recording.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _recorded(case: object, question: object) -> list[object]:
    """What `run --record` keeps of a case: a call of the tool, and two requests to the model."""
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    plain = {"type": "function", "function": call["function"]}
    asked = {"role": "user", "content": question}
    said = ({"role": "assistant", "tool_calls": [call]}, {"role": "assistant", "content": "sunny!"})
    answered = [{"role": "assistant", "tool_calls": [plain]}, {"role": "tool", "content": "sunny"}]
    head = {"api": "openai.chat", "model": "gpt", "tools": [{"name": "look"}], "stream": False}
    bodies = [{"body": {"choices": [{"message": each}]}} for each in said]
    return [
        {"case": case, "tool": "look", "args": {"city": "Rome"}, "output": "sunny"},
        {"case": case, "request": {**head, "messages": [asked]}, "answer": bodies[0]},
        {"case": case, "request": {**head, "messages": [asked, *answered]}, "answer": bodies[1]},
    ]


def _seconds(folder: Path, agent: str, evalset: str, *options: str) -> float:
    """The CPU seconds of a command, with those of its workers, which it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "rightcall", "run", agent, evalset, "--workers", "1", *options]
    subprocess.run(command, cwd=folder, env=dict(os.environ), check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    raise SystemExit(main())
