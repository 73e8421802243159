"""Makes a sample of mistakes in the judging core, and fails where the tests do not notice one: `make mutants`."""

from __future__ import annotations

import argparse
import hashlib
import pickle
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from math import inf
from pathlib import Path

from tests.mutants.core import area_of, core_files
from tests.mutants.forking import FATE, MIRRORED, PACKAGE, Fate, Task
from tests.mutants.mutations import Mutation, mutations
from tests.mutants.running import BrokenTestsError, Copy, Tried, stages_of

PROJECT = Path(__file__).parents[2]
SEED = 12
"""The sample of which every survivor is killed or explained. Of any other, one in twenty may survive."""
OTHERS_MAY_SURVIVE = 0.05
EXPLAINED = Path(__file__).with_name("survivors.toml")
MAP = PROJECT / ".mutants" / "map.pickle"
"""Which test goes through which function: kept, so that a sample can be tried in parts."""


def main() -> int:
    """Try a sample; 1 where too many survive or an explanation fits nothing any more, 2 where tests are broken."""
    wanted, started = _arguments(), time.monotonic()
    files = core_files(PROJECT)
    everything = [each for file in files for each in mutations(file, (PROJECT / file).read_text(encoding="utf-8"))]
    explained = explanations()
    chosen = [each for each in everything if fnmatch(each.file, f"*{wanted.only}*")]
    part, parts = wanted.part
    sample = sample_of(chosen, wanted.seed, wanted.number)[part - 1 :: parts]
    unneeded = sorted(set(explained) - {each.key for each in everything})
    print(f"{len(everything)} mutants in {len(files)} modules; {len(sample)} are tried, seed {wanted.seed}", flush=True)
    try:
        tried = list(_tried([each for each in sample if each.key not in explained], wanted))
    except BrokenTestsError as problem:
        print(problem, file=sys.stderr)
        return 2
    survivors = [each for each in tried if each.survived]
    _report(tried, len(sample) - len(tried), unneeded)
    allowed = 0 if wanted.seed == SEED else round(len(sample) * OTHERS_MAY_SURVIVE)
    print(f"{len(survivors)} unexplained survivors, {allowed} allowed; {time.monotonic() - started:.0f} s")
    return 1 if len(survivors) > allowed or unneeded else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="which sample is tried")
    parser.add_argument("--number", type=int, default=400, help="how many mutants are tried")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--narrow", action="store_true", help="try against the tests of the same package alone")
    parser.add_argument("--only", default="", help="a part of the path of the modules to be changed, such as matchers/")
    parser.add_argument(
        "--most", type=float, default=inf, help="how many seconds of CPU the tests of a mutant may take"
    )
    parser.add_argument("--part", type=_part, default=(1, 1), help="one of so many parts of the sample, such as 1/8")
    return parser.parse_args()


def sample_of(chosen: Sequence[Mutation], seed: int, number: int) -> list[Mutation]:
    """Return so many of the mutants, the same ones wherever their modules move to and whatever changes around them.

    Drawn by their places in a list, every change of the core would make another sample.
    """

    def drawn(mutation: Mutation) -> bytes:
        return hashlib.sha256("\0".join([str(seed), *mutation.key[1:]]).encode()).digest()

    return sorted(chosen, key=drawn)[:number]


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not 1 <= int(part) <= int(parts):
        raise ValueError(text)
    return int(part), int(parts)


def explanations() -> dict[tuple[str, str, str, str], str]:
    """Why each explained survivor changes nothing, by its key."""
    listed = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("survivor", [])
    return {(each["file"], each["function"], each["before"], each["after"]): each["why"] for each in listed}


def _tried(sample: Sequence[Mutation], wanted: argparse.Namespace) -> Iterator[Tried]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(PROJECT, Path(folder) / "project")
        left: list[tuple[Mutation, bool]] = []
        for fate in _fates(copy, sample, wanted):
            mutation = sample[fate.number]
            if fate.unsure or (not fate.test and area_of(mutation.file).processes and not wanted.narrow):
                left.append((mutation, fate.unsure))
            else:
                yield _said(_from_fate(mutation, fate))
        for mutation, unsure in left:
            stages = [
                each for each in stages_of(mutation.file, narrow=wanted.narrow) if unsure or each.name == "processes"
            ]
            yield _said(copy.attempt(mutation, stages))


def _fates(copy: Copy, sample: Sequence[Mutation], wanted: argparse.Namespace) -> Iterator[Fate]:
    """What forks of one process say of each mistake."""
    areas = {area_of(each.file) for each in sample}
    wider = [each for area in areas for each in area.wider if not wanted.narrow]
    folders = sorted({*[area.tests for area in areas], *[f"tests/{each}" for each in wider]})
    task, file = (
        Task(tuple(sample), tuple(folders), wanted.workers, wanted.narrow, wanted.most, MAP),
        copy.folder.with_name("task"),
    )
    file.write_bytes(pickle.dumps(task))
    command = [sys.executable, "-m", "tests.mutants.forking", str(file)]
    with subprocess.Popen(command, cwd=copy.folder, env=copy.environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith(FATE):
                yield pickle.loads(bytes.fromhex(line.removeprefix(FATE)))
            else:
                print(line, end="", flush=True)
    if process.returncode:
        raise BrokenTestsError("the tests cannot be run without any mistake: see above")


def _from_fate(mutation: Mutation, fate: Fate) -> Tried:
    names = {MIRRORED: "mirrored", PACKAGE: "package"}
    stage = names.get(fate.stage, "wider") if fate.test else ""
    return Tried(mutation, stage, fate.seconds, fate.cpu, fate.timed_out, fate.test)


def _said(tried: Tried) -> Tried:
    fate = "SURVIVED" if tried.survived else f"{tried.stage}{' (time)' if tried.timed_out else ''}"
    print(
        f"{fate:10} {tried.seconds:6.1f} s {tried.cpu:6.1f} s CPU  {_told(tried.mutation)}  [{tried.test}]", flush=True
    )
    return tried


def _told(mutation: Mutation) -> str:
    return f"{mutation.file}:{mutation.line} {mutation.function}: {mutation.before}  →  {mutation.after}"


def _report(tried: Sequence[Tried], explained: int, unneeded: Sequence[tuple[str, str, str, str]]) -> None:
    fates = Counter(["survived" if each.survived else f"noticed by {each.stage} tests" for each in tried])
    print("\n" + ", ".join([f"{count} {fate}" for fate, count in sorted(fates.items())] + [f"{explained} explained"]))
    print(f"{sum([each.cpu for each in tried]) / max(1, len(tried)):.1f} s of CPU a mutant")
    for each in tried:
        if each.survived:
            file, function, before, after = each.mutation.key
            print(f"\n[[survivor]]\nfile = {file!r}\nfunction = {function!r}\nbefore = {before!r}\nafter = {after!r}")
    for key in unneeded:
        print(f"{EXPLAINED.name} explains what is no longer in the code: {' | '.join(key)}")


if __name__ == "__main__":
    sys.exit(main())
