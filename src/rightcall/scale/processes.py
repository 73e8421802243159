"""How many worker processes there are, and how they start."""

from __future__ import annotations

import os
import sys
import threading


def start_method() -> str:
    """How processes are started.

    One that is forked has everything loaded: spawning one takes as long as scoring 20 MB. But what other threads hold
    at that moment nobody lets go of in the new process, and elsewhere than on Linux the system has threads of its own.
    """
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def default_workers() -> int:
    """How many processes this machine has a core for."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
