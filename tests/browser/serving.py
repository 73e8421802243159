"""The real `rightcall view`, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE


class Viewer:
    """`rightcall view` over a folder of runs, on a free port."""

    def __init__(self, runs: Path, cwd: Path | None = None) -> None:
        command = [sys.executable, "-m", "rightcall", "view", str(runs), "--port", "0", "--no-open"]
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said.startswith("http://127.0.0.1:"), "the viewer did not start"
        self.url = said.split()[0].rstrip("/")

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)
