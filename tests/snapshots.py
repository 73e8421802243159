"""What is read from, and said about, many inputs: a line for each, kept in `tests/data`.

    python -m tests.snapshots

writes the lines anew. A change of a rule changes some of them, and `git diff` shows which: each should be on purpose.
A line holds a digest of everything, so nothing can change unseen, and a few words for whoever looks at the diff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

Drawn: TypeAlias = Mapping[str, tuple[Callable[[Random], str], int]]
"""Groups of inputs by their names: what makes one by chance and tells its outcome as a line, and how many there are."""

DATA = Path(__file__).parent / "data"
_MOST_SHOWN = 10


def digest(data: bytes) -> str:
    """A short fingerprint."""
    return hashlib.blake2b(data, digest_size=6).hexdigest()


def line(given: Any, found: Any, *words: object) -> str:
    """A line about an input: a digest of it and of everything that was found, and what to say of it."""
    return " ".join([digest(repr((given, found)).encode()), *map(str, words)])


def drawn(groups: Drawn, group: str) -> dict[str, str]:
    """A line for each input of a group. Each is made by chance of its own, so that a new one changes no other."""
    made, number = groups[group]
    return {f"{group}.{place:03}": made(Random(f"{group} {place}")) for place in range(number)}


def kept(file: str) -> dict[str, str]:
    """The lines of a file by the names of their inputs."""
    lines = (DATA / file).read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines)


def write(file: str, found: Mapping[str, str]) -> None:
    """Keep what was found, sorted by name."""
    (DATA / file).write_text("".join(f"{name}\t{found[name]}\n" for name in sorted(found)), encoding="utf-8")


def changed(found: Mapping[str, str], known: Mapping[str, str]) -> Iterable[str]:
    """A few lines about each input whose outcome is not the one that was kept, and how many there are."""
    different = [name for name in {**known, **found} if found.get(name) != known.get(name)]
    for name in different[:_MOST_SHOWN]:
        yield f"{name}\n  was {known.get(name, 'not kept')}\n  is  {found.get(name, 'gone')}"
    if different:
        yield f"{len(different)} in all; if they are on purpose: .venv/bin/python -m tests.snapshots"


def changed_in(module: Any, group: str) -> str:
    """What `changed` says of a group of a module that keeps outcomes; nothing where all are as they were."""
    known = {name: line for name, line in kept(module.FILE).items() if name.partition(".")[0] == group}
    return "\n".join(changed(module.outcomes(group), known))


def main() -> None:
    """Write all files anew."""
    for name in _KEPT:
        module = import_module(name)
        write(module.FILE, {name: line for group in module.groups() for name, line in module.outcomes(group).items()})


_KEPT = (
    "tests.reading.kept_readings",
    "tests.judging.kept_verdicts",
    "tests.judging.kept_paths",
    "tests.judging.rules.kept_rules",
    "tests.matching.alignment.kept_alignments",
    "tests.matching.matchers.kept_calls",
    "tests.matching.matchers.kept_matches",
    "tests.matching.matchers.kept_schemas",
    "tests.values.statistics.kept_figures",
    "tests.cases.verdicts.kept_cases",
    "tests.reporting.changes.kept_gates",
)


if __name__ == "__main__":
    main()
