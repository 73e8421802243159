"""Large files of realistic traces, made of recorded ones."""

import heapq
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from .environments import ROOT
from .recordings import Copies, recordings

Layout = Literal["runs", "windows", "spread"]
"""One run a line; or one span a line, in any order within a window or within the whole file."""

_WINDOW = 5_000


@dataclass(frozen=True)
class TraceFile:
    """A file of traces, and how much is in it."""

    path: str
    bytes: int
    runs: int
    calls: int

    @property
    def bytes_per_call(self) -> float:
        return self.bytes / self.calls


def otlp_lines(megabytes: int, layout: Layout = "runs") -> TraceFile:
    """A file of OTLP lines, made of so many megabytes of recorded runs, each with ids of its own.

    Every recording fills the same share of the bytes, so that each framework is in it and those which write most
    for a call are rarest. That makes about 6 kB a call.
    """
    path = ROOT / ".bench" / f"{layout}-{megabytes}.jsonl"
    facts = path.with_suffix(".json")
    if not facts.exists():
        path.parent.mkdir(exist_ok=True)
        # Written last, so that a file that was interrupted is not taken for a whole one.
        facts.write_text(json.dumps(asdict(_write(path, megabytes * 1_000_000, layout))))
    return TraceFile(**json.loads(facts.read_text()))


def _write(path: Path, size: int, layout: Layout) -> TraceFile:
    generator, runs, calls, starts = random.Random(1), 0, 0, [0]
    with path.open("wb") as file:
        for line, made in _copied_runs(size, generator):
            runs, calls = runs + 1, calls + made
            for written in [line.encode()] if layout == "runs" else _spans(line):
                starts.append(starts[-1] + file.write(written))
    if layout != "runs":
        _shuffle(path, starts, _WINDOW if layout == "windows" else len(starts), generator)
    return TraceFile(str(path), starts[-1], runs, calls)


def _copied_runs(size: int, generator: random.Random) -> Iterator[tuple[str, int]]:
    """Runs and how many calls each has; always of the recording that has had the fewest bytes so far."""
    found = recordings()
    generator.shuffle(found)
    kinds = [(Copies(recording.document, generator), len(recording.calls)) for recording in found]
    sources = [iter(copies) for copies, _ in kinds]
    waiting, written = [(0, kind) for kind in range(len(kinds))], 0
    while written < size:
        taken, kind = waiting[0]
        copies, calls = kinds[kind]
        heapq.heapreplace(waiting, (taken + copies.size, kind))
        written += copies.size
        yield next(sources[kind]), calls


def _spans(line: str) -> Iterator[bytes]:
    for resource in json.loads(line)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                alone = {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}
                yield json.dumps(alone).encode() + b"\n"


def _shuffle(path: Path, starts: list[int], window: int, generator: random.Random) -> None:
    """Put lines into another order, holding none of them: our own memory would count as that of children."""
    shuffled = path.with_suffix(".part")
    lines = range(len(starts) - 1)
    with path.open("rb") as file, shuffled.open("wb") as target:
        for first in lines[::window]:
            order = list(lines[first : first + window])
            generator.shuffle(order)
            _copy(file, target, ((starts[line], starts[line + 1]) for line in order))
    shuffled.replace(path)


def _copy(file: BinaryIO, target: BinaryIO, ranges: Iterable[tuple[int, int]]) -> None:
    for start, end in ranges:
        file.seek(start)
        target.write(file.read(end - start))
