"""What is read from, and said about, many inputs: a line for each, kept in `tests/data`.

    python -m tests.snapshots

writes the lines anew. A change of a rule changes some of them, and `git diff` shows which: each should be on purpose.
A line holds a digest of everything, so nothing can change unseen, and a few words for whoever looks at the diff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

DATA = Path(__file__).parent / "data"
_MOST_SHOWN = 10


def digest(data: bytes) -> str:
    """A short fingerprint."""
    return hashlib.blake2b(data, digest_size=6).hexdigest()


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


def main() -> None:
    """Write all files anew."""
    from tests.judging import kept_verdicts
    from tests.reading import kept_readings

    for module in (kept_readings, kept_verdicts):
        write(module.FILE, {name: line for group in module.groups() for name, line in module.outcomes(group).items()})


if __name__ == "__main__":
    main()
