"""pytest sessions in projects made for a test, in other processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import projects
from tests.forking import Command, fork_server, starts_alike
from tests.processes import WORKER, as_text, started
from tests.waiting import PATIENCE

_OPTIONS = ("-W", "error", "-p", "no:hypothesispytest")
_LOADED = (str(Path(__file__).with_name("preload.py")), "yaml", "jinja2")

AGENT = """
import os, time
from rightcall import tool

@tool
def search(query: str) -> list[str]:
    return [query.upper()]

@tool
def book(id: int) -> str:
    return "ok"

def answer(query: str) -> str:
    print("asked for", query)
    if query == "crash":
        os._exit(7)
    if query == "hang":
        time.sleep(60)
    if query == "raise":
        raise ValueError("no such thing")
    [found] = search(query)
    if query == "phone":
        book(7)
    return f"found {found}"
"""
SHOP = """\
agent: agent.py:answer
defaults: {timeout: 5}
cases:
  - id: laptop
    tags: [smoke, skip, "area:x"]
    input: {query: laptop}
    expect: {calls: [{search: {query: laptop}}], output: found LAPTOP}
  - id: phone
    tags: [smoke]
    input: {query: phone}
    expect:
      calls:
        - search: {query: tablet}
        - book: {id: 7}
        - pay
  - id: crash
    input: {query: crash}
    expect: {calls: [search]}
  - id: raise
    input: {query: raise}
    expect: {calls: [search]}
  - id: nothing
    input: {query: x}
"""


def make_project(folder: Path, **files: str) -> Path:
    """A project with an agent and an eval set, and whatever else is given: `test_it` is `test_it.py`."""
    texts = {"agent.py": AGENT, "rightcall.toml": "", "evals/shop.yaml": SHOP}
    return projects.make_project(folder, texts | {f"{name}.py": text for name, text in files.items()})


def session(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What pytest does with these arguments, with the plugin installed as its users have it."""
    complete = _environment(folder, environment)
    if not starts_alike(complete, but=frozenset({"PYTHONPATH"})):
        return true_session(folder, *arguments, **environment)
    path = tuple(complete["PYTHONPATH"].split(os.pathsep))
    command = Command("pytest", (*_OPTIONS, *arguments), str(folder), complete, path, forked=WORKER)
    return as_text(fork_server(_LOADED).run(command, None, PATIENCE))


def true_session(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in an interpreter that is started for it."""
    return as_text(started("pytest", (*_OPTIONS, *arguments), folder, _environment(folder, environment)))


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How many tests came out in which way, by the last line."""
    last = done.stdout.rstrip().splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last.partition(" in ")[0])}


def failures(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What the short summary says of each test that failed."""
    lines = re.findall(r"^(?:FAILED|ERROR) (\S+) - (.*)$", done.stdout, re.MULTILINE)
    return dict(lines)


def error_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines that pytest puts an E before, without it."""
    return [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E ")]


def runs_in(folder: Path, below: str = ".rightcall/runs") -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The header and the results of each run that a session left."""
    return [
        (
            json.loads((run / "run.json").read_text()),
            [json.loads(line) for line in (run / "cases.jsonl").read_text().splitlines()],
        )
        for run in sorted((folder / below).iterdir())
    ]


def _environment(folder: Path, more: dict[str, str]) -> dict[str, str]:
    """Ours, with the entry point of the plugin, whether or not Rightcall is installed here with it."""
    entry = folder / ".installed" / "rightcall_entry-0.dist-info"
    entry.mkdir(parents=True, exist_ok=True)
    (entry / "METADATA").write_text("Metadata-Version: 2.1\nName: rightcall-entry\nVersion: 0\n")
    (entry / "entry_points.txt").write_text("[pytest11]\nrightcall = rightcall.testing.pytest_plugin\n")
    path = os.pathsep.join([str(entry.parent), *filter(None, sys.path)])
    kept = {key: value for key, value in os.environ.items() if key not in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS")}
    plain = {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120", "NO_COLOR": "1"}
    return {**kept, **plain, **more}
