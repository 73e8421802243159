"""Whole commands in real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def rightcall(
    *arguments: str, cwd: Path | None = None, stdin: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `rightcall` does with these arguments, given a text on standard input."""
    return subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=180,
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def change(file: Path, old: str, new: str) -> None:
    """Put other text in the place of a text that has to be there."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
