"""Ends what a run has left behind, also when the runner itself was killed.

The guard of a run is this file, run as a program of its own that waits for the runner: standard library only, so that
it starts in no time. A process belongs to the run if it has the run's token among its variables. That is so for
workers, for what agents start, and for what those start, whatever session or parent they have by then.
"""

from __future__ import annotations

import os
import signal
import sys
import time

RUN_VARIABLE = "RIGHTCALL_RUN"
"""The environment variable with the token."""
DISMISSAL = b"q"
_ROUNDS = 80
_POLITE_ROUNDS = 40
_PAUSE = 0.025


def end_processes(token: str) -> None:
    """Kill every process of a run. Does nothing where the system has no `/proc`."""
    mark = f"{RUN_VARIABLE}={token}".encode()
    for number in range(_ROUNDS):  # while they are killed, they may start others
        found = [process for process in own_processes() if mark in _variables(process)]
        # Keepers have the token, too. One that is asked to end first ends what is below it and has lost the token; one
        # that is killed hands that to nobody.
        wanted = signal.SIGTERM if number < _POLITE_ROUNDS else signal.SIGKILL
        for process in found:
            _send(process, wanted)
        if not found:
            return
        time.sleep(_PAUSE)


def own_processes() -> list[int]:
    """Every process but this one; none where the system has no `/proc`."""
    try:
        found = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []
    return [process for process in found if process != os.getpid()]


def _variables(process: int) -> list[bytes]:
    try:
        with open(f"/proc/{process}/environ", "rb") as variables:
            return variables.read().split(b"\0")
    except OSError:  # somebody else's, or gone
        return []


def _send(process: int, wanted: signal.Signals) -> None:
    try:
        os.kill(process, wanted)
    except (ProcessLookupError, PermissionError):
        return


def main() -> None:
    """Wait until the runner dismisses us or is gone; in the latter case, end what it has left."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    if os.read(0, 1) != DISMISSAL:
        end_processes(sys.argv[1])


if __name__ == "__main__":
    main()
