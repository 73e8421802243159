"""Searches for what breaks the property tests: `make fuzz`.

Rounds of all property tests, each with a fresh seed, until the time is over or a round finds something.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time

SECONDS = int(os.environ.get("FUZZ_SECONDS", "1800"))
WORKERS = os.environ.get("FUZZ_WORKERS", "2")
TESTS = "hypothesis or corpus"
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


def main() -> int:
    """Search; 1 where something was found."""
    started = time.monotonic()
    end, rounds, found = time.time() + SECONDS, 0, False
    while time.time() < end and not found:
        rounds += 1
        found = _search(secrets.randbelow(2**32), end)
    minutes = (time.monotonic() - started) / 60
    print(f"rounds: {rounds}, minutes: {minutes:.1f}, {'something was found' if found else 'nothing found'}")
    return 1 if found else 0


def _search(seed: int, end: float) -> bool:
    """Run one round, and say whether a test failed in it."""
    print(f"seed {seed}", flush=True)
    command = [sys.executable, "-m", "pytest", f"--hypothesis-seed={seed}"]
    environment = {**os.environ, "RIGHTCALL_FUZZ": str(seed), "FUZZ_UNTIL": str(end)}
    parallel = ["-n", WORKERS, "--dist", "worksteal", "-m", TESTS, "-q", "-rfE", *sys.argv[1:]]
    done = subprocess.run([*command, *parallel], env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout if done.returncode else done.stdout.strip().splitlines()[-1], flush=True)
    if done.returncode:
        print("To see it again; then fix it, and add the values to the test as an @example:")
        for test in sorted(set(_FAILED.findall(done.stdout))) or ["tests"]:
            print(f"  RIGHTCALL_FUZZ={seed} {' '.join(command)} '{test}'")
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
