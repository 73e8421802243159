"""Whole commands in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def rightcall(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `rightcall` does with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
