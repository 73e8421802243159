"""What one command does, counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def test_one_trace_loads_its_eval_set_once_and_is_read_once_and_no_result_is_decoded() -> None:
    trip = ROOT / "docs" / "examples" / "trip.json"
    done = subprocess.run(
        [sys.executable, "tools/walk.py", "score", str(trip), "--evalset", str(trip.with_suffix(".yaml"))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE,
    )

    assert "RC105" in done.stderr
    assert [line for line in done.stdout.splitlines() if ":" in line] == [
        "load_eval_set: 1 times",
        "parse_eval_set: 0 times",
        "Reading.read: 1 times",
        "CaseResult.from_json: 0 times",
    ]
