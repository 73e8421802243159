"""A program that kills process groups when the process that started them has died.

It reads lines from its standard input: `+123` is a group to kill at the end, `-123` one that has ended. When the input
ends, because it was closed or because its owner is dead, the groups that are left are killed. It imports nothing of
Rightcall, so that it starts fast.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Read until the input ends, then kill the groups that are left."""
    groups = set()
    for line in sys.stdin.buffer:
        number = int(line[1:])
        if line.startswith(b"+"):
            groups.add(number)
        else:
            groups.discard(number)
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            continue


if __name__ == "__main__":
    main()
