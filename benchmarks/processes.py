"""What whole commands cost."""

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .environments import ROOT, quiet_environment
from .workers import WorkerError


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
