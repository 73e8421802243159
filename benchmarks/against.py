"""Whether this tree is slower than a release: `python -m benchmarks.against v0.1.0 --only matchers --only uipath`.

Both are measured by the benchmarks of this tree, in turns, on one machine. The ratio of each figure is compared: to a
peer, to a limit, or to a yardstick of the same round. So a slow machine slows both down, and nothing is compared with
figures of another day.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from .environments import ROOT
from .sections import ON_REQUEST, SECTIONS

_WORSE = 4 / 3
_ROUNDS = 3
_USUAL = ("uipath", "google-adk", "pairing", "growth", "matchers", "groups", "rules", "reports", "startup")

Ratios = dict[str, tuple[float, str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Give 1 where a ratio got worse by a third, 0 where none did, 2 where nothing could be compared."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "release"
        _unpack(options.release, before)
        rounds = [(_ratios(before / "src", options), _ratios(ROOT / "src", options)) for _ in range(options.rounds)]
    compared = list(_compared([old for old, _ in rounds], [new for _, new in rounds]))
    for name, old, new, times in sorted(compared, key=lambda each: -each[3]):
        print(f"{'WORSE ' if times > _WORSE else '      '}{times:5.2f} ×  {old:9.3g} -> {new:9.3g}  {name}")
    if not compared:
        print("no figure was measured in both", file=sys.stderr)
        return 2
    return int(any([times > _WORSE for *_, times in compared]))


def _unpack(release: str, folder: Path) -> None:
    folder.mkdir()
    archive = subprocess.run(["git", "archive", release, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def _ratios(source: Path, options: argparse.Namespace) -> Ratios:
    """The ratios of all figures, with Rightcall imported from this folder."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ratios.json"
        chosen = [argument for name in options.only or _USUAL for argument in ("--only", name)]
        command = [sys.executable, "-m", "benchmarks", "--quick", "--ratios", str(file), *chosen]
        # What is on this path comes before what is installed, also in the processes that are started.
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL
        )
        if not file.exists():
            raise SystemExit(f"the benchmarks ended with {done.returncode}")
        return {name: (ratio, sense) for name, (ratio, sense) in json.loads(file.read_text()).items()}


def _compared(before: Sequence[Ratios], after: Sequence[Ratios]) -> Iterator[tuple[str, float, float, float]]:
    """Yield each figure that all rounds have: its ratio before and after, and how many times worse it got."""
    shared = set(before[0]).intersection(*before[1:], *after)
    for name in shared:
        sense = after[0][name][1]
        old, new = (median([ratios[name][0] for ratios in side]) for side in (before, after))
        if old > 0 and new > 0:
            yield name, old, new, old / new if sense == "at least" else new / old


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("release", help="a tag, a branch or a commit")
    names = [name for name in SECTIONS if name not in ON_REQUEST]
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help="a section; several may be named"
    )
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
