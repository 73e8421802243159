"""A large file of realistic traces, made of recorded ones."""

import json
import random
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import rightcall

from .environments import ROOT

_CORPUS = ROOT / "tests" / "data" / "corpus.tar.xz"
_ID = re.compile(r'"(?:traceId|spanId|parentSpanId)": "([0-9a-f]{16,32})"')


def otlp_lines(megabytes: int) -> Path:
    """A file of so many megabytes of OTLP, one recorded run a line, each with ids of its own."""
    path = ROOT / ".bench" / f"traces-{megabytes}.jsonl"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            for line in _lines(megabytes * 1_000_000):
                file.write(line)
        unfinished.rename(path)
    return path


def _lines(size: int) -> Iterator[str]:
    runs, generator, written = _recorded_runs(), random.Random(1), 0
    while written < size:
        for run in runs:
            line = _with_ids_of_its_own(run, generator)
            written += len(line)
            yield line


def _recorded_runs() -> list[str]:
    """Recorded runs whose spans carry arguments and outputs of all their calls."""
    runs: list[str] = []
    with tarfile.open(_CORPUS) as corpus:
        for member in corpus.getmembers():
            file = corpus.extractfile(member) if member.name.endswith("/otlp.json") else None
            if file is not None and _carries_content(content := file.read()):
                runs.append(json.dumps(json.loads(content)) + "\n")
    return runs


def _carries_content(content: bytes) -> bool:
    trajectories = list(rightcall.read(content))
    calls = [call for trajectory in trajectories for call in trajectory.calls]
    return len(trajectories) == 1 and bool(calls) and not any(call.unrecorded for call in calls)


def _with_ids_of_its_own(run: str, generator: random.Random) -> str:
    fresh: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        held = found[1]
        if held not in fresh:
            fresh[held] = f"{generator.getrandbits(4 * len(held)):0{len(held)}x}"
        return found[0].replace(held, fresh[held])

    return _ID.sub(replace, run)
