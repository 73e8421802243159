"""What whole commands cost."""

import json
import subprocess
import sys
import tempfile
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
_STARTER = Path(__file__).with_name("starter.py")


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
    with tempfile.TemporaryDirectory() as place:
        output, report = Path(place, "output"), Path(place, "report")
        with output.open("wb") as file:
            subprocess.run(
                [sys.executable, "-S", "-E", str(_STARTER), str(report), *command],
                cwd=folder,
                env=quiet_environment(),
                stdout=file,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        returned, seconds, elapsed, megabytes = json.loads(report.read_text(encoding="utf-8"))
        printed = output.read_text(encoding="utf-8", errors="replace")
    if returned not in codes:
        raise WorkerError(f"{' '.join(command)[:200]} ended with {returned}")
    return Cost(seconds, elapsed, megabytes, printed)


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
