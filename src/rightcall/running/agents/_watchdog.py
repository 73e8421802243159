"""A program that kills process groups when the process that started them has died.

It reads lines from its standard input: `+123` adds a group to kill, `-123` removes one that has ended. When the input
ends, because it was closed or its owner has died, the remaining groups are killed. It imports nothing of Rightcall, so
that it starts fast.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Read until the input ends, then kill the remaining groups."""
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
