"""What goes wrong, on a terminal of eighty columns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="there are no such terminals here")


def test_an_error_is_broken_between_words_on_a_terminal_only(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rightcall", "explain", "RC1 " + "known words " * 12]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80"}

    subprocess.run(command, stderr=theirs, env=environment, cwd=tmp_path, check=False)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode().splitlines()
    os.close(ours)
    piped = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path, check=False)

    assert len(shown) > 1
    assert max(map(len, shown)) <= 80
    assert " ".join(shown).split() == piped.stderr.split()
    assert piped.stderr.count("\n") == 1
