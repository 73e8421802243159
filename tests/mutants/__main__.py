"""Makes a sample of mistakes in the judging core, and fails where the tests do not notice one: `make mutants`."""

from __future__ import annotations

import argparse
import queue
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from tests.mutants.mutations import Mutation, mutations
from tests.mutants.running import SOURCE, Copy, Tried, stages_of

PROJECT = Path(__file__).parents[2]
CORE = (
    *("matching/**/*.py", "cases/verdicts/*.py"),
    *(f"judging/{name}.py" for name in ("core/_selection", "calls/_pairs", "calls/_matching", "calls/_aligning")),
    *(f"reading/runs/{name}.py" for name in ("_merge", "_grouping", "_turns")),
)
SEED = 12
"""The sample of which every survivor is killed or explained. Of any other, one in twenty may survive."""
OTHERS_MAY_SURVIVE = 0.05
EXPLAINED = Path(__file__).with_name("survivors.toml")


def main() -> int:
    """Try a sample; 1 where too many survive, or where an explanation fits nothing any more."""
    wanted = _arguments()
    everything = [each for file in _files() for each in mutations(file, (PROJECT / file).read_text(encoding="utf-8"))]
    explained = _explanations()
    chosen = [each for each in everything if fnmatch(each.file, f"*{wanted.only}*")]
    sample = random.Random(wanted.seed).sample(chosen, min(wanted.number, len(chosen)))
    unneeded = sorted(set(explained) - {each.key for each in everything})
    print(
        f"{len(everything)} mutants in {len(_files())} modules; {len(sample)} are tried, seed {wanted.seed}", flush=True
    )
    tried = _try([each for each in sample if each.key not in explained], wanted.workers, wanted.narrow)
    survivors = [each for each in tried if each.survived]
    _report(tried, len(sample) - len(tried), unneeded)
    allowed = 0 if wanted.seed == SEED else round(len(sample) * OTHERS_MAY_SURVIVE)
    print(f"{len(survivors)} unexplained survivors, {allowed} allowed")
    return 1 if len(survivors) > allowed or unneeded else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="which sample is tried")
    parser.add_argument("--number", type=int, default=400, help="how many mutants are tried")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--narrow", action="store_true", help="try against the tests of the same package alone")
    parser.add_argument("--only", default="", help="a part of the path of the modules to be changed, such as matchers/")
    return parser.parse_args()


def _files() -> list[str]:
    found: list[str] = []
    for pattern in CORE:
        paths = sorted((PROJECT / SOURCE).glob(pattern))
        if not paths:
            raise SystemExit(f"no module {SOURCE}/{pattern}; has it another name now?")
        found += [path.relative_to(PROJECT).as_posix() for path in paths]
    return found


def _explanations() -> dict[tuple[str, str, str, str], str]:
    listed = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("survivor", [])
    return {(each["file"], each["function"], each["before"], each["after"]): each["why"] for each in listed}


def _try(sample: Sequence[Mutation], workers: int, narrow: bool) -> list[Tried]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(workers):
            copies.put(Copy(PROJECT, Path(folder) / str(number)))
        with ThreadPoolExecutor(workers) as pool:
            stages = sorted({stage for each in sample for stage in stages_of(each.file, narrow=narrow)})
            limits = dict(zip(stages, pool.map(lambda stage: _limit(copies, stage), stages), strict=True))
            return list(pool.map(lambda mutation: _attempt(copies, mutation, limits), sample))


def _limit(copies: queue.SimpleQueue[Copy], stage: tuple[str, ...]) -> float:
    """How long these tests may take: much longer than they take without a mistake, when all have to pass."""
    copy, started = copies.get(), time.monotonic()
    try:
        if not copy.passes(stage):
            raise SystemExit(f"{' '.join(stage)} fails without any mistake: run it, and fix it first")
    finally:
        copies.put(copy)
    return 60 + 5 * (time.monotonic() - started)


def _attempt(copies: queue.SimpleQueue[Copy], mutation: Mutation, limits: dict[tuple[str, ...], float]) -> Tried:
    copy = copies.get()
    try:
        tried = copy.attempt(mutation, [stage for stage in stages_of(mutation.file) if stage in limits], limits)
    finally:
        copies.put(copy)
    fate = "SURVIVED" if tried.survived else f"stage {tried.stage + 1}{' (time)' if tried.timed_out else ''}"
    print(f"{fate:10} {tried.seconds:6.1f} s  {_told(mutation)}", flush=True)
    return tried


def _told(mutation: Mutation) -> str:
    return f"{mutation.file}:{mutation.line} {mutation.function}: {mutation.before}  →  {mutation.after}"


def _report(tried: Sequence[Tried], explained: int, unneeded: Sequence[tuple[str, str, str, str]]) -> None:
    fates = Counter(["survived" if each.survived else f"noticed in stage {each.stage + 1}" for each in tried])
    print("\n" + ", ".join([f"{count} {fate}" for fate, count in sorted(fates.items())] + [f"{explained} explained"]))
    for each in tried:
        if each.survived:
            file, function, before, after = each.mutation.key
            print(f"\n[[survivor]]\nfile = {file!r}\nfunction = {function!r}\nbefore = {before!r}\nafter = {after!r}")
    for key in unneeded:
        print(f"{EXPLAINED.name} explains what is no longer in the code: {' | '.join(key)}")


if __name__ == "__main__":
    sys.exit(main())
