"""What the command does with real servers: traces pulled, verdicts pushed twice with a kill in between, many traces."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from rightcall.connect import parse_address, pull

from .processes import NotFoundError, ServerFailedError, asked
from .recordings import Recording, with_resource

PULL = "`rightcall pull`"
MANY = 10_000
_TOGETHER = 100
_A_SECOND = 50
_MOST_MB = 150
_SPANS = 3
"""Spans of each of the many traces."""
_WRONG = "calls: [no_such_tool]"
_SECONDS = 1800


def pulled(address: str, recordings: Sequence[Recording]) -> dict[str, bytes]:
    """What `pull` writes of each recording, which has a project or an experiment of its own."""
    found = {}
    for recording in recordings:
        file = io.BytesIO()
        pull(parse_address(f"{address}/{recording.key}"), file)
        found[recording.name] = file.getvalue()
    return found


def push_twice(address: str, marks: Callable[[], list[str]]) -> str:
    """Push verdicts, kill the command in the middle, and push again: one mark each.

    Args:
        address: The place with the traces of one recording.
        marks: Returns the ids of our marks on the server.
    """
    before = set(marks())
    command = [sys.executable, "-m", "rightcall", "score", address, "--expect", _WRONG, "--push"]
    for seconds in (0.2, 0.4, 0.6, 0.8):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.kill()
        process.wait()
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    held = [each for each in marks() if each not in before]
    if len(held) != len(set(held)) or f"{len(held)} verdicts sent" not in done.stderr:
        raise ServerFailedError(f"{address}: {len(held)} marks, {len(set(held))} different; {done.stderr[-500:]}")
    return f"{address}: {len(held)} marks after four kills and two pushes, each once"


def pull_many(address: str, recording: Recording) -> str:
    """Pull ten thousand traces of a Phoenix while fifty a second are written: none missed, twice or cut."""
    server, copies = parse_address(address), Copies(_shortened(recording))
    first = [copies.send(server.base, server.place) for _ in range(MANY // _TOGETHER)]
    wanted = {trace_id for some in first for trace_id in some}
    _wait_for(server.base, server.place, first[-1])
    stop, later = threading.Event(), list[list[str]]()

    def write() -> None:
        while not stop.wait(_TOGETHER / _A_SECOND):
            later.append(copies.send(server.base, server.place))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    began = time.monotonic()
    try:
        lines, usage = _measured_pull(address)
    finally:
        seconds = time.monotonic() - began
        stop.set()
        writer.join()
    found = [json.loads(line)["data"][0]["trace_id"] for line in lines]
    whole = {len(json.loads(line)["data"]) for line in lines}
    told = (
        f"{address}: {len(found):,} traces pulled in {seconds:.0f} s while {len(later) * _TOGETHER:,} were written; "
        f"{len(wanted - set(found))} missed, {len(found) - len(set(found))} twice, {usage}"
    )
    if len(found) != len(set(found)) or wanted - set(found) or whole != {_SPANS} or usage.megabytes > _MOST_MB:
        raise ServerFailedError(f"{told}; {sorted(whole)} spans a trace, of {_SPANS}")
    return f"{told}, none cut"


@dataclass(frozen=True)
class Usage:
    """What a command took: its memory at the most, and seconds of CPU."""

    megabytes: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.megabytes} MB and {self.seconds:.1f} s of CPU"


def _measured_pull(address: str) -> tuple[list[bytes], Usage]:
    """Return the lines that `rightcall pull` writes, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "many.jsonl"
        command = [sys.executable, "-m", "rightcall", "pull", address, "-o", str(target)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise ServerFailedError(f"{address}: pull ended with {process.returncode}: {said[-500:]}")
        return target.read_bytes().splitlines(), Usage(used.ru_maxrss // 1024, used.ru_utime + used.ru_stime)


class Copies:
    """Copies of one recording, each a trace of its own that begins now. They are cheap: the reader is what is tried."""

    def __init__(self, wire: bytes) -> None:
        self._wire, self._count = wire, 0

    def send(self, base: str, project: str) -> list[str]:
        """Send some copies in one request; return their ids."""
        whole, ids = TracesData(), []
        for _ in range(_TOGETHER):
            document = TracesData.FromString(self._wire)
            spans = [span for each in document.resource_spans for scope in each.scope_spans for span in scope.spans]
            trace = hashlib.sha256(f"{self._count}".encode()).digest()[:16]
            self._count += 1
            shift = time.time_ns() - min(span.start_time_unix_nano for span in spans)
            for span in spans:
                _renew(span, trace, shift)
            whole.resource_spans.extend(document.resource_spans)
            ids.append(trace.hex())
        wire = with_resource(whole.SerializeToString(), "openinference.project.name", project)
        _take(f"{base}/v1/traces", wire)
        return ids


def _shortened(recording: Recording) -> bytes:
    """Return a recording with its first spans only: it takes a server minutes to keep ten thousand whole ones."""
    document = TracesData.FromString(recording.wire)
    left = _SPANS
    for scope in [scope for each in document.resource_spans for scope in each.scope_spans]:
        del scope.spans[left:]
        left -= len(scope.spans)
    return bytes(document.SerializeToString())


def _take(address: str, wire: bytes) -> None:
    """Send spans until the server takes them: it refuses some while it is busy keeping others."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            asked(address, wire, content_type="application/x-protobuf")
        except ServerFailedError:
            if time.monotonic() > end:
                raise
            time.sleep(1)
        else:
            return


def _renew(span: Any, trace: bytes, shift: int) -> None:
    span.trace_id = trace
    span.span_id = hashlib.sha256(trace + span.span_id).digest()[:8]
    if span.parent_span_id:
        span.parent_span_id = hashlib.sha256(trace + span.parent_span_id).digest()[:8]
    span.start_time_unix_nano += shift
    span.end_time_unix_nano += shift


def _wait_for(base: str, project: str, trace_ids: Sequence[str]) -> None:
    """Wait until a Phoenix has these traces: it keeps them some time after it took them, in the order they came."""
    wanted = "&".join([f"trace_id={each}" for each in trace_ids])
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        try:
            held = json.loads(asked(f"{base}/v1/projects/{project}/spans?limit=1000&{wanted}"))["data"]
        except NotFoundError:  # the project is made with its first trace
            held = []
        if len(held) == _SPANS * len(trace_ids):
            return
        time.sleep(5)
    raise ServerFailedError(f"{project} does not have the traces that it took {_SECONDS} s ago")
