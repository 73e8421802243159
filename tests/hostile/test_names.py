"""Ids and names from strangers are never paths: nothing is made or opened by them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.hostile import corpus
from tests.processes import rightcall

from rightcall.cli._output import FORMATS

NAMES = [name for name in corpus.NAMES if name]
AGENT = """
from rightcall import tool

def answer(name: str) -> str:
    tool(name)(lambda: name)()
    return name
"""
WATCHER = """
import os, sys
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

def watch(event, arguments):
    if event in {events!r} and arguments and isinstance(arguments[0], (str, bytes, os.PathLike)):
        name = os.fsencode(os.path.abspath(os.fspath(arguments[0])))
        os.write(log, event.encode() + b" " + name.replace(b"\\n", b"?") + b"\\n")

sys.addaudithook(watch)
"""
FILES = {"cases.jsonl", "run.json", "spans.jsonl"}
EVENTS = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.scandir", "os.listdir")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a" / "b" / "project"
    folder.mkdir(parents=True)
    (folder / "symlink").symlink_to(tmp_path / "a")
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    cases = [{"id": name, "input": name, "expect": {"calls": [name]}} for name in NAMES if "*" not in name]
    (folder / "names.json").write_text(json.dumps({"cases": cases}), encoding="ascii")
    return folder


def paths_touched(log: Path) -> set[str]:
    """What was opened, made or removed."""
    return {os.fsdecode(line.split(b" ", 1)[1]) for line in log.read_bytes().splitlines()}


def paths_meant(*folders: Path) -> set[str]:
    """What the names would mean as paths, but for folders that are there anyway and files of a run."""
    meant = {os.path.abspath(folder / name.replace("\0", "")) for folder in folders for name in NAMES}
    known = {str(each) for folder in folders for each in (folder, *folder.parents)}
    return meant - known - {str(folder / name) for folder in folders for name in (".rightcall", *FILES)}


def test_nothing_is_touched_by_a_name_that_a_stranger_gave(project: Path, tmp_path: Path) -> None:
    log, hooks = tmp_path / "log", tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(WATCHER.format(log=str(log), events=EVENTS), encoding="utf-8")
    before = set(tmp_path.rglob("*"))
    formats = [f"--format={name}={name}.txt" for name in FORMATS]

    done = rightcall(
        "run", "agent.py:answer", "names.json", *formats, cwd=project, PYTHONPATH=f"{hooks}:{':'.join(sys.path)}"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    made = {path for path in set(tmp_path.rglob("*")) - before if "__pycache__" not in path.parts}
    inside = {path for path in made if project in path.parents}
    assert made - inside == {log}
    written = {f"{name}.txt" for name in FORMATS}
    assert {path.name for path in inside if path.parent == project} == {".rightcall", *written}
    [run] = (project / ".rightcall" / "runs").iterdir()
    assert {path.name for path in run.iterdir()} == FILES
    touched = paths_touched(log)
    assert str(run / "cases.jsonl") in touched
    assert touched & paths_meant(project, run, run.parent, Path.home(), Path("/")) == set()
