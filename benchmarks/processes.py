"""What whole commands cost."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .environments import ROOT, quiet_environment
from .table import Line, under
from .workers import WorkerError

# What a yardstick costs on the machine that measures, for limits that were set where it cost this.
_YARDSTICK = "from pydantic import BaseModel"
_YARDSTICK_SECONDS = 0.14


@dataclass(frozen=True)
class Cost:
    """The CPU time of a process and its children, the time that passed, its peak of memory, what it printed."""

    seconds: float
    elapsed: float
    megabytes: float
    output: str


def cost(command: Sequence[str], *, codes: Sequence[int] = (0,), folder: Path = ROOT) -> Cost:
    """The cost of a command, run in the project's folder, or in another.

    Raises:
        WorkerError: the command ended with another exit code than those expected.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        with subprocess.Popen(
            command, cwd=folder, env=quiet_environment(), stdout=output, stderr=subprocess.DEVNULL
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        elapsed = time.perf_counter() - start
        if process.returncode not in codes:
            raise WorkerError(f"{' '.join(command)[:200]} ended with {process.returncode}")
        output.seek(0)
        printed = output.read().decode(errors="replace")
    return Cost(usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / 1024, printed)


def beside_yardstick(name: str, limit: float, command: Sequence[str], code: int, rounds: int) -> Line:
    """The CPU time of a command above bare Python, scaled by what the yardstick costs in the same rounds.

    Raises:
        WorkerError: the command ended with another exit code.
    """
    bare, yardstick = [sys.executable, "-c", "pass"], [sys.executable, "-c", _YARDSTICK]
    cost(command, codes=[code])
    runs = [(cost(bare).seconds, cost(yardstick).seconds, cost(command, codes=[code]).seconds) for _ in range(rounds)]
    start, imported, ended = (median(times) for times in zip(*runs, strict=True))
    scaled = (ended - start) * _YARDSTICK_SECONDS / (imported - start)
    return under(f"{name}, where importing pydantic's models takes {_YARDSTICK_SECONDS} s", None, scaled, limit)
