"""What the command does with real servers: traces pulled, verdicts pushed twice with a kill in between, many traces."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from rightcall.connect import opened_server, parse_address, pull
from rightcall.errors import TraceServerError

from .processes import ServerFailedError, asked
from .recordings import Recording, with_resource

PULL = "`rightcall pull`"
MANY = 10_000
_TOGETHER = 100
_A_SECOND = 50
_MOST_MB = 150
_WRONG = "calls: [no_such_tool]"
_SECONDS = 600


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
    server = parse_address(address)
    first = [_sent(server.base, server.place, recording, number) for number in range(MANY // _TOGETHER)]
    wanted = {trace_id for some in first for trace_id in some}
    _wait_for(server.base, server.place, len(wanted))
    stop = threading.Event()
    later: list[list[str]] = []

    def write() -> None:
        while not stop.wait(_TOGETHER / _A_SECOND):
            later.append(_sent(server.base, server.place, recording, MANY + len(later)))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "many.jsonl"
        code = (
            "import resource, sys; from rightcall.cli import main\n"
            f"sys.argv = ['rightcall', 'pull', {address!r}, '-o', {str(target)!r}]\n"
            "try:\n    main()\n"
            "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
        )
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        seconds = time.monotonic() - began
        stop.set()
        writer.join()
        lines = target.read_bytes().splitlines()
    found = [json.loads(line)["data"][0]["trace_id"] for line in lines]
    whole = {len(json.loads(line)["data"]) for line in lines}
    memory = int(done.stdout.split()[-1])
    if len(found) != len(set(found)) or wanted - set(found) or whole != {recording.spans} or memory > _MOST_MB:
        raise ServerFailedError(
            f"{address}: {len(found)} traces pulled, {len(found) - len(set(found))} twice, {len(wanted - set(found))} "
            f"missing, {sorted(whole)} spans, {memory} MB; {done.stderr[-500:]}"
        )
    return (
        f"{address}: {len(found):,} traces in {seconds:.0f} s while {len(later) * _TOGETHER:,} were written; none "
        f"missed, none twice, none cut, {memory} MB"
    )


def _sent(base: str, project: str, recording: Recording, number: int) -> list[str]:
    """Send some copies of a recording, as traces of now; return their ids."""
    whole, ids = TracesData(), []
    for copy in range(_TOGETHER):
        document = TracesData.FromString(recording.wire)
        spans = [span for each in document.resource_spans for scope in each.scope_spans for span in scope.spans]
        trace = hashlib.sha256(f"{number} {copy}".encode()).digest()[:16]
        shift = time.time_ns() - min(span.start_time_unix_nano for span in spans)
        for span in spans:
            _renew(span, trace, shift)
        whole.resource_spans.extend(document.resource_spans)
        ids.append(trace.hex())
    wire = with_resource(whole.SerializeToString(), "openinference.project.name", project)
    _take(f"{base}/v1/traces", wire)
    return ids


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


def _wait_for(base: str, project: str, count: int) -> None:
    """Wait until a Phoenix has this many traces: it keeps them some time after it took them."""
    server = parse_address(f"phoenix+{base}/{project}")
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        try:
            with opened_server(server) as opened:
                if len(opened.trace_ids(server.query)) >= count:
                    return
        except TraceServerError:
            pass  # the project is made with its first trace
        time.sleep(2)
    raise ServerFailedError(f"{project} does not have {count} traces")
