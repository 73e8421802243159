"""What whole commands cost."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from .environments import ROOT
from .workers import WorkerError


@dataclass(frozen=True)
class Cost:
    """The CPU time of a process, and its peak of memory."""

    seconds: float
    megabytes: float


def cost(command: Sequence[str], *, codes: Sequence[int] = (0,)) -> Cost:
    """The cost of a command, run in the project's folder.

    Raises:
        WorkerError: the command ended with another exit code than those expected.
    """
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise WorkerError(f"{' '.join(command)[:200]} ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
