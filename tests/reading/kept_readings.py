"""What is read from every recording, as it is and with something lost or changed in it, and from altered logs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from random import Random
from typing import Any

import msgspec
from tests.cases.verdicts.removal_search import losses_in_log, losses_in_spans, sources
from tests.reading.altered import ALTERED
from tests.reading.changes import spans, written
from tests.reading.differential import CHANGES
from tests.snapshots import digest

from rightcall import RightcallError, Trajectory, read
from rightcall.limits import KEEPING_MESSAGES

FILE = "readings.txt"
_LOSSES = 4
_CHANGES = 6

Make = Callable[[], Any]


@cache
def groups() -> list[str]:
    """What inputs are grouped by: the first part of their names, which of recordings says the framework."""
    return sorted({*ALTERED, *[name.partition("/")[0] for name in sources()]})


def outcomes(group: str) -> dict[str, str]:
    """A line for each input of a group."""
    return {name: _line(source) for name, source in _inputs_of(group)}


def _inputs_of(group: str) -> Iterator[tuple[str, bytes]]:
    if group in ALTERED:
        yield from ((f"{group}/{name}", source) for name, source in ALTERED[group]())
    for name, data in sources().items():
        if name.partition("/")[0] == group:
            yield from _inputs(name, data)


def _inputs(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """A recording, and some things that may become of it, always the same ones."""
    yield name, data
    document = json.loads(data)
    is_trace = isinstance(document, dict) and "resourceSpans" in document
    # Each has a chance of its own: another way to lose something leaves the others as they are.
    losses = list((losses_in_spans if is_trace else losses_in_log)(document, set(), Random(name)))
    chosen = Random(f"{name} losses").sample(losses, min(_LOSSES, len(losses)))
    chosen += _changes(document, name) if is_trace else []
    for kind, make in sorted(chosen, key=lambda each: each[0]):
        yield f"{name} {kind}", written(make())


def _changes(document: Any, name: str) -> list[tuple[str, Make]]:
    chosen = Random(f"{name} changes").sample(CHANGES, _CHANGES)
    return [(change.__name__[1:], partial(_changed, document, change)) for change in chosen]


def _changed(document: Any, change: Callable[..., None]) -> Any:
    made, random = copy.deepcopy(document), Random(change.__name__)
    change(made, random.choice(spans(made)), random)
    return made


def _line(source: bytes) -> str:
    try:
        runs = list(read(source, limits=KEEPING_MESSAGES))
    except RightcallError as problem:
        return f"{digest(str(problem).encode())} {type(problem).__name__}"
    everything = msgspec.json.encode(runs, order="deterministic")
    return f"{digest(everything)} {'; '.join([words(run) for run in runs[:4]])}"


def words(run: Trajectory) -> str:
    """The calls of a run, those asked for at once in brackets, and what is not known of it."""
    words: list[str] = []
    for place, call in enumerate(run.calls):
        is_inside = place > 0 and call.group is not None and call.group == run.calls[place - 1].group
        words.append(f"={call.name}" if is_inside else f"{' ' if place else ''}{call.name}")
    turns = 1 + max([call.turn or 0 for call in run.calls], default=0)
    notes = [f"{turns} turns" if turns > 1 else "", "" if run.calls_recorded else "calls unknown"]
    notes += [f"{len(run.withheld)} withheld" if run.withheld else "", "order unknown" if run.unordered else ""]
    return ", ".join(["".join(words) or "no calls", *[note for note in notes if note]])
