"""Recordings that are kept as fixtures of the one test command."""

from __future__ import annotations

import getpass
import json
import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from benchmarks.environments import folder

from .abilities import RECORDING
from .cells import FILES, ROOT
from .matrix import FRAMEWORKS

KEPT = ROOT / "tests" / "data" / "frameworks"
VERSIONS = KEPT / "versions.json"


def keep(recorded: Path, keys: Sequence[str]) -> None:
    """Copy what was recorded of these frameworks, without what tells of the machine it was recorded on.

    Raises:
        ValueError: something of this machine is left.
    """
    for key in keys:
        target = KEPT / key
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in FILES:
            text = _neutral((recorded / key / f"{name}.json").read_text("utf-8"))
            (target / f"{name}.json").write_text(json.dumps(json.loads(text), ensure_ascii=False) + "\n", "utf-8")
        recording = recorded / key / "abilities" / RECORDING
        if recording.exists():
            shutil.copy(recording, target / RECORDING)
    versions = {framework.key: framework.version for framework in FRAMEWORKS if (KEPT / framework.key).exists()}
    VERSIONS.write_text(json.dumps(versions, indent=2) + "\n", "utf-8")


def _neutral(text: str) -> str:
    # Tracebacks name the files of the environment and of Python.
    text = re.sub(r"(?:/[\w.+-]+)+(?=/(?:site-packages|lib/python3\.\d+)/)", "", text)
    text = text.replace(str(ROOT), "/project")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    text = re.sub(r'("server\.port", "value": \{"intValue": )"\d+"', r'\1"8080"', text)
    for told in (str(folder()), str(Path.home()), socket.gethostname(), f'"{getpass.getuser()}"'):
        if len(told) > 3 and told in text:
            raise ValueError(f"the recording has {told} in it")
    return text
