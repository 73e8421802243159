"""The recorded runs of `tests/data/corpus.tar.xz`, and the judge of what was read from them."""

from __future__ import annotations

import functools
import json
import tarfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rightcall.values.trajectory import ToolCall

_ARCHIVE = Path(__file__).parent.parent / "data" / "corpus.tar.xz"
_NOT_INPUT = ("expected.json", "limits.json", "otlp_logs.json")
_IN_PARTS = "wire_"


@functools.cache
def recordings() -> dict[str, dict[str, bytes]]:
    """The files of each run, by the name of the run."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(_ARCHIVE) as archive:
        for member in archive:
            run, _, name = member.name.rpartition("/")
            held = archive.extractfile(member)
            if held is not None:
                found.setdefault(run, {})[name] = held.read()
    return found


def names() -> list[str]:
    """The names of the runs."""
    return sorted(recordings())


def inputs(run: str) -> dict[str, bytes]:
    """The files of a run that a reader reads, each by itself."""
    files = recordings()[run]
    return {name: data for name, data in files.items() if name not in _NOT_INPUT and _IN_PARTS not in name}


def expected(run: str, name: str, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """What a file of a run should show. Logs of messages need not have calls made inside other calls."""
    wanted: list[dict[str, Any]] = json.loads(recordings()[run]["expected.json"])["calls"]
    if name == "messages.json" and len(calls) < len(wanted):
        return [call for call in wanted if call["parent"] is None]
    return wanted


def limits(run: str, name: str) -> dict[str, Any]:
    """What a file of a run cannot show."""
    held: dict[str, Any] = json.loads(recordings()[run].get("limits.json", b'{"files": {}}'))["files"]
    found: dict[str, Any] = held.get(name, {})
    return found


def same_sequence(wanted: list[dict[str, Any]], calls: Sequence[ToolCall]) -> bool:
    """Whether the names are the same, in order but for calls asked for at once."""
    if len(wanted) != len(calls):
        return False
    return all(
        sorted(call.name for call in held) == sorted(w["name"] for w in group) for group, held in _pairs(wanted, calls)
    )


def faults(wanted: list[dict[str, Any]], calls: Sequence[ToolCall]) -> list[str]:
    """Every value that is not what happened. A value that was not recorded is no fault."""
    found = []
    for group, held in _pairs(wanted, calls):
        left = list(held)
        for want in group:
            call = _counterpart(want, left)
            left.remove(call)
            found += _faults_of(want, call)
    return found


def _pairs(
    wanted: list[dict[str, Any]], calls: Sequence[ToolCall]
) -> list[tuple[list[dict[str, Any]], list[ToolCall]]]:
    pairs, position = [], 0
    for _, group in groupby(wanted, key=lambda want: want["parallel_group"]):
        together = list(group)
        pairs.append((together, list(calls[position : position + len(together)])))
        position += len(together)
    return pairs


def _counterpart(want: dict[str, Any], calls: list[ToolCall]) -> ToolCall:
    named = [call for call in calls if call.name == want["name"]]
    return next((call for call in named if "args" in call.unrecorded or call.args == want["args"]), named[0])


def _faults_of(want: dict[str, Any], call: ToolCall) -> list[str]:
    found = []
    if "args" not in call.unrecorded and call.args != want["args"]:
        found.append(f"{call.name}: arguments {call.args} instead of {want['args']}")
    if want["error"] is None:
        if call.error is not None or call.suspected_error:
            found.append(f"{call.name}: an error {call.error!r} that never was")
        if "output" not in call.unrecorded and call.output not in (want["output"], _content(want["output"])):
            found.append(f"{call.name}: output {call.output!r} instead of {want['output']!r}")
    return found


def _content(output: Any) -> Any:
    # UiPath's outputs stand for their content.
    return output["content"] if isinstance(output, dict) and "content" in output else output
