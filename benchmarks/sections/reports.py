"""What is printed and written of one case of 10,000 calls, as whole processes."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.processes import beside_yardstick
from benchmarks.rounds import Pace
from benchmarks.table import Line
from benchmarks.workers import Workers

_CALLS = 10_000
_SECONDS = 1.0


def reports(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """`show`, and `score` in three formats; one call is not as expected, and there are no secrets."""
    del workers
    for name in ("show", "full", "json", "html"):
        yield partial(_report, name, pace.slow_rounds)


def _report(name: str, rounds: int) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        trace, expected = _written(Path(folder))
        command = ["show", trace] if name == "show" else ["score", trace, "--evalset", expected, "--format"]
        form = {"show": [], "html": [f"html={folder}/report.html"]}.get(name, [name])
        whole = [sys.executable, "-m", "rightcall", *command, *form]
        code = 0 if name == "show" else 1
        yield beside_yardstick(f"{name} of {_CALLS:,} calls", _SECONDS, whole, code, max(3, rounds))


def _written(folder: Path) -> tuple[str, str]:
    """A trace, and an eval set that expects all of it but one argument."""
    trace, expected = folder / "trace.json", folder / "expected.json"
    spans = [_span(number) for number in range(_CALLS)]
    trace.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "bench"}, "spans": spans}]}]}))
    calls = [{"name": f"tool_{number % 5}", "args": {"city": f"c{number}"}} for number in range(_CALLS)]
    calls[_CALLS // 2]["args"] = {"city": "elsewhere"}
    expected.write_text(json.dumps({"cases": [{"id": "long", "input": "x", "expect": {"calls": calls}}]}))
    return str(trace), str(expected)


def _span(number: int) -> dict[str, Any]:
    start = 10**18 + number * 10**6
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": f"tool_{number % 5}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500),
        "attributes": _attributes(
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", f"tool_{number % 5}"),
            ("gen_ai.tool.call.arguments", json.dumps({"city": f"c{number}", "n": number})),
            ("gen_ai.tool.call.result", json.dumps({"t": number, "note": "sunny"})),
        ),
    }


def _attributes(*pairs: Sequence[str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in pairs]
