"""Measures and prints the table: `python -m benchmarks`."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from .figures import Measured
from .page import ratios_of, write_page
from .rounds import QUICK, Pace
from .sections import ON_REQUEST, SECTIONS
from .table import render
from .workers import Workers

_REACHED, _MISSED, _NOT_MEASURED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0 when every figure reaches its target, 1 when one misses it, 2 when one was not measured."""
    options = _parser().parse_args(arguments)
    pace = QUICK if options.quick else Pace()
    measured, workers = Measured(), Workers()
    try:
        for name in options.only or [name for name in SECTIONS if name not in ON_REQUEST]:
            print(f"measuring {name}", file=sys.stderr)
            measured.take(name, SECTIONS[name](workers, pace))
        versions = workers.versions()
    finally:
        workers.stop()
    _print(measured, versions, pace)
    if options.write:
        write_page(measured.by_section, [f"Python {platform.python_version()}", *versions], pace)
    if options.ratios:
        options.ratios.write_text(json.dumps(ratios_of(measured.by_section)))
    return _NOT_MEASURED if measured.problems else _MISSED if measured.missed else _REACHED


def _print(measured: Measured, versions: Sequence[str], pace: Pace) -> None:
    print(f"CPU time, median of {pace.rounds} interleaved rounds, on {os.cpu_count()} cores.")
    print(", ".join([f"Python {platform.python_version()}", *versions]))
    print("Ratio: how many times faster than the peer (≥), or our share of its time or of the limit (≤).\n")
    print(render(measured.lines))
    print(f"\n{len(measured.lines)} figures, {measured.missed} missed.")
    for problem in measured.problems:
        print(f"NOT MEASURED {problem}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="NAME", help=f"one of {', '.join(SECTIONS)}"
    )
    parser.add_argument("--write", action="store_true", help="write the sections that were measured to the documents")
    parser.add_argument("--ratios", type=Path, metavar="FILE", help="write the ratios as JSON, for benchmarks.against")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a first look, not a verdict")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
