"""A quick look at runs: what their files say at first sight, without the store, whose imports take half a second.

What cannot be read is left out; commands that open a run say what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_NAME = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}")
_LINE = re.compile(rb'\{"digest": "[^"]*", "case_id": ("(?:[^"\\]|\\.)*"), "repeat": (\d+), "verdict": "(\w+)"')
_MOST_BYTES = 8 << 20
_MOST_HEADERS = 50
_MOST_TOLD = 5
_MOST_CHECKED = 256 << 20


class Glance(NamedTuple):
    """A run at first sight."""

    folder: Path
    id: str
    evalset: str
    started: str
    is_finished: bool
    totals: dict[str, int]
    branch: str | None
    seal: tuple[int, str] | None = None
    """How long the journal is that the run has written, and its hash."""


class Case(NamedTuple):
    """A case of a run that did not pass, with the first thing that is wrong with it."""

    id: str
    verdict: str
    message: str


def glances(runs: Path) -> Iterator[Glance]:
    """The newest runs, the last one first; at most 50."""
    try:
        names = sorted([entry.name for entry in runs.iterdir() if _NAME.fullmatch(entry.name)], reverse=True)
    except OSError:
        return
    for name in names[:_MOST_HEADERS]:
        header = _header(runs / name)
        if header is not None:
            yield header


def verdicts_of(run: Glance) -> dict[str, str]:
    """The verdict of each case, the worst of its repeats, as far as the first megabytes of the journal tell."""
    latest: dict[tuple[str, int], str] = {}
    for _, case_id, repeat, verdict in _lines(run):
        latest[case_id, repeat] = verdict
    found: dict[str, str] = {}
    for (case_id, _), verdict in latest.items():
        found[case_id] = verdict if found.get(case_id, "passed") == "passed" else found[case_id]
    return found


def is_changed(run: Glance) -> bool:
    """Whether another program has changed the journal since the run wrote it; a very large one is not looked at."""
    if run.seal is None or run.seal[0] > _MOST_CHECKED:
        return False
    import hashlib

    left, found = run.seal[0], hashlib.sha256()
    try:
        with (run.folder / "cases.jsonl").open("rb") as file:
            while left and (piece := file.read(min(left, 1 << 20))):
                found.update(piece)
                left -= len(piece)
            return bool(left or found.hexdigest() != run.seal[1] or (run.is_finished and file.read(1)))
    except OSError:
        return run.seal[0] > 0


def troubles_of(run: Glance) -> list[Case]:
    """The first few cases that did not pass."""
    bad = {case_id for case_id, verdict in verdicts_of(run).items() if verdict != "passed"}
    told: dict[str, Case] = {}
    for line, case_id, _, verdict in _lines(run):
        if case_id in bad and verdict != "passed" and (case_id in told or len(told) < _MOST_TOLD):
            told[case_id] = Case(case_id, verdict, _message(line))
    return list(told.values())


def _header(folder: Path) -> Glance | None:
    try:
        fields = json.loads((folder / "run.json").read_bytes()[:_MOST_BYTES])
        totals = {str(name): int(count) for name, count in (fields.get("totals") or {}).items()}
        named = {name: str(fields[name]) for name in ("id", "evalset", "started")}
        branch = fields.get("branch")
        seal = fields.get("journal")
        seal = None if seal is None else (int(seal["length"]), str(seal["sha256"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Glance(
        folder=folder,
        id=named["id"],
        evalset=named["evalset"],
        started=named["started"],
        is_finished=fields.get("finished") is not None,
        totals=totals,
        branch=branch if isinstance(branch, str) else None,
        seal=seal,
    )


def _lines(run: Glance) -> Iterator[tuple[bytes, str, int, str]]:
    """Whole lines of a journal that count, with what each begins with: the case, the repeat, the verdict."""
    most = _MOST_BYTES if run.seal is None else min(run.seal[0], _MOST_BYTES)
    try:
        with (run.folder / "cases.jsonl").open("rb") as file:
            data = file.read(most)
    except OSError:
        return
    for line in data.splitlines(keepends=True):
        found = _LINE.match(line)
        if found is not None and line.endswith(b"\n"):
            yield line, _text(found[1]), int(found[2]), found[3].decode()


def _text(written: bytes) -> str:
    try:
        return str(json.loads(written))
    except ValueError:
        return written.decode("utf-8", "replace")


def _message(line: bytes) -> str:
    try:
        fields: Any = json.loads(line)
        return str(fields["findings"][0]["finding"]["message"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
